"""The SQLAlchemy URL of a connection; secrets join it only when connecting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc

from dictionary_pipeline.config.resolved import ConnectionSpec
from dictionary_pipeline.errors import ConfigurationError

_DRIVERS: Mapping[str, str] = {"mysql": "mysql+pymysql", "mariadb": "mariadb+pymysql", "mssql": "mssql+mssqlpython"}
"""Drivers that install from a wheel alone, for URLs and types that name none."""
_TYPES: Mapping[str, str] = {"mysql": "mysql", "sqlserver": "mssql"}
_SQLSERVER_QUERY: Mapping[str, str] = {
    "authentication": "Authentication",
    "trusted_connection": "Trusted_Connection",
    "encrypt": "Encrypt",
    "trust_cert": "TrustServerCertificate",
}


def connection_url(spec: ConnectionSpec) -> sa.URL:
    """The URL without secrets, from `options["url"]` or from single options.

    Raises:
        ConfigurationError: No URL can be made of the options.
    """
    given = spec.options.get("url")
    try:
        url = sa.make_url(str(given)) if given else _from_options(spec)
    except (exc.ArgumentError, ValueError):
        raise ConfigurationError(
            "the database URL cannot be read",
            where=spec.origin or None,
            fix="Write it as `dialect+driver://user@host:port/database`; characters such as @ and / in a part must be"
            " percent-encoded.",
        ) from None
    return url.set(drivername=_DRIVERS.get(url.drivername, url.drivername))


def with_secrets(url: sa.URL, spec: ConnectionSpec) -> sa.URL:
    """The URL with the password in its place and the other secrets as parameters; never to be kept or shown."""
    secrets = {key: secret.reveal() for key, secret in spec.secrets.items()}
    password = secrets.pop("password", None)
    url = url.update_query_dict(secrets)
    return url if password is None else url.set(password=password)


def _from_options(spec: ConnectionSpec) -> sa.URL:
    dialect = _TYPES.get(spec.type)
    if dialect is None:
        raise ConfigurationError(
            f"a connection of type {spec.type} needs a SQLAlchemy URL",
            where=spec.origin or None,
            fix="Set `url:` to it.",
        )
    options = spec.options
    port = options.get("port")
    return sa.URL.create(
        dialect,
        username=options.get("user"),
        host=options.get("host") or options.get("server"),
        port=None if port is None else int(port),
        database=options.get("database") or options.get("dbname"),
        query=_query(dialect, options),
    )


def _query(dialect: str, options: Mapping[str, Any]) -> dict[str, str]:
    query = {str(key): str(value) for key, value in (options.get("query") or {}).items()}
    if dialect == "mssql":
        found = {name: options[key] for key, name in _SQLSERVER_QUERY.items() if options.get(key) is not None}
        query |= {name: {True: "yes", False: "no"}.get(value, str(value)) for name, value in found.items()}
    elif options.get("ssl_disabled"):
        query["ssl_disabled"] = "true"
    return query
