"""A real MariaDB for the tests: given by URL, or started from a system installation."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pymysql
import pytest

URL_VARIABLE = "DD_TEST_MYSQL_URL"
_SETTINGS = (
    "--no-defaults",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-buffer-pool-size=64M",
    "--skip-log-bin",
    "--character-set-server=utf8mb4",
    "--performance-schema=OFF",
)
# The server's parent waits for its own input to end, which happens however the tests end.
_KEEPER = """\
import json, shutil, subprocess, sys
command, options, folder = json.loads(sys.argv[1])
server = subprocess.Popen(command, **options)
sys.stdin.read()
server.terminate()
try:
    server.wait(20)
except subprocess.TimeoutExpired:
    server.kill()
    server.wait(20)
shutil.rmtree(folder, ignore_errors=True)
"""


class NoServer(Exception):
    """No MariaDB could be started here; the text says what was tried."""


@dataclass
class MariaDBServer:
    """A running server on which tests may create databases."""

    host: str
    port: int
    user: str = "root"
    password: str = ""
    _databases: list[str] = field(default_factory=list)

    def url(self, database: str = "", *, user: str | None = None, password: str | None = None) -> str:
        """URL of a database, as the administrator or as another account."""
        login = user or self.user
        secret = password if user else self.password
        return f"mysql+pymysql://{login}{f':{secret}' if secret else ''}@{self.host}:{self.port}/{database}"

    def execute(self, *statements: str, database: str | None = None) -> list[tuple[Any, ...]]:
        """Run statements as the administrator; the rows of the last one."""
        connection = pymysql.connect(
            host=self.host,
            port=self.port,
            user=self.user,
            password=self.password,
            database=database,
            autocommit=True,
            charset="utf8mb4",
        )
        with contextlib.closing(connection), connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())

    def create_database(self, name: str, *statements: str) -> str:
        """Create a database anew, run statements in it and return its URL; it is dropped at the end."""
        self.adopt(name)
        self.execute(f"DROP DATABASE IF EXISTS `{name}`", f"CREATE DATABASE `{name}` CHARACTER SET utf8mb4")
        if statements:
            self.execute(*statements, database=name)
        return self.url(name)

    def adopt(self, *databases: str) -> None:
        """Drop these databases at the end, too."""
        self._databases += databases

    def drop_databases(self) -> None:
        """Drop every database that was created here."""
        for name in dict.fromkeys(self._databases):
            self.execute("SET foreign_key_checks = 0", f"DROP DATABASE IF EXISTS `{name}`")


@contextlib.contextmanager
def running_mariadb() -> Iterator[MariaDBServer]:
    """The first server that can be had; skips loudly without one, and fails in CI."""
    given = os.environ.get(URL_VARIABLE)
    try:
        if given:
            parts = urlsplit(given)
            server = MariaDBServer(
                parts.hostname or "127.0.0.1",
                parts.port or 3306,
                unquote(parts.username or "root"),
                unquote(parts.password or ""),
            )
            try:
                yield server
            finally:
                server.drop_databases()
        else:
            with _started() as server:
                yield server
    except NoServer as reason:
        message = f"no MariaDB for the tests: {reason}"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)


@contextlib.contextmanager
def _started() -> Iterator[MariaDBServer]:
    server = next((path for name in ("mariadbd", "mysqld") if (path := _find(name))), None)
    installer = _find("mariadb-install-db")
    if server is None or installer is None:
        raise NoServer(f"{URL_VARIABLE} is not set and no mariadbd is installed; apt install mariadb-server")
    folder = Path(tempfile.mkdtemp(prefix="dd_maria_", dir="/tmp" if Path("/tmp").is_dir() else None))
    keeper = None
    try:
        options: dict[str, Any] = {"cwd": "/"}
        if os.geteuid() == 0:
            account = _account()
            os.chown(folder, account.pw_uid, account.pw_gid)
            options |= {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        data, log = folder / "data", folder / "server.log"
        arguments = ["--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal"]
        done = subprocess.run(
            [installer, *arguments, "--skip-test-db"], capture_output=True, text=True, check=False, **options
        )
        if done.returncode:
            raise NoServer(f"mariadb-install-db failed: {done.stderr.strip()}")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        places = [f"--datadir={data}", f"--port={port}", f"--socket={folder / 's'}", f"--pid-file={folder / 'pid'}"]
        command = [str(server), *_SETTINGS, *places, "--bind-address=127.0.0.1"]
        with log.open("wb") as output:
            keeper = subprocess.Popen(
                [sys.executable, "-I", "-c", _KEEPER, json.dumps([command, options, str(folder)])],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        running = MariaDBServer("127.0.0.1", port)
        _wait_until_ready(running, keeper, log)
        yield running
    finally:
        if keeper is not None and keeper.stdin is not None:
            keeper.stdin.close()
            keeper.wait(60)
        shutil.rmtree(folder, ignore_errors=True)


def _find(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/libexec")


def _account() -> pwd.struct_passwd:
    """The account to run the server under; it refuses to run as root."""
    for name in ("mysql", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise NoServer("running as root, and neither account mysql nor nobody exists to run the server")


def _wait_until_ready(server: MariaDBServer, keeper: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            server.execute("SELECT 1")
            return
        except pymysql.OperationalError as error:
            if time.monotonic() > deadline or keeper.poll() is not None:
                raise NoServer(f"the server did not start: {log.read_text(errors='replace')[-2000:]}") from error
            time.sleep(0.05)
