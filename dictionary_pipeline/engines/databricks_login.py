"""Arguments of the Databricks connector's `connect` from a connection of the configuration.

Secrets are revealed here and nowhere else, at the moment of connecting.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

import urllib3

from dictionary_pipeline.config.resolved import ConnectionSpec
from dictionary_pipeline.errors import AuthenticationFailed, ConfigurationError, ConnectionFailed

STATEMENT_SECONDS = 120
"""Time-out of a statement for which the caller sets none."""

_EARLY_S = 60
"""A token is replaced so long before it ends."""
_TLS_CHECKS = frozenset({"_tls_no_verify", "_tls_verify_hostname", "_tls_trusted_ca_file", "_tls_client_cert_file"})


def connect_arguments(spec: ConnectionSpec) -> dict[str, Any]:
    """Arguments of `databricks.sql.connect`; never to be kept or shown.

    What `connect_args` of the configuration says wins over what follows from single options.

    Raises:
        ConfigurationError: no host, HTTP path or credentials.
    """
    options = spec.options
    for key in ("host", "http_path", "catalog"):
        if not options.get(key):
            raise ConfigurationError(
                f"the Databricks connection names no {key}",
                where=spec.origin or None,
                fix="Write databricks://token:TOKEN@HOST?http_path=PATH&catalog=CATALOG, or set "
                f"`{key}:` in the profile.",
            )
    http_path = str(options["http_path"])
    arguments: dict[str, Any] = {
        "server_hostname": str(options["host"]),
        "http_path": http_path,
        "user_agent_entry": "dictionary_pipeline",
        # The connector's own usage reports go to another address and hold up the first statement.
        "enable_telemetry": False,
        "_socket_timeout": STATEMENT_SECONDS + 30,
        "_retry_stop_after_attempts_count": 10,
        "_retry_stop_after_attempts_duration": STATEMENT_SECONDS,
        # The connector waits so long at least between attempts, whatever the server asks for.
        "_retry_delay_max": 5,
        "session_configuration": _session(http_path),
    }
    if options.get("port"):
        arguments["_port"] = int(options["port"])
    arguments |= {key: _plain(value) for key, value in _query(spec).items()}
    extra = dict(options.get("connect_args") or {})
    settings = {**arguments["session_configuration"], **(extra.pop("session_configuration", None) or {})}
    arguments |= {**extra, "session_configuration": settings}
    return {**arguments, **_credentials(spec, arguments)}


def _session(http_path: str) -> dict[str, str]:
    """UTC and a time-out; clusters know neither of a warehouse's parameters."""
    if "/protocolv1/" in http_path:
        return {"spark.sql.session.timeZone": "UTC"}
    return {"TIMEZONE": "UTC", "STATEMENT_TIMEOUT": str(STATEMENT_SECONDS)}


def _query(spec: ConnectionSpec) -> Mapping[str, str]:
    query: Mapping[str, str] = spec.options.get("query") or {}
    for key in sorted(_TLS_CHECKS & query.keys()):
        raise ConfigurationError(
            f"the URL may not set {key}",
            where=spec.origin or None,
            fix="Use a profile and set it under `connect_args:` there.",
        )
    return {key: value for key, value in query.items() if key not in ("http_path", "catalog")}


def _plain(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    return int(text) if text.isdecimal() else text


def _credentials(spec: ConnectionSpec, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The way to log in that the configuration names or that its secrets imply."""
    secrets, options = spec.secrets, spec.options
    method, client = str(options.get("auth_type") or ""), options.get("client_id")
    if "client_secret" in secrets and client:
        if method == "azure-sp-m2m":
            azure = {"azure_client_id": str(client), "azure_client_secret": secrets["client_secret"].reveal()}
            return {"auth_type": method, **azure}
        principal = ServicePrincipal(_base(arguments), str(client), secrets["client_secret"].reveal)
        principal.log_in()
        return {"credentials_provider": principal}
    if "token" in secrets:
        return {"access_token": secrets["token"].reveal()}
    if method in ("oauth", "databricks-oauth", "azure-oauth"):
        return {"auth_type": "databricks-oauth" if method == "oauth" else method}
    if arguments.get("_use_cert_as_auth"):
        return {}
    raise ConfigurationError(
        "the Databricks connection has no credentials",
        where=spec.origin or None,
        fix="Set `token:`, or `client_id:` and `client_secret:` of a service principal, or `auth_type: oauth`.",
    )


def _base(arguments: Mapping[str, Any]) -> str:
    """Scheme and host that answer for OAuth."""
    if uri := arguments.get("_connection_uri"):
        parts = urlsplit(str(uri))
        return f"{parts.scheme}://{parts.netloc}"
    return f"https://{arguments['server_hostname']}"


class ServicePrincipal:
    """OAuth for machines: tokens for a client id and secret, replaced before they end.

    It has the form that the connector expects of its `credentials_provider`. Source: Databricks
    documentation, "Authorize service principal access with OAuth".
    """

    def __init__(self, base: str, client_id: str, secret: Callable[[], str]) -> None:
        self._url = f"{base}/oidc/v1/token"
        self._client_id = client_id
        self._secret = secret
        self._token = ""
        self._ends = 0.0

    def auth_type(self) -> str:
        """Name of the method, asked for by the connector."""
        return "oauth-m2m"

    def __call__(self) -> Callable[[], dict[str, str]]:
        """What gives the headers of a request."""
        return self._headers

    def log_in(self) -> None:
        """Fetch a token where there is none that lasts.

        Raises:
            AuthenticationFailed: the client id or secret is wrong.
            ConnectionFailed: the service could not be reached.
        """
        if time.monotonic() >= self._ends - _EARLY_S:
            self._token, seconds = self._fetch()
            self._ends = time.monotonic() + seconds

    def _headers(self) -> dict[str, str]:
        self.log_in()
        return {"Authorization": f"Bearer {self._token}"}

    def _fetch(self) -> tuple[str, float]:
        try:
            answer = urllib3.PoolManager(timeout=30).request(
                "POST",
                self._url,
                body=urlencode({"grant_type": "client_credentials", "scope": "all-apis"}),
                headers={
                    "Content-Type": "application/x-www-form-urlencoded",
                    **urllib3.make_headers(basic_auth=f"{self._client_id}:{self._secret()}"),
                },
            )
        except urllib3.exceptions.HTTPError:
            raise ConnectionFailed(
                "the OAuth service could not be reached", where=self._url, fix="Check host and network, then run again."
            ) from None
        if answer.status in (400, 401, 403):
            raise AuthenticationFailed(
                "the OAuth service refused the service principal",
                where=self._url,
                fix="Correct client_id and client_secret (secrets expire); this is not tried again.",
                code=str(answer.status),
            )
        try:
            content = json.loads(answer.data)
            return str(content["access_token"]), float(content.get("expires_in", 3600))
        except (ValueError, KeyError, TypeError):
            raise ConnectionFailed(
                "the OAuth service did not answer with a token",
                where=self._url,
                fix="Check that the host is a Databricks workspace, then run again.",
                code=str(answer.status),
            ) from None
