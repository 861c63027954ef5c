"""Bringing the documents of one database in one index up to date with its published files."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from dictionary_pipeline.enrichment.model.embedding import Embedder
from dictionary_pipeline.problems import Problem
from dictionary_pipeline.publishing.reading import PublishedBundle
from dictionary_pipeline.publishing.search.documents import Document, documents_of
from dictionary_pipeline.publishing.search.indexes import DEFINITION_VECTOR
from dictionary_pipeline.publishing.search.progress import STAGE, UNKNOWN, Hashes, PushedFile
from dictionary_pipeline.publishing.search.service import MOST_ACTIONS, Action, Refusal, SearchService, batches

_FORM = "1"
"""Changes when documents are made differently from the same file."""
_LEFT = ""
"""Stands for the file of documents whose file is gone or not known."""


class Target(NamedTuple):
    """An index, and what of a bundle belongs into it."""

    name: str
    belongs: Callable[[str], bool]
    """Whether a file's documents do."""
    has_vectors: bool
    """Whether its documents have a field for a vector."""


class _Changed(NamedTuple):
    path: str
    document: Document
    vector: str
    """Names the vector that the document should have; empty for none."""

    @property
    def hash(self) -> str:
        return f"{self.document.hash}.{self.vector}"

    @property
    def text(self) -> str:
        return self.document.definition or ""


class IndexPush:
    """One push to one index. What it knows of the index is right at any moment, whatever fails."""

    def __init__(
        self,
        target: Target,
        bundle: PublishedBundle,
        service: SearchService,
        embedder: Embedder | None,
        before_change: Callable[[], None],
    ) -> None:
        """Prepare a push.

        Args:
            embedder: Makes vectors of definitions; null where there are none to make.
            before_change: Called before anything is changed.
        """
        self._target, self._bundle, self._service = target, bundle, service
        self._embedder = embedder if target.has_vectors else None
        self._before_change = before_change
        self._held: Hashes | None = None
        self._files: dict[str, PushedFile] = {}
        self._unfinished: set[str] = set()
        self._version = f"{_FORM}.{self._embedder.key('')[:16] if self._embedder else ''}"
        self.sent = self.deleted = self.unchanged = 0
        self.problems: list[Problem] = []

    def run(self, known: Mapping[str, PushedFile] | None) -> None:
        """Send what changed and delete what is gone.

        Args:
            known: What earlier pushes left; null: the index is asked what it holds of this database.

        Raises:
            SearchUnavailable: the service failed.
            StoreError: the bundle's store failed.
        """
        if known is None:
            keys = self._service.keys_of(self._target.name, self._bundle.manifest.database)
            known = {_LEFT: PushedFile("", dict.fromkeys(keys, UNKNOWN))}
        held = self._held = {key: found for pushed in known.values() for key, found in pushed.documents.items()}
        changed = self._changed(known, held)
        while group := list(itertools.islice(changed, MOST_ACTIONS)):
            self._send(group, held)
        for batch in batches(Action(key, None) for key in sorted(self._left(held))):
            refused = self._change(batch, held)
            for action in batch:
                if action.key not in refused:
                    del held[action.key]
            self.deleted += len(batch) - len(refused)
        for path, file in self._files.items():
            file.content = "" if path in self._unfinished else self._content(path)

    def result(self) -> dict[str, PushedFile] | None:
        """What the index is known to hold; null when that is not known."""
        if self._held is None:
            return None
        left = self._left(self._held)
        return {**self._files, **({_LEFT: PushedFile("", left)} if left else {})}

    def _content(self, path: str) -> str:
        return f"{self._bundle.manifest.files[path].sha256}.{self._version}"

    def _left(self, held: Hashes) -> Hashes:
        """Documents that no file that was looked at has."""
        wanted = {key for file in self._files.values() for key in file.documents}
        return {key: found for key, found in held.items() if key not in wanted}

    def _changed(self, known: Mapping[str, PushedFile], held: Hashes) -> Iterator[_Changed]:
        """Documents to send; files and documents that did not change are counted only."""
        for path in filter(self._target.belongs, self._bundle.paths):
            pushed = known.get(path)
            if pushed is not None and pushed.content == self._content(path):
                self._files[path] = pushed
                self.unchanged += len(pushed.documents)
                continue
            file = self._files[path] = PushedFile("", {})
            for document in documents_of(self._bundle, path):
                item = _Changed(path, document, self._vector_name(document))
                if held.get(document.key) == item.hash:
                    file.documents[document.key] = item.hash
                    self.unchanged += 1
                else:
                    file.documents[document.key] = UNKNOWN  # until the service has taken it
                    yield item

    def _vector_name(self, document: Document) -> str:
        text = document.definition
        return self._embedder.key(text)[:16] if self._embedder and text else ""

    def _send(self, group: Sequence[_Changed], held: Hashes) -> None:
        """Send documents, with their date, and with their vector unless the index has that already."""
        present = {item.document.key for item in group if item.vector and _vector_in(held, item) == item.vector}
        lacking = [item for item in group if item.vector and item.document.key not in present]
        vectors = self._embedder.embed([item.text for item in lacking]) if self._embedder and lacking else {}
        bare = {item.document.key for item in lacking if item.text not in vectors}
        extra = {"DateLastModified": self._bundle.manifest.published_at}
        items = {item.document.key: item for item in group}
        actions = []
        for key, item in items.items():
            body: dict[str, Any] = {**item.document.body, **extra}
            if self._target.has_vectors and key not in present:
                body[DEFINITION_VECTOR] = vectors.get(item.text)  # null also clears that of an older text
            actions.append(Action(key, body, item.document.about))
        for batch in batches(actions):
            refused = self._change(batch, held)
            for action in batch:
                item = items[action.key]
                is_whole = action.key not in refused and action.key not in bare
                if not is_whole:
                    self._unfinished.add(item.path)
                if action.key not in refused:
                    held[action.key] = item.hash if is_whole else f"{item.document.hash}."
                self._files[item.path].documents[action.key] = held[action.key]
            self.sent += len(batch) - len(refused)

    def _change(self, batch: Sequence[Action], held: Hashes) -> set[str]:
        """Send one batch; the keys of what was refused."""
        self._before_change()
        # Until the answer is there nobody knows what the service took of it.
        held.update((action.key, UNKNOWN) for action in batch)
        refusals = self._service.change(self._target.name, batch)
        self.problems += [_problem(refusal, self._bundle.manifest.database) for refusal in refusals]
        return {refusal.action.key for refusal in refusals}


def _vector_in(held: Hashes, item: _Changed) -> str:
    """Names the vector that the index has for a document."""
    return held.get(item.document.key, UNKNOWN).rpartition(".")[2]


def _problem(refusal: Refusal, database: str) -> Problem:
    does = "delete" if refusal.action.body is None else "take"
    return Problem(
        refusal.action.about or database,
        STAGE,
        str(refusal.status),
        f"the search service does not {does} a document about it",
        "Push again; if it stays, compare the index's fields and the service's limits with the entry.",
    )
