"""Slack incoming webhooks: https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks."""

from __future__ import annotations

from dictionary_pipeline import jsontext
from dictionary_pipeline.alerts.message import Message, bounded_text
from dictionary_pipeline.alerts.posting import post
from dictionary_pipeline.config.alert_settings import ChannelSettings

_LIMIT = 3_800
"""Characters; Slack recommends 4,000 at most."""


def send(settings: ChannelSettings, message: Message) -> str:
    """Post the message as text and return the HTTP status.

    Raises:
        ConfigurationError, DeliveryFailed: see `posting.post`.
    """
    body = {"text": escaped(bounded_text(message, _LIMIT)), "unfurl_links": False, "unfurl_media": False}
    return post(settings, jsontext.compact(body).encode())


def escaped(text: str) -> str:
    """Slack's three control characters as entities, so that no name of a database becomes a link or a mention."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
