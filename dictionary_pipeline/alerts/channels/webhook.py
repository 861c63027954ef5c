"""Any receiver of JSON; with a key, each message is signed. docs/alerts.md tells receivers how to check it."""

from __future__ import annotations

import hashlib
import hmac
import time

from dictionary_pipeline.alerts.message import Message, message_document
from dictionary_pipeline.alerts.posting import post
from dictionary_pipeline.config.alert_settings import ChannelSettings
from dictionary_pipeline.config.environment import variable
from dictionary_pipeline.errors import ConfigurationError

ID_HEADER = "X-Dictionary-Id"
TIMESTAMP_HEADER = "X-Dictionary-Timestamp"
SIGNATURE_HEADER = "X-Dictionary-Signature"


def send(settings: ChannelSettings, message: Message) -> str:
    """Post the message as JSON and return the HTTP status.

    Raises:
        ConfigurationError, DeliveryFailed: see `posting.post`.
    """
    body = message_document(message).encode()
    moment = str(int(time.time()))
    headers = {ID_HEADER: message.id, TIMESTAMP_HEADER: moment}
    if settings.secret_env is not None:
        headers[SIGNATURE_HEADER] = signature(_key(settings, settings.secret_env), moment, body)
    return post(settings, body, headers)


def signature(key: bytes, timestamp: str, body: bytes) -> str:
    """`sha256=` and the hex HMAC-SHA256 of timestamp, a dot and the body."""
    return "sha256=" + hmac.new(key, timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def _key(settings: ChannelSettings, name: str) -> bytes:
    where = f"alert channel {settings.name}"
    key = variable(name, where)
    if not key:
        raise ConfigurationError(
            f"the environment variable {name} is empty", where=where, fix="Set it to the key that the receiver knows."
        )
    return key.encode()
