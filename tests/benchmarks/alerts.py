"""Alerts end to end: `python tests/benchmarks/alerts.py` against a live `dagster dev`; prints one JSON line.

Three PostgreSQL databases on one server, every kind of channel with a local receiver: a dropped column, a comment
alone, the server stopped and started again. Takes about a quarter of an hour, most of it the pauses of the sensors.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from servers import postgres as server_of  # noqa: E402
from servers.dagster_dev import dagster_dev, wait_until  # noqa: E402
from servers.smtp_receiver import SmtpReceiver, running_smtp  # noqa: E402
from servers.webhook_receiver import WebhookReceiver, running_receiver  # noqa: E402

NAMES = ("billing", "crm", "sales")
_PROJECT = """\
publish: {{root: published}}
alerts:
  channels:
    slack: {{type: slack, url_env: LIVE_SLACK_URL}}
    teams: {{type: teams, url_env: LIVE_TEAMS_URL}}
    hook: {{type: webhook, url_env: LIVE_HOOK_URL, secret_env: LIVE_HOOK_KEY}}
    mail: {{type: email, host: localhost, port: {port}, security: none, from: a@example.com, to: b@example.com}}
"""
_SCHEMA = "CREATE TABLE customer (id int PRIMARY KEY, email text, city text); COMMENT ON TABLE customer IS 'one'"


@dataclass
class Live:
    """Everything that was sent so far."""

    web: WebhookReceiver
    mail: SmtpReceiver

    def titles(self) -> dict[str, list[str]]:
        """Channel -> first lines of its messages."""
        return {
            "slack": [item.document["text"].splitlines()[0] for item in self.web.at("/slack")],
            "teams": [
                item.document["attachments"][0]["content"]["body"][0]["inlines"][0]["text"]
                for item in self.web.at("/teams")
            ],
            "hook": [f"[{item.document['severity']}] {item.document['title']}" for item in self.web.at("/hook")],
            "mail": [str(item.message["Subject"]) for item in self.mail.received],
        }

    def all_have(self, count: int) -> Callable[[], bool]:
        """Whether every channel has so many messages."""
        return lambda: all(len(titles) >= count for titles in self.titles().values())


@contextlib.contextmanager
def _cluster(folder: Path) -> Iterator[Callable[[str], None]]:
    """A PostgreSQL of its own on a fixed port; yields a function that starts and stops it."""
    account = server_of._unprivileged_account()
    binaries = server_of._reachable(server_of._find_binaries(), folder, account)
    if account is not None:
        os.chown(folder, account.pw_uid, account.pw_gid)
    server_of._initialise(binaries, folder / "data", account)
    with (folder / "data" / "postgresql.conf").open("a", encoding="utf-8") as file:
        file.write(f"port = {PORT}\nunix_socket_directories = ''\n")

    def control(word: str) -> None:
        command = [str(binaries / "pg_ctl"), "-D", str(folder / "data"), "-w", "-m", "fast", "-l", str(folder / "log")]
        if word == "start":
            command.remove("fast")
            command.remove("-m")
        subprocess.run(
            [*command, word],
            cwd="/",
            check=True,
            stdout=subprocess.DEVNULL,
            **server_of._identity_options(account),
        )

    control("start")
    try:
        yield control
    finally:
        with contextlib.suppress(subprocess.CalledProcessError):
            control("stop")


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


PORT = _free_port()


def _execute(database: str, statement: str) -> None:
    with psycopg.connect(host="127.0.0.1", port=PORT, user="postgres", dbname=database, autocommit=True) as connection:
        connection.execute(statement)


def _write_project(folder: Path, mail_port: int) -> None:
    configs = folder / "dbt_like_configs"
    (configs / "databases").mkdir(parents=True)
    (configs / "project.yml").write_text(_PROJECT.format(port=mail_port))
    (configs / "profiles.yml").write_text("{}\n")
    for name in NAMES:
        text = f"type: postgres\n  host: 127.0.0.1\n  port: {PORT}\n  user: postgres\n  dbname: {name}"
        (configs / "databases" / f"{name}.yml").write_text(f"connection:\n  {text}\n")


def _published_comment(folder: Path) -> bool:
    return "changed" in (folder / "published" / "crm" / "schema_store" / "crm.public.customer.json").read_text()


def main() -> int:
    """Run the scenario and print what was seen."""
    seen: dict[str, object] = {}
    begin = time.monotonic()

    def passed(what: str) -> None:
        seen[what] = round(time.monotonic() - begin)
        sys.stderr.write(f"{seen[what]:>5} s  {what}\n")

    with (
        tempfile.TemporaryDirectory(prefix="dd_live_", ignore_cleanup_errors=True) as name,
        tempfile.TemporaryDirectory(prefix="dd_pg_", dir="/tmp", ignore_cleanup_errors=True) as data,
        running_receiver() as web,
        running_smtp() as mail,
        _cluster(Path(data)) as control,
    ):
        folder, live = Path(name), Live(web, mail)
        for path in ("slack", "teams", "hook"):
            os.environ[f"LIVE_{path.upper()}_URL"] = f"{web.url}/{path}"
        os.environ["LIVE_HOOK_KEY"] = "key"
        for database in NAMES:
            _execute("postgres", f"CREATE DATABASE {database}")
            _execute(database, _SCHEMA)
        _write_project(folder, mail.port)
        with dagster_dev(folder, ROOT / "workspace.yaml") as dev:
            wait_until(
                lambda: all((folder / "published" / n / "manifest.json").exists() for n in NAMES), "published", 300
            )
            passed("published")
            time.sleep(60)
            _execute("sales", "ALTER TABLE customer DROP COLUMN city")
            passed("column dropped")
            wait_until(live.all_have(1), "drift told everywhere", 300)
            passed("drift told")
            _execute("crm", "COMMENT ON TABLE customer IS 'changed'")
            wait_until(lambda: _published_comment(folder), "comment published", 300)
            passed("comment published")
            time.sleep(75)
            seen["after_comment"] = live.titles()
            control("stop")
            passed("server stopped")
            wait_until(live.all_have(2), "outage told everywhere", 300)
            passed("outage told")
            time.sleep(100)
            seen["after_outage"] = live.titles()
            control("start")
            passed("server started")
            wait_until(live.all_have(3), "recovery told everywhere", 600)
            passed("recovery told")
            time.sleep(45)
            seen["at_the_end"] = live.titles()
            seen["runs"] = {n: [run["status"] for run in dev.runs(n)] for n in NAMES}
            print(json.dumps(seen))  # noqa: T201 - the result
    return 0


if __name__ == "__main__":
    sys.exit(main())
