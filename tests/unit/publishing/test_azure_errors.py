"""What Azure answers becomes one line with a repair; the service's text is never shown."""

from __future__ import annotations

import re
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from azure.core.exceptions import ClientAuthenticationError, HttpResponseError, ServiceRequestError

from dictionary_pipeline.publishing.azure_errors import ErrorContext, Login, sas_expiry

PLACE = "https://acc.blob.core.windows.net/c/shop"


def said(error: Any, login: Login | None = None) -> Any:
    return ErrorContext(PLACE, login or Login("account key", "KEY")).translate(error, "manifest.json")


def answer(status: int, code: str = "") -> HttpResponseError:
    headers = {"x-ms-error-code": code} if code else {}
    error = HttpResponseError("the service quotes s3cret values", response=None)
    error.status_code, error.response = status, SimpleNamespace(headers=headers)  # type: ignore[assignment]
    return error


@pytest.mark.parametrize(
    ("status", "code", "text", "retryable"),
    [
        (404, "ContainerNotFound", "the container does not exist", False),
        (403, "AuthorizationPermissionMismatch", "this login may not do that", False),
        (403, "AuthenticationFailed", "the account key in KEY was refused", False),
        (403, "KeyBasedAuthenticationNotPermitted", "the account allows no keys", False),
        (503, "ServerBusy", "Azure limits the requests", True),
        (429, "", "Azure limits the requests", True),
        (500, "InternalError", "Azure cannot answer at the moment", True),
        (409, "BlobImmutableDueToPolicy", "an immutability policy", False),
        (412, "LeaseIdMissing", "someone else holds a lease", False),
        (400, "Whatever", "Azure refused a request .HTTP 400", True),
    ],
)
def test_each_answer_is_one_line_and_says_whether_to_try_again(
    status: int, code: str, text: str, retryable: bool
) -> None:
    error = said(answer(status, code))
    assert re.search(text, str(error))
    assert error.fix and error.retryable is retryable and error.code == (code or str(status))
    assert "s3cret" not in str(error) and "\n" not in str(error) and PLACE in str(error)


def test_a_refused_api_version_names_the_setting() -> None:
    error = answer(400, "InvalidHeaderValue")
    error.message = "The API version 2026-10-06 is not supported"
    error.args = (error.message,)
    assert "Set 'api_version' under 'publish: azure:'" in str(said(error))


def test_an_expired_sas_is_told_from_a_wrong_one() -> None:
    refused = answer(403, "AuthenticationFailed")
    old = Login("SAS", "SAS_TOKEN", sas_expiry("?sv=1&se=2020-01-01T00%3A00%3A00Z&sig=s3cret"))
    assert "the SAS in SAS_TOKEN expired at 2020-01-01T00:00:00Z" in str(said(refused, old))
    new = Login("SAS", "SAS_TOKEN", "2999-01-01")
    assert "the SAS in SAS_TOKEN was refused" in str(said(refused, new))
    assert sas_expiry("sv=1&sig=x") is None and sas_expiry("se=<script>") is None


def test_a_refused_identity_and_an_unreachable_account_are_named() -> None:
    assert "the login by Entra ID was refused" in str(said(ClientAuthenticationError("x"), Login("Entra ID", "")))
    assert "cannot be reached" in str(said(ServiceRequestError("x")))


def test_a_local_target_imports_nothing_of_azure() -> None:
    script = (
        "import sys\nfrom pathlib import Path\n"
        "import dictionary_pipeline.commands, dictionary_pipeline.store_commands\n"
        "from dictionary_pipeline.config.resolved import PublishTarget\n"
        "from dictionary_pipeline.publishing.open_store import open_store\n"
        "open_store(PublishTarget(), Path(), 'x')\n"
        "assert not [name for name in sys.modules if name.split('.')[0] == 'azure']\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
