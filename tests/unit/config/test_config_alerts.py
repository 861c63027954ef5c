"""`alerts:` of `project.yml`."""

from __future__ import annotations

from pathlib import Path

import pytest

from dictionary_pipeline.config.alert_settings import AlertRule, Digest, MailServer, channel_types
from dictionary_pipeline.config.loader import load_project, validate_project
from dictionary_pipeline.config.resolved import Project
from dictionary_pipeline.errors import ConfigurationError


def write(folder: Path, alerts: str) -> Path:
    (folder / "dbt_like_configs" / "databases").mkdir(parents=True)
    text = "alerts:\n" + "".join(f"  {line}\n" for line in alerts.splitlines())
    (folder / "dbt_like_configs" / "project.yml").write_text(text)
    (folder / "dbt_like_configs" / "profiles.yml").write_text("{}\n")
    return folder


def load(folder: Path, alerts: str) -> Project:
    return load_project(write(folder, alerts))


def test_there_are_four_types_of_channel() -> None:
    assert channel_types() == ("email", "slack", "teams", "webhook")


def test_without_alerts_there_is_no_channel(tmp_path: Path) -> None:
    assert load(tmp_path, "{}").alerts.channels == ()


def test_a_channel_without_rules_gets_everything_that_matters(tmp_path: Path) -> None:
    alerts = load(tmp_path, "channels:\n  ops: {type: slack, url_env: SLACK_URL}").alerts
    assert [(channel.name, channel.type, channel.url_env) for channel in alerts.channels] == [
        ("ops", "slack", "SLACK_URL")
    ]
    assert alerts.rules == (AlertRule(()),)
    assert (alerts.rules[0].severity, alerts.rules[0].events) == ("risky", ("drift", "failure", "recovery"))


def test_rules_are_read(tmp_path: Path) -> None:
    rule = 'rules: [{channels: m, databases: "s*", severity: safe, events: drift, digest: {cron: "0 8 * * *"}}]'
    mail = "channels:\n  m: {type: email, host: mail, from: a@b.c, to: x@y.z, user: u, password_env: P}"
    alerts = load(tmp_path, f"{mail}\n{rule}").alerts
    assert alerts.rules == (AlertRule(("m",), ("s*",), (), "safe", ("drift",), Digest(cron="0 8 * * *")),)
    assert alerts.channels[0].mail == MailServer("mail", 587, "starttls", "a@b.c", ("x@y.z",), "u", "P")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("channels:\n  c: {type: slak, url_env: X}", "Did you mean 'slack'?"),
        ("channels:\n  c: {type: slack}", "'url_env' is missing"),
        ("channels:\n  c: {type: slack, url_env: https://hooks.example.com/canary}", "not the name of an environment"),
        (
            "channels:\n  c: {type: slack, url: https://hooks.example.com/canary}",
            "unknown key. Did you mean 'url_env'?",
        ),
        ("channels:\n  c: {type: email, host: h, from: a@b}", "'to' is missing"),
        ("channels:\n  c: {type: email, host: h, from: a@b, to: [nobody]}", "not an e-mail address"),
        ("channels:\n  c: {type: email, host: h, from: a@b, to: a@b, user: u}", "belong together"),
        (
            "channels:\n  c: {type: email, host: h, from: a@b, to: a@b, user: u, password_env: P, security: none}",
            "unencrypted",
        ),
        ("rules: [{channels: [opps]}]\nchannels:\n  ops: {type: slack, url_env: X}", "Did you mean 'ops'?"),
        ("rules: [{severity: braking}]", "Did you mean 'breaking'?"),
        ("rules: [{events: [drfit]}]", "Did you mean 'drift'?"),
        ("rules: [{digest: {}}]", "either 'hours' or 'cron'"),
        ("rules: [{digest: {cron: daily}}]", "five fields"),
        ("dagster_url: dagster", "not the address of a web page"),
        ("dagster_url: https://user:canary@host", "not the address of a web page"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_fix_and_no_secret(tmp_path: Path, text: str, said: str) -> None:
    errors = validate_project(write(tmp_path, text))
    assert len(errors) == 1
    assert "project.yml:" in str(errors[0])
    assert said in str(errors[0])
    assert "canary" not in str(errors[0])
    with pytest.raises(ConfigurationError):
        load_project(tmp_path)
