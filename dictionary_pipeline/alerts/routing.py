"""Which channels are told about a topic, and how: the rules of `project.yml`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from dictionary_pipeline.alerts.topics import Topic
from dictionary_pipeline.config.alert_settings import AlertRule, AlertSettings, Digest
from dictionary_pipeline.config.drift_settings import SEVERITIES
from dictionary_pipeline.drift.record import Entry


class Route(NamedTuple):
    """A channel that is told about a topic."""

    channel: str
    entries: tuple[Entry, ...]
    """Drift: the changes that the rules let through."""
    digest: Digest | None
    repeat_seconds: float
    """0: never again."""


def routes(topic: Topic, settings: AlertSettings) -> Iterator[Route]:
    """Channels that a topic goes to.

    A channel gets what any rule that names it lets through; at once, if one of those rules does not collect.
    """
    for channel in settings.channels:
        rules = [rule for rule in _rules_of(channel.name, settings) if _concerns(rule, topic)]
        chosen = [rule for rule in rules if topic.event == "failure" or any(_fits(rule, e) for e in topic.entries)]
        if not chosen:
            continue
        entries = tuple(entry for entry in topic.entries if any(_fits(rule, entry) for rule in chosen))
        digests = [rule.digest for rule in chosen]
        hours = [
            settings.repeat_after_hours if rule.repeat_after_hours is None else rule.repeat_after_hours
            for rule in chosen
        ]
        repeats = [3_600 * value for value in hours if value > 0]
        yield Route(
            channel.name,
            entries,
            None if None in digests else digests[0],
            min(repeats, default=0.0),
        )


def recovery_digest(channel: str, databases: Sequence[str], settings: AlertSettings) -> tuple[bool, Digest | None]:
    """Whether a channel is told about the end of a failure of these databases, and what collects that."""
    chosen = [
        rule
        for rule in _rules_of(channel, settings)
        if "recovery" in rule.events and any(_matches(rule.databases, name) for name in databases)
    ]
    digests = [rule.digest for rule in chosen]
    return bool(chosen), None if not chosen or None in digests else digests[0]


def _rules_of(channel: str, settings: AlertSettings) -> Iterable[AlertRule]:
    return (rule for rule in settings.rules if not rule.channels or channel in rule.channels)


def _concerns(rule: AlertRule, topic: Topic) -> bool:
    return topic.event in rule.events and any(_matches(rule.databases, name) for name in topic.databases)


def _fits(rule: AlertRule, entry: Entry) -> bool:
    is_severe = SEVERITIES.index(entry.severity) <= SEVERITIES.index(rule.severity)
    return is_severe and _matches(rule.schemas, entry.schema)


def _matches(globs: Sequence[str], name: str) -> bool:
    return not globs or any(fnmatchcase(name.casefold(), glob.casefold()) for glob in globs)
