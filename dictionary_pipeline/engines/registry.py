"""Finds the engine module for a connection; modules and their drivers load only when used."""

from __future__ import annotations

import difflib
import importlib
from typing import cast

from dictionary_pipeline.config.resolved import ConnectionSpec
from dictionary_pipeline.engines.base import Engine
from dictionary_pipeline.errors import ConfigurationError

_GENERIC = ("generic", "GenericEngine")

_ENGINES = {
    "postgres": ("postgres", "PostgresEngine"),
    "duckdb": ("duckdb", "DuckDBEngine"),
    "sqlite": ("sqlite", "SQLiteEngine"),
    "snowflake": _GENERIC,
    "databricks": _GENERIC,
    "sqlserver": _GENERIC,
    "mysql": _GENERIC,
    "generic": _GENERIC,
}
"""Engine name -> module beside this one and its class."""

_PACKAGES = {"psycopg": "psycopg[binary]"}
"""Import name -> name of the package to install, where they differ."""


def engine_names() -> tuple[str, ...]:
    """Names that a connection's `type` can have."""
    return tuple(_ENGINES)


def create_engine(spec: ConnectionSpec) -> Engine:
    """The engine for a connection; nothing is connected yet.

    Raises:
        ConfigurationError: Unknown type, missing driver, or unusable settings.
    """
    if spec.type not in _ENGINES:
        near = difflib.get_close_matches(spec.type.lower(), _ENGINES, n=1)
        hint = f'Did you mean "{near[0]}"? ' if near else ""
        raise ConfigurationError(
            f'there is no engine "{spec.type}"',
            where=spec.origin or None,
            fix=f"{hint}Known types: {', '.join(_ENGINES)}; any other SQLAlchemy URL is of type generic.",
        )
    module_name, class_name = _ENGINES[spec.type]
    try:
        module = importlib.import_module(f"{__package__}.{module_name}")
    except ImportError as error:
        driver = (error.name or module_name).partition(".")[0]
        if driver == "dictionary_pipeline":
            raise
        raise ConfigurationError(
            f"the driver for {spec.type} is not installed",
            where=spec.origin or None,
            fix=f'Install it: pip install "{_PACKAGES.get(driver, driver)}".',
        ) from error
    return cast(Engine, getattr(module, class_name)(spec))
