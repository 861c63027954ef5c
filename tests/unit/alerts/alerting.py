"""Builders for tests of alerts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dictionary_pipeline.alerts.causes import Place, failure_topics
from dictionary_pipeline.alerts.plan import Outcome, Outgoing, plan, settle
from dictionary_pipeline.alerts.state import AlertState, Failure, parse_state
from dictionary_pipeline.alerts.topics import Published, Topic, drift_topics
from dictionary_pipeline.config.alert_settings import AlertRule, AlertSettings, ChannelSettings
from dictionary_pipeline.drift.record import Entry

NOW = 1_780_000_000.0
STAMP = "2026-05-28T20:20:00Z"
"""A moment shortly before NOW."""
HOUR = 3_600.0


def entry(kind: str = "column_removed", severity: str = "breaking", **changes: Any) -> Entry:
    """A line of the drift log."""
    values: dict[str, Any] = {
        "detected_at": STAMP,
        "run_id": "run-1",
        "previous": "f1",
        "new": "f2",
        "kind": kind,
        "severity": severity,
        "schema": "app",
        "table": "customer",
        "column": "email",
        "name": "",
        "before": "varchar(200)",
        "after": "",
        "confidence": 1.0,
        "reason": "",
    }
    return Entry(**{**values, **changes})


def settings(*rules: AlertRule, channels: Iterable[str] = ("ops",), **changes: Any) -> AlertSettings:
    """Settings with webhook channels of these names."""
    made = tuple(ChannelSettings(name, "webhook", url_env="HOOK_URL") for name in channels)
    return AlertSettings(channels=made, rules=rules or (AlertRule(()),), **changes)


def drift(*entries: Entry, database: str = "sales", **changes: Any) -> list[Topic]:
    """Topics of one database's log."""
    published = Published(published_at=STAMP, entries=entries, **changes)
    return list(drift_topics({database: published}, None, NOW))


def failure(
    database: str = "sales", scope: str = "server", identifier: str = "DD-CONNECTION", **changes: Any
) -> Failure:
    """A failed run."""
    values: dict[str, Any] = {"text": "the server is down", "stage": "schema_snapshot", "run_id": "run-9", "at": NOW}
    return Failure(database, identifier, scope, **{**values, **changes})


def failing(*failures: Failure, places: dict[str, Place] | None = None) -> list[Topic]:
    """Topics of failures; without places every database is on the server `db1:5432`."""
    known = places or {
        item.database: Place("server db1:5432", "user u on server db1:5432", "gpt", "published") for item in failures
    }
    return list(failure_topics(failures, known, {}, "http://dagster", NOW))


class Told:
    """Evaluates again and again, and keeps what was delivered."""

    def __init__(self, rules: AlertSettings) -> None:
        self.settings = rules
        self.state = AlertState()
        self.works = True
        self.sent: list[Outgoing] = []

    def tick(self, topics: Iterable[Topic], now: float, unknown: Iterable[str] = ()) -> list[str]:
        """Evaluate once; status and subject of what was delivered."""
        decided = plan(list(topics), self.settings, self.state, now, set(unknown))
        state = decided.state
        for item in decided.outgoing:
            state = settle(state, item, Outcome() if self.works else Outcome("receiver is away"), now)
        kept = parse_state(state.to_json())
        assert kept == state
        self.state = kept
        if not self.works:
            return []
        self.sent += decided.outgoing
        return [f"{item.message.status} {item.message.subject}" for item in decided.outgoing]
