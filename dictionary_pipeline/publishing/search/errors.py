"""What the search service answers, in the product's own words: one line with the repair, never its text."""

from __future__ import annotations

import re
from typing import ClassVar

from azure.core.exceptions import AzureError, ClientAuthenticationError, HttpResponseError

from dictionary_pipeline.config.search_settings import SearchSettings
from dictionary_pipeline.errors import DictionaryError, Scope

PASSING = frozenset({408, 429, 500, 502, 503, 504})
"""Statuses that may be another one a moment later."""
_AGAIN = "Run `data_dictionary push-search` again; what was pushed is not pushed twice."
_CODE = re.compile(r"[A-Za-z0-9_]{1,64}")
_ROLES = "'Search Service Contributor' and 'Search Index Data Contributor'"
_ENTRA = (
    "Log in with `az login`, use a managed identity ('client_id'), or set AZURE_TENANT_ID, AZURE_CLIENT_ID and "
    f"AZURE_CLIENT_SECRET; the identity needs the roles {_ROLES}, and the service must allow role-based access."
)


class SearchUnavailable(DictionaryError):
    """The search service could not be reached, or failed."""

    identifier = "DD-SEARCH"
    scope: ClassVar[Scope] = "search"
    retryable = True


class SearchUnusable(SearchUnavailable):
    """The search service cannot be used like this, and trying again will not help."""

    identifier = "DD-SEARCH-UNUSABLE"
    retryable = False


def translate(error: AzureError, settings: SearchSettings, index: str = "") -> SearchUnavailable:
    """One line for an error: what, where, how to fix it.

    Args:
        index: The index that a request was about.
    """
    where = f"{settings.endpoint}/indexes/{index}" if index else settings.endpoint
    status, code = _status(error), _code(error)
    if status in (401, 403) or isinstance(error, ClientAuthenticationError):
        return _refused(settings, code)
    if status == 429:
        return SearchUnavailable(
            "the search service limits the requests at the moment", where=where, fix=_AGAIN, code=code
        )
    if status in PASSING:
        return SearchUnavailable("the search service cannot answer at the moment", where=where, fix=_AGAIN, code=code)
    if status == 400:
        return SearchUnusable(
            "the search service refuses the request",
            where=where,
            fix="Look at the index in the Azure portal: its fields, and the limits of the service's tier. Another name "
            "under 'search: indexes:' makes a new one.",
            code=code,
        )
    if status == 404:
        return SearchUnusable(
            "the search service does not know what it is asked for",
            where=where,
            fix="Check 'endpoint' under 'search:'; the index may have been deleted meanwhile, then push again.",
            code=code,
        )
    if status == 413:
        return SearchUnusable(
            "a document is larger than the search service accepts", where=where, fix="Exclude that table.", code=code
        )
    if status:
        return SearchUnavailable(
            f"the search service refused a request (HTTP {status})", where=where, fix=_AGAIN, code=code
        )
    return SearchUnavailable(
        "the search service cannot be reached",
        where=settings.endpoint,
        fix="Check 'endpoint' under 'search:', name resolution, proxy and firewall, and push again.",
    )


def no_identity(settings: SearchSettings) -> SearchUnusable:
    """The error of a machine that has no Entra ID login."""
    return SearchUnusable("Entra ID gave no usable login", where=settings.endpoint, fix=_ENTRA)


def conflict(settings: SearchSettings, index: str, field: str, what: str) -> SearchUnusable:
    """The error of an index that exists with other fields."""
    return SearchUnusable(
        f"the index exists, and its field {field} {what}",
        where=f"{settings.endpoint}/indexes/{index}",
        fix="Delete the index if nothing else uses it, or name another one under 'search: indexes:'.",
    )


def is_missing(error: HttpResponseError) -> bool:
    """Whether what was asked for is not there."""
    return _status(error) == 404


def _refused(settings: SearchSettings, code: str | None) -> SearchUnusable:
    if settings.api_key_env is None:
        what = "the login by Entra ID was refused"
        return SearchUnusable(what, where=settings.endpoint, fix=_ENTRA, code=code)
    return SearchUnusable(
        f"the key in {settings.api_key_env} was refused",
        where=settings.endpoint,
        fix="Copy an admin key (not a query key) again from the Azure portal, and check that the service allows keys "
        "and, in its firewall, this address.",
        code=code,
    )


def _status(error: AzureError) -> int | None:
    return error.status_code if isinstance(error, HttpResponseError) else None


def _code(error: AzureError) -> str | None:
    """The service's error code: a word, never text; else the status."""
    found = getattr(getattr(error, "error", None), "code", None)
    status = _status(error)
    return found if isinstance(found, str) and _CODE.fullmatch(found) else str(status) if status else None
