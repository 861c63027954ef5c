"""Connections from the environment variables of the Text2SQL accelerator's data-dictionary creator."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from dictionary_pipeline.config.environment import missing_variable, variable
from dictionary_pipeline.config.resolved import ConnectionSpec, Secret
from dictionary_pipeline.config.urls import file_path, spec_from_odbc, spec_from_url, with_url
from dictionary_pipeline.errors import ConfigurationError


class Engine(NamedTuple):
    """An engine of the predecessor."""

    prefix: str
    """Middle part of its variables: `Text2Sql__<prefix>__Database`."""
    type: str
    """`ConnectionSpec.type`."""
    variables: dict[str, str]
    """Last part of a variable -> option."""
    optional: frozenset[str] = frozenset()
    secret: str = "Password"
    has_string: bool = False

    def name(self, part: str) -> str:
        """Full name of a variable."""
        return f"Text2Sql__{self.prefix}__{part}"


ENGINES: dict[str, Engine] = {
    "postgres": Engine(
        "Postgres",
        "postgres",
        {"ServerHostname": "host", "Port": "port", "User": "user", "Database": "dbname"},
        frozenset({"Port"}),
        has_string=True,
    ),
    "tsql": Engine(
        "Tsql",
        "sqlserver",
        {"ServerHostname": "server", "Port": "port", "User": "user", "Database": "database"},
        frozenset({"Port"}),
        has_string=True,
    ),
    "snowflake": Engine(
        "Snowflake",
        "snowflake",
        {"Account": "account", "User": "user", "Warehouse": "warehouse", "Database": "database"},
    ),
    "databricks": Engine(
        "Databricks",
        "databricks",
        {"ServerHostname": "host", "HttpPath": "http_path", "Catalog": "catalog"},
        secret="AccessToken",
    ),
    "sqlite": Engine("Sqlite", "sqlite", {"Database": "path"}, secret=""),
}
"""By the engine's name on the command line, lower-cased."""


def variable_names() -> tuple[str, ...]:
    """Every variable that is read here."""
    names: list[str] = []
    for engine in ENGINES.values():
        parts = [*(["ConnectionString"] if engine.has_string else []), *engine.variables, engine.secret]
        names += [engine.name(part) for part in parts if part]
    return tuple(names)


def predecessor_connection(engine_name: str, *, folder: Path) -> ConnectionSpec:
    """The connection that the predecessor would use for an engine.

    Args:
        engine_name: A key of `ENGINES`.
        folder: Where a relative SQLite path starts.

    Raises:
        ConfigurationError: a variable is missing or contradicts another.
    """
    engine = ENGINES[engine_name]
    origin = f"the variables Text2Sql__{engine.prefix}__*"
    string_name = engine.name("ConnectionString")
    if engine.has_string and string_name in os.environ:
        return _from_string(engine, os.environ[string_name], folder)
    options: dict[str, object] = {}
    for part, option in engine.variables.items():
        value = os.environ.get(engine.name(part))
        if value is None and part not in engine.optional:
            raise _missing(engine, part)
        if value is not None:
            options[option] = _port(value, engine.name(part)) if part == "Port" else value
    if engine.type == "sqlite":
        where = engine.name("Database")
        return ConnectionSpec(
            "sqlite", {"path": file_path(str(options["path"]), origin=where, folder=folder)}, {}, origin
        )
    secret_name = engine.name(engine.secret)
    if secret_name not in os.environ:
        raise _missing(engine, engine.secret)
    secret = Secret(lambda: variable(secret_name, origin))
    key = "token" if engine.secret == "AccessToken" else "password"
    return ConnectionSpec(engine.type, with_url(engine.type, options), {key: secret, "password": secret}, origin)


def _from_string(engine: Engine, text: str, folder: Path) -> ConnectionSpec:
    where = engine.name("ConnectionString")
    if engine.type == "sqlserver" and "://" not in text:
        spec = spec_from_odbc(text, origin=where)
    else:
        spec = spec_from_url(text, origin=where, folder=folder)
    if spec.type != engine.type:
        raise ConfigurationError(
            f"the URL is for {spec.type}, not for {engine.type}", where=where, fix=f"Use 'build env:{where}' for it."
        )
    option = engine.variables["Database"]
    named, wanted = spec.options.get(option), os.environ.get(engine.name("Database"))
    if named and wanted and str(named).casefold() != wanted.casefold():
        # The predecessor silently read one database and published it under the other's name.
        raise ConfigurationError(
            f"{engine.name('Database')} names another database than {where}",
            where="the environment",
            fix=f"Make the two agree, or unset {engine.name('Database')}.",
        )
    if not named and wanted:
        options = {**spec.options, option: wanted}
        return ConnectionSpec(spec.type, with_url(spec.type, options), spec.secrets, spec.origin)
    return spec


def _port(text: str, name: str) -> int:
    if not text.strip().isdecimal():
        raise ConfigurationError("must be a whole number", where=name, fix="Set it to the port, e.g. 5432.")
    return int(text)


def _missing(engine: Engine, part: str) -> ConfigurationError:
    name = engine.name(part)
    error = missing_variable(name, f"engine {engine.prefix.lower()}")
    if engine.has_string:
        error = missing_variable(f"{name} (or {engine.name('ConnectionString')})", f"engine {engine.prefix.lower()}")
        return ConfigurationError(error.what, where=error.where, fix=f"Add the line {name}=... to .env, or export it.")
    return error
