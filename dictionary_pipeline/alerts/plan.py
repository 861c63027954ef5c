"""Decides who is told what now: from what is open, the rules and what was told, without any input or output.

Nothing that was delivered is told again before it is due, so the same facts twice give no second message. What was
not delivered stays due. A crash between a delivery and its record tells one message twice, never none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import NamedTuple

from dictionary_pipeline import jsontext
from dictionary_pipeline.alerts.message import Fact, Message, Part, Status
from dictionary_pipeline.alerts.routing import Route, recovery_digest, routes
from dictionary_pipeline.alerts.state import AlertState, Record, RecordKey
from dictionary_pipeline.alerts.topics import FAILED, Topic, age, stamp
from dictionary_pipeline.config.alert_settings import AlertSettings, Digest
from dictionary_pipeline.config.drift_settings import SEVERITIES
from dictionary_pipeline.config.schedule import previous_due

_OLDEST_SECONDS = 7 * 86_400
"""What was open longer than this before alerts heard of it is history, not news."""
_UPDATE_SECONDS = 900
"""Between two messages about the growing list of databases with one cause."""
_CLAIM_SECONDS = 180
_MOST_SINGLE = 20
"""More messages than this to one channel at once are sent as one."""
_FIRST_PAUSE, _LONGEST_PAUSE = 60.0, 3_600.0
_RESOLVED = "resolved"


class Outgoing(NamedTuple):
    """A message for a channel, and what it tells about."""

    channel: str
    message: Message
    keys: tuple[RecordKey, ...]
    databases: Mapping[RecordKey, tuple[str, ...]]
    """What each record covers once the message is taken."""


class Outcome(NamedTuple):
    """What came of a delivery."""

    error: str = ""
    """Why it failed, in the product's words; empty: it was taken."""
    code: str = ""
    retry_after: float = 0.0


@dataclass(frozen=True)
class Plan:
    """What one evaluation leads to."""

    outgoing: tuple[Outgoing, ...]
    state: AlertState
    """To be kept before anything is delivered: deliveries are claimed."""


@dataclass(frozen=True)
class _Due:
    """Something that one channel is to be told."""

    record: Record
    status: Status
    ready_at: float
    severity: str
    title: str
    part: Part
    databases: tuple[str, ...]
    digest: Digest | None

    @property
    def id(self) -> str:
        """The same for each attempt to tell it."""
        at = self.record.first_seen if self.record.sent_at is None else self.record.sent_at
        return jsontext.digest([*self.record.key, self.status, at])[:32]


def plan(
    topics: Iterable[Topic], settings: AlertSettings, state: AlertState, now: float, unknown: Collection[str] = ()
) -> Plan:
    """Decide what to send.

    Args:
        topics: Everything that is open.
        settings: Channels and rules.
        state: Of the last evaluation.
        now: Epoch seconds.
        unknown: Databases about which nothing could be read: what was told about them stays as it is.
    """
    opened = tuple(topics)
    routed = {
        RecordKey(topic.key, route.channel): (topic, route) for topic in opened for route in routes(topic, settings)
    }
    newest: dict[tuple[str, str], float] = {}
    for key, (topic, _) in routed.items():
        series = (key.channel, topic.series)
        newest[series] = max(topic.since, newest.get(series, 0.0))
    records: dict[RecordKey, Record] = {}
    due: list[_Due] = []
    for key, (topic, route) in routed.items():
        known = state.records.get(key)
        if known is None and topic.since < now - _OLDEST_SECONDS:
            continue
        record = replace(known, gone_since=None) if known else _first_record(topic, route, now)
        records[key] = record
        due += _due(record, topic, route, settings, now, newest[key.channel, topic.series] <= topic.since)
    channels, still_open = {channel.name for channel in settings.channels}, {topic.key for topic in opened}
    for key, record in state.records.items():
        # A channel that a rule no longer sends to hears no more of it, not even its end.
        if key.topic in still_open or key.channel not in channels:
            continue
        if set(record.databases) & set(unknown):
            records[key] = record
            continue
        wanted, digest = recovery_digest(record.channel, record.databases, settings)
        if record.sent_at is None or record.event == "drift" or not wanted:
            continue
        gone = replace(record, gone_since=now if record.gone_since is None else record.gone_since)
        records[key] = gone
        due += _due_resolved(gone, digest, settings, now)
    outgoing = tuple(_messages(due, now))
    claimed = {key: replace(records[key], claimed_until=now + _CLAIM_SECONDS) for item in outgoing for key in item.keys}
    return Plan(outgoing, replace(state, records={**records, **claimed}))


def settle(state: AlertState, sent: Outgoing, outcome: Outcome, now: float) -> AlertState:
    """Record what came of a delivery."""
    records = dict(state.records)
    for key in sent.keys:
        record = records.get(key)
        if record is None:
            continue
        if outcome.error:
            pause = min(_FIRST_PAUSE * 2 ** min(record.attempts, 10), _LONGEST_PAUSE)
            records[key] = replace(
                record,
                claimed_until=0.0,
                attempts=record.attempts + 1,
                not_before=now + min(max(pause, outcome.retry_after), _LONGEST_PAUSE),
                error=outcome.error,
            )
        elif record.gone_since is not None:
            del records[key]
        else:
            records[key] = replace(
                record,
                databases=sent.databases[key],
                sent_at=now,
                claimed_until=0.0,
                attempts=0,
                not_before=0.0,
                error="",
            )
    return replace(state, records=records)


def _first_record(topic: Topic, route: Route, now: float) -> Record:
    return Record(topic.key, route.channel, topic.event, topic.title, topic.databases, now)


def _is_free(record: Record, now: float) -> bool:
    return record.claimed_until <= now and record.not_before <= now


def _due(
    record: Record, topic: Topic, route: Route, settings: AlertSettings, now: float, is_newest: bool
) -> Iterable[_Due]:
    """What a channel is to be told about an open topic now: one thing, or nothing."""
    grown = set(topic.databases) - set(record.databases)
    status: Status
    if record.sent_at is None:
        wait = settings.group_seconds if topic.event == "failure" else 0.0
        status, ready_at = "new", record.first_seen + wait
    elif grown:
        status, ready_at = "update", record.sent_at + _UPDATE_SECONDS
    elif route.repeat_seconds and is_newest:
        status, ready_at = "repeat", record.sent_at + route.repeat_seconds
    else:
        return
    if ready_at > now or not _is_free(record, now):
        return
    part = topic.part(route.entries)
    if status == "repeat":
        told = Fact("Told before", f"{age(now - record.first_seen)} ago for the first time; it is still open")
        part = replace(part, facts=(told, *part.facts))
    yield _Due(
        record,
        status,
        ready_at,
        topic.severity(route.entries),
        topic.headline(route.entries),
        part,
        tuple(sorted({*topic.databases, *record.databases})),
        route.digest,
    )


def _due_resolved(record: Record, digest: Digest | None, settings: AlertSettings, now: float) -> Iterable[_Due]:
    since = record.gone_since if record.gone_since is not None else now
    ready_at = since + settings.group_seconds
    if ready_at > now or not _is_free(record, now):
        return
    facts = (
        Fact("Databases", ", ".join(record.databases)),
        Fact("Resolved", f"{stamp(since)}, {age(since - record.first_seen)} after it was first seen"),
    )
    part = Part(f"[{_RESOLVED}] {record.title}", facts)
    yield _Due(record, "resolved", ready_at, _RESOLVED, record.title, part, record.databases, digest)


def _messages(due: Sequence[_Due], now: float) -> Iterable[Outgoing]:
    """One message for each item, but for those that are collected or too many."""
    single: dict[str, list[_Due]] = {}
    collected: dict[tuple[str, Digest], list[_Due]] = {}
    for item in due:
        if item.digest is None:
            single.setdefault(item.record.channel, []).append(item)
        else:
            collected.setdefault((item.record.channel, item.digest), []).append(item)
    for channel, items in single.items():
        if len(items) > _MOST_SINGLE:
            yield _together(channel, items, now)
        else:
            yield from (_alone(item, now) for item in items)
    for (channel, digest), items in collected.items():
        if _is_time(digest, min(item.ready_at for item in items), now):
            yield _together(channel, items, now)


def _is_time(digest: Digest, oldest: float, now: float) -> bool:
    if digest.cron is None:
        return now >= oldest + 3_600 * (digest.hours or 0.0)
    return previous_due(digest.cron, digest.timezone, datetime.fromtimestamp(now, UTC)).timestamp() >= oldest


def _alone(item: _Due, now: float) -> Outgoing:
    record = item.record
    event = "recovery" if item.status == "resolved" else record.event
    message = Message(
        item.id,
        record.topic,
        event,
        item.status,
        item.severity,
        item.title,
        stamp(now),
        item.databases,
        (item.part,),
    )
    return Outgoing(record.channel, message, (record.key,), {record.key: item.databases})


def _together(channel: str, items: Sequence[_Due], now: float) -> Outgoing:
    ranks = (FAILED, *SEVERITIES, _RESOLVED)
    ordered = sorted(items, key=lambda item: (ranks.index(item.severity), item.title))
    identity = jsontext.digest(sorted(item.id for item in items))[:32]
    message = Message(
        identity,
        identity,
        "digest",
        "digest",
        ordered[0].severity,
        f"{len(items)} alerts" if len(items) > 1 else ordered[0].title,
        stamp(now),
        tuple(sorted({name for item in items for name in item.databases})),
        tuple(item.part for item in ordered),
    )
    return Outgoing(
        channel, message, tuple(item.record.key for item in items), {i.record.key: i.databases for i in items}
    )
