"""What there is to tell at one moment: change sets that nobody acknowledged, and causes of failures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Literal

from dictionary_pipeline import jsontext
from dictionary_pipeline.alerts.message import ChangeLine, Fact, Part
from dictionary_pipeline.config.drift_settings import SEVERITIES
from dictionary_pipeline.drift.record import Entry, moment

MAX_CHANGES = 20
FAILED = "failed"


@dataclass(frozen=True)
class Topic:
    """One item that is told once, then repeated, changed or resolved."""

    key: str
    event: Literal["drift", "failure"]
    series: str
    """Only the newest topic of a series is repeated."""
    databases: tuple[str, ...]
    since: float
    """Epoch seconds."""
    title: str
    facts: tuple[Fact, ...]
    command: str
    link: str = ""
    entries: tuple[Entry, ...] = ()
    """Drift: the changes, of which a rule may let some through."""

    def severity(self, entries: Sequence[Entry]) -> str:
        """The worst severity of some of the changes; `failed` for failures."""
        return min((entry.severity for entry in entries), key=SEVERITIES.index, default=FAILED)

    def headline(self, entries: Sequence[Entry]) -> str:
        """What it is, in one line."""
        return f"{self.title}: {_counted(entries)}" if entries else self.title

    def part(self, entries: Sequence[Entry]) -> Part:
        """What is told about it, with some of the changes."""
        ordered = sorted(entries, key=lambda entry: SEVERITIES.index(entry.severity))
        others = len(self.entries) - len(entries)
        facts = self.facts
        if others:
            facts = (Fact("Other changes", f"{others} of lesser severity or elsewhere are not listed"), *facts)
        return Part(
            heading=f"[{self.severity(entries)}] {self.headline(entries)}",
            facts=facts,
            changes=tuple(_line(entry) for entry in ordered[:MAX_CHANGES]),
            left_out=max(0, len(entries) - MAX_CHANGES),
            command=self.command,
            link=self.link,
        )


@dataclass(frozen=True)
class Published:
    """What alerts need to know of one database's published dictionary."""

    published_at: str | None = None
    """Null: nothing is published yet."""
    entries: tuple[Entry, ...] = ()
    """Changes of the log, and those that a held bundle waits with."""
    acknowledged: frozenset[str] = frozenset()
    held_since: str | None = None
    """Breaking drift waits for an acknowledgement since then."""
    model_outage: str | None = None
    """The last run published without asking the model about everything: why."""


def served(published: Published | None, now: float) -> str:
    """Whether the old dictionary is still there for readers, and how old it is."""
    if published is None:
        return "unknown, its store cannot be read"
    if published.published_at is None:
        return "nothing is published yet"
    return f"the one of {published.published_at} is still served, {age(now - epoch(published.published_at))} old"


def drift_topics(databases: Mapping[str, Published], dagster_url: str | None, now: float) -> Iterable[Topic]:
    """One topic for each change set of a database with changes that nobody acknowledged.

    Args:
        databases: Those whose store could be read.
        dagster_url: Address of the Dagster UI, for links.
        now: Epoch seconds.
    """
    for name, published in sorted(databases.items()):

        def step(entry: Entry) -> tuple[str, str, str]:
            # The same two states can follow each other again.
            return entry.previous or "", entry.new or "", entry.detected_at

        open_entries = [entry for entry in published.entries if entry.key not in published.acknowledged]
        for found, group in groupby(sorted(open_entries, key=step), key=step):
            yield _drift_topic(name, published, tuple(group), jsontext.digest(found), dagster_url, now)


def _drift_topic(
    name: str, published: Published, entries: tuple[Entry, ...], step: str, dagster_url: str | None, now: float
) -> Topic:
    first = min(entries, key=lambda entry: entry.detected_at)
    if published.held_since is not None:
        dictionary = f"held: {served(published, now)}; it changes with the run after the acknowledgement"
    else:
        dictionary = f"the one of {published.published_at} describes the new schema; the old one is no longer served"
    return Topic(
        key=jsontext.digest(["drift", name, step])[:32],
        event="drift",
        series=f"drift:{name}",
        databases=(name,),
        since=epoch(first.detected_at),
        title=name,
        facts=(
            Fact("Database", name),
            Fact("Stage", "published_dictionary"),
            Fact("Cause", f"the schema of the database changed; first seen {first.detected_at} by run {first.run_id}"),
            Fact("Dictionary", dictionary),
        ),
        command=f'data_dictionary drift ack {name} --all --reason "..."',
        link=run_link(dagster_url, first.run_id),
        entries=entries,
    )


def run_link(dagster_url: str | None, run_id: str) -> str:
    """Address of a run in the Dagster UI; empty when there is none."""
    return f"{dagster_url}/runs/{run_id}" if dagster_url and run_id else ""


def epoch(stamp: str) -> float:
    """Epoch seconds of a moment as the log and manifests write it; 0 for anything else."""
    try:
        found = datetime.fromisoformat(stamp)
    except ValueError:
        return 0.0
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def stamp(seconds: float) -> str:
    """A moment as messages write it."""
    return moment(datetime.fromtimestamp(seconds, UTC))


def age(seconds: float) -> str:
    """A duration for people, in its two largest units."""
    minutes = int(max(0.0, seconds)) // 60
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"


def _counted(entries: Sequence[Entry]) -> str:
    severities = [entry.severity for entry in entries]
    counts = [(name, severities.count(name)) for name in SEVERITIES if name in severities]
    text = ", ".join(f"{count} {name}" for name, count in counts)
    return f"{text} schema {'change' if len(severities) == 1 else 'changes'}"


def _line(entry: Entry) -> ChangeLine:
    named = ".".join(part for part in (entry.schema, entry.table, entry.column) if part)
    shown = f"{named} ({entry.name})" if entry.name and entry.name not in (entry.table, entry.column) else named
    return ChangeLine(entry.severity, entry.kind, shown, entry.before, entry.after, entry.reason)
