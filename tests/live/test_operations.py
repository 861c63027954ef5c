"""A day of operations on a live `dagster dev`: webserver, daemon, PostgreSQL, receivers of alerts, all real.

The tests are one story and run in order: each goes on where the last one ended.
"""

from __future__ import annotations

import hmac
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from live.stoppable_postgres import StoppablePostgres, stoppable_postgres
from servers.dagster_dev import DagsterDev, dagster_dev, wait_until
from servers.postgres import execute
from servers.smtp_receiver import SmtpReceiver, running_smtp
from servers.webhook_receiver import Received, WebhookReceiver, running_receiver
from system.projects import write_project

WORKSPACE = Path(__file__).parents[2] / "workspace.yaml"
NAMES = ("shop", "crm", "depot")
SECRET = "canary-signing-key"
PROJECT = """\
publish:
  root: published
automation:
  nightly_cron: "0 3 29 2 *"
alerts:
  group_seconds: 20
  channels:
    slack: {{type: slack, url_env: LIVE_SLACK}}
    teams: {{type: teams, url_env: LIVE_TEAMS}}
    hook: {{type: webhook, url_env: LIVE_HOOK, secret_env: LIVE_SECRET}}
    mail: {{type: email, host: 127.0.0.1, port: {port}, security: none, from: d@example.com, to: [o@example.com]}}
"""
TABLES = """
    CREATE TABLE customer (id integer PRIMARY KEY, name text, city text);
    CREATE TABLE orders (id integer PRIMARY KEY, customer_id integer REFERENCES customer, total numeric(10,2));
    INSERT INTO customer SELECT i, 'n' || i, 'c' || i % 7 FROM generate_series(1, 50) i;
"""
PATHS = ("/slack", "/teams", "/hook")


@dataclass(frozen=True)
class World:
    """Everything that runs."""

    folder: Path
    postgres: StoppablePostgres
    hooks: WebhookReceiver
    mail: SmtpReceiver
    dev: DagsterDev

    def manifest(self, name: str) -> dict[str, Any]:
        return json.loads((self.folder / "published" / name / "manifest.json").read_text())

    def succeeded(self, name: str) -> int:
        return sum(run["status"] == "SUCCESS" for run in self.dev.runs(name))

    def told(self, path: str) -> list[Received]:
        return self.hooks.at(path)

    def counts(self) -> list[int]:
        """Messages so far, by channel."""
        return [*(len(self.told(path)) for path in PATHS), len(self.mail.received)]

    def alter(self, name: str, script: str) -> None:
        execute(self.postgres.url(name), script)

    def database_file(self, name: str, more: str = "") -> None:
        port = self.postgres.url(name).rpartition(":")[2].partition("/")[0]
        text = f"connection:\n  type: postgres\n  host: 127.0.0.1\n  port: {port}\n  user: postgres\n  password: ''\n"
        text += f"  dbname: {name}\nprobe:\n  every: 1m\n{more}"
        (self.folder / "dbt_like_configs" / "databases" / f"{name}.yml").write_text(text)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("live")
    write_project(folder)
    with stoppable_postgres() as postgres, running_receiver() as hooks, running_smtp() as mail:
        (folder / "dbt_like_configs" / "project.yml").write_text(PROJECT.format(port=mail.port))
        for path in PATHS:
            os.environ[f"LIVE_{path[1:].upper()}"] = hooks.url + path
        os.environ["LIVE_SECRET"] = SECRET
        for name in NAMES:
            postgres.create_database(name, TABLES)
        with dagster_dev(folder, WORKSPACE) as dev:
            world = World(folder, postgres, hooks, mail, dev)
            for name in NAMES:
                world.database_file(name)
            wait_until(lambda: all(world.succeeded(name) for name in NAMES), "first runs", 420)
            yield world


def settled(world: World, seconds: float = 75) -> list[int]:
    """Messages by channel once the alert sensors had time to look twice."""
    time.sleep(seconds)
    return world.counts()


def told_more(world: World, before: list[int]) -> Callable[[], bool]:
    return lambda: all(now > then for now, then in zip(world.counts(), before, strict=True))


def test_a_dropped_column_is_run_published_and_told_once_in_every_channel(world: World) -> None:
    assert world.counts() == [0, 0, 0, 0], "a first publish is no drift"
    before, runs = world.manifest("shop")["schema_fingerprint"], world.succeeded("shop")
    world.alter("shop", "ALTER TABLE customer DROP COLUMN city")
    wait_until(lambda: world.succeeded("shop") == runs + 1, "the run of shop", 300)
    assert world.manifest("shop")["schema_fingerprint"] != before
    entry = json.loads((world.folder / "published/shop/schema_store/shop.public.customer.json").read_text())
    assert [column["Name"] for column in entry["Columns"]] == ["id", "name"]
    wait_until(told_more(world, [0, 0, 0, 0]), "alerts in every channel", 180)
    assert settled(world) == [1, 1, 1, 1]
    [hook] = world.told("/hook")
    stamp = hook.headers["x-dictionary-timestamp"]
    expected = hmac.new(SECRET.encode(), stamp.encode() + b"." + hook.body, sha256).hexdigest()
    assert hook.headers["x-dictionary-signature"] == f"sha256={expected}"
    message = hook.document
    assert (message["event"], message["severity"], message["databases"]) == ("drift", "breaking", ["shop"])
    [change] = message["items"][0]["changes"]
    assert (change["kind"], change["object"]) == ("column_removed", "public.customer.city")
    for text in (world.told("/slack")[0].text, world.told("/teams")[0].text, world.mail.received[0].text):
        assert "public.customer.city" in text
        assert "breaking" in text
    assert {len(world.dev.runs(name)) for name in ("crm", "depot")} == {1}, "only that database ran"


def test_a_changed_comment_is_published_and_breaks_nobody(world: World) -> None:
    counts, runs = world.counts(), world.succeeded("crm")
    world.alter("crm", "COMMENT ON TABLE customer IS 'People who buy'")
    wait_until(lambda: world.succeeded("crm") == runs + 1, "the run of crm", 300)
    entry = json.loads((world.folder / "published/crm/schema_store/crm.public.customer.json").read_text())
    assert entry["Definition"] == "People who buy"
    assert settled(world) == counts


def test_a_stopped_server_is_no_drift_and_one_message_for_all_its_databases(world: World) -> None:
    counts = world.counts()
    manifests = {name: world.manifest(name) for name in NAMES}
    world.postgres.stop()
    try:
        wait_until(told_more(world, counts), "alerts in every channel", 420)
        assert settled(world) == [count + 1 for count in counts]
    finally:
        world.postgres.start()
    message = world.told("/hook")[-1].document
    assert (message["event"], message["databases"]) == ("failure", sorted(NAMES))
    assert {name: world.manifest(name) for name in NAMES} == manifests


def test_a_server_that_is_back_is_told_as_resolved(world: World) -> None:
    counts = world.counts()
    wait_until(told_more(world, counts), "resolve messages in every channel", 900)
    assert settled(world) == [count + 1 for count in counts]
    message = world.told("/hook")[-1].document
    assert (message["event"], message["status"], message["databases"]) == ("recovery", "resolved", sorted(NAMES))
    lines = (world.folder / "published/shop/drift").glob("log-*.jsonl")
    assert sum(len(path.read_text().splitlines()) for path in lines) == 1, "an outage is no drift"


def test_an_edited_schedule_is_honoured_at_its_next_due_time(world: World) -> None:
    runs = world.succeeded("depot")
    world.alter("depot", "INSERT INTO customer VALUES (1000, 'new', 'c1')")
    due = datetime.now(UTC) + timedelta(minutes=1)
    cron = f"{due.minute} {due.hour} * * *"
    # Samples of yesterday's age, so that the unchanged schema is no reason to skip the run.
    world.database_file("depot", f'schedule:\n  cron: "{cron}"\n  timezone: UTC\nlimits:\n  max_age_hours: 0.001\n')
    wait_until(lambda: world.succeeded("depot") == runs + 1, "the scheduled run of depot", 1_200)
    run = world.dev.runs("depot")[0]
    assert run["startTime"] >= due.replace(second=0).timestamp()
