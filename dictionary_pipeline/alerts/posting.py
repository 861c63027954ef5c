"""Posts to a webhook. Its URL is a secret: it is read at each delivery and appears in no text."""

from __future__ import annotations

import email.utils
import errno
import http.client
import ipaddress
import re
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import SplitResult, urlsplit

from dictionary_pipeline import __version__
from dictionary_pipeline.config.alert_settings import ChannelSettings
from dictionary_pipeline.config.environment import variable
from dictionary_pipeline.errors import ConfigurationError, DictionaryError

_TEMPORARY = frozenset({408, 425, 429})
_FIX_ADDRESS = "Check the URL in {}; `data_dictionary alert-test` tries it."
_FIX_LATER = "Alerts are sent again by themselves; `data_dictionary alert-test` tries the channel now."


class DeliveryFailed(DictionaryError):
    """A channel did not take a message."""

    identifier = "DD-ALERT"

    def __init__(
        self,
        what: str,
        *,
        channel: str,
        fix: str = _FIX_LATER,
        code: str | None = None,
        is_temporary: bool = True,
        retry_after: float = 0.0,
    ) -> None:
        super().__init__(what, where=f"alert channel {channel}", fix=fix, code=code)
        self.is_temporary = is_temporary
        """Whether a moment later it may be taken."""
        self.retry_after = retry_after
        """Seconds that the receiver asked to wait."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the message, or its signature, to another place."""

    def redirect_request(self, *arguments: Any, **named: Any) -> None:
        return None


def post(settings: ChannelSettings, body: bytes, headers: Mapping[str, str] | None = None) -> str:
    """Post a JSON body and return the HTTP status.

    Raises:
        ConfigurationError: the variable with the URL is not set, or holds no URL that may be used.
        DeliveryFailed: the receiver cannot be reached or refuses.
    """
    address, parts = _address(settings)
    request = urllib.request.Request(
        address,
        body,
        {"Content-Type": "application/json", "User-Agent": f"dictionary-pipeline/{__version__}", **(headers or {})},
        method="POST",
    )
    # A proxy is for the outside only.
    proxies = [urllib.request.ProxyHandler({})] if _is_loopback(parts.hostname or "") else []
    opener = urllib.request.build_opener(_NoRedirect, *proxies)
    failure: DeliveryFailed | None = None
    try:
        with opener.open(request, timeout=settings.timeout_seconds) as answer:
            return str(answer.status)
    except urllib.error.HTTPError as refusal:
        failure = _refused(settings, refusal.code, refusal.headers.get("Retry-After"))
        refusal.close()
    except urllib.error.URLError as error:
        failure = connection_failure(settings, error.reason)
    except (OSError, http.client.HTTPException, ValueError) as error:
        failure = connection_failure(settings, error)
    # Raised outside the handlers: the client's own text names the address.
    raise failure


def connection_failure(settings: ChannelSettings, reason: object) -> DeliveryFailed:
    """What stands behind a client's exception, in the product's words."""
    if isinstance(reason, TimeoutError):
        what = f"no answer within {settings.timeout_seconds:g} seconds"
    elif isinstance(reason, socket.gaierror):
        what = "the receiver's host is unknown"
    elif isinstance(reason, ssl.SSLCertVerificationError):
        what = "the receiver's certificate is not trusted"
    elif isinstance(reason, ssl.SSLError):
        what = "no encrypted connection comes about"
    elif isinstance(reason, OSError):
        name = errno.errorcode.get(reason.errno or 0)
        what = f"the receiver cannot be reached{f' ({name})' if name else ''}"
    else:
        what = "the receiver's answer is not that of a web or mail server"
    return DeliveryFailed(what, channel=settings.name)


def _refused(settings: ChannelSettings, status: int, retry_after: str | None) -> DeliveryFailed:
    is_temporary = status in _TEMPORARY or status >= 500
    fix = _FIX_LATER if is_temporary else _FIX_ADDRESS.format(settings.url_env)
    what = f"the receiver redirects ({status})" if 300 <= status < 400 else f"the receiver answers HTTP {status}"
    return DeliveryFailed(
        what,
        channel=settings.name,
        fix=fix,
        code=str(status),
        is_temporary=is_temporary,
        retry_after=retry_seconds(retry_after, datetime.now(UTC)),
    )


def retry_seconds(header: str | None, now: datetime) -> float:
    """Seconds that a Retry-After header asks to wait (RFC 9110, 10.2.3); 0 when there is none."""
    text = (header or "").strip()
    if re.fullmatch(r"\d{1,9}", text):
        return float(text)
    try:
        moment = email.utils.parsedate_to_datetime(text) if text else None
    except ValueError:
        return 0.0
    if moment is None:
        return 0.0
    return max(0.0, (moment.astimezone(UTC) - now).total_seconds())


def _address(settings: ChannelSettings) -> tuple[str, SplitResult]:
    name, where = settings.url_env or "", f"alert channel {settings.name}"
    address = variable(name, where).strip()
    fault = "holds no web address"
    try:
        parts = urlsplit(address)
        is_usable = bool(parts.hostname) and parts.port != 0 and re.fullmatch(r"[!-~]+", address) is not None
    except ValueError:
        parts, is_usable = urlsplit(""), False
    if is_usable and parts.username is None and parts.scheme in ("http", "https"):
        if parts.scheme == "https" or _is_loopback(parts.hostname or ""):
            return address, parts
        fault = "holds an unencrypted address"
    # The value is not quoted: it is a secret.
    raise ConfigurationError(
        f"the environment variable {name} {fault}", where=where, fix="Set it to the https:// URL of the webhook."
    )


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
