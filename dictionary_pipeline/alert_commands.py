"""`alert-test`: a marked message to each configured channel."""

from __future__ import annotations

import json
import time
import uuid
from pathlib import Path

from dictionary_pipeline.alerts.delivery import deliver
from dictionary_pipeline.alerts.message import Fact, Message, Part
from dictionary_pipeline.alerts.plan import Outcome, Outgoing
from dictionary_pipeline.alerts.topics import stamp
from dictionary_pipeline.config.alert_settings import ChannelSettings
from dictionary_pipeline.config.alerts_section import alert_settings
from dictionary_pipeline.config.environment import load_env_file
from dictionary_pipeline.config.faults import did_you_mean
from dictionary_pipeline.config.loader import find_project_folder, read_project_file
from dictionary_pipeline.errors import ConfigurationError
from dictionary_pipeline.terminal import complain, say

_TEST = "test"


def test_channels(name: str | None, project: Path | None, *, as_json: bool) -> int:
    """Send a test message and tell for each channel what came of it; 1 when one was not delivered.

    Raises:
        ConfigurationError: no channel, or none of that name, is configured.
    """
    folder = find_project_folder(project or Path.cwd())
    load_env_file(folder)
    chosen = _chosen(name, folder)
    outgoing = [Outgoing(channel.name, _message(channel), (), {}) for channel in chosen]
    outcomes = deliver(outgoing, {channel.name: channel for channel in chosen})
    results = list(zip(chosen, outcomes, strict=True))
    if as_json:
        say(json.dumps([_result(channel, outcome) for channel, outcome in results]))
    for channel, outcome in results:
        if outcome.error:
            complain("failed", outcome.error)
        elif not as_json:
            say(f"{channel.name} ({channel.type}): delivered, code {outcome.code}")
    return 1 if any(outcome.error for outcome in outcomes) else 0


def _chosen(name: str | None, folder: Path) -> list[ChannelSettings]:
    channels = {channel.name: channel for channel in alert_settings(read_project_file(folder).alerts).channels}
    where = str(folder / "dbt_like_configs" / "project.yml")
    if not channels:
        raise ConfigurationError(
            "no alert channel is configured", where=where, fix="Add one under 'alerts: channels:'; see docs/alerts.md."
        )
    if name is not None and name not in channels:
        fix = did_you_mean(name, channels, noun="channels")
        raise ConfigurationError(f"there is no alert channel {name!r}", where=where, fix=fix)
    return [channel for key, channel in channels.items() if name in (None, key)]


def _message(channel: ChannelSettings) -> Message:
    identity = uuid.uuid4().hex
    text = f"This is a test of the alert channel {channel.name}. Nothing happened and nothing is to be done."
    part = Part("Test message", (Fact("Test", text),))
    title = "test message of dictionary_pipeline"
    return Message(identity, identity, _TEST, "test", _TEST, title, stamp(time.time()), (), (part,))


def _result(channel: ChannelSettings, outcome: Outcome) -> dict[str, object]:
    return {
        "channel": channel.name,
        "type": channel.type,
        "delivered": not outcome.error,
        "code": outcome.code or None,
        "error": outcome.error or None,
    }
