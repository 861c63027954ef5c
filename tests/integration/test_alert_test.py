"""`data_dictionary alert-test` against real receivers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from servers.smtp_receiver import SmtpReceiver, running_smtp
from servers.webhook_receiver import Answer, WebhookReceiver, running_receiver

from dictionary_pipeline.cli import main


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[WebhookReceiver]:
    with running_receiver() as server:
        monkeypatch.setenv("HOOK_URL", server.url + "/canary")
        yield server


@pytest.fixture
def mail() -> Iterator[SmtpReceiver]:
    with running_smtp() as server:
        yield server


@pytest.fixture
def project(tmp_path: Path, mail: SmtpReceiver) -> Path:
    configs = tmp_path / "dbt_like_configs"
    configs.mkdir()
    (configs / "project.yml").write_text(
        "alerts:\n  channels:\n    ops: {type: slack, url_env: HOOK_URL}\n"
        f"    post: {{type: email, host: 127.0.0.1, port: {mail.port}, security: none, from: a@b.c, to: x@y.z}}\n"
    )
    return tmp_path


def call(project: Path, *words: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(["alert-test", *words, "--project", str(project)])
    return int(left.value.code or 0)


def test_every_channel_gets_a_marked_message(
    project: Path, receiver: WebhookReceiver, mail: SmtpReceiver, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(project) == 0
    assert capsys.readouterr().out.splitlines() == [
        "ops (slack): delivered, code 200",
        "post (email): delivered, code 250",
    ]
    assert receiver.received[0].document["text"].startswith("[test] test message")
    assert "Nothing happened" in mail.received[0].text


def test_one_channel_can_be_named(project: Path, receiver: WebhookReceiver, mail: SmtpReceiver) -> None:
    assert call(project, "post") == 0
    assert (len(receiver.received), len(mail.received)) == (0, 1)


def test_a_failure_names_channel_and_code_and_ends_with_1(
    project: Path, receiver: WebhookReceiver, capsys: pytest.CaptureFixture[str]
) -> None:
    receiver.script = lambda number: Answer(404)
    assert call(project, "--json") == 1
    out, err = capsys.readouterr()
    failed, delivered = json.loads(out)
    assert (failed["channel"], failed["delivered"], failed["code"]) == ("ops", False, "404")
    assert delivered["delivered"]
    assert err.startswith("failed: alert channel ops: the receiver answers HTTP 404.")
    assert "canary" not in out + err


@pytest.mark.parametrize(("words", "said"), [(["opps"], "Did you mean 'ops'?"), ([], "no alert channel is configured")])
def test_what_is_not_configured_is_a_configuration_error(
    project: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if not words:
        (project / "dbt_like_configs" / "project.yml").write_text("{}\n")
    assert call(project, *words) == 2
    assert said in capsys.readouterr().err


def test_the_project_is_found_from_a_folder_inside_and_a_missing_one_is_named(
    project: Path, receiver: WebhookReceiver, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(project / "dbt_like_configs", "ops") == 0
    assert call(Path(tmp_path.anchor) / "missing", "ops") == 2
    assert "holds dbt_like_configs/" in capsys.readouterr().err
