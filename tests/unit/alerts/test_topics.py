"""What messages say, and which failures have one cause."""

from __future__ import annotations

from dataclasses import replace

from dictionary_pipeline.alerts.causes import Place, cause_of, failure_topics, place_of
from dictionary_pipeline.alerts.message import Message, bounded_text, clean, message_document, text_lines
from dictionary_pipeline.alerts.topics import Published, age, drift_topics, served
from dictionary_pipeline.config.model_settings import ModelSettings
from dictionary_pipeline.config.resolved import ConnectionSpec, DatabaseConfig

from .alerting import HOUR, NOW, STAMP, drift, entry, failing, failure


def text_of(topic: object) -> str:
    [part] = [topic.part(topic.entries)]  # type: ignore[attr-defined]
    return "\n".join(text_lines(Message("i", "t", "drift", "new", "breaking", "t", STAMP, (), (part,))))


def test_drift_says_stage_object_cause_before_after_state_of_the_dictionary_and_command() -> None:
    changed = entry("type_changed", before="integer", after="text", reason="used by view app.v")
    [topic] = drift_topics({"sales": Published(STAMP, (changed,))}, "https://d.example.com", NOW)
    text = text_of(topic)
    for piece in (
        "breaking: type_changed app.customer.email",
        "integer -> text",
        "used by view app.v",
        "Stage: published_dictionary",
        f"first seen {STAMP} by run run-1",
        f"Dictionary: the one of {STAMP} describes the new schema; the old one is no longer served",
        'Command: data_dictionary drift ack sales --all --reason "..."',
        "Run: https://d.example.com/runs/run-1",
    ):
        assert piece in text


def test_held_drift_says_that_the_old_dictionary_is_served_and_how_old_it_is() -> None:
    [topic] = drift(entry(), held_since=STAMP)
    assert f"Dictionary: held: the one of {STAMP} is still served, 6 min old" in text_of(topic)


def test_a_held_change_set_and_the_same_one_published_are_one_topic() -> None:
    [held], [published] = drift(entry(), held_since=STAMP), drift(entry())
    assert held.key == published.key


def test_long_lists_of_changes_are_cut_worst_first() -> None:
    entries = [entry("fk_removed", "risky", table=f"t{n}") for n in range(30)] + [entry()]
    [topic] = drift(*entries)
    part = topic.part(topic.entries)
    assert (len(part.changes), part.left_out) == (20, 11)
    assert part.changes[0].severity == "breaking"


def test_the_age_of_what_is_served_is_told() -> None:
    assert (
        served(Published("2026-05-28T18:26:40Z"), NOW)
        == "the one of 2026-05-28T18:26:40Z is still served, 2 h 0 min old"
    )
    assert served(Published(), NOW) == "nothing is published yet"
    assert "cannot be read" in served(None, NOW)
    assert [age(seconds) for seconds in (59, 3_599, HOUR, 49 * HOUR)] == ["0 min", "59 min", "1 h 0 min", "2 d 1 h"]


def test_names_of_a_database_cannot_break_lines_or_steer_a_screen() -> None:
    assert clean("a\nb\x1b[31m\u202ec\ud800") == "a b [31m c?"
    [topic] = drift(entry(table="x\nCommand: rm -rf /"))
    assert "\nCommand: rm" not in text_of(topic)


def test_a_message_is_cut_at_a_line() -> None:
    [topic] = drift(*(entry("fk_removed", "risky", table=f"t{n}") for n in range(20)))
    message = Message("i", "t", "drift", "new", "risky", "x", STAMP, (), (topic.part(topic.entries),))
    text = bounded_text(message, 300)
    assert len(text) <= 300
    assert text.startswith("[risky] x\n")
    assert text.endswith("(cut; see `data_dictionary status` and `data_dictionary drift`)")


def test_a_long_message_lists_fewer_changes_and_still_says_what_to_do() -> None:
    changes = [entry("type_changed", column=f"column_{n}", reason="used by app.overview " * 5) for n in range(25)]
    [topic] = drift(*changes)
    text = bounded_text(Message("i", "t", "drift", "new", "breaking", "x", STAMP, (), (topic.part(changes),)), 3_800)
    assert 3_000 < len(text) <= 3_800
    assert "app.customer.column_0\n" in text
    assert "- and 10 more" in text
    assert "Dictionary: " in text
    assert "Command: data_dictionary drift ack sales --all" in text


def test_a_failure_of_forty_databases_still_says_what_to_do() -> None:
    [topic] = failing(*(failure(f"database_{number:02}") for number in range(40)))
    text = bounded_text(Message("i", "t", "failure", "new", "failed", "x", STAMP, (), (topic.part(()),)), 3_800)
    assert len(text) <= 3_800
    assert "Cause: the server is down" in text
    assert "Command: data_dictionary run database_00 " in text
    assert "Run: http://dagster/runs/run-9" in text


def test_the_document_is_strict_json() -> None:
    [topic] = drift(entry(before="\u2028\ud800 'x'"))
    message = Message("i", "t", "drift", "new", "risky", "x", STAMP, ("sales",), (topic.part(topic.entries),))
    assert message_document(message).encode()


def connected(name: str, **options: object) -> DatabaseConfig:
    spec = ConnectionSpec("postgres", {"host": "db1", "user": "reader", "dbname": name, **options})
    return DatabaseConfig(name, spec, model=ModelSettings("compatible", "m", base_url="http://model/v1"))


def test_a_login_in_the_address_of_a_model_is_not_told() -> None:
    config = connected("sales")
    told = replace(config, model=ModelSettings("compatible", "m", base_url="https://u:canary@gate:8443/v1?key=canary"))
    assert place_of(told).model == "m at https://gate:8443/v1"


def test_servers_on_one_host_are_told_apart_by_their_port() -> None:
    one, two = place_of(connected("a", port=5432)), place_of(connected("b", port=5433))
    assert one.server != two.server
    assert cause_of(failure("a"), one) != cause_of(failure("b"), two)
    assert cause_of(failure("a"), one) == cause_of(failure("b"), place_of(connected("b", port=5432)))


def test_a_place_names_user_and_model_but_no_secret() -> None:
    place = place_of(connected("a", port=5432))
    assert place.login == "user reader on server db1:5432"
    assert place.model == "m at http://model/v1"
    assert place.store == "published"


def test_causes_keep_apart_what_has_to_be_put_right_apart() -> None:
    topics = failing(
        failure("a"),
        failure("b", "credential", "DD-LOGIN"),
        failure("c", "store", "DD-STORE"),
        failure("d", "model", "DD-MODEL"),
        failure("e", "database", "DD-EMPTY"),
        failure("f", "database", "DD-EMPTY"),
        failure("g", "configuration", "DD-CONFIG", text="X is not set"),
        failure("h", "configuration", "DD-CONFIG", text="X is not set"),
        failure("i", "run", "DD-RUN"),
        failure("j", "run", "DD-RUN"),
    )
    titles = sorted(topic.title for topic in topics)
    assert titles == [
        "configuration error: 2 databases",
        "language model gpt does not answer: d",
        "login refused, user u on server db1:5432: b",
        "publish target published cannot be used: c",
        "run failed (DD-EMPTY): e",
        "run failed (DD-EMPTY): f",
        "runs ended without a result: 2 databases",
        "server db1:5432 is unreachable: 10 databases",
    ]


def test_a_server_that_is_away_names_all_databases_on_it_and_resumes_those_that_failed() -> None:
    place = Place("db1:5432")
    places = {"a": place, "b": place, "other": Place("db2:5432")}
    [topic] = failure_topics([failure("a")], places, {}, None, NOW)
    assert topic.databases == ("a", "b")
    assert topic.command == "data_dictionary run a"
    assert "Cause: the server is down (DD-CONNECTION, see docs/operations.md)" in text_of(topic)
