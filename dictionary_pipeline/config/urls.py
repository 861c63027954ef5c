"""Database URLs: taken apart, passwords out, engine found.

An error never shows the URL, because a password with an unescaped `@`, `/` or `?` can end up in
any part of it.
"""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode

from dictionary_pipeline.config.engine_options import BY_NAME, is_secret_name
from dictionary_pipeline.config.faults import did_you_mean
from dictionary_pipeline.config.odbc import parse_odbc
from dictionary_pipeline.config.plugins import plugin_type
from dictionary_pipeline.config.resolved import ConnectionSpec, Secret
from dictionary_pipeline.config.yamlfile import user_path
from dictionary_pipeline.errors import ConfigurationError

_ENGINES = {
    "postgresql": "postgres",
    "postgres": "postgres",
    "redshift": "postgres",
    "mysql": "mysql",
    "mariadb": "mysql",
    "mssql": "sqlserver",
    "snowflake": "snowflake",
    "databricks": "databricks",
    "sqlite": "sqlite",
    "duckdb": "duckdb",
}
_ENCODE = "In a user name or password write @ as %40, : as %3A, / as %2F, ? as %3F, # as %23 and % as %25."


@dataclass(frozen=True)
class _Parts:
    scheme: str
    user: str | None
    password: str | None = field(repr=False)
    host: str
    port: str
    path: str
    """Without its leading slash, not decoded."""
    query: Mapping[str, str] = field(repr=False)


def spec_from_url(url: str, *, origin: str, folder: Path) -> ConnectionSpec:
    """Turn a SQLAlchemy or driver URL into a connection.

    Args:
        url: For example `postgresql://user:password@host/db`, `duckdb:///file.duckdb`.
        origin: Where the URL was given, for messages; never the URL.
        folder: Where relative file paths start.

    Raises:
        ConfigurationError: unknown scheme or a URL that cannot be taken apart.
    """
    parts = _split(url.strip(), origin)
    dialect = parts.scheme.partition("+")[0].lower()
    engine = _ENGINES.get(dialect) or (dialect if plugin_type(dialect) else None)
    if engine in ("sqlite", "duckdb"):
        return _file_spec(engine, parts, origin, folder)
    if engine is None and dialect not in _sqlalchemy_dialects():
        raise ConfigurationError(
            f"the URL begins with {parts.scheme + '://'!r}, which no engine answers to",
            where=origin,
            fix=did_you_mean(dialect, {*_ENGINES, *_sqlalchemy_dialects()}, noun="URL schemes"),
        )
    if engine == "sqlserver" and "odbc_connect" in parts.query:
        return spec_from_odbc(parts.query["odbc_connect"], origin=origin)
    query = {key: value for key, value in parts.query.items() if not is_secret_name(key)}
    secrets = {key: Secret.literal(value) for key, value in parts.query.items() if key not in query}
    if parts.password is not None:
        secrets["password"] = Secret.literal(parts.password)
    if engine == "postgres":
        return ConnectionSpec("postgres", _postgres_options(parts, query), secrets, origin)
    if engine == "databricks" and "password" in secrets:
        secrets.setdefault("token", secrets["password"])
    options = {**_server_options(engine or "generic", parts, query), "url": _without_password(parts, query)}
    return ConnectionSpec(engine or "generic", {**options, "query": query}, secrets, origin)


def spec_from_odbc(text: str, *, origin: str) -> ConnectionSpec:
    """Turn an ODBC connection string of SQL Server into a connection.

    Raises:
        ConfigurationError: it names no server.
    """
    parsed = parse_odbc(text)
    if parsed is None:
        raise ConfigurationError(
            "the ODBC connection string names no server",
            where=origin,
            fix="Write it like Driver={ODBC Driver 18 for SQL Server};Server=host,1433;Database=name;Uid=...;Pwd=...",
        )
    return ConnectionSpec("sqlserver", with_url("sqlserver", parsed.options), parsed.secrets, origin)


def with_url(engine: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a server together with the SQLAlchemy URL, without password, that they amount to."""
    text = {key: quote(str(value), safe="") for key, value in options.items() if not isinstance(value, Mapping)}
    host = text.get("host") or text.get("server") or ""
    place = f"{host}:{text['port']}" if "port" in text else host
    user = f"{text['user']}@" if "user" in text else ""
    database = text.get("database", "")
    if engine == "mysql":
        url = f"mysql+pymysql://{user}{place}/{database}"
    elif engine == "sqlserver":
        url = f"mssql+mssqlpython://{user}{place}/{database}"
    elif engine == "snowflake":
        query = urlencode({key: options[key] for key in ("warehouse", "role", "authenticator") if key in options})
        url = f"snowflake://{user}{text['account']}/{database}" + (f"?{query}" if query else "")
    elif engine == "databricks":
        query = urlencode({key: options[key] for key in ("http_path", "catalog")})
        url = f"databricks://token@{place}?{query}"
    else:
        return dict(options)
    return {**options, "url": url}


def has_password(url: str) -> bool:
    """Whether a URL carries a password or another secret."""
    authority = url.partition("://")[2].partition("?")[0].rpartition("@")[0]
    keys = [key for key, _ in parse_qsl(url.partition("?")[2])]  # blank values are left out
    return bool(authority.partition(":")[2]) or any(is_secret_name(key) or key == "odbc_connect" for key in keys)


def default_name(spec: ConnectionSpec) -> str:
    """Name for a database that was not given one: its database or file stem in partition-key spelling."""
    options = spec.options
    if "path" in options:
        text = Path(str(options["path"])).stem
    else:
        url_path = str(options.get("url", "")).partition("://")[2].partition("?")[0].partition("/")[2]
        keys = ("dbname", "database", "catalog")
        text = next((str(options[key]) for key in keys if options.get(key)), "") or unquote(url_path)
    return database_name(text) or database_name(str(options.get("host") or options.get("account") or "")) or "database"


def database_name(text: str) -> str:
    """Lower-cased, every character that a partition key cannot hold as `-`."""
    return re.sub(r"[^a-z0-9_-]", "-", text.lower()).strip("-").lstrip("_-")


def _split(url: str, origin: str) -> _Parts:
    scheme, separator, rest = url.partition("://")
    if not separator or not re.fullmatch(r"[A-Za-z][A-Za-z0-9+._:-]*", scheme):
        raise ConfigurationError(
            "this is not a database URL",
            where=origin,
            fix="Write it like postgresql://user:password@host:5432/database, a file like sqlite:////folder/file.db.",
        )
    rest, _, query_text = rest.partition("?")
    authority, _, path = rest.partition("/")
    user_info, _, host_port = authority.rpartition("@")
    user, colon, password = user_info.partition(":")
    host, port = _host_and_port(host_port)
    stray = "@" in path or ("@" in query_text.partition("&")[0].partition("=")[0])
    is_file = _ENGINES.get(scheme.partition("+")[0].lower()) in ("sqlite", "duckdb")
    if not is_file and (stray or not re.fullmatch(r"[0-9,]*", port)):
        raise ConfigurationError("the URL cannot be taken apart into user, host and port", where=origin, fix=_ENCODE)
    query: dict[str, str] = {}
    for key, value in parse_qsl(query_text, keep_blank_values=True):
        query[key] = f"{query[key]},{value}" if key in query else value
    return _Parts(
        scheme, unquote(user) if user else None, unquote(password) if colon else None, host, port, path, query
    )


def _host_and_port(text: str) -> tuple[str, str]:
    """Host and port, comma-separated lists when several hosts are given (PostgreSQL)."""
    hosts, ports = [], []
    for item in text.split(","):
        if item.startswith("["):
            host, _, tail = item[1:].partition("]")
            port = tail.removeprefix(":")
        else:
            host, _, port = item.partition(":")
        hosts.append(unquote(host))
        ports.append(port)
    return ",".join(hosts), ",".join(ports) if any(ports) else ""


def _port(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


def _postgres_options(parts: _Parts, query: dict[str, str]) -> dict[str, Any]:
    """libpq's parameters (`host`, `sslmode`, ...) may stand in the query; they are options like the others."""
    options: dict[str, Any] = {
        "host": parts.host or None,
        "port": _port(parts.port) if parts.port else None,
        "user": parts.user or query.pop("user", None),
        "dbname": unquote(parts.path) or query.pop("dbname", None),
    }
    given = {key: value for key, value in options.items() if value is not None}
    return {**query, **given, "query": query}


def _server_options(engine: str, parts: _Parts, query: Mapping[str, str]) -> dict[str, Any]:
    names = [unquote(name) for name in parts.path.split("/") if name]
    port = _port(parts.port) if parts.port else None
    options: dict[str, Any] = {"user": parts.user, "host": parts.host, "port": port}
    if engine == "snowflake":
        options |= {"account": parts.host, "host": None, "database": next(iter(names), None)}
        options |= {key: query.get(key) for key in ("warehouse", "role", "authenticator")}
    elif engine == "databricks":
        options |= {"user": None, "http_path": query.get("http_path"), "catalog": query.get("catalog")}
    elif engine == "sqlserver":
        options |= {"server": parts.host, "host": None, "database": next(iter(names), None)}
        options |= {"driver": query.get("driver")}
    else:
        options |= {"database": unquote(parts.path)}
    return {key: value for key, value in options.items() if value not in (None, "")}


def _without_password(parts: _Parts, query: Mapping[str, str]) -> str:
    user = f"{quote(parts.user, safe='')}@" if parts.user else ""
    hosts = parts.host if ":" not in parts.host else f"[{parts.host}]"
    port = f":{parts.port}" if parts.port else ""
    tail = f"?{urlencode(query)}" if query else ""
    return f"{parts.scheme}://{user}{hosts}{port}/{parts.path}{tail}"


def _file_spec(engine: str, parts: _Parts, origin: str, folder: Path) -> ConnectionSpec:
    path = parts.path.removeprefix("file:")
    if parts.host or parts.user:
        raise ConfigurationError(
            "the URL names a host where a file path belongs",
            where=origin,
            fix=f"Write {engine}:///relative/path or {engine}:////absolute/path, with three or four slashes.",
        )
    return ConnectionSpec(engine, {"path": file_path(path, origin=origin, folder=folder)}, {}, origin)


def file_path(text: str, *, origin: str, folder: Path) -> str:
    """The absolute path of a database file.

    Raises:
        ConfigurationError: an in-memory or remote database, which has nothing to read here.
    """
    if text in ("", ":memory:"):
        raise ConfigurationError(
            "an in-memory database holds nothing to describe", where=origin, fix="Give the path of a database file."
        )
    if re.match(r"[A-Za-z][A-Za-z0-9+]+:", text):
        raise ConfigurationError(
            "the path is not a local file", where=origin, fix="Give the path of a database file on this machine."
        )
    return str((folder / user_path(text)).absolute())


def _sqlalchemy_dialects() -> set[str]:
    """Dialects that SQLAlchemy brings along or an installed package registers."""
    registered = {
        entry.name.partition(".")[0] for entry in importlib.metadata.entry_points(group="sqlalchemy.dialects")
    }
    return registered | {"oracle"}


def same_engine(declared: str, spec: ConnectionSpec) -> bool:
    """Whether a URL's engine is the one that `type:` announced; `sqlalchemy` fits every URL."""
    kind = BY_NAME[declared].name if declared in BY_NAME else declared
    return kind in ("generic", spec.type)
