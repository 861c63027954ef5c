"""Who is told about drift and failures, through which channel. Secrets stand in the environment; here are names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from dictionary_pipeline.config.drift_settings import Severity

Event = Literal["drift", "failure", "recovery"]
EVENTS: tuple[Event, ...] = get_args(Event)
Security = Literal["starttls", "tls", "none"]


def channel_types() -> tuple[str, ...]:
    """What `type` of a channel may say: the module names of `alerts/channels/`, so that a new module is enough."""
    folder = Path(__file__).parent.parent / "alerts" / "channels"
    return tuple(sorted(path.stem for path in folder.glob("[a-z]*.py")))


@dataclass(frozen=True)
class MailServer:
    """Where and how e-mail is handed over."""

    host: str
    port: int
    security: Security
    sender: str
    recipients: tuple[str, ...]
    user: str | None = None
    password_env: str | None = None
    """Variable that holds the password, read at each delivery."""


@dataclass(frozen=True)
class ChannelSettings:
    """One configured channel."""

    name: str
    type: str
    url_env: str | None = None
    """Variable that holds the webhook's URL, which is a secret: whoever knows it can post."""
    secret_env: str | None = None
    """Variable that holds the key that messages are signed with."""
    timeout_seconds: float = 10.0
    mail: MailServer | None = None

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables that a delivery reads."""
        named = (self.url_env, self.secret_env, self.mail.password_env if self.mail else None)
        return tuple(name for name in named if name is not None)


@dataclass(frozen=True)
class Digest:
    """When collected messages are sent as one: every so many hours, or at the times of a cron expression."""

    hours: float | None = None
    cron: str | None = None
    timezone: str = "UTC"


@dataclass(frozen=True)
class AlertRule:
    """What is sent to some channels."""

    channels: tuple[str, ...]
    """Empty: all."""
    databases: tuple[str, ...] = ()
    """Globs on the database's name, ignoring case; empty: all."""
    schemas: tuple[str, ...] = ()
    """Globs on the schema of a change, ignoring case; empty: all."""
    severity: Severity = "risky"
    """The least severity of a change that is told."""
    events: tuple[Event, ...] = EVENTS
    digest: Digest | None = None
    repeat_after_hours: float | None = None
    """Null: as the project says; 0: never."""


@dataclass(frozen=True)
class AlertSettings:
    """`project.yml alerts:`."""

    channels: tuple[ChannelSettings, ...] = ()
    rules: tuple[AlertRule, ...] = (AlertRule(()),)
    repeat_after_hours: float = 24.0
    group_seconds: float = 20.0
    """How long a failure, or its end, is waited with so that databases with the same cause come into one message."""
    dagster_url: str | None = None
