"""Talks to the search service. The client library is imported only when something is pushed."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from azure.core.credentials import AccessToken, AzureKeyCredential
from azure.core.exceptions import AzureError, ClientAuthenticationError, HttpResponseError

from dictionary_pipeline.config.environment import variable
from dictionary_pipeline.config.search_settings import SearchSettings
from dictionary_pipeline.errors import ConfigurationError
from dictionary_pipeline.publishing.search.documents import key_range
from dictionary_pipeline.publishing.search.errors import PASSING, is_missing, no_identity, translate
from dictionary_pipeline.publishing.search.indexes import OWNER_KEY, Definition

MOST_ACTIONS = 1_000
MOST_BYTES = 8_000_000
"""Of a request: the service takes 1,000 documents and 16 MB."""
_PAGE = 1_000
_PATIENCE = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Seconds to wait before each repetition."""
_UNREACHED = 2
"""Repetitions of a request to a service that cannot be reached at all."""
_MOST_WAIT = 60.0
_DOCUMENT_PASSING = PASSING | {409, 422}
"""Statuses of single documents: a version conflict and an index that is busy pass too."""
_WHERE = "search:"
_T = TypeVar("_T")


class Action(NamedTuple):
    """One change of an index."""

    key: str
    body: dict[str, Any] | None
    """Null: delete the document."""
    about: str = ""
    """The table or column, for messages."""

    def as_json(self) -> dict[str, Any]:
        """As the REST API takes it."""
        if self.body is None:
            return {"@search.action": "delete", "Id": self.key}
        return {"@search.action": "mergeOrUpload", **self.body}


class Refusal(NamedTuple):
    """A document that the service does not take."""

    action: Action
    status: int


class SearchService:
    """One search service, as one login sees it."""

    def __init__(
        self, settings: SearchSettings, *, sleep: Callable[[float], None] = time.sleep, **options: Any
    ) -> None:
        """Connect to nothing yet.

        Args:
            sleep: Waits between repetitions.
            options: For the client library.

        Raises:
            ConfigurationError: the client library or the key's variable is missing.
        """
        try:
            from azure.search.documents import IndexDocumentsBatch, SearchClient
            from azure.search.documents.indexes import SearchIndexClient
        except ImportError:
            raise ConfigurationError(
                "pushing needs the package azure-search-documents",
                where=_WHERE,
                fix="Install it: pip install 'dictionary-pipeline[search]'.",
            ) from None
        self._settings = settings
        self._sleep = sleep
        credential = _credential(settings)
        # Repeated here, as the library repeats no POST after 429.
        given = {"retry_total": 0, "connection_timeout": 10, "read_timeout": 60, **options}
        self._batch = IndexDocumentsBatch
        self._indexes = SearchIndexClient(settings.endpoint, credential, **given)
        self._open: Callable[[str], Any] = lambda index: SearchClient(settings.endpoint, index, credential, **given)
        self._clients: dict[str, Any] = {}

    def close(self) -> None:
        """Close all connections."""
        for client in (self._indexes, *self._clients.values()):
            client.close()

    def index(self, name: str) -> Definition | None:
        """Definition of an index, or null when there is none. Raises SearchUnavailable."""
        found: Definition | None = self._call(lambda: self._indexes.get_index(name).as_dict(), name, may_miss=True)
        return found

    def put_index(self, definition: Definition) -> None:
        """Create an index or change one. Raises SearchUnavailable."""
        self._call(lambda: self._indexes.create_or_update_index(definition), definition["name"])

    def keys_of(self, index: str, database: str) -> Iterator[str]:
        """Keys of all documents of one database, in order. Raises SearchUnavailable."""
        last, end = key_range(database)
        while True:
            wanted = f"{OWNER_KEY} gt '{last}' and {OWNER_KEY} lt '{end}'"
            page = self._search(index, filter=wanted, order_by=[OWNER_KEY], select=[OWNER_KEY])
            found = [str(document[OWNER_KEY]) for document in page]
            yield from found
            if len(found) < _PAGE:
                return
            last = found[-1]

    def cached_queries(self, index: str) -> Iterator[dict[str, Any]]:
        """Key and SQL of all documents of the query cache, which other programs write. Raises SearchUnavailable."""
        fields = ["Id", "SqlQueryDecomposition/SqlQuery", "SqlQueryDecomposition/Schemas/Entity"]
        for skip in itertools.count(0, _PAGE):
            page = self._search(index, select=fields, skip=skip)
            yield from page
            if len(page) < _PAGE:
                return

    def change(self, index: str, actions: Sequence[Action]) -> list[Refusal]:
        """Send one batch; documents that the service cannot take at the moment are sent again.

        Returns:
            Those that it does not take.

        Raises:
            SearchUnavailable: the whole batch failed, or some of it after all repetitions.
        """
        waiting, refused = {action.key: action for action in actions}, list[Refusal]()
        for pause in (*_PATIENCE, None):
            sent = [action.as_json() for action in waiting.values()]
            results = self._call(lambda sent=sent: self._index(index, sent), index)  # type: ignore[misc]
            again: dict[str, Action] = {}
            for result in results:
                action = waiting.get(result.key)
                if action is None or result.succeeded:
                    continue
                if result.status_code in _DOCUMENT_PASSING and pause is not None:
                    again[result.key] = action
                else:
                    refused.append(Refusal(action, result.status_code))
            if not again or pause is None:
                break
            waiting = again
            self._sleep(pause)
        return refused

    def _index(self, index: str, actions: list[dict[str, Any]]) -> Any:
        from azure.search.documents.models import IndexAction

        return self._client(index).index_documents(self._batch(actions=[IndexAction(action) for action in actions]))

    def _search(self, index: str, **options: Any) -> list[dict[str, Any]]:
        """One page of documents."""
        client = self._client(index)
        page: list[dict[str, Any]] = self._call(lambda: list(client.search("*", top=_PAGE, **options)), index)
        return page

    def _client(self, index: str) -> Any:
        if index not in self._clients:
            self._clients[index] = self._open(index)
        return self._clients[index]

    def _call(self, request: Callable[[], _T], index: str, *, may_miss: bool = False) -> Any:
        """The answer to a request, repeated while the service is busy."""
        failure: AzureError | None = None
        for attempt, pause in enumerate((*_PATIENCE, None)):
            try:
                return request()
            except HttpResponseError as error:
                if may_miss and is_missing(error):
                    return None
                failure = error
                if error.status_code not in PASSING:
                    break
            except AzureError as error:  # not reached, or the answer was lost; every request may be repeated
                failure = error
                if attempt == _UNREACHED:
                    break
            if pause is not None:
                self._sleep(max(pause, _asked_to_wait(failure)))
        assert failure is not None
        raise translate(failure, self._settings, index) from None


def batches(actions: Iterable[Action]) -> Iterator[list[Action]]:
    """Actions in requests that the service takes."""
    batch: list[Action] = []
    size = 0
    for action in actions:
        length = len(json.dumps(action.as_json()))
        if batch and (len(batch) == MOST_ACTIONS or size + length > MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(action)
        size += length
    if batch:
        yield batch


class _Identity:
    """An Entra ID login whose failure ends the request at once."""

    def __init__(self, settings: SearchSettings) -> None:
        from azure.identity import DefaultAzureCredential

        named = {"managed_identity_client_id": settings.client_id} if settings.client_id else {}
        self._credential = DefaultAzureCredential(**named)
        self._settings = settings

    def get_token(self, *scopes: str, **options: Any) -> AccessToken:
        with suppress(ClientAuthenticationError):  # raised outside, so that its text does not travel along
            return self._credential.get_token(*scopes, **options)
        raise no_identity(self._settings)


def _credential(settings: SearchSettings) -> Any:
    if settings.api_key_env is None:
        return _Identity(settings)
    key = variable(settings.api_key_env, _WHERE).strip()
    if not key:
        raise ConfigurationError(
            f"the environment variable {settings.api_key_env} is empty", where=_WHERE, fix="Set it to an admin key."
        )
    return AzureKeyCredential(key)


def _asked_to_wait(error: AzureError) -> float:
    """Seconds that the service asks to wait; 0 when it does not."""
    response = getattr(error, "response", None)
    text = response.headers.get("Retry-After", "") if response is not None else ""
    return min(float(text), _MOST_WAIT) if str(text).isdecimal() else 0.0
