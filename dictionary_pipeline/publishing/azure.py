"""A store in a container of Azure Blob Storage."""

from __future__ import annotations

import hashlib
import mimetypes
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from azure.core import MatchConditions
from azure.core.exceptions import AzureError, ResourceExistsError, ResourceModifiedError, ResourceNotFoundError
from azure.storage.blob import BlobServiceClient, ContentSettings

from dictionary_pipeline.errors import StoreConflict, StoreError
from dictionary_pipeline.publishing.azure_errors import ErrorContext, Login
from dictionary_pipeline.publishing.local import file_errors
from dictionary_pipeline.store import Content, StoredObject, Versioned

_WORKERS = 8
"""Requests in flight: the client keeps 10 connections, one is for the lease."""
_BATCH = 256
"""Deletions that one request may hold."""
_PAGE = 5_000
_TYPES = {
    ".json": "application/json; charset=utf-8",
    ".jsonl": "application/x-ndjson; charset=utf-8",
    ".parquet": "application/vnd.apache.parquet",
    ".md": "text/markdown; charset=utf-8",
    ".yaml": "application/yaml; charset=utf-8",
    ".graphml": "application/graphml+xml; charset=utf-8",
    ".cypher": "text/plain; charset=utf-8",
}
_MUTABLE = "no-cache"

Item = TypeVar("Item")


class AzureStore:
    """Blobs below `prefix` of a container, one for each object.

    A write replaces a blob whole or not at all; conditional writes carry the blob's etag.
    """

    def __init__(self, service: BlobServiceClient, container: str, prefix: str, login: Login) -> None:
        self._service = service
        self._container = service.get_container_client(container)
        self._prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
        self._has_versions = False
        url = self._container.url.partition("?")[0]
        self._context = ErrorContext(f"{url}/{self._prefix}".rstrip("/"), login)

    @property
    def location(self) -> str:
        """Address of the folder, without credential."""
        return self._context.location

    def read(self, key: str) -> bytes | None:
        """Content, or null when there is none."""
        found = self.read_versioned(key)
        return None if found is None else found.data

    def read_versioned(self, key: str) -> Versioned | None:
        """Content and etag, or null when there is none."""
        with self._context.errors(key):
            try:
                stream = self._container.download_blob(self._name(key), max_concurrency=4)
                properties = stream.properties
                return Versioned(stream.readall(), str(properties.etag), properties.last_modified)
            except ResourceNotFoundError as error:
                _require_container(error)
                return None

    def exists(self, key: str) -> bool:
        """Whether there is an object."""
        with self._context.errors(key):
            try:
                self._container.get_blob_client(self._name(key)).get_blob_properties()
            except ResourceNotFoundError as error:
                _require_container(error)
                return False
        return True

    def create(self, key: str, content: Content) -> bool:
        """Write only if absent, atomically; false when it existed."""
        with self._context.errors(key):
            try:
                self._upload(key, content, overwrite=False)
            except ResourceExistsError as error:
                _require_blob_exists(error)
                return False
        return True

    def write(self, key: str, content: Content) -> None:
        """Write unconditionally and atomically."""
        with self._context.errors(key):
            self._upload(key, content, overwrite=True)

    def write_many(self, items: Iterable[tuple[str, Content]]) -> None:
        """Write several objects, a few at a time; each is written atomically."""
        _in_parallel(lambda item: self.write(*item), items)

    def write_untouched(self, items: Iterable[tuple[str, Content]], since: datetime) -> tuple[str, ...]:
        """Write several objects but those that were changed after a moment, and return the keys of these."""
        touched: list[str] = []

        def write(item: tuple[str, Content]) -> None:
            key, content = item
            with self._context.errors(key):
                try:
                    self._upload(key, content, overwrite=True, if_unmodified_since=since)
                except ResourceModifiedError:
                    touched.append(key)

        _in_parallel(write, items)
        return tuple(sorted(touched))

    def swap(self, key: str, data: bytes, etag: str | None) -> str:
        """Write if the object still has `etag` (null: still absent); return the new etag.

        Raises:
            StoreConflict: another writer was faster.
        """
        condition = (
            {"overwrite": True, "etag": etag, "match_condition": MatchConditions.IfNotModified}
            if etag
            else {"overwrite": False}
        )
        with self._context.errors(key):
            try:
                with suppress(ResourceModifiedError):
                    return str(self._upload(key, data, **condition)["etag"])
            except ResourceExistsError as error:
                _require_blob_exists(error)
        # The conflict may be with our own write, whose answer was lost and which was tried again.
        found = self.read_versioned(key)
        if found is not None and found.data == data:
            return found.etag
        raise StoreConflict("another writer changed it meanwhile", where=f"{self.location}/{key}", fix="Run again.")

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """Objects whose key starts with `prefix`, in key order."""
        with self._context.errors(prefix):
            # Accounts with a hierarchical namespace list folders, too, and mark them by metadata.
            found = self._container.list_blobs(
                name_starts_with=self._name(prefix), include=["metadata"], results_per_page=_PAGE
            )
            for blob in found:
                if (blob.metadata or {}).get("hdi_isfolder") != "true":
                    yield StoredObject(blob.name.removeprefix(self._prefix), blob.size, blob.last_modified)

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects; absent ones are fine."""
        names = iter([self._name(key) for key in keys])
        while batch := list(islice(names, _BATCH)):
            with self._context.errors():
                if len(batch) == 1:
                    self._delete_one(batch[0])
                else:
                    self._delete_batch(batch)

    def sweep(self) -> None:
        """Nothing: an unfinished upload is no blob, and Azure forgets its blocks after a week."""

    def kept_after_deletion(self) -> str | None:
        """What soft delete and versioning keep of deleted blobs, as far as this login may ask."""
        days = None
        with suppress(AzureError):  # only an account key or an account SAS may read the settings
            policy = self._service.get_service_properties().get("delete_retention_policy")
            days = policy.days if policy and policy.enabled else None
        kept = [f"soft delete keeps deleted blobs for {days} days"] if days else []
        kept += ["versioning keeps what was replaced or deleted"] if self._has_versions else []
        return f"On this storage account {' and '.join(kept)}" if kept else None

    def _delete_one(self, name: str) -> None:
        try:
            self._container.delete_blob(name, delete_snapshots="include")
        except ResourceNotFoundError as error:
            _require_container(error)

    def _delete_batch(self, names: Sequence[str]) -> None:
        try:
            answers = self._container.delete_blobs(
                *names, delete_snapshots="include", raise_on_any_failure=False, retry_total=0
            )
        except AzureError:  # not every service and login knows batches, and an error of one blob says more
            _in_parallel(self._delete_one, names)
            return
        failed = [answer.status_code for answer in answers if answer.status_code not in (202, 404)]
        if failed:
            raise StoreError(
                f"Azure deleted all but {len(failed)} blobs (HTTP {failed[0]})",
                where=self.location,
                fix="Check that the login may delete and that no lease or policy holds them, and run again.",
            )

    def _name(self, key: str) -> str:
        return self._prefix + key

    def _upload(self, key: str, content: Content, **condition: Any) -> dict[str, Any]:
        with ExitStack() as files:
            data: Any = content
            size = None
            if isinstance(content, Path):
                with file_errors(content):
                    data = files.enter_context(content.open("rb"))
                    size = content.stat().st_size
            answer = self._container.get_blob_client(self._name(key)).upload_blob(
                data,
                length=size,
                content_settings=_settings(key),
                metadata=_metadata(content),
                validate_content=True,
                max_concurrency=4,
                **condition,
            )
        self._has_versions |= bool(answer.get("version_id"))
        return answer


def _settings(key: str) -> ContentSettings:
    suffix = Path(key).suffix.lower()
    kind = _TYPES.get(suffix) or mimetypes.guess_type(key)[0] or "application/octet-stream"
    if key.startswith(".objects/"):
        return ContentSettings(content_type="application/octet-stream", cache_control="max-age=31536000, immutable")
    return ContentSettings(content_type=kind, cache_control=_MUTABLE)


def _metadata(content: Content) -> dict[str, str] | None:
    """The hash as manifests name it, so that whoever lists blobs can compare them; that of a large file is its key."""
    return {"sha256": hashlib.sha256(content).hexdigest()} if isinstance(content, bytes) else None


def _require_container(error: ResourceNotFoundError) -> None:
    """Pass on that the container is missing: that is not the same as an absent blob."""
    if _code(error) not in ("BlobNotFound", "ResourceNotFound", ""):
        raise error


def _require_blob_exists(error: ResourceExistsError) -> None:
    """Pass on conflicts that are no existing blob, e.g. with a lease."""
    if _code(error) not in ("BlobAlreadyExists", "ResourceAlreadyExists"):
        raise error


def _code(error: Any) -> str:
    found = getattr(error, "error_code", None)
    return str(getattr(found, "value", found) or "")


def _in_parallel(work: Callable[[Item], None], items: Iterable[Item]) -> None:
    """Work on items a few at a time; few are read ahead, so that memory stays flat."""
    with ThreadPoolExecutor(_WORKERS, thread_name_prefix="azure") as pool:
        pending: set[Future[None]] = set()
        for item in items:
            pending.add(pool.submit(work, item))
            if len(pending) >= 2 * _WORKERS:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
        for future in pending:
            future.result()
