"""What Azure answers, in the product's own words: one line with the repair, never the service's text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import parse_qs

from azure.core.exceptions import AzureError, ClientAuthenticationError, HttpResponseError

from dictionary_pipeline.errors import StoreError, StoreUnusable

_AGAIN = "Run again; what was published stays valid."
_THROTTLED = ("Azure limits the requests to this account at the moment", "Run again later or at a quieter time.")
_RIGHTS = (
    "this login may not do that",
    "Give it the role Storage Blob Data Contributor, or a SAS that permits read, create, write, delete and list.",
)
_GONE = ("the container does not exist", "Create it, or correct 'container' under 'publish: azure:'.")
_LEASED = ("someone else holds a lease on a blob or the container", "Break that lease in the Azure portal.")
_POLICY = (
    "an immutability policy or legal hold forbids changes",
    "Publish to a container without one: a dictionary replaces its manifest and deletes withheld values.",
)
_ENTRA = (
    "Log in with `az login`, use a managed identity ('client_id'), or set AZURE_TENANT_ID, AZURE_CLIENT_ID and "
    "AZURE_CLIENT_SECRET; the identity needs the role Storage Blob Data Contributor."
)
_ADVICE: dict[str, tuple[str, str]] = {
    "ContainerNotFound": _GONE,
    "ContainerBeingDeleted": ("the container is being deleted", "Wait a minute, create it anew, and run again."),
    "ContainerDisabled": _GONE,
    "AccountIsDisabled": ("the storage account is disabled", "Enable it, or choose another account."),
    "AuthorizationPermissionMismatch": _RIGHTS,
    "InsufficientAccountPermissions": _RIGHTS,
    "AuthorizationServiceMismatch": ("the SAS is not for blobs", "Create a SAS for the blob service."),
    "AuthorizationResourceTypeMismatch": ("the SAS is not for containers and blobs", "Allow containers and objects."),
    "AuthorizationProtocolMismatch": ("the SAS allows https only", "Write 'account_url' with https://."),
    "AuthorizationSourceIPMismatch": ("the SAS does not allow this network address", "Create a SAS that does."),
    "KeyBasedAuthenticationNotPermitted": ("the account allows no keys", "Remove the key: Entra ID is then asked."),
    "PublicAccessNotPermitted": ("the account wants a login", "Configure a key, a SAS or Entra ID."),
    "NoAuthenticationInformation": ("the account wants a login", "Configure a key, a SAS or Entra ID."),
    "LeaseIdMissing": _LEASED,
    "LeaseAlreadyPresent": _LEASED,
    "BlobImmutableDueToPolicy": _POLICY,
    "ServerBusy": _THROTTLED,
    "OperationTimedOut": _THROTTLED,
    "Md5Mismatch": ("a file was damaged on its way", _AGAIN),
    "BlobArchived": ("a file was moved to the archive tier", "Exclude these blobs from lifecycle rules."),
    "AccountBeingCreated": ("the storage account is still being made", "Run again in a few minutes."),
}
_LASTING = frozenset(_ADVICE) - {"ServerBusy", "OperationTimedOut", "Md5Mismatch", "ContainerBeingDeleted"}
_CODE = re.compile(r"[A-Za-z0-9]{1,64}")


class Login(NamedTuple):
    """How the store logs in, without any secret: for error texts."""

    kind: str
    """connection string, account key, SAS or Entra ID."""
    source: str
    """The environment variable, or the empty text."""
    expires: str | None = None
    """End of a SAS, ISO 8601."""


@dataclass(frozen=True)
class ErrorContext:
    """What error texts say about a store."""

    location: str
    login: Login

    @contextmanager
    def errors(self, key: str = "") -> Iterator[None]:
        """Turn errors of the client library into the product's own.

        Args:
            key: What is worked on; empty for the container as a whole.
        """
        try:
            yield
        except AzureError as error:
            raise self.translate(error, key) from None

    def translate(self, error: AzureError, key: str = "") -> StoreError:
        """One line for an error: what, where, how to fix it."""
        where = f"{self.location}/{key}" if key else self.location
        status, code = _status(error), _code(error)
        if code in _ADVICE:
            what, fix = _ADVICE[code]
            kind = StoreUnusable if code in _LASTING else StoreError
            return kind(what, where=self.location if what == _GONE[0] else where, fix=fix, code=code)
        if code == "InvalidHeaderValue" and _version_refused(error):
            return StoreUnusable(
                "the service does not know the API version that this client speaks",
                where=self.location,
                fix="Set 'api_version' under 'publish: azure:' to one that it knows, or upgrade the emulator.",
                code=code,
            )
        if status in (401, 403) or isinstance(error, ClientAuthenticationError):
            return self._refused(code or (str(status) if status else None))
        if status in (408, 429, 500, 502, 503, 504):
            what, fix = _THROTTLED if status in (429, 503) else ("Azure cannot answer at the moment", _AGAIN)
            return StoreError(what, where=where, fix=fix, code=code or str(status))
        if status:
            return StoreError(f"Azure refused a request (HTTP {status})", where=where, fix=_AGAIN, code=code)
        return StoreError(
            "the storage account cannot be reached",
            where=self.location,
            fix="Check 'account_url' (or the connection string), name resolution, proxy and firewall, and run again.",
        )

    def _refused(self, code: str | None) -> StoreUnusable:
        login = self.login
        named = f" in {login.source}" if login.source else ""
        if login.expires and _is_past(login.expires):
            return StoreUnusable(
                f"the SAS{named} expired at {login.expires}",
                where=self.location,
                fix="Create a new one and put it into that variable.",
                code=code,
            )
        if login.kind == "Entra ID":
            return StoreUnusable("the login by Entra ID was refused", where=self.location, fix=_ENTRA, code=code)
        fix = "Copy it again from the Azure portal (Access keys, or Shared access signature)"
        firewall = ", and check that the account's firewall allows this address."
        return StoreUnusable(
            f"the {login.kind}{named} was refused", where=self.location, fix=f"{fix}{firewall}", code=code
        )


def no_identity(location: str) -> StoreUnusable:
    """The error of a machine that has no Entra ID login."""
    return StoreUnusable("Entra ID gave no usable login", where=location, fix=_ENTRA)


def sas_expiry(token: str) -> str | None:
    """The end of a SAS token, which is no secret; null when a stored access policy says it."""
    found = parse_qs(token.lstrip("?")).get("se", [""])[0]
    return found if re.fullmatch(r"[0-9T:.Z+-]{10,40}", found) else None


def _is_past(moment: str) -> bool:
    try:
        found = datetime.fromisoformat(moment)
    except ValueError:
        return False
    return (found if found.tzinfo else found.replace(tzinfo=UTC)) <= datetime.now(UTC)


def _status(error: AzureError) -> int | None:
    return error.status_code if isinstance(error, HttpResponseError) else None


def _code(error: AzureError) -> str | None:
    """The service's error code: a word, never text."""
    found = getattr(error, "error_code", None)
    text = str(getattr(found, "value", found) or "")
    if not text and isinstance(error, HttpResponseError) and error.response is not None:
        text = getattr(error.response, "headers", {}).get("x-ms-error-code", "")
    return text if _CODE.fullmatch(text) else None


def _version_refused(error: AzureError) -> bool:
    return "x-ms-version" in str(error) or "API version" in str(error)
