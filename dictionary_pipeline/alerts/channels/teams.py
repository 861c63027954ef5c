"""Microsoft Teams: the Workflows template "When a Teams webhook request is received" takes adaptive cards.

Text runs are not interpreted as Markdown, so that no name of a database becomes a link or a mention.
"""

from __future__ import annotations

from typing import Any

from dictionary_pipeline import jsontext
from dictionary_pipeline.alerts.message import Message, bounded_text
from dictionary_pipeline.alerts.posting import post
from dictionary_pipeline.config.alert_settings import ChannelSettings

_LIMITS = (12_000, 6_000, 3_000, 1_000, 300)
"""Characters of text to try: many short lines, or letters of several bytes, take more room."""
_MAX_BYTES = 24_000
"""Teams refuses messages of more than 28 kB."""
_COLORS = {"breaking": "attention", "failed": "attention", "risky": "warning", "resolved": "good"}


def send(settings: ChannelSettings, message: Message) -> str:
    """Post the message as an adaptive card and return the HTTP status.

    Raises:
        ConfigurationError, DeliveryFailed: see `posting.post`.
    """
    bodies = (jsontext.compact(card(message, limit)).encode() for limit in _LIMITS)
    return post(settings, next(body for body in bodies if len(body) <= _MAX_BYTES))


def card(message: Message, limit: int) -> dict[str, Any]:
    """The message as Teams takes it: https://adaptivecards.io/explorer/RichTextBlock.html."""
    title, *lines = bounded_text(message, limit).splitlines()
    color = _COLORS.get(message.severity, "default")
    content: dict[str, Any] = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "msteams": {"width": "Full"},
        "body": [
            _block({"text": title, "weight": "bolder", "size": "medium", "color": color}),
            *(_block({"text": line}, spacing="none") for line in lines if line),
        ],
    }
    links = [part.link for part in message.parts if part.link]
    if links:
        content["actions"] = [{"type": "Action.OpenUrl", "title": "Open the run", "url": links[0]}]
    attachment = {
        "contentType": "application/vnd.microsoft.card.adaptive",
        "contentUrl": None,
        "content": content,
    }
    return {"type": "message", "attachments": [attachment]}


def _block(run: dict[str, str], **layout: str) -> dict[str, Any]:
    return {"type": "RichTextBlock", "inlines": [{"type": "TextRun", **run}], **layout}
