"""`drift_alerts` and `failure_alerts` on a real instance, with real databases and a real receiver."""

from __future__ import annotations

import json
import shutil
import sqlite3
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from servers.openai_stub import KEY, KEY_VARIABLE, Reply, running_stub
from servers.webhook_receiver import Answer, WebhookReceiver, running_receiver
from system.projects import add_sqlite_database, write_project

from dictionary_pipeline.alerts.failures import Watched, tell_failures
from dictionary_pipeline.alerts.reading import Reading
from dictionary_pipeline.alerts.state import FAILURES, AlertState, Failure, Kept, delivery_failures, load_state
from dictionary_pipeline.config.alert_settings import AlertSettings
from dictionary_pipeline.config.resolved import AutomationConfig
from dictionary_pipeline.definitions import defs
from dictionary_pipeline.drift.acks import acknowledge
from dictionary_pipeline.drift.holding import pending
from dictionary_pipeline.drift.reading import published_entries
from dictionary_pipeline.orchestration.alert_sensors import build_alert_sensors
from dictionary_pipeline.orchestration.change_sensor import build_change_sensor
from dictionary_pipeline.orchestration.project import FOLDER_VARIABLE, current_project
from dictionary_pipeline.pipeline import run_database
from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.publishing.open_store import open_store
from dictionary_pipeline.run import database_store, shared_store

ALERTS = """\
publish:
  root: published
alerts:
  group_seconds: 0
  dagster_url: https://dagster.example.com
  channels:
    ops: {type: webhook, url_env: HOOK_URL}
"""
_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[WebhookReceiver]:
    with running_receiver() as server:
        monkeypatch.setenv("HOOK_URL", server.url + "/canary-secret")
        yield server


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_project(tmp_path)
    (tmp_path / "dbt_like_configs" / "project.yml").write_text(ALERTS)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    return tmp_path


class Sensors:
    """Ticks of both sensors, each with the cursor that its last one left."""

    def __init__(self, instance: dg.DagsterInstance) -> None:
        self.instance = instance
        self._built = {sensor.name: sensor for sensor in build_alert_sensors()}
        self._built["schema_change"] = build_change_sensor(AutomationConfig())
        self.cursors: dict[str, str | None] = {}

    def tick(self, name: str) -> str:
        context = dg.build_sensor_context(instance=self.instance, cursor=self.cursors.get(name), definitions=defs)
        result = self._built[name](context)
        if isinstance(result, dg.SensorResult):
            self.cursors[name] = result.cursor
            return str(result.skip_reason)
        self.cursors[name] = context.cursor
        assert isinstance(result, dg.SkipReason)
        return str(result.skip_message)

    def run(self, name: str) -> bool:
        """A run of the job, as Dagster starts it."""
        self.instance.add_dynamic_partitions("databases", [name])
        job = defs.resolve_job_def("refresh_dictionary")
        outcome = job.execute_in_process(
            instance=self.instance, partition_key=name, run_config=_QUIET, raise_on_error=False
        )
        return outcome.success


@pytest.fixture
def sensors() -> Iterator[Sensors]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield Sensors(instance)


def publish(name: str) -> None:
    project = current_project()
    config = project.databases[name]
    assert run_database(config, database_store(config, project.folder)).error is None


def alter(file: Path, statement: str) -> None:
    connection = sqlite3.connect(file)
    connection.execute(statement)
    connection.commit()
    connection.close()


def told(receiver: WebhookReceiver) -> list[tuple[str, str, str]]:
    return [(m["event"], m["severity"], m["title"]) for m in (item.document for item in receiver.received)]


def test_without_a_channel_a_tick_does_nothing(project: Path, sensors: Sensors) -> None:
    (project / "dbt_like_configs" / "project.yml").write_text("publish: {root: published}\n")
    for name in ("drift_alerts", "failure_alerts"):
        assert "No alert channel is configured" in sensors.tick(name)
    assert not (project / "published").exists()


def test_drift_is_told_once_and_no_more_after_it_is_acknowledged(
    project: Path, sensors: Sensors, receiver: WebhookReceiver
) -> None:
    add_sqlite_database(project, "one", 2)
    publish("one")
    assert sensors.tick("drift_alerts") == "Nothing to tell."
    alter(project / "one.db", "ALTER TABLE t1 DROP COLUMN name")
    publish("one")
    assert sensors.tick("drift_alerts") == "1 alerts sent."
    assert sensors.tick("drift_alerts") == "Nothing to tell."
    assert told(receiver) == [("drift", "breaking", "one: 1 breaking schema change")]
    [item] = receiver.received[0].document["items"]
    assert item["changes"][0]["kind"] == "column_removed"
    assert item["changes"][0]["object"] == "main.t1.name"
    assert item["changes"][0]["before"] == "TEXT"
    assert item["command"] == 'data_dictionary drift ack one --all --reason "..."'
    assert item["run_url"].startswith("https://dagster.example.com/runs/")
    assert "the old one is no longer served" in item["facts"]["Dictionary"]
    config = current_project().databases["one"]
    store = database_store(config, project)
    acknowledge(store, [entry.key for entry in published_entries(store)], "me", "planned", datetime.now(UTC))
    shutil.rmtree(project / "published" / ".state")
    assert sensors.tick("drift_alerts") == "Nothing to tell."


def test_held_drift_is_told_with_the_age_of_what_is_served(
    project: Path, sensors: Sensors, receiver: WebhookReceiver
) -> None:
    file = add_sqlite_database(project, "one", 2)
    file.write_text(file.read_text() + "drift:\n  on_breaking: hold\n")
    publish("one")
    alter(project / "one.db", "ALTER TABLE t1 DROP COLUMN name")
    publish("one")
    assert sensors.tick("drift_alerts") == "1 alerts sent."
    [item] = receiver.received[0].document["items"]
    assert item["facts"]["Dictionary"].startswith("held: the one of 20")
    assert "is still served, 0 min old" in item["facts"]["Dictionary"]
    assert sensors.tick("drift_alerts") == "Nothing to tell."
    store = database_store(current_project().databases["one"], project)
    held = pending(store)
    assert held is not None
    acknowledge(store, [entry.key for entry in held.entries], "me", "planned", datetime.now(UTC))
    publish("one")
    assert sensors.tick("drift_alerts") == "Nothing to tell."
    assert len(receiver.received) == 1


def test_new_columns_alone_alert_nobody(project: Path, sensors: Sensors, receiver: WebhookReceiver) -> None:
    add_sqlite_database(project, "one", 2)
    publish("one")
    alter(project / "one.db", "ALTER TABLE t1 ADD COLUMN extra TEXT")
    publish("one")
    assert sensors.tick("drift_alerts") == "Nothing to tell."
    assert receiver.received == []


def test_losing_the_state_tells_what_is_open_once_more(
    project: Path, sensors: Sensors, receiver: WebhookReceiver
) -> None:
    add_sqlite_database(project, "one", 2)
    publish("one")
    alter(project / "one.db", "ALTER TABLE t1 DROP COLUMN name")
    publish("one")
    sensors.tick("drift_alerts")
    shutil.rmtree(project / "published" / ".state" / "alerts")
    sensors.tick("drift_alerts")
    sensors.tick("drift_alerts")
    assert len(receiver.received) == 2


def test_a_delivery_that_fails_is_visible_and_is_made_up_for(
    project: Path, sensors: Sensors, receiver: WebhookReceiver, capfd: pytest.CaptureFixture[str]
) -> None:
    add_sqlite_database(project, "one", 2)
    publish("one")
    alter(project / "one.db", "ALTER TABLE t1 DROP COLUMN name")
    publish("one")
    receiver.script = lambda number: Answer(404)
    capfd.readouterr()
    assert "1 not delivered" in sensors.tick("drift_alerts")
    [failure] = delivery_failures(open_store(current_project().publish, project, ""))
    assert (failure.channel, failure.waiting, failure.attempts) == ("ops", 1, 1)
    receiver.script = lambda number: Answer()
    assert sensors.tick("drift_alerts") == "Nothing to tell."
    wind_back(project / "published" / ".state" / "alerts" / "drift.json")
    assert sensors.tick("drift_alerts") == "1 alerts sent."
    assert delivery_failures(open_store(current_project().publish, project, "")) == ()
    logged = capfd.readouterr().err
    assert "HTTP 404" in logged
    assert "canary-secret" not in logged
    assert receiver.url not in logged


def wind_back(file: Path) -> None:
    """As if the pause after a failed delivery were over."""
    document: dict[str, Any] = json.loads(file.read_text())
    for record in document["records"]:
        record["not_before"] = 0.0
    file.write_text(json.dumps(document))


def test_a_failed_run_is_told_with_what_to_do_and_its_end_too(
    project: Path, sensors: Sensors, receiver: WebhookReceiver
) -> None:
    add_sqlite_database(project, "one", 1)
    assert sensors.run("one")
    assert sensors.tick("failure_alerts") == "Nothing to tell."
    (project / "one.db").rename(project / "away.db")
    assert not sensors.run("one")
    assert sensors.tick("failure_alerts") == "1 alerts sent."
    assert sensors.tick("failure_alerts") == "Nothing to tell."
    [first] = [item.document for item in receiver.received]
    assert (first["event"], first["severity"], first["databases"]) == ("failure", "failed", ["one"])
    [item] = first["items"]
    assert item["facts"]["Stage"] == "schema_snapshot"
    assert "DD-" in item["facts"]["Cause"]
    assert "is still served" in item["facts"]["Dictionary of one"]
    assert item["command"] == "data_dictionary run one"
    assert item["run_url"].startswith("https://dagster.example.com/runs/")
    (project / "away.db").rename(project / "one.db")
    assert sensors.run("one")
    assert sensors.tick("failure_alerts") == "1 alerts sent."
    assert told(receiver)[1][:2] == ("recovery", "resolved")
    assert sensors.tick("failure_alerts") == "Nothing to tell."


def test_a_failure_is_over_when_the_command_that_it_names_has_run(
    project: Path, sensors: Sensors, receiver: WebhookReceiver
) -> None:
    add_sqlite_database(project, "one", 1)
    (project / "one.db").rename(project / "away.db")
    assert not sensors.run("one")
    assert sensors.tick("failure_alerts") == "1 alerts sent."
    (project / "away.db").rename(project / "one.db")
    loaded = current_project()
    config = loaded.databases["one"]
    shared = shared_store(config, loaded.folder)
    assert run_database(config, database_store(config, loaded.folder), shared=shared).error is None
    assert sensors.tick("failure_alerts") == "1 alerts sent."
    assert [event for event, _, _ in told(receiver)] == ["failure", "recovery"]
    assert sensors.tick("failure_alerts") == "Nothing to tell."


def test_a_search_service_that_failed_after_a_publish_is_not_over_with_the_next_one(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    failed = Failure("one", "DD-SEARCH", "search", "away", "search_index", "r1", 100.0)
    watched = Watched(
        AlertSettings(),
        store,
        dict,
        frozenset({"one"}),
        lambda: Reading({}),
        lambda: {"one": datetime.fromtimestamp(200, UTC)},
    )
    tell_failures(watched, Kept(AlertState(failing={"one": failed})), (), 300.0)
    assert load_state(store, FAILURES).state.failing == {"one": failed}


def test_one_missing_variable_of_two_databases_is_one_message(
    project: Path, sensors: Sensors, receiver: WebhookReceiver
) -> None:
    (project / "dbt_like_configs" / "profiles.yml").write_text(
        "p:\n  outputs:\n    default:\n      type: postgres\n      host: 127.0.0.1\n      port: 1\n      user: u\n"
        "      password: \"{{ env_var('NOT_SET_ANYWHERE') }}\"\n      dbname: d\n"
    )
    for name in ("one", "two"):
        (project / "dbt_like_configs" / "databases" / f"{name}.yml").write_text("profile: p\n")
        assert not sensors.run(name)
    assert sensors.tick("failure_alerts") == "1 alerts sent."
    assert told(receiver) == [("failure", "failed", "configuration error: 2 databases")]
    assert "NOT_SET_ANYWHERE" in receiver.received[0].text


def test_a_dry_run_tells_nothing(project: Path, sensors: Sensors, receiver: WebhookReceiver) -> None:
    add_sqlite_database(project, "one", 1)
    (project / "one.db").unlink()
    sensors.instance.add_dynamic_partitions("databases", ["one"])
    options = {"resources": {"refresh_options": {"config": {"dry_run": True}}}}
    defs.resolve_job_def("refresh_dictionary").execute_in_process(
        instance=sensors.instance, partition_key="one", run_config={**_QUIET, **options}, raise_on_error=False
    )
    assert sensors.tick("failure_alerts") == "Nothing to tell."


def test_a_lost_record_of_failures_is_restored_from_the_runs(
    project: Path, sensors: Sensors, receiver: WebhookReceiver
) -> None:
    add_sqlite_database(project, "one", 1)
    (project / "one.db").unlink()
    assert not sensors.run("one")
    sensors.tick("failure_alerts")
    shutil.rmtree(project / "published" / ".state" / "alerts")
    assert sensors.tick("failure_alerts") == "1 alerts sent."
    assert sensors.tick("failure_alerts") == "Nothing to tell."


def test_a_store_that_is_away_is_told_once_from_the_cursor(
    project: Path, sensors: Sensors, receiver: WebhookReceiver
) -> None:
    for name in ("one", "two"):
        add_sqlite_database(project, name, 1)
        assert sensors.run(name)
    assert sensors.tick("failure_alerts") == "Nothing to tell."
    (project / "published").rename(project / "elsewhere")
    (project / "published").write_text("not a folder")
    for name in ("one", "two"):
        assert not sensors.run(name)
    assert "1 alerts sent." in sensors.tick("failure_alerts")
    assert "Nothing to tell." in sensors.tick("failure_alerts")
    assert told(receiver) == [("failure", "failed", "publish target published cannot be used: 2 databases")]
    (project / "published").unlink()
    (project / "elsewhere").rename(project / "published")
    assert sensors.tick("failure_alerts") == "Nothing to tell."
    for name in ("one", "two"):
        assert sensors.run(name)
    assert sensors.tick("failure_alerts") == "1 alerts sent."
    assert told(receiver)[-1][0] == "recovery"
    assert sensors.tick("failure_alerts") == "Nothing to tell."


def test_a_silent_database_is_told_once_and_so_is_its_return(
    project: Path, sensors: Sensors, receiver: WebhookReceiver
) -> None:
    add_sqlite_database(project, "one", 1)
    publish("one")
    sensors.instance.add_dynamic_partitions("databases", ["one"])
    sensors.tick("schema_change")
    (project / "one.db").rename(project / "away.db")
    for _ in range(2):
        forget_pauses(sensors)
        sensors.tick("schema_change")
        sensors.tick("failure_alerts")
    assert len(receiver.received) == 1
    (project / "away.db").rename(project / "one.db")
    forget_pauses(sensors)
    sensors.tick("schema_change")
    sensors.tick("failure_alerts")
    sensors.tick("failure_alerts")
    assert [event for event, _, _ in told(receiver)] == ["failure", "recovery"]


def test_a_silent_database_that_is_no_longer_asked_is_silent_until_a_run_ends_well(
    project: Path, sensors: Sensors, receiver: WebhookReceiver, capfd: pytest.CaptureFixture[str]
) -> None:
    file = add_sqlite_database(project, "one", 1)
    publish("one")
    sensors.instance.add_dynamic_partitions("databases", ["one"])
    (project / "one.db").rename(project / "away.db")
    sensors.tick("schema_change")
    sensors.tick("failure_alerts")
    text = file.read_text()
    file.write_text(text + "probe: {enabled: false}\n")
    forget_pauses(sensors)
    sensors.tick("schema_change")
    sensors.tick("failure_alerts")
    sensors.tick("failure_alerts")
    assert [event for event, _, _ in told(receiver)] == ["failure"]
    assert "answers again" not in capfd.readouterr().err
    (project / "away.db").rename(project / "one.db")
    assert sensors.run("one")
    sensors.tick("failure_alerts")
    assert [event for event, _, _ in told(receiver)] == ["failure", "recovery"]
    # The next outage is news again.
    file.write_text(text)
    (project / "one.db").rename(project / "away.db")
    sensors.cursors.pop("schema_change")
    sensors.tick("schema_change")
    sensors.tick("failure_alerts")
    assert [event for event, _, _ in told(receiver)] == ["failure", "recovery", "failure"]


def test_a_cursor_of_a_wrong_clock_loses_no_failure(project: Path, sensors: Sensors, receiver: WebhookReceiver) -> None:
    add_sqlite_database(project, "one", 1)
    (project / "one.db").rename(project / "away.db")
    sensors.tick("failure_alerts")
    sensors.cursors["failure_alerts"] = json.dumps({"since": time.time() + 400 * 86_400})
    assert not sensors.run("one")
    sensors.tick("failure_alerts")
    assert [event for event, _, _ in told(receiver)] == ["failure"]


def test_a_language_model_that_is_away_is_one_message_for_all_databases(
    project: Path, sensors: Sensors, receiver: WebhookReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    with running_stub() as model:
        (project / "dbt_like_configs" / "project.yml").write_text(
            f"{ALERTS}model:\n  provider: compatible\n  model: stub\n  base_url: {model.url}\n"
            f"  api_key_env: {KEY_VARIABLE}\n  max_retries: 0\n"
        )
        model.script = lambda asked: Reply(status=503)
        for name in ("one", "two"):
            add_sqlite_database(project, name, 1)
            publish(name)
        assert sensors.tick("failure_alerts") == "1 alerts sent."
        assert sensors.tick("failure_alerts") == "Nothing to tell."
        assert told(receiver) == [
            ("failure", "failed", f"language model stub at {model.url} does not answer: 2 databases")
        ]
        assert KEY not in receiver.received[0].text
        model.script = lambda asked: None
        for name in ("one", "two"):
            publish(name)
        assert sensors.tick("failure_alerts") == "1 alerts sent."
    assert told(receiver)[-1][0] == "recovery"


def forget_pauses(sensors: Sensors) -> None:
    """Ask again at once a database that did not answer."""
    cursor = sensors.cursors["schema_change"]
    assert cursor is not None
    sensors.cursors["schema_change"] = json.dumps({**json.loads(cursor), "not_before": {}})


def test_a_database_whose_log_is_damaged_silences_no_other(
    project: Path, sensors: Sensors, receiver: WebhookReceiver
) -> None:
    for name in ("one", "two"):
        add_sqlite_database(project, name, 2)
        publish(name)
        alter(project / f"{name}.db", "ALTER TABLE t1 DROP COLUMN name")
        publish(name)
    (project / "published" / "one" / "manifest.json").write_text('{"files": {}, "problems": [3]}')
    said = sensors.tick("drift_alerts")
    assert said.startswith("1 alerts sent. one cannot be read: ")
    assert told(receiver) == [("drift", "breaking", "two: 1 breaking schema change")]


def test_a_broken_project_file_is_named_and_nothing_is_sent(
    project: Path, sensors: Sensors, receiver: WebhookReceiver
) -> None:
    (project / "dbt_like_configs" / "project.yml").write_text("alerts: {chanels: {}}\n")
    for name in ("drift_alerts", "failure_alerts"):
        assert "Did you mean 'channels'?" in sensors.tick(name)
