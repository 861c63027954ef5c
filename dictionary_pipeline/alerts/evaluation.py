"""One evaluation: read what was told, decide, claim, deliver, record.

The claim is written before anything is delivered, by a conditional write: of two daemons one delivers. What could
not be recorded is handed back to the caller, who keeps it until the store takes it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dictionary_pipeline.alerts.delivery import deliver
from dictionary_pipeline.alerts.plan import Outcome, Outgoing, plan, settle
from dictionary_pipeline.alerts.state import AlertState, Kept, load_state, parse_state, save_state
from dictionary_pipeline.alerts.topics import Topic
from dictionary_pipeline.config.alert_settings import AlertSettings
from dictionary_pipeline.errors import StoreConflict, StoreError
from dictionary_pipeline.store import Store

_ATTEMPTS = 10


@dataclass(frozen=True)
class Evaluated:
    """What came of an evaluation."""

    delivered: tuple[str, ...] = ()
    """One line for each message that was taken."""
    failed: tuple[str, ...] = ()
    """One line for each that was not; it is tried again by itself."""
    is_busy: bool = False
    """Another evaluation was faster; nothing was done."""
    unsaved: str | None = None
    """The state as JSON, while the store does not take it; to be given to the next evaluation."""
    unread: Mapping[str, str] = field(default_factory=dict)
    """Database -> why its dictionary could not be read; what was told about it stays as it is."""


def load(store: Store, name: str, unsaved: str | None) -> Kept:
    """The state to start from, with what an earlier evaluation could not save."""
    later = parse_state(unsaved) if unsaved else None
    try:
        kept = load_state(store, name)
    except StoreError:
        return Kept(later or AlertState(), is_away=True)
    if later is None:
        return kept
    merged = AlertState({**kept.state.records, **later.records}, {**kept.state.failing, **later.failing})
    return kept._replace(state=merged)


def evaluate(
    name: str,
    topics: Iterable[Topic],
    settings: AlertSettings,
    store: Store,
    kept: Kept,
    now: float,
    unknown: Collection[str] = (),
) -> Evaluated:
    """Tell what is due.

    Args:
        name: Of the state: `state.DRIFT` or `state.FAILURES`.
        topics: Everything that is open.
        settings: Channels and rules.
        store: The store that the project's databases share.
        kept: What `load` gave, with what the caller changed in it.
        now: Epoch seconds.
        unknown: Databases about which nothing could be read.
    """
    decided = plan(topics, settings, kept.state, now, unknown)
    etag, is_away = kept.etag, kept.is_away
    if not is_away and decided.state != kept.stored:
        try:
            etag = save_state(store, name, decided.state, kept.etag)
        except StoreConflict:
            return Evaluated(is_busy=True)
        except StoreError:
            is_away = True
    outcomes = deliver(decided.outgoing, {channel.name: channel for channel in settings.channels})
    sent = tuple(zip(decided.outgoing, outcomes, strict=True))
    state = _settled(decided.state, sent, now)
    if sent and not is_away:
        is_away = not _record(store, name, state, sent, etag, now)
    return Evaluated(
        delivered=tuple(
            f"{item.channel}: {item.message.status} {item.message.subject} ({outcome.code})"
            for item, outcome in sent
            if not outcome.error
        ),
        failed=tuple(
            f"{outcome.error} Not delivered: {item.message.subject}" for item, outcome in sent if outcome.error
        ),
        unsaved=state.to_json() if is_away else None,
    )


def _settled(state: AlertState, sent: Sequence[tuple[Outgoing, Outcome]], now: float) -> AlertState:
    for item, outcome in sent:
        state = settle(state, item, outcome, now)
    return state


def _record(
    store: Store, name: str, state: AlertState, sent: Sequence[tuple[Outgoing, Outcome]], etag: str | None, now: float
) -> bool:
    """Record what was delivered, onto what another writer made of the state meanwhile; whether that worked."""
    for _ in range(_ATTEMPTS):
        try:
            save_state(store, name, state, etag)
            return True
        except StoreConflict:
            try:
                current = load_state(store, name)
            except StoreError:
                return False
            state, etag = _settled(current.state, sent, now), current.etag
        except StoreError:
            return False
    return False
