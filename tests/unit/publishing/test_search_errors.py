"""What the search service answers is one line of the product's own words."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from azure.core.exceptions import AzureError, ClientAuthenticationError, HttpResponseError, ServiceRequestError

from dictionary_pipeline.alerts.causes import place_of
from dictionary_pipeline.config.resolved import ConnectionSpec, DatabaseConfig
from dictionary_pipeline.config.search_settings import SearchSettings
from dictionary_pipeline.publishing.search.errors import SearchUnusable, translate

WITH_KEY = SearchSettings("https://acc.search.windows.net", "SEARCH_KEY")


def http(status: int, code: str = "") -> HttpResponseError:
    error = HttpResponseError("the value 'canary' is not allowed")
    error.status_code = status
    error.error = SimpleNamespace(code=code)  # type: ignore[assignment]
    return error


@pytest.mark.parametrize(
    ("error", "text", "lasting"),
    [
        (http(403, "Forbidden"), "the key in SEARCH_KEY was refused", True),
        (http(400, "OperationNotAllowed"), "refuses the request. Look at the index", True),
        (http(404), "does not know what it is asked for", True),
        (http(413), "is larger than the search service accepts", True),
        (http(429), "limits the requests at the moment", False),
        (http(503), "cannot answer at the moment", False),
        (http(418, "canary text with blanks"), "refused a request (HTTP 418)", False),
        (ServiceRequestError("canary"), "cannot be reached. Check 'endpoint'", False),
    ],
)
def test_each_failure_says_what_to_do_and_whether_to_try_again(error: AzureError, text: str, lasting: bool) -> None:
    found = translate(error, WITH_KEY, "an-index")
    assert text in str(found) and "canary" not in f"{found} {found.code}" and "\n" not in str(found)
    assert isinstance(found, SearchUnusable) is lasting is not found.retryable


def test_without_a_key_the_roles_are_named() -> None:
    entra = SearchSettings("https://acc.search.windows.net")
    assert "Search Index Data Contributor" in str(translate(http(403), entra))
    assert "Search Index Data Contributor" in str(translate(ClientAuthenticationError("canary"), entra))


def test_failures_of_all_databases_that_are_pushed_to_one_service_have_one_cause() -> None:
    places = [
        place_of(DatabaseConfig(name, ConnectionSpec("sqlite", {"path": f"{name}.db"}), search=WITH_KEY))
        for name in ("a", "b")
    ]
    assert {place.search for place in places} == {"https://acc.search.windows.net"}
