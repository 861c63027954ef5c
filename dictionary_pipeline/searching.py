"""Pushes the published dictionary of a database to its search service; for the command line and Dagster alike."""

from __future__ import annotations

import socket
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from dictionary_pipeline.config.resolved import DatabaseConfig
from dictionary_pipeline.config.search_settings import SearchSettings
from dictionary_pipeline.errors import ConfigurationError
from dictionary_pipeline.publishing.lease import hold_lease
from dictionary_pipeline.publishing.publish import check_target
from dictionary_pipeline.publishing.reading import bundle_in
from dictionary_pipeline.store import Store

if TYPE_CHECKING:
    from dictionary_pipeline.enrichment.model.embedding import Embedder
    from dictionary_pipeline.publishing.search.push import PushReport


def push_published(
    config: DatabaseConfig, settings: SearchSettings, store: Store, shared: Store, *, owner: str, full: bool = False
) -> PushReport:
    """Push what is published of a database, under its lease.

    Args:
        store: The database's own.
        shared: What the databases of the project share: what vectors cost counts for all of them.
        owner: Run id.
        full: Ask the indexes what they hold, and send everything.

    Raises:
        ConfigurationError: nothing is published yet, or the search service cannot be used as configured.
        LeaseHeld: another run works on this database.
        SearchUnavailable: the service failed.
        StoreError: the store failed.
    """
    # Only here: who pushes nothing needs none of the client libraries.
    from dictionary_pipeline.publishing.search.push import Push
    from dictionary_pipeline.publishing.search.service import SearchService

    if check_target(store, config.name) is None:
        raise ConfigurationError(
            "nothing is published yet that could be pushed",
            where=store.location,
            fix=f"Run `data_dictionary run {config.name}` first.",
        )
    service = SearchService(settings)
    try:
        with hold_lease(store, owner=owner, host=socket.gethostname()):
            embedder = _embedder(config, settings, store, shared)
            push = Push(bundle_in(store), settings, service, store, model=config.model, embedder=embedder)
            return push.run(full=full)
    finally:
        service.close()


def _embedder(config: DatabaseConfig, settings: SearchSettings, store: Store, shared: Store) -> Embedder | None:
    """What makes vectors; null where none are wanted, or nothing of this database may be sent to a model."""
    if settings.embedding is None or config.model is None:
        return None
    from dictionary_pipeline.enrichment.model.embedding import Embedder

    wanted = settings.embedding
    return Embedder(
        config.model, wanted.model, wanted.dimensions, wanted.price, store, shared, lambda: datetime.now(UTC).date()
    )
