"""Who is told what, and when: told once, repeated quietly, collected, resolved."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dictionary_pipeline.alerts.plan import Outcome, plan, settle
from dictionary_pipeline.alerts.state import AlertState
from dictionary_pipeline.config.alert_settings import AlertRule, Digest

from .alerting import HOUR, NOW, Told, drift, entry, failing, failure, settings


def test_a_change_set_is_one_message_and_is_told_once() -> None:
    told = Told(settings())
    topics = drift(entry(), entry("fk_removed", "risky"), entry("column_added", "safe"))
    [subject] = told.tick(topics, NOW)
    assert subject == "new [breaking] sales: 1 breaking, 1 risky schema changes"
    assert told.tick(topics, NOW) == []
    assert told.tick(topics, NOW + HOUR) == []
    assert len(told.sent[0].message.parts[0].changes) == 2


def test_two_change_sets_are_two_messages() -> None:
    told = Told(settings())
    assert len(told.tick(drift(entry(), entry(previous="f2", new="f3")), NOW)) == 2


def test_a_change_that_happens_again_is_told_again() -> None:
    told = Told(settings())
    first, undone = entry(), entry("column_added", "safe", previous="f2", new="f1", detected_at="2026-05-28T20:25:00Z")
    assert len(told.tick(drift(first), NOW)) == 1
    assert told.tick(drift(first, undone), NOW + HOUR) == []
    again = entry(detected_at="2026-05-28T20:30:00Z")
    assert told.tick(drift(first, undone, again), NOW + 2 * HOUR) == ["new [breaking] sales: 1 breaking schema change"]


@pytest.mark.parametrize("severity", ["safe", "cosmetic"])
def test_what_breaks_nothing_is_not_told_unless_asked(severity: str) -> None:
    topics = drift(entry("comment_changed", severity))
    assert Told(settings()).tick(topics, NOW) == []
    assert len(Told(settings(AlertRule((), severity="cosmetic"))).tick(topics, NOW)) == 1


def test_unacknowledged_drift_is_repeated_after_the_configured_hours_until_acknowledged() -> None:
    told = Told(settings(repeat_after_hours=24))
    change = entry()
    told.tick(drift(change), NOW)
    assert told.tick(drift(change), NOW + 23 * HOUR) == []
    [again] = told.tick(drift(change), NOW + 24 * HOUR)
    assert again.startswith("repeat [breaking]")
    assert told.tick(drift(change), NOW + 25 * HOUR) == []
    assert told.tick(drift(change, acknowledged=frozenset({change.key})), NOW + 100 * HOUR) == []
    assert not told.state.records


def test_nothing_is_repeated_when_repeats_are_off() -> None:
    told = Told(settings(repeat_after_hours=0))
    told.tick(drift(entry()), NOW)
    assert told.tick(drift(entry()), NOW + 1_000 * HOUR) == []


def test_only_the_newest_change_set_of_a_database_is_repeated() -> None:
    told = Told(settings())
    old, new = entry(detected_at="2026-05-28T10:00:00Z"), entry(previous="f2", new="f3", table="orders")
    told.tick(drift(old), NOW)
    told.tick(drift(old, new), NOW + HOUR)
    repeated = told.tick(drift(old, new), NOW + 48 * HOUR)
    assert len(repeated) == 1
    assert told.sent[-1].message.parts[0].changes[0].object == "app.orders.email"


def test_old_drift_is_no_news_when_alerts_are_switched_on() -> None:
    assert Told(settings()).tick(drift(entry(detected_at="2026-01-01T00:00:00Z")), NOW) == []


def test_losing_the_state_tells_an_open_item_once_more_and_no_other() -> None:
    told = Told(settings())
    told.tick(drift(entry()), NOW)
    told.state = AlertState()
    assert len(told.tick(drift(entry()), NOW + 60)) == 1
    assert told.tick(drift(entry()), NOW + 120) == []


def test_a_refused_message_stays_due_and_backs_off() -> None:
    told = Told(settings())
    told.works = False
    topics = drift(entry())
    told.tick(topics, NOW)
    [record] = told.state.records.values()
    assert (record.attempts, record.error) == (1, "receiver is away")
    told.works = True
    assert told.tick(topics, NOW + 30) == []
    [subject] = told.tick(topics, NOW + 61)
    assert subject.startswith("new ")


def test_a_receiver_that_asks_to_wait_is_given_that_time() -> None:
    decided = plan(drift(entry()), settings(), AlertState(), NOW)
    state = settle(decided.state, decided.outgoing[0], Outcome("busy", retry_after=600), NOW)
    assert plan(drift(entry()), settings(), state, NOW + 599).outgoing == ()
    assert len(plan(drift(entry()), settings(), state, NOW + 601).outgoing) == 1


def test_a_delivery_under_way_is_not_started_twice_but_comes_again_when_its_sender_died() -> None:
    claimed = plan(drift(entry()), settings(), AlertState(), NOW).state
    assert plan(drift(entry()), settings(), claimed, NOW + 30).outgoing == ()
    assert len(plan(drift(entry()), settings(), claimed, NOW + 300).outgoing) == 1


def test_a_message_keeps_its_id_over_repeated_deliveries() -> None:
    first = plan(drift(entry()), settings(), AlertState(), NOW)
    second = plan(drift(entry()), settings(), first.state, NOW + 300)
    assert first.outgoing[0].message.id == second.outgoing[0].message.id


def test_failures_with_one_cause_are_one_message_that_lists_the_databases() -> None:
    told = Told(settings(group_seconds=20))
    topics = failing(failure("a"), failure("b"), failure("c"))
    assert told.tick(topics, NOW) == []
    [subject] = told.tick(topics, NOW + 30)
    assert subject == "new [failed] server db1:5432 is unreachable: 3 databases"
    assert told.sent[0].message.databases == ("a", "b", "c")
    assert told.tick(topics, NOW + 60) == []


def test_a_failure_that_passes_at_once_is_not_told() -> None:
    told = Told(settings())
    told.tick(failing(failure()), NOW)
    assert told.tick([], NOW + 30) == []
    assert told.tick([], NOW + 60) == []


def test_the_end_of_a_failure_is_told_once() -> None:
    told = Told(settings())
    for now in (NOW, NOW + 30):
        told.tick(failing(failure("a"), failure("b")), now)
    assert told.tick([], NOW + 600) == []
    [subject] = told.tick([], NOW + 630)
    assert subject == "resolved [resolved] server db1:5432 is unreachable: 2 databases"
    assert told.tick([], NOW + 660) == []
    assert not told.state.records


def test_a_cause_that_flickers_is_not_resolved() -> None:
    told = Told(settings())
    topics = failing(failure())
    told.tick(topics, NOW)
    told.tick(topics, NOW + 30)
    told.tick([], NOW + 60)
    assert told.tick(topics, NOW + 70) == []
    assert told.tick([], NOW + 80) == []


def test_further_databases_with_the_same_cause_are_told_later_in_one_message() -> None:
    told = Told(settings())
    for now in (NOW, NOW + 30):
        told.tick(failing(failure("a", "store", "DD-STORE")), now)
    both = failing(failure("a", "store", "DD-STORE"), failure("b", "store", "DD-STORE"))
    assert told.tick(both, NOW + 60) == []
    [subject] = told.tick(both, NOW + 1_000)
    assert subject.startswith("update [failed] publish target published cannot be used: 2 databases")


def test_recovery_is_told_only_where_a_rule_says_so() -> None:
    told = Told(settings(AlertRule((), events=("failure",))))
    for now in (NOW, NOW + 30):
        told.tick(failing(failure()), now)
    assert told.tick([], NOW + 600) == told.tick([], NOW + 700) == []
    assert not told.state.records


def test_a_channel_that_is_no_longer_sent_to_hears_no_false_recovery() -> None:
    told = Told(settings())
    topics = failing(failure())
    for now in (NOW, NOW + 30):
        told.tick(topics, now)
    told.settings = settings(AlertRule((), events=("drift", "recovery")))
    assert told.tick(topics, NOW + 60) == told.tick(topics, NOW + 120) == []


def test_a_database_that_cannot_be_read_changes_nothing() -> None:
    told = Told(settings())
    told.tick(drift(entry()), NOW)
    told.tick([], NOW + 60, unknown=["sales"])
    assert told.tick(drift(entry()), NOW + 120) == []


def test_a_digest_collects_and_is_sent_after_its_hours() -> None:
    told = Told(settings(AlertRule((), digest=Digest(hours=6))))
    first = drift(entry())
    both = [*first, *drift(entry("fk_removed", "risky"), database="hr")]
    assert told.tick(first, NOW) == []
    assert told.tick(both, NOW + HOUR) == []
    [subject] = told.tick(both, NOW + 6 * HOUR)
    assert subject == "digest [breaking] 2 alerts"
    assert [part.heading for part in told.sent[0].message.parts] == [
        "[breaking] sales: 1 breaking schema change",
        "[risky] hr: 1 risky schema change",
    ]
    assert told.tick(both, NOW + 7 * HOUR) == []


def test_a_digest_can_wait_for_a_time_of_day() -> None:
    # NOW is 2026-05-28 20:26:40 UTC, a Thursday.
    told = Told(settings(AlertRule((), digest=Digest(cron="0 8 * * *", timezone="Europe/Berlin"))))
    assert told.tick(drift(entry()), NOW) == []
    eight_in_berlin = NOW + 9 * HOUR + 1_999 + 1
    assert told.tick(drift(entry()), eight_in_berlin - 60) == []
    assert len(told.tick(drift(entry()), eight_in_berlin + 60)) == 1


def test_a_rule_that_sends_at_once_wins_over_a_digest_for_the_same_channel() -> None:
    rules = (AlertRule((), digest=Digest(hours=6)), AlertRule(("ops",), severity="breaking"))
    assert len(Told(settings(*rules)).tick(drift(entry()), NOW)) == 1
    assert Told(settings(*rules)).tick(drift(entry("fk_removed", "risky")), NOW) == []


def test_a_storm_is_one_message() -> None:
    topics = [topic for number in range(30) for topic in drift(entry(), database=f"db{number}")]
    assert Told(settings()).tick(topics, NOW) == ["digest [breaking] 30 alerts"]


def test_rules_choose_by_database_schema_and_severity() -> None:
    rules = (
        AlertRule(("sales-team",), databases=("sales*",), schemas=("app",)),
        AlertRule(("ops",), severity="breaking"),
    )
    told = Told(settings(*rules, channels=("ops", "sales-team")))
    hr = drift(entry("fk_removed", "risky"), database="hr")
    sales = drift(entry("fk_removed", "risky"), entry(schema="other"), database="sales_eu")
    told.tick([*hr, *sales], NOW)
    assert [(item.channel, len(item.message.parts[0].changes)) for item in told.sent] == [("ops", 1), ("sales-team", 1)]
    assert told.sent[0].message.parts[0].changes[0].object == "other.customer.email"


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["breaking", "risky", "safe"]), st.integers(1, 3))),
    st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from(["server", "store", "database"]))),
)
def test_the_same_facts_twice_give_no_second_message(
    changes: list[tuple[str, str, int]], failures: list[tuple[str, str]]
) -> None:
    told = Told(settings(channels=("ops", "team"), group_seconds=0))
    topics = []
    for name in {database for database, _, _ in changes}:
        entries = [entry("fk_removed", s, new=f"f{step}", table=s) for d, s, step in changes if d == name]
        topics += drift(*entries, database=name)
    topics += failing(*(failure(name, scope) for name, scope in failures))
    told.tick(topics, NOW)
    assert told.tick(topics, NOW) == []
    assert told.tick(topics, NOW + 600) == []
