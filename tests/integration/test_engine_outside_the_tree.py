"""`docs/adding-an-engine.md`, followed word by word: a package with an engine, installed beside the product."""

from __future__ import annotations

import importlib
import json
import re
import sys
import tomllib
from pathlib import Path

import pytest

from dictionary_pipeline.config.resolved import ConnectionSpec, DatabaseConfig
from dictionary_pipeline.config.targets import resolve_target
from dictionary_pipeline.engines.registry import create_engine, engine_names
from dictionary_pipeline.errors import ConfigurationError
from dictionary_pipeline.pipeline import run_database
from dictionary_pipeline.publishing.local import LocalStore

PAGE = Path(__file__).parents[2] / "docs" / "adding-an-engine.md"


def code_block(file: str) -> str:
    """The code block of the page that starts with the name of a file."""
    [block] = re.findall(rf"```\w+\n# {re.escape(file)}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return str(block)


def install(folder: Path, name: str, version: str, entry_points: dict[str, str]) -> None:
    """What pip leaves of a package beside its modules."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = "".join(f"{key} = {value}\n" for key, value in entry_points.items())
    (info / "entry_points.txt").write_text(f"[dictionary_pipeline.engines]\n{lines}")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages with the page's package in it."""
    folder = tmp_path / "site"
    project = tomllib.loads(code_block("pyproject.toml"))["project"]
    install(folder, project["name"], project["version"], project["entry-points"]["dictionary_pipeline.engines"])
    (folder / "dictionary_csv.py").write_text(code_block("dictionary_csv.py"), encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    importlib.invalidate_caches()
    monkeypatch.delitem(sys.modules, "dictionary_csv", raising=False)
    return folder


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the page's profile and data."""
    folder = tmp_path / "project"
    (folder / "data" / "files").mkdir(parents=True)
    (folder / "data" / "files" / "city.csv").write_text("name,country\nOslo,NO\nPorto,PT\n", encoding="utf-8")
    (folder / "profiles.yml").write_text(code_block("profiles.yml"), encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


def test_the_engine_of_the_page_describes_its_files(site: Path, project: Path, tmp_path: Path) -> None:
    connection, _ = resolve_target("profile:files", folder=None)
    assert connection.type == "csvfolder"
    summary = run_database(DatabaseConfig("files", connection), LocalStore(tmp_path / "out"))
    assert summary.exit_code == 0, (summary.error, summary.problems)
    entry = json.loads((tmp_path / "out" / "schema_store" / "files.files.city.json").read_text(encoding="utf-8"))
    assert {column["Name"]: column["SampleValues"] for column in entry["Columns"]} == {
        "name": ["Oslo", "Porto"],
        "country": ["NO", "PT"],
    }


def test_keys_that_look_like_secrets_arrive_as_secrets(site: Path, project: Path) -> None:
    text = (project / "profiles.yml").read_text().replace("folder: data/files", "folder: f\n      api_token: hush")
    (project / "profiles.yml").write_text(text)
    connection, _ = resolve_target("profile:files", folder=None)
    assert dict(connection.options) == {"folder": "f"}
    assert connection.secrets["api_token"].reveal() == "hush"
    assert "hush" not in repr(connection)


def test_a_url_of_the_engines_scheme_leads_to_it(site: Path) -> None:
    connection, name = resolve_target("csvfolder://reader:hush@host/shop", folder=None)
    assert (connection.type, name) == ("csvfolder", "shop")
    assert connection.options["url"] == "csvfolder://reader@host/shop"


def test_without_the_package_the_type_is_unknown(project: Path) -> None:
    with pytest.raises(ConfigurationError, match="unknown connection type 'csvfolder'"):
        resolve_target("profile:files", folder=None)


def test_a_package_cannot_take_over_an_engine_of_the_product(site: Path) -> None:
    install(site, "a-rival", "1", {"duckdb": "dictionary_csv:CsvEngine"})
    importlib.invalidate_caches()
    assert engine_names().count("duckdb") == 1
    assert create_engine(ConnectionSpec("duckdb", {"path": "x.duckdb"})).name == "duckdb"


def test_a_package_whose_driver_is_missing_is_named_with_it(site: Path) -> None:
    (site / "dictionary_csv.py").write_text("import no_such_driver\n")
    with pytest.raises(ConfigurationError, match='pip install "no_such_driver"'):
        create_engine(ConnectionSpec("csvfolder", {}))


def test_what_is_no_engine_is_refused(site: Path) -> None:
    (site / "dictionary_csv.py").write_text("class CsvEngine:\n    def __init__(self, spec): pass\n")
    with pytest.raises(ConfigurationError, match="dictionary_csv:CsvEngine is no Engine"):
        create_engine(ConnectionSpec("csvfolder", {}))
