"""A PostgreSQL of its own that a test can stop and start again on the same port."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from servers import postgres
from servers.postgres import PostgresServer


class StoppablePostgres(PostgresServer):
    """A server that can be away for a while."""

    def __init__(self, binaries: Path, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        super().__init__(f"postgresql://postgres@127.0.0.1:{port}/postgres")
        self._account = postgres._unprivileged_account()
        if self._account is not None:
            os.chown(folder, self._account.pw_uid, self._account.pw_gid)
        self._binaries = postgres._reachable(binaries, folder, self._account)
        self._folder, self._port = folder, port
        postgres._initialise(self._binaries, folder / "data", self._account)

    def start(self) -> None:
        """Start it and wait until it answers."""
        self._control("start", "-o", f"-p {self._port} -k {self._folder}", "-l", str(self._folder / "server.log"))

    def stop(self) -> None:
        """End all its sessions and stop it."""
        self._control("stop", "-m", "immediate")

    def _control(self, action: str, *more: str) -> None:
        postgres._run([self._binaries / "pg_ctl", "-D", self._folder / "data", "-w", action, *more], self._account)


@contextmanager
def stoppable_postgres() -> Iterator[StoppablePostgres]:
    """Run one, and remove it afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="dd_pg_", dir="/tmp"))
    server = None
    try:
        server = StoppablePostgres(postgres._find_binaries(), folder)
        server.start()
        yield server
    finally:
        if server is not None:
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)
