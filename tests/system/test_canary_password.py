"""A canary password appears in no output, log, event, state, published file or process list."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock
from urllib.parse import quote, quote_plus

import dagster as dg
import polars as pl
import pytest
from servers.postgres import PASSWORD, PASSWORD_ROLE, PostgresServer
from system.projects import write_project

from dictionary_pipeline.definitions import defs
from dictionary_pipeline.orchestration.project import FOLDER_VARIABLE

WRONG = "wrong canary 5f0e"
DATABASES = ("by_profile", "by_literal_profile", "by_url", "by_literal_url")
SCRIPT = f"""
CREATE TABLE customer (id int PRIMARY KEY, name text);
CREATE TABLE purchase (id int PRIMARY KEY, customer_id int REFERENCES customer);
CREATE TABLE closed (id int);
INSERT INTO customer VALUES (1, 'Ada');
GRANT SELECT ON customer, purchase TO {PASSWORD_ROLE};
"""


def spellings(password: str) -> set[bytes]:
    """The password as a file, a URL or a form would write it."""
    return {text.encode() for text in (password, quote(password), quote_plus(password))}


class Canary:
    """A project in which every database gives the same password in another way."""

    def __init__(self, folder: Path, url: str, password: str) -> None:
        self.folder, self.password = folder, password
        place = url.partition("://")[2].rpartition("@")[2]
        server, _, database = place.partition("/")
        host, _, port = server.partition(":")
        self.url = f"postgresql://{PASSWORD_ROLE}:{quote(password)}@{place}"
        self.variables = {"CANARY_PASSWORD": password, "CANARY_URL": self.url, FOLDER_VARIABLE: str(folder)}
        write_project(folder)
        output = f"{{type: postgres, host: {host}, port: {port}, user: {PASSWORD_ROLE}, dbname: {database}, password: "
        configs = folder / "dbt_like_configs"
        (configs / "profiles.yml").write_text(
            f"""profile:\n  target: a\n  outputs:\n    a: {output}"{{{{ env_var('CANARY_PASSWORD') }}}}"}}
literal:\n  target: a\n  outputs:\n    a: {output}"{password}"}}\n"""
        )
        (configs / "databases/by_profile.yml").write_text("profile: profile\n")
        (configs / "databases/by_literal_profile.yml").write_text("profile: literal\n")
        (configs / "databases/by_url.yml").write_text("connection:\n  url: \"{{ env_var('CANARY_URL') }}\"\n")
        (configs / "databases/by_literal_url.yml").write_text(f'connection:\n  url: "{self.url}"\n')
        (folder / ".env").write_text("".join(f'{key}="{value}"\n' for key, value in self.variables.items()))

    def found(self, *outputs: bytes) -> list[str]:
        """Where the password shows, other than in the files it was written into."""
        given = {self.folder / ".env", *(self.folder / "dbt_like_configs").rglob("*.yml")}
        files = [path for path in self.folder.rglob("*") if path.is_file() and path not in given]
        texts = {str(path): content(path) for path in files} | {f"output {n}": text for n, text in enumerate(outputs)}
        return sorted(name for name, text in texts.items() if any(word in text for word in spellings(self.password)))


def content(path: Path) -> bytes:
    """Bytes of a file, unpacked where they are compressed."""
    if path.suffix != ".parquet" and ".objects" not in path.parts:
        return path.read_bytes()
    data = path.read_bytes()
    return str(pl.read_parquet(data).to_dicts()).encode() if data.startswith(b"PAR1") else data


def command_line(canary: Canary, *arguments: str) -> tuple[int, bytes, bytes]:
    """Run the command line; exit code, everything printed, and what the process list showed meanwhile."""
    process = subprocess.Popen(
        [sys.executable, "-m", "dictionary_pipeline", *arguments],
        cwd=canary.folder,
        env=os.environ | canary.variables | {"DICTIONARY_PIPELINE_DEBUG": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    listed = b""
    for _ in range(10):
        listed += subprocess.run(["ps", "-p", str(process.pid), "-o", "args="], capture_output=True, check=False).stdout
        time.sleep(0.05)
    output, _ = process.communicate(timeout=120)
    return process.returncode, output, listed


@pytest.fixture
def environment() -> Iterator[None]:
    """`.env` files change the process environment."""
    with mock.patch.dict(os.environ):
        yield


def dagster_runs(canary: Canary) -> list[bool]:
    """Run every database through Dagster, with its instance in SQLite files below the project."""
    (canary.folder / "dagster").mkdir()
    with dg.DagsterInstance.local_temp(str(canary.folder / "dagster")) as instance:
        instance.add_dynamic_partitions("databases", list(DATABASES))
        job = defs.resolve_job_def("refresh_dictionary")
        return [
            job.execute_in_process(instance=instance, partition_key=name, raise_on_error=False).success
            for name in DATABASES
        ]


@pytest.mark.parametrize("is_right", [True, False])
def test_a_password_shows_nowhere(
    postgres: PostgresServer,
    tmp_path: Path,
    environment: None,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    is_right: bool,
) -> None:
    if not is_right and not postgres.is_own:
        pytest.skip("a given server may accept any password")
    caplog.set_level(logging.DEBUG)
    url = postgres.create_database("dd_canary", SCRIPT)
    canary = Canary(tmp_path, url, PASSWORD if is_right else WRONG)
    os.environ.update(canary.variables)

    code, printed, listed = command_line(canary, "run", "--json")
    assert code == (3 if is_right else 1), printed
    assert b"by_literal_url" in printed
    assert b"dictionary_pipeline" in listed
    built, also_printed, _ = command_line(canary, "build", "env:CANARY_URL", "-o", "built")
    assert built == code
    assert dagster_runs(canary) == [is_right] * len(DATABASES)

    out, err = capfd.readouterr()
    assert "by_url" in out + err + caplog.text
    assert (tmp_path / "built/manifest.json").exists() == is_right
    assert list(tmp_path.glob("dagster/history/runs/*.db")) or list(tmp_path.rglob("runs.db"))
    assert canary.found(printed, also_printed, listed, out.encode(), err.encode(), caplog.text.encode()) == []


def test_the_search_finds_a_password_wherever_it_is(tmp_path: Path) -> None:
    canary = Canary(tmp_path, "postgresql://h:1/d", PASSWORD)
    (tmp_path / "log").write_bytes(b"x" + quote(PASSWORD).encode())
    pl.DataFrame({"c": [PASSWORD]}).write_parquet(tmp_path / "frame.parquet")
    (tmp_path / ".objects").mkdir()
    pl.DataFrame({"c": [PASSWORD]}).write_parquet(tmp_path / ".objects/ab")
    assert canary.found(PASSWORD.encode()) == [
        *sorted(str(tmp_path / name) for name in (".objects/ab", "frame.parquet", "log")),
        "output 0",
    ]
