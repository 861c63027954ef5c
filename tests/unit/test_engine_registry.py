"""Engines are found by type, and load nothing until then."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from dictionary_pipeline.config.resolved import ConnectionSpec
from dictionary_pipeline.engines.registry import OWN_ENGINES, create_engine, engine_names
from dictionary_pipeline.errors import ConfigurationError


def test_a_misspelt_type_gets_a_suggestion_and_its_place() -> None:
    with pytest.raises(ConfigurationError) as raised:
        create_engine(ConnectionSpec("Postgers", origin="profiles.yml:4"))
    assert str(raised.value).startswith('profiles.yml:4: there is no engine "Postgers". Did you mean "postgres"?')


def test_a_missing_driver_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("dictionary_pipeline.engines.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ConfigurationError, match=r'pip install "psycopg\[binary\]"'):
        create_engine(ConnectionSpec("postgres", {"host": "h"}))


def test_the_registry_loads_no_driver() -> None:
    code = (
        "import sys, dictionary_pipeline.engines.registry\n"
        "print([name for name in ('psycopg', 'duckdb', 'sqlalchemy', 'sqlite3') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_known_types_give_their_engine() -> None:
    assert create_engine(ConnectionSpec("postgres", {"host": "h", "dbname": "d"})).name == "postgres"


@pytest.mark.parametrize(
    ("driver", "spec", "extra"),
    [
        ("pymysql", ConnectionSpec("mysql", {"host": "h"}), r"dictionary-pipeline\[mysql\]"),
        ("mssql_python", ConnectionSpec("sqlserver", {"server": "h"}), r"dictionary-pipeline\[tsql\]"),
        ("pymssql", ConnectionSpec("sqlserver", {"url": "mssql+pymssql://h/d", "server": "h"}), "pymssql"),
    ],
)
def test_the_extra_of_a_missing_driver_is_named(
    driver: str, spec: ConnectionSpec, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("dictionary_pipeline.engines.mysql")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, driver, None)
    with pytest.raises(ConfigurationError, match=f'pip install "{extra}"'):
        create_engine(spec)


def test_every_engine_of_the_project_file_is_registered() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["dictionary_pipeline.engines"] == OWN_ENGINES
    assert set(OWN_ENGINES) <= set(engine_names())
