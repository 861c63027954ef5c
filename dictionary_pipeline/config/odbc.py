"""ODBC connection strings of SQL Server, as the predecessor and `odbc_connect=` URLs use them."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from dictionary_pipeline.config.engine_options import is_secret_name
from dictionary_pipeline.config.resolved import Secret

_KEYS = {
    "driver": "driver",
    "server": "server",
    "address": "server",
    "addr": "server",
    "data source": "server",
    "database": "database",
    "initial catalog": "database",
    "uid": "user",
    "user": "user",
    "user id": "user",
    "authentication": "authentication",
    "trusted_connection": "trusted_connection",
    "integrated security": "trusted_connection",
    "encrypt": "encrypt",
    "trustservercertificate": "trust_cert",
}
_PAIR = re.compile(r"\s*([^=;]+?)\s*=\s*(\{(?:[^}]|\}\})*\}|[^;]*)\s*(?:;|$)")


class OdbcString(NamedTuple):
    """A connection string in the keys of a `sqlserver` profile."""

    options: dict[str, Any]
    secrets: dict[str, Secret]


def parse_odbc(text: str) -> OdbcString | None:
    """Take an ODBC connection string apart; null when it names no server."""
    options: dict[str, Any] = {}
    secrets: dict[str, Secret] = {}
    for found in _PAIR.finditer(text):
        key, value = found[1].lower(), found[2].strip()
        if value.startswith("{"):
            value = value[1:-1].replace("}}", "}")
        if is_secret_name(key):
            secrets["password" if key in ("pwd", "password") else key] = Secret.literal(value)
        elif key in _KEYS:
            options.setdefault(_KEYS[key], value)
    server = re.fullmatch(r"(?:tcp:|np:|lpc:)?([^,]*)(?:,\s*(\d+))?", options.get("server", ""), re.IGNORECASE)
    if server is None or not server[1]:
        return None
    options["server"] = server[1].strip()
    if server[2]:
        options["port"] = int(server[2])
    for key in ("trusted_connection", "encrypt", "trust_cert"):
        if key in options:
            options[key] = str(options[key]).lower() in ("yes", "true", "sspi", "mandatory", "strict", "1")
    return OdbcString(options, secrets)
