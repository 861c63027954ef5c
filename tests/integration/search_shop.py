"""A project whose databases are pushed to the double of Azure AI Search, for the tests of `push-search`."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from servers.search_stub import KEY, KEY_VARIABLE, SearchStub, running_search
from system.projects import write_project

from dictionary_pipeline.cli import main
from dictionary_pipeline.config.search_settings import QUERY_CACHE, SCHEMA_STORE, VALUE_STORE
from dictionary_pipeline.publishing.search import service

ENTITIES, VALUES, CACHE = (f"{kind}-index" for kind in (SCHEMA_STORE, VALUE_STORE, QUERY_CACHE))
SCRIPT = """
CREATE TABLE customer (id INTEGER PRIMARY KEY, city TEXT, segment TEXT);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customer (id), total NUMERIC);
CREATE TABLE region (id INTEGER PRIMARY KEY, name TEXT);
INSERT INTO customer VALUES (1, 'Zurich', 'retail'), (2, 'Basel', 'retail'), (3, 'Canary-on-Sea', 'trade');
INSERT INTO orders VALUES (1, 1, 9.5), (2, 2, 20);
INSERT INTO region VALUES (1, 'North'), (2, 'South');
"""
Output = pytest.CaptureFixture[str]


@dataclass
class Shop:
    """A project folder with databases that are pushed to the double."""

    folder: Path
    search: SearchStub | None

    @property
    def stub(self) -> SearchStub:
        """The double."""
        assert self.search is not None
        return self.search

    def configure(self, more: str = "", *, login: str = f"api_key_env: {KEY_VARIABLE}") -> None:
        """Write `project.yml`; `more` continues the `search:` section."""
        text = f"search:\n  endpoint: {self.stub.endpoint}\n  automatic: false\n  {login}\n{more}"
        (self.folder / "dbt_like_configs/project.yml").write_text(text)

    def add(self, name: str, script: str = SCRIPT, yaml: str = "") -> None:
        """Make or replace a database and its file."""
        path = self.folder / f"{name}.db"
        path.unlink(missing_ok=True)
        self.sql(name, script)
        file = self.folder / f"dbt_like_configs/databases/{name}.yml"
        file.write_text(f"connection:\n  type: sqlite\n  path: {name}.db\n{yaml}")

    def sql(self, name: str, script: str) -> None:
        """Change a database."""
        with sqlite3.connect(self.folder / f"{name}.db") as connection:
            connection.executescript(script)
        connection.close()

    def call(self, *words: str) -> int:
        """Run the command line; the exit code."""
        with pytest.raises(SystemExit) as left:
            main([*words, "--project", str(self.folder)])
        return int(left.value.code or 0)

    def refresh(self, *names: str) -> None:
        """Run the pipeline and forget what was pushed so far."""
        assert self.call("run", *names) == 0
        self.stub.forget_calls()

    def push(self, *words: str) -> int:
        """Push and record only that."""
        self.stub.forget_calls()
        return self.call("push-search", *words)

    def state(self, name: str) -> Path:
        """Where the state of pushes is."""
        return self.folder / f"published/{name}/.state/search.json"

    def key(self, fqn: str) -> str:
        """Key of an entity's document."""
        return next(key for key, item in self.stub.documents[ENTITIES].items() if item["FQN"] == fqn)

    def tables(self, index: str = ENTITIES) -> list[tuple[str, str]]:
        """(database, FQN) of all documents."""
        return sorted((item.get("Dictionary", ""), item["FQN"]) for item in self.stub.documents[index].values())


def published_project(folder: Path) -> Path:
    """A project whose database `shop` is published, to be copied."""
    write_project(folder)
    project = Shop(folder, None)
    (folder / "dbt_like_configs/project.yml").write_text("search: {endpoint: 'https://no.one', automatic: false}\n")
    project.add("shop")
    assert project.call("run") == 0
    return folder


@contextmanager
def opened_shop(published: Path, folder: Path) -> Iterator[Shop]:
    """A copy of a published project beside a double of its own."""
    with running_search(folder) as stub, pytest.MonkeyPatch.context() as patch:
        patch.setenv("REQUESTS_CA_BUNDLE", str(stub.certificate))
        patch.setenv(KEY_VARIABLE, KEY)
        patch.setattr(service, "_PATIENCE", (0.0,) * 5)
        project = Shop(shutil.copytree(published, folder / "project"), stub)
        project.configure()
        yield project
