"""A real Azurite (Microsoft's emulator of Azure Storage) for the tests, installed by npm when it is not there."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from azure.storage.blob import BlobServiceClient, ResourceTypes, generate_account_sas
from filelock import FileLock

VERSION = "3.35.0"
"""The newest that runs on Node 20."""
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Azurite's well-known key; it protects nothing."""


class NoServer(Exception):
    """No Azurite could be started here; the text says what was tried."""


@dataclass
class AzuriteServer:
    """A running emulator."""

    port: int
    scheme: str = "http"
    certificate: Path | None = None
    _made: int = field(default=0)

    @property
    def account_url(self) -> str:
        """Address of the account."""
        return f"{self.scheme}://127.0.0.1:{self.port}/{ACCOUNT}"

    @property
    def connection_string(self) -> str:
        """Connection string with the well-known key."""
        return (
            f"DefaultEndpointsProtocol={self.scheme};AccountName={ACCOUNT};AccountKey={KEY};"
            f"BlobEndpoint={self.account_url};"
        )

    def service(self) -> BlobServiceClient:
        """A client for the tests themselves."""
        options: dict[str, Any] = {"connection_verify": str(self.certificate)} if self.certificate else {}
        return BlobServiceClient.from_connection_string(self.connection_string, **options)

    def create_container(self) -> str:
        """A new, empty container; returns its name."""
        self._made += 1
        name = f"test-{self._made}-{time.monotonic_ns()}"
        self.service().create_container(name)
        return name

    def sas(self, *, permission: str = "racwdl", lasts: timedelta = timedelta(hours=1)) -> str:
        """An account SAS; a negative `lasts` makes an expired one."""
        end = datetime.now(UTC) + lasts
        return generate_account_sas(
            ACCOUNT,
            account_key=KEY,
            resource_types=ResourceTypes(service=True, container=True, object=True),
            permission=permission,
            expiry=end,
            start=end - timedelta(hours=3),
        )


@contextlib.contextmanager
def running_azurite(tls: tuple[Path, Path] | None = None) -> Iterator[AzuriteServer]:
    """A started emulator; skips loudly where none can be had, and fails in CI.

    Args:
        tls: Certificate and key: https with Entra ID tokens instead of http.
    """
    with contextlib.ExitStack() as stack:
        try:
            server = stack.enter_context(_started(tls))
        except NoServer as reason:
            message = f"no Azurite for the tests: {reason}"
            if os.environ.get("CI"):
                pytest.fail(message)
            pytest.skip(message)
        yield server


def install() -> Path:
    """Folder of the installed emulator; npm installs it once into the user's cache.

    Raises:
        NoServer: node or npm is missing, or npm failed.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "dictionary-pipeline-tests" / f"azurite-{VERSION}"
    if shutil.which("node") is None:
        raise NoServer("node is not installed; install Node.js 20 or newer with npm")
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".lock"):
        if not (folder / ".complete").exists():
            if shutil.which("npm") is None:
                raise NoServer("npm is not installed; install Node.js 20 or newer with npm")
            command = ["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", f"azurite@{VERSION}"]
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
            if done.returncode:
                raise NoServer(f"npm install azurite@{VERSION} failed: {done.stderr.strip()[-500:]}")
            (folder / ".complete").touch()
    return folder


def _script(folder: Path) -> Path:
    return folder / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"


@contextlib.contextmanager
def _started(tls: tuple[Path, Path] | None) -> Iterator[AzuriteServer]:
    script = _script(install())
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = ["node", str(script), "--blobHost", "127.0.0.1", "--blobPort", str(port), "--inMemoryPersistence"]
    command += ["--silent", "--disableTelemetry", "--skipApiVersionCheck"]
    if tls:
        command += ["--cert", str(tls[0]), "--key", str(tls[1]), "--oauth", "basic"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        _wait_until_ready(process, port)
        yield AzuriteServer(port, "https" if tls else "http", tls[0] if tls else None)
    finally:
        process.terminate()
        try:
            process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def _wait_until_ready(process: subprocess.Popen[str], port: int) -> None:
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    process.kill()
    raise NoServer(f"it did not start: {process.communicate()[0][-1000:]}")
