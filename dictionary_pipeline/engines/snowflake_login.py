"""Arguments of the Snowflake connector's `connect` from a connection of the configuration.

Secrets are revealed here and nowhere else, at the moment of connecting.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dictionary_pipeline.config.resolved import ConnectionSpec
from dictionary_pipeline.errors import ConfigurationError

STATEMENT_SECONDS = 120
"""Time-out of a statement for which the caller sets none."""
_GRACE_SECONDS = 30
"""How much longer than the server the client waits before it gives a statement up."""

_OPTIONS = ("account", "user", "database", "warehouse", "role", "authenticator", "host", "port", "protocol")
_MORE_OPTIONS = {"private_key_path": "private_key_file", "oauth_client_id": "oauth_client_id"}
_SECRETS = {
    "password": "password",
    "token": "token",
    "private_key": "private_key",
    "private_key_passphrase": "private_key_password",
    "oauth_client_secret": "oauth_client_secret",
}
"""Name in the configuration -> argument of the connector."""
_NOT_IN_A_URL = frozenset(
    {"private_key_file", "token_file_path", "connection_name", "connections_file_path", "crl_cache_dir"}
    | {"connection_diag_log_path", "unsafe_file_write", "unsafe_skip_config_file_permissions_check"}
    | {"crl_unsafe_skip_file_permissions_check", "tls_skip_verify", "verify_certificates", "verify_hostname"}
)
"""Arguments that name local files or relax a check; a URL is passed around too easily to carry them."""


def connect_arguments(spec: ConnectionSpec) -> dict[str, Any]:
    """Arguments of `snowflake.connector.connect`; never to be kept or shown.

    What `connect_args` of the configuration says wins over what follows from single options.

    Raises:
        ConfigurationError: no account or database, or a URL with arguments that do not belong there.
    """
    options = spec.options
    given = {key: options[key] for key in _OPTIONS if options.get(key) not in (None, "")}
    given["account"] = str(given.get("account", "")).removesuffix(".snowflakecomputing.com")
    given |= {argument: options[key] for key, argument in _MORE_OPTIONS.items() if options.get(key)}
    given |= {_SECRETS[key]: secret.reveal() for key, secret in spec.secrets.items() if key in _SECRETS}
    extra = dict(options.get("connect_args") or {})
    arguments = {**_defaults(), **_from_query(spec), **given, **extra}
    arguments["session_parameters"] = {**_session_parameters(), **(extra.get("session_parameters") or {})}
    if "authenticator" not in arguments and (method := _method(arguments)) is not None:
        arguments["authenticator"] = method
    for key in ("account", "database"):
        if not arguments.get(key):
            raise ConfigurationError(
                f"the Snowflake connection names no {key}",
                where=spec.origin or None,
                fix=f"Write snowflake://USER@ACCOUNT/DATABASE?warehouse=WAREHOUSE, or set `{key}:` in the profile.",
            )
    return arguments


def _defaults() -> dict[str, Any]:
    return {
        "application": "dictionary_pipeline",
        "login_timeout": 60,
        "query_timeout": STATEMENT_SECONDS + _GRACE_SECONDS,
        "client_store_temporary_credential": False,
        "enable_server_session_keep_alive_auto_detection": True,
    }


def _session_parameters() -> dict[str, Any]:
    return {
        "QUERY_TAG": "dictionary_pipeline",
        "STATEMENT_TIMEOUT_IN_SECONDS": STATEMENT_SECONDS,
        "TIMEZONE": "UTC",
        "BINARY_OUTPUT_FORMAT": "HEX",
        "QUOTED_IDENTIFIERS_IGNORE_CASE": False,
    }


def _from_query(spec: ConnectionSpec) -> dict[str, Any]:
    """What stands after `?` in a URL, apart from the options that have names of their own."""
    query: Mapping[str, str] = spec.options.get("query") or {}
    for key in sorted(query):
        if key.lower() in _NOT_IN_A_URL:
            raise ConfigurationError(
                f"the URL may not set {key}",
                where=spec.origin or None,
                fix="Use a profile and set it under `connect_args:` there.",
            )
    return {key: _plain(value) for key, value in query.items()}


def _plain(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    return int(text) if text.isdecimal() else text


def _method(arguments: Mapping[str, Any]) -> str | None:
    """The way to log in that the given secrets imply, where the configuration does not say."""
    if "private_key" in arguments or "private_key_file" in arguments:
        return "SNOWFLAKE_JWT"
    if "oauth_client_secret" in arguments:
        return "OAUTH_CLIENT_CREDENTIALS"
    if "workload_identity_provider" in arguments:
        return "WORKLOAD_IDENTITY"
    return "PROGRAMMATIC_ACCESS_TOKEN" if "token" in arguments else None
