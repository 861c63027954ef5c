"""Pushing a published dictionary to a search service: indexes, changed documents, and stale cached queries."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from dictionary_pipeline import jsontext
from dictionary_pipeline.config.model_settings import ModelSettings
from dictionary_pipeline.config.search_settings import SearchSettings
from dictionary_pipeline.enrichment.model.embedding import Embedder
from dictionary_pipeline.problems import Problem
from dictionary_pipeline.publishing.reading import PublishedBundle
from dictionary_pipeline.publishing.search.documents import is_entity_file, is_value_file
from dictionary_pipeline.publishing.search.errors import conflict
from dictionary_pipeline.publishing.search.evolve import evolved
from dictionary_pipeline.publishing.search.index_push import IndexPush, Target
from dictionary_pipeline.publishing.search.indexes import (
    DEFINITION_VECTOR,
    Definition,
    query_cache_index,
    schema_index,
    value_index,
)
from dictionary_pipeline.publishing.search.progress import (
    STAGE,
    Progress,
    StateStore,
    load_progress,
    mark_at_work,
    save_progress,
)
from dictionary_pipeline.publishing.search.service import Action, Refusal, SearchService, batches
from dictionary_pipeline.publishing.search.stale import stale_entities, touches


@dataclass(frozen=True)
class PushReport:
    """What a push did."""

    database: str
    sent: int
    deleted: int
    unchanged: int
    queries_dropped: int
    """Cached queries that may be wrong by now."""
    embedding_requests: int
    problems: tuple[Problem, ...]
    """Documents that were not taken, and vectors that could not be made."""

    @property
    def exit_code(self) -> int:
        """3 when something is left to be done, else 0."""
        return 3 if self.problems else 0


class Push:
    """One push of one database's dictionary."""

    def __init__(
        self,
        bundle: PublishedBundle,
        settings: SearchSettings,
        service: SearchService,
        store: StateStore,
        *,
        model: ModelSettings | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        """Prepare a push.

        Args:
            store: The database's own, whose lease is held.
            model: Where the service itself may ask for vectors of questions.
            embedder: Makes vectors of definitions; null: there are none.
        """
        self._bundle, self._settings, self._service = bundle, settings, service
        self._store, self._model, self._embedder = store, model, embedder
        self._is_marked = False
        self._is_cache_new = False
        self._problems: list[Problem] = []

    def run(self, *, full: bool = False) -> PushReport:
        """Bring indexes and documents up to date; nothing is sent that the indexes have already.

        Args:
            full: Do not rely on what earlier pushes left: ask the indexes, and send everything.

        Raises:
            SearchUnavailable: the service failed; what was pushed is remembered.
            StoreError: the bundle's store failed.
        """
        names = self._settings.indexes
        target = jsontext.digest([self._settings.endpoint, *vars(names).values()])[:32]
        progress = Progress(target) if full else load_progress(self._store, target)
        pushes: list[IndexPush] = []
        is_done = False
        try:
            for goal in self._targets(progress):
                push = IndexPush(goal, self._bundle, self._service, self._embedder, self._mark)
                pushes.append(push)
                try:
                    push.run(progress.indexes.get(goal.name))
                finally:
                    known = push.result()
                    if known is not None:
                        progress.indexes[goal.name] = known
            dropped = self._drop_stale(progress)
            is_done = True
        finally:
            if is_done or self._is_marked:
                save_progress(self._store, progress)
        problems = [*(problem for push in pushes for problem in push.problems), *self._problems]
        if self._embedder is not None and self._embedder.stopped:
            problems.append(self._vectors_missing(self._embedder.stopped))
        return PushReport(
            self._bundle.manifest.database,
            sum(push.sent for push in pushes),
            sum(push.deleted for push in pushes),
            sum(push.unchanged for push in pushes),
            dropped,
            self._embedder.asked if self._embedder else 0,
            tuple(problems),
        )

    def _targets(self, progress: Progress) -> list[Target]:
        """The indexes of documents; all indexes are made or changed where that is needed."""
        settings = self._settings
        names = settings.indexes
        entities = self._ensure(schema_index(settings, self._model), progress)
        has_vectors = any(field["name"] == DEFINITION_VECTOR for field in entities["fields"])
        found = [Target(names.schema_store, is_entity_file, has_vectors)]
        if settings.column_values:
            self._ensure(value_index(settings), progress)
            found.append(Target(names.column_value_store, is_value_file, False))
        elif self._service.index(names.column_value_store) is not None:
            found.append(Target(names.column_value_store, lambda path: False, False))  # values pushed before go
        self._ensure(query_cache_index(settings, self._model), progress)
        # Not to be remembered: others fill it.
        self._is_cache_new = progress.indexes.pop(names.query_cache, None) is not None
        return found

    def _ensure(self, wanted: Definition, progress: Progress) -> Definition:
        """The index as it is now; of one that was just made it is known that it is empty."""
        name: str = wanted["name"]
        existing = self._service.index(name)
        if existing is None:
            self._mark()
            self._service.put_index(wanted)
            progress.indexes[name] = {}
            return wanted
        result = evolved(existing, wanted, partial(conflict, self._settings, name))
        if result != existing:
            self._service.put_index(result)
        return result

    def _drop_stale(self, progress: Progress) -> int:
        """Delete cached queries that touch what changed; how many."""
        index, dropped = self._settings.indexes.query_cache, 0
        stale = stale_entities(self._bundle, progress.drift)
        refused: list[Refusal] = []
        if stale.entities and not self._is_cache_new:
            cached = self._service.cached_queries(index)
            found = [Action(str(query["Id"]), None) for query in cached if touches(query, stale.entities)]
            for batch in batches(found):
                self._mark()
                refused += self._service.change(index, batch)
            dropped = len(found) - len(refused)
        if refused:
            self._problems.append(self._queries_left(refused))
        else:
            progress.drift = stale.drift
        return dropped

    def _mark(self) -> None:
        if not self._is_marked:
            mark_at_work(self._store)
            self._is_marked = True

    def _queries_left(self, refused: list[Refusal]) -> Problem:
        return Problem(
            self._bundle.manifest.database,
            STAGE,
            str(refused[0].status),
            f"the search service does not delete {len(refused)} cached queries that may be wrong by now",
            f"Push again; if they stay, delete them from {self._settings.indexes.query_cache}.",
        )

    def _vectors_missing(self, reason: str) -> Problem:
        return Problem(
            self._bundle.manifest.database,
            STAGE,
            None,
            f"not every definition has its vector: {reason}",
            "Push again when that is over; what was made is kept.",
        )
