"""`alerts:` of `project.yml`."""

from __future__ import annotations

import re
from typing import Annotated, Any, get_args

from pydantic import BeforeValidator, Field, field_validator, model_validator

from dictionary_pipeline.config.alert_settings import (
    EVENTS,
    AlertRule,
    AlertSettings,
    ChannelSettings,
    Digest,
    Event,
    MailServer,
    Security,
    channel_types,
)
from dictionary_pipeline.config.drift_settings import SEVERITIES, Severity
from dictionary_pipeline.config.faults import did_you_mean
from dictionary_pipeline.config.schedule_section import checked_cron, checked_timezone
from dictionary_pipeline.config.section import Section, mistake, one_of

_DEFAULT = AlertSettings()
_RULE = AlertRule(())
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_PORTS: dict[Security, int] = {"starttls": 587, "tls": 465, "none": 25}


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Texts = Annotated[tuple[str, ...], BeforeValidator(_as_list)]
_Hours = Annotated[float, Field(ge=0, le=8_760)]


class Channel(Section):
    """One way to reach people. URLs, passwords and keys stand in environment variables; here are their names."""

    type: str = Field(description="`slack`, `teams` (a Workflows webhook), `email` or `webhook` (signed JSON).")
    url_env: str | None = Field(
        default=None,
        description="All but `email`: environment variable that holds the URL, https unless on this machine.",
    )
    secret_env: str | None = Field(
        default=None, description="`webhook`: environment variable that holds the key of the HMAC-SHA256 signature."
    )
    timeout_seconds: Annotated[float, Field(gt=0, le=30)] = Field(
        default=10.0, description="Seconds that the receiver may be silent."
    )
    host: str | None = Field(default=None, description="`email`: SMTP server.")
    port: Annotated[int, Field(ge=1, le=65_535)] | None = Field(
        default=None, description="`email`: port; 587, 465 or 25 by default, as `security` says."
    )
    security: Annotated[Security, one_of(get_args(Security))] = Field(
        default="starttls",
        description="`email`: `starttls`, `tls` from the first byte, or `none`: no login then, but on this machine.",
    )
    sender: str | None = Field(default=None, alias="from", description="`email`: address of the sender.")
    to: Texts = Field(default=(), description="`email`: addresses.")
    user: str | None = Field(default=None, description="`email`: user name, where the server wants a login.")
    password_env: str | None = Field(default=None, description="`email`: environment variable that holds the password.")

    @field_validator("type")
    @classmethod
    def _is_type(cls, value: str) -> str:
        known = channel_types()
        if value not in known:
            raise mistake(f"{value!r} is not a type of channel", did_you_mean(value, known, noun="types"))
        return value

    @field_validator("url_env", "secret_env", "password_env")
    @classmethod
    def _is_variable(cls, value: str | None) -> str | None:
        if value is not None and not _VARIABLE.fullmatch(value):
            # Not quoted: it may be the secret itself.
            raise mistake(
                "is not the name of an environment variable",
                "Put the value into a variable, e.g. in .env, and name it.",
            )
        return value

    @field_validator("sender", "to")
    @classmethod
    def _are_addresses(cls, value: Any) -> Any:
        for address in [value] if isinstance(value, str) else value or ():
            if not re.fullmatch(r"[^\s@<>,;]+@[^\s@<>,;]+", address):
                raise mistake(
                    f"{address!r} is not an e-mail address", "Write name@example.com, without a display name."
                )
        return value

    @model_validator(mode="after")
    def _is_whole(self) -> Channel:
        if self.type != "email":
            if self.url_env is None:
                raise mistake("'url_env' is missing", "Name the environment variable that holds the webhook's URL.")
            return self
        for key, value in (("host", self.host), ("from", self.sender), ("to", self.to)):
            if not value:
                raise mistake(
                    f"'{key}' is missing", f"A channel of type email needs 'host', 'from' and 'to'; add {key}."
                )
        if (self.user is None) != (self.password_env is None):
            raise mistake("'user' and 'password_env' belong together", "Give both, or none of them.")
        if self.security == "none" and self.user is not None and self.host not in _LOOPBACK:
            raise mistake("the password would be sent unencrypted", "Choose security: starttls or tls.")
        return self

    def settings(self, name: str) -> ChannelSettings:
        """As the rest of the product sees it."""
        mail = None
        if self.type == "email" and self.host and self.sender:
            port = self.port or _PORTS[self.security]
            mail = MailServer(self.host, port, self.security, self.sender, self.to, self.user, self.password_env)
        return ChannelSettings(name, self.type, self.url_env, self.secret_env, self.timeout_seconds, mail)


class AlertDigest(Section):
    """Collects messages and sends them as one."""

    hours: Annotated[float, Field(gt=0, le=168)] | None = Field(
        default=None, description="Hours after the first collected message; or:"
    )
    cron: str | None = Field(default=None, description='When to send: five cron fields, e.g. `"0 8 * * 1-5"`.')
    timezone: str = Field(default="UTC", description="Time zone of `cron`, e.g. `Europe/Berlin`.")

    @field_validator("cron")
    @classmethod
    def _is_cron(cls, value: str | None) -> str | None:
        return None if value is None else checked_cron(value)

    @field_validator("timezone")
    @classmethod
    def _is_timezone(cls, value: str) -> str:
        return checked_timezone(value)

    @model_validator(mode="after")
    def _says_when(self) -> AlertDigest:
        if (self.hours is None) == (self.cron is None):
            raise mistake("needs either 'hours' or 'cron'", 'Write digest: {hours: 6}, or digest: {cron: "0 8 * * *"}.')
        return self


class Rule(Section):
    """What is sent to which channels. A channel gets what any rule that names it lets through."""

    databases: Texts = Field(default=(), description="Globs on names of databases; all by default.")
    schemas: Texts = Field(
        default=(), description="Globs on schemas, for drift; all by default. A failure concerns the whole database."
    )
    severity: Annotated[Severity, one_of(SEVERITIES)] = Field(
        default=_RULE.severity,
        description="The least severity of a change that is told: `breaking`, `risky`, `safe` or `cosmetic`.",
    )
    events: Annotated[tuple[Annotated[Event, one_of(EVENTS)], ...], BeforeValidator(_as_list)] = Field(
        default=EVENTS, description="Some of `drift`, `failure` and `recovery`; all by default."
    )
    channels: Texts = Field(default=(), description="Names of channels; all by default.")
    digest: AlertDigest | None = Field(default=None, description="Collect, and send as one message.")
    repeat_after_hours: _Hours | None = Field(
        default=None, description="Overrides the project's `repeat_after_hours` for this rule."
    )

    def settings(self) -> AlertRule:
        """As the rest of the product sees it."""
        digest = Digest(**self.digest.model_dump()) if self.digest else None
        return AlertRule(
            self.channels,
            self.databases,
            self.schemas,
            self.severity,
            self.events,
            digest,
            self.repeat_after_hours,
        )


class Alerts(Section):
    """Messages about drift and failures; nothing is sent without a channel."""

    channels: dict[str, Channel] = Field(default={}, description="Name of your choice, and the channel.")
    rules: tuple[Rule, ...] = Field(
        default=(),
        description="What goes where; by default risky and breaking drift, failures and recoveries go to all.",
    )
    repeat_after_hours: _Hours = Field(
        default=_DEFAULT.repeat_after_hours,
        description="Hours after which drift that nobody acknowledged, or a failure that goes on, is told again; "
        "0: never.",
    )
    group_seconds: Annotated[float, Field(ge=0, le=3_600)] = Field(
        default=_DEFAULT.group_seconds,
        description="Seconds that a failure is waited with, so that databases with the same cause share a message.",
    )
    dagster_url: str | None = Field(
        default=None, description="Address of your Dagster UI, for links to runs, e.g. `https://dagster.example.com`."
    )

    @field_validator("dagster_url")
    @classmethod
    def _is_address(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"https?://[^\s/?#@]+(/[^\s?#@]*)?", value):
            raise mistake(
                "is not the address of a web page", "Write https://HOST, or http://HOST:PORT, without a login."
            )
        return value.rstrip("/") if value else value

    @model_validator(mode="after")
    def _names_known_channels(self) -> Alerts:
        for rule in self.rules:
            for name in rule.channels:
                if name not in self.channels:
                    raise mistake(
                        f"a rule names the channel {name!r}, which does not exist",
                        did_you_mean(name, self.channels, noun="channels"),
                    )
        return self


def alert_settings(section: Alerts) -> AlertSettings:
    """What `project.yml` says about alerts."""
    return AlertSettings(
        channels=tuple(channel.settings(name) for name, channel in sorted(section.channels.items())),
        rules=tuple(rule.settings() for rule in section.rules) or _DEFAULT.rules,
        repeat_after_hours=section.repeat_after_hours,
        group_seconds=section.group_seconds,
        dagster_url=section.dagster_url,
    )
