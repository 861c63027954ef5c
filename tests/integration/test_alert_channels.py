"""Channels against real local HTTP and SMTP receivers."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from servers.certificates import server_context
from servers.smtp_receiver import running_smtp
from servers.webhook_receiver import Answer, WebhookReceiver, running_receiver

from dictionary_pipeline.alerts.delivery import DeliveryBudget, deliver
from dictionary_pipeline.alerts.message import ChangeLine, Fact, Message, Part
from dictionary_pipeline.alerts.plan import Outcome, Outgoing
from dictionary_pipeline.alerts.posting import retry_seconds
from dictionary_pipeline.config.alert_settings import ChannelSettings, MailServer

SECRET_PATH = "/services/canary-webhook-secret"
PASSWORD = "canary-mail-password"
MESSAGE = Message(
    id="m1",
    thread="t1",
    event="drift",
    status="new",
    severity="breaking",
    title="sales: 1 breaking schema change",
    at="2026-05-28T20:20:00Z",
    databases=("sales",),
    parts=(
        Part(
            heading="[breaking] sales",
            facts=(Fact("Stage", "published_dictionary"), Fact("Dictionary", "describes the new schema")),
            changes=(ChangeLine("breaking", "column_removed", "app.<!channel> & co", "varchar(200)", "", "used"),),
            command="data_dictionary drift ack sales --all",
            link="http://dagster/runs/r1",
        ),
    ),
)


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[WebhookReceiver]:
    with running_receiver() as server:
        monkeypatch.setenv("HOOK_URL", server.url + SECRET_PATH)
        monkeypatch.setenv("HOOK_KEY", "canary-signing-key")
        yield server


def hook(kind: str = "webhook", **changes: object) -> ChannelSettings:
    return replace(ChannelSettings("ops", kind, url_env="HOOK_URL"), **changes)


def send(channel: ChannelSettings, message: Message = MESSAGE, seconds: float = 10.0) -> Outcome:
    outgoing = [Outgoing(channel.name, message, (), {})]
    [outcome] = deliver(outgoing, {channel.name: channel}, DeliveryBudget(seconds), sleep=lambda pause: None)
    return outcome


def test_a_webhook_gets_json_with_everything_and_a_signature_that_verifies(receiver: WebhookReceiver) -> None:
    before = int(time.time())
    assert send(hook(secret_env="HOOK_KEY")) == Outcome(code="200")
    [request] = receiver.received
    moment = request.headers["x-dictionary-timestamp"]
    expected = hmac.new(b"canary-signing-key", f"{moment}.".encode() + request.body, hashlib.sha256).hexdigest()
    assert request.headers["x-dictionary-signature"] == f"sha256={expected}"
    assert before <= int(moment) <= time.time()
    assert request.headers["x-dictionary-id"] == request.document["id"] == "m1"
    [item] = request.document["items"]
    assert (request.document["severity"], request.document["databases"]) == ("breaking", ["sales"])
    assert item["changes"][0]["before"] == "varchar(200)"
    assert item["command"] == "data_dictionary drift ack sales --all"
    assert item["run_url"] == "http://dagster/runs/r1"
    assert item["facts"]["Stage"] == "published_dictionary"


def test_slack_gets_text_in_which_no_name_is_a_mention(receiver: WebhookReceiver) -> None:
    assert send(hook("slack")).error == ""
    [request] = receiver.received
    text = request.document["text"]
    assert text.startswith("[breaking] sales: 1 breaking schema change\n")
    assert "app.&lt;!channel&gt; &amp; co" in text
    assert "<!channel>" not in request.text
    assert "varchar(200) -&gt; (nothing)" in text


def test_teams_gets_an_adaptive_card_whose_text_is_not_interpreted(receiver: WebhookReceiver) -> None:
    assert send(hook("teams")).error == ""
    [attachment] = receiver.received[0].document["attachments"]
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    card = attachment["content"]
    assert {block["type"] for block in card["body"]} == {"RichTextBlock"}
    assert card["body"][0]["inlines"][0]["text"] == "[breaking] sales: 1 breaking schema change"
    assert card["actions"] == [{"type": "Action.OpenUrl", "title": "Open the run", "url": "http://dagster/runs/r1"}]


@pytest.mark.parametrize("kind", ["slack", "teams"])
def test_a_message_stays_below_the_size_that_the_service_takes(receiver: WebhookReceiver, kind: str) -> None:
    changes = tuple(ChangeLine("breaking", "column_removed", "x" * 5_000, "y" * 5_000, "", "") for _ in range(200))
    part = replace(MESSAGE.parts[0], changes=changes)
    assert send(hook(kind), replace(MESSAGE, parts=(part,))).error == ""
    assert len(receiver.received[0].body) < 28_000
    assert "(cut; see" in receiver.received[0].text


def test_a_long_digest_of_short_lines_stays_below_what_teams_takes(receiver: WebhookReceiver) -> None:
    part = Part("[risky] é", (Fact("A", "日本語"),) * 10, command="x")
    assert send(hook("teams"), replace(MESSAGE, parts=(part,) * 300)).error == ""
    assert 5_000 < len(receiver.received[0].body) < 28_000


@pytest.mark.parametrize("status", [500, 503, 429, 408])
def test_a_receiver_that_is_busy_is_asked_again(receiver: WebhookReceiver, status: int) -> None:
    receiver.script = lambda number: Answer(status) if number < 3 else Answer(202)
    assert send(hook()) == Outcome(code="202")
    assert receiver.attempts == 3


def test_attempts_of_one_evaluation_are_bounded(receiver: WebhookReceiver) -> None:
    receiver.script = lambda number: Answer(500)
    outcome = send(hook())
    assert (receiver.attempts, outcome.code) == (3, "500")
    assert "HTTP 500" in outcome.error


@pytest.mark.parametrize("status", [301, 307, 400, 403, 404, 410])
def test_a_refusal_is_not_repeated_and_redirects_are_not_followed(receiver: WebhookReceiver, status: int) -> None:
    receiver.script = lambda number: Answer(status, {"Location": receiver.url + "/elsewhere"})
    assert str(status) in send(hook()).error
    assert receiver.attempts == 1


def test_a_long_retry_after_is_left_to_the_next_evaluation(receiver: WebhookReceiver) -> None:
    receiver.script = lambda number: Answer(429, {"Retry-After": "120"})
    outcome = send(hook())
    assert (receiver.attempts, outcome.retry_after) == (1, 120.0)


def test_retry_after_can_be_a_date_and_nonsense_is_ignored() -> None:
    now = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
    assert retry_seconds("Mon, 30 Nov 2026 12:01:00 GMT", now) == 60
    assert retry_seconds("Mon, 30 Nov 2026 11:00:00 GMT", now) == 0
    assert retry_seconds("soon", now) == retry_seconds(None, now) == 0


def test_a_hanging_receiver_does_not_hold_up_another_channel(receiver: WebhookReceiver) -> None:
    receiver.script = lambda number: Answer(200)
    with running_receiver() as hanging, pytest.MonkeyPatch.context() as patch:
        hanging.script = lambda number: Answer(200, delay=20)
        patch.setenv("HANGING_URL", hanging.url)
        slow = ChannelSettings("slow", "slack", url_env="HANGING_URL", timeout_seconds=0.3)
        outgoing = [Outgoing("slow", MESSAGE, (), {}), Outgoing("ops", MESSAGE, (), {})]
        begin = time.monotonic()
        late, prompt = deliver(outgoing, {"slow": slow, "ops": hook()}, DeliveryBudget(1.0))
    assert time.monotonic() - begin < 15
    assert "no answer" in late.error
    assert prompt.error == ""


def test_what_follows_a_failure_on_the_same_channel_is_not_tried(receiver: WebhookReceiver) -> None:
    receiver.script = lambda number: Answer(404)
    outgoing = [Outgoing("ops", MESSAGE, (), {})] * 5
    outcomes = deliver(outgoing, {"ops": hook()})
    assert receiver.attempts == 1
    assert all("404" in outcome.error for outcome in outcomes)


def test_what_one_refused_message_says_keeps_no_other_from_being_sent(receiver: WebhookReceiver) -> None:
    receiver.script = lambda number: Answer(400 if number == 1 else 200)
    outcomes = deliver([Outgoing("ops", MESSAGE, (), {})] * 3, {"ops": hook()})
    assert [bool(outcome.error) for outcome in outcomes] == [True, False, False]


def test_nothing_is_sent_any_more_once_it_counts_as_not_delivered(receiver: WebhookReceiver) -> None:
    receiver.script = lambda number: Answer(200, delay=0.3)
    outcomes = deliver([Outgoing("ops", MESSAGE, (), {})] * 8, {"ops": hook()}, DeliveryBudget(0.5))
    undelivered = sum(bool(outcome.error) for outcome in outcomes)
    time.sleep(2.5)
    # The one that was under way at the deadline can still arrive.
    assert receiver.attempts <= 8 - undelivered + 1


@pytest.mark.parametrize(
    ("address", "fault"),
    [
        ("http://hooks.example.com/canary-x", "unencrypted"),
        ("canary-x", "no web address"),
        ("https://user:canary-x@hooks.example.com", "no web address"),
        ("https:///canary-x", "no web address"),
        ("ftp://hooks.example.com/canary-x", "no web address"),
        ("https://hooks.example.com/canary x", "no web address"),
    ],
)
def test_an_address_that_may_not_be_used_is_named_by_its_variable_only(
    monkeypatch: pytest.MonkeyPatch, address: str, fault: str
) -> None:
    monkeypatch.setenv("HOOK_URL", address)
    error = send(hook()).error
    assert fault in error
    assert "HOOK_URL" in error
    assert "canary" not in error


def test_a_variable_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOOK_URL", raising=False)
    assert "HOOK_URL is not set" in send(hook()).error


def test_no_error_repr_or_log_shows_a_secret(
    receiver: WebhookReceiver, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    receiver.script = lambda number: Answer(403)
    channel = hook(secret_env="HOOK_KEY")
    seen = [repr(channel), repr(send(channel)), json.dumps(send(channel))]
    receiver.server.server_close()
    seen += [repr(send(channel)), caplog.text, *capfd.readouterr()]
    assert "cannot be reached" in seen[3]
    assert not any("canary" in text or receiver.url in text for text in seen)


def mail_channel(port: int, **changes: object) -> ChannelSettings:
    server = MailServer("localhost", port, "starttls", "dict@example.com", ("a@example.com", "b@example.com"))
    return ChannelSettings("mail", "email", mail=replace(server, **changes))


@pytest.fixture
def trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
    monkeypatch.setenv("MAIL_PASSWORD", PASSWORD)
    return tmp_path


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_mail_is_encrypted_logged_in_and_threaded(trusted: Path, security: str) -> None:
    with running_smtp(server_context(trusted), tls_at_once=security == "tls") as server:
        server.login = ("dict", PASSWORD)
        channel = mail_channel(server.port, security=security, user="dict", password_env="MAIL_PASSWORD")
        assert send(channel) == Outcome(code="250")
    [mail] = server.received
    assert mail.was_encrypted
    assert mail.recipients == ("a@example.com", "b@example.com")
    assert mail.message["Subject"] == "[breaking] sales: 1 breaking schema change"
    assert mail.message["Message-ID"] == "<m1@dictionary-pipeline>"
    assert mail.message["References"] == "<t1@dictionary-pipeline>"
    assert "varchar(200) -> (nothing)" in mail.text
    assert "Command: data_dictionary drift ack sales --all" in mail.text


def test_mail_without_encryption_works_for_a_relay_on_this_machine() -> None:
    with running_smtp() as server:
        assert send(mail_channel(server.port, security="none")).error == ""
    assert len(server.received) == 1


def test_a_mail_server_without_starttls_is_not_talked_to_in_the_clear(trusted: Path) -> None:
    with running_smtp() as server:
        server.login = ("dict", PASSWORD)
        outcome = send(mail_channel(server.port, user="dict", password_env="MAIL_PASSWORD"))
    assert "STARTTLS" in outcome.error
    assert server.received == []


def test_a_mail_server_that_is_not_trusted_gets_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with running_smtp(server_context(tmp_path)) as server:
        assert "certificate is not trusted" in send(mail_channel(server.port)).error
    assert server.received == []


def test_a_wrong_mail_password_is_told_by_its_code_only(trusted: Path) -> None:
    with running_smtp(server_context(trusted)) as server:
        server.login = ("dict", "another")
        outcome = send(mail_channel(server.port, user="dict", password_env="MAIL_PASSWORD"))
    assert "SMTP 535" in outcome.error
    assert PASSWORD not in outcome.error


@pytest.mark.parametrize("code", [451, 554])
def test_a_mail_server_that_refuses_is_told_by_its_code(code: int) -> None:
    with running_smtp() as server:
        server.refuse = code
        outcome = send(mail_channel(server.port, security="none"))
    assert f"SMTP {code}" in outcome.error


def test_a_title_cannot_add_mail_headers(trusted: Path) -> None:
    with running_smtp() as server:
        title = "sales\r\nBcc: thief@example.com\n\nhello \ud800"
        assert send(mail_channel(server.port, security="none"), replace(MESSAGE, title=title)).error == ""
    [mail] = server.received
    assert mail.message["Bcc"] is None
    assert "Bcc: thief" in mail.message["Subject"]
