"""Finds the engine for a connection; modules and their drivers load only when used.

Engines are the entry points of group `dictionary_pipeline.engines`, so that an installed package adds
one without any change here. The product's own are registered there too, but do not depend on it: a
checkout or an account that cannot read the installation's metadata must still find them.
"""

from __future__ import annotations

import difflib
import importlib.metadata

from dictionary_pipeline.config.plugins import GROUP
from dictionary_pipeline.config.resolved import ConnectionSpec
from dictionary_pipeline.engines.base import Engine
from dictionary_pipeline.errors import ConfigurationError

_OWN = "dictionary-pipeline"
OWN_ENGINES = {
    name: f"dictionary_pipeline.engines.{name}:{kind}"
    for name, kind in (
        ("postgres", "PostgresEngine"),
        ("duckdb", "DuckDBEngine"),
        ("sqlite", "SQLiteEngine"),
        ("snowflake", "SnowflakeEngine"),
        ("databricks", "DatabricksEngine"),
        ("sqlserver", "SQLServerEngine"),
        ("mysql", "MySQLEngine"),
        ("generic", "GenericEngine"),
    )
}
"""The entry points of pyproject.toml."""
_PACKAGES = {
    "psycopg": "psycopg[binary]",
    "pymysql": f"{_OWN}[mysql]",
    "mssql_python": f"{_OWN}[tsql]",
    "snowflake": "snowflake-connector-python",
    "databricks": "databricks-sql-connector[pyarrow]",
}
"""Import name -> what to install, where it is not the package of that name."""


def engine_names() -> tuple[str, ...]:
    """Names that a connection's `type` can have."""
    return tuple(_found())


def create_engine(spec: ConnectionSpec) -> Engine:
    """The engine for a connection; nothing is connected yet.

    Raises:
        ConfigurationError: Unknown type, missing driver, or unusable settings.
    """
    found = _found()
    where = spec.origin or None
    if spec.type not in found:
        near = difflib.get_close_matches(spec.type.lower(), found, n=1)
        hint = f'Did you mean "{near[0]}"? ' if near else ""
        raise ConfigurationError(
            f'there is no engine "{spec.type}"',
            where=where,
            fix=f"{hint}Known types: {', '.join(found)}; any other SQLAlchemy URL is of type generic.",
        )
    entry = found[spec.type]
    try:
        engine = entry.load()(spec)
    except ImportError as error:
        driver = (error.name or entry.module).partition(".")[0]
        if driver == "dictionary_pipeline":
            raise
        raise ConfigurationError(
            f"the driver for {spec.type} is not installed",
            where=where,
            fix=f'Install it: pip install "{_PACKAGES.get(driver, driver)}".',
        ) from error
    if not isinstance(engine, Engine):
        raise ConfigurationError(
            f"the package that brings the engine {spec.type} is wrong: {entry.value} is no Engine",
            where=where,
            fix="Tell its maintainers, or uninstall it.",
        )
    return engine


def _found() -> dict[str, importlib.metadata.EntryPoint]:
    """Engine name -> entry point; the product's own names cannot be taken over."""
    found = {name: importlib.metadata.EntryPoint(name, value, GROUP) for name, value in OWN_ENGINES.items()}
    for entry in sorted(importlib.metadata.entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)):
        found.setdefault(entry.name, entry)
    return found
