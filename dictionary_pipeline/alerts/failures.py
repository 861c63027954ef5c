"""Tells failures and their end: of runs, of databases that do not answer, and of the language model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from dictionary_pipeline.alerts.causes import Place, failure_topics
from dictionary_pipeline.alerts.evaluation import Evaluated, evaluate, load
from dictionary_pipeline.alerts.reachability import Reachability, read_reachability
from dictionary_pipeline.alerts.reading import Reading
from dictionary_pipeline.alerts.state import FAILURES, AlertState, Failure, Kept
from dictionary_pipeline.alerts.topics import epoch
from dictionary_pipeline.config.alert_settings import AlertSettings
from dictionary_pipeline.enrichment.model.client import ModelUnavailable
from dictionary_pipeline.errors import StoreError
from dictionary_pipeline.store import Store

_REACHED = frozenset({"server", "credential"})
"""Scopes of failures that are over when the database answers a probe."""


class RunEnd(NamedTuple):
    """How a run of a database ended."""

    database: str
    at: float
    """Epoch seconds."""
    failure: Failure | None
    """Null: it succeeded."""


@dataclass(frozen=True)
class Watched:
    """What the failures of a project are judged by."""

    settings: AlertSettings
    store: Store
    """The store that the project's databases share."""
    places: Callable[[], Mapping[str, Place]]
    """What each valid database depends on; asked only when something failed."""
    configured: frozenset[str]
    """Names of all databases, invalid ones too."""
    read: Callable[[], Reading]
    """Reads what is published."""
    verified: Callable[[], Mapping[str, datetime]]
    """When database and dictionary were last known to agree, whoever found it."""


def start(watched: Watched, unsaved: str | None) -> Kept:
    """The state to start from; `stored` is null when it was lost, so that older run ends are wanted too."""
    return load(watched.store, FAILURES, unsaved)


def tell_failures(watched: Watched, kept: Kept, ends: Iterable[RunEnd], now: float) -> Evaluated:
    """Take in how runs ended and what probes found, and tell what is due.

    Args:
        watched: The project.
        kept: What `start` gave.
        ends: Run ends since the last evaluation; some again does no harm.
        now: Epoch seconds.
    """
    reachability, verified = _reachability(watched.store), _verified(watched)
    state = _with_ends(kept.state, ends)

    def goes_on(failure: Failure) -> bool:
        name = failure.database
        return name in watched.configured and not _is_over(failure, reachability, verified.get(name))

    failing = {name: failure for name, failure in state.failing.items() if goes_on(failure)}
    state = replace(state, failing=failing)
    reading = watched.read()
    failures = [
        *failing.values(),
        *filter(goes_on, reachability.down.values()),
        # Known for long, perhaps, but without the record nobody can tell.
        *(() if kept.is_away else _model_outages(reading)),
    ]
    places = watched.places() if failures else {}
    topics = failure_topics(failures, places, reading.published, watched.settings.dagster_url, now)
    # Of a database that could not be read, or whose file is invalid, the model outage is unknown.
    unknown = watched.configured - reading.published.keys() - {failure.database for failure in failures}
    came = evaluate(FAILURES, topics, watched.settings, watched.store, kept._replace(state=state), now, unknown)
    return replace(came, unread=reading.unread)


def _with_ends(state: AlertState, ends: Iterable[RunEnd]) -> AlertState:
    failing = dict(state.failing)
    for end in sorted(ends, key=lambda end: end.at):
        known = failing.get(end.database)
        if known is not None and known.at > end.at:
            continue
        if end.failure is None:
            failing.pop(end.database, None)
        else:
            failing[end.database] = end.failure
    return replace(state, failing=failing)


def _is_over(failure: Failure, reachability: Reachability, verified: datetime | None) -> bool:
    """Whether a probe, a run of the command line or a look that found nothing to do came to the contrary since."""
    if failure.scope in _REACHED and reachability.back.get(failure.database, 0.0) > failure.at:
        return True
    # What is pushed after a publish tells nothing by being published again.
    return failure.scope != "search" and verified is not None and verified.timestamp() > failure.at


def _verified(watched: Watched) -> Mapping[str, datetime]:
    try:
        return watched.verified()
    except StoreError:  # the failures of the runs tell that the store is away
        return {}


def _reachability(store: Store) -> Reachability:
    try:
        return read_reachability(store)
    except StoreError:  # the failures of the runs tell that the store is away
        return Reachability()


def _model_outages(reading: Reading) -> Iterable[Failure]:
    for name, published in reading.published.items():
        if published.model_outage is not None:
            yield Failure(
                name,
                ModelUnavailable.identifier,
                ModelUnavailable.scope,
                published.model_outage,
                "entity_definitions",
                "",
                epoch(published.published_at or ""),
            )
