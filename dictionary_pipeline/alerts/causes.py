"""Groups failures by what has to be put right: one server, credential, model, store or setting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

from dictionary_pipeline import jsontext
from dictionary_pipeline.alerts.message import Fact
from dictionary_pipeline.alerts.state import Failure
from dictionary_pipeline.alerts.topics import Published, Topic, run_link, served
from dictionary_pipeline.config.model_settings import ModelSettings
from dictionary_pipeline.config.resolved import ConnectionSpec, DatabaseConfig, PublishTarget
from dictionary_pipeline.engines.registry import create_engine
from dictionary_pipeline.errors import DictionaryError

_MOST_LISTED = 40
_USER_OPTIONS = ("user", "username", "uid")
RUN_LOST = "DD-RUN"


@dataclass(frozen=True)
class Place:
    """What a database depends on, as labels without any credential."""

    server: str = ""
    login: str = ""
    model: str = ""
    store: str = ""
    search: str = ""


class Cause(NamedTuple):
    """What failures have in common."""

    scope: str
    label: str

    @property
    def key(self) -> str:
        """Names the topic of these failures."""
        return jsontext.digest(["failure", *self])[:32]


def place_of(config: DatabaseConfig) -> Place:
    """What a database depends on; nothing of its connection while that is unusable."""
    spec = config.connection
    try:
        server = _server_label(create_engine(spec).server, spec)
    except DictionaryError:
        server = ""
    user = next((str(spec.options[name]) for name in _USER_OPTIONS if spec.options.get(name)), "")
    login = f"user {user} on {server}" if user else f"the login to {server}"
    search = config.search.endpoint if config.search else ""
    return Place(server, login if server else "", _model_label(config.model), _store_label(config.publish), search)


def cause_of(failure: Failure, place: Place) -> Cause:
    """What has to be put right."""
    labels = {
        "server": place.server,
        "credential": place.login,
        "model": place.model,
        "store": place.store,
        "search": place.search,
    }
    if labels.get(failure.scope):
        return Cause(failure.scope, labels[failure.scope])
    if failure.scope == "configuration":
        return Cause(failure.scope, failure.text)
    if failure.scope == "run":
        return Cause(failure.scope, failure.identifier)
    return Cause("database", f"{failure.database}: {failure.identifier}")


def failure_topics(
    failures: Iterable[Failure],
    places: Mapping[str, Place],
    published: Mapping[str, Published],
    dagster_url: str | None,
    now: float,
) -> tuple[Topic, ...]:
    """One topic for each cause.

    Args:
        failures: Of databases that are failing now.
        places: Of all configured databases, so that a server's message names everything on it.
        published: Of the failing databases, as far as their stores can be read.
        dagster_url: Address of the Dagster UI, for links.
        now: Epoch seconds.
    """
    groups: dict[Cause, list[Failure]] = {}
    for failure in sorted(failures, key=lambda item: (item.database, item.at)):
        cause = cause_of(failure, places.get(failure.database, Place()))
        groups.setdefault(cause, []).append(failure)
    return tuple(_topic(cause, group, places, published, dagster_url, now) for cause, group in groups.items())


def _topic(
    cause: Cause,
    failures: Sequence[Failure],
    places: Mapping[str, Place],
    published: Mapping[str, Published],
    dagster_url: str | None,
    now: float,
) -> Topic:
    failing = sorted({failure.database for failure in failures})
    concerned = {name for name, place in places.items() if cause.scope == "server" and place.server == cause.label}
    names = tuple(sorted({*failing, *concerned}))
    latest = max(failures, key=lambda failure: failure.at)
    facts = [
        Fact("Databases", ", ".join(names[:_MOST_LISTED]) + _more(len(names))),
        Fact("Stage", latest.stage),
        Fact("Cause", f"{latest.text} ({latest.identifier}, see docs/operations.md)"),
    ]
    facts += [Fact(f"Dictionary of {name}", served(published.get(name), now)) for name in failing[:_MOST_LISTED]]
    return Topic(
        key=cause.key,
        event="failure",
        series=f"failure:{cause.key}",
        databases=names,
        since=min(failure.at for failure in failures),
        title=_title(cause, latest, names),
        facts=tuple(facts),
        command=f"data_dictionary run {' '.join(failing[:_MOST_LISTED])}",
        link=run_link(dagster_url, latest.run_id),
    )


def _title(cause: Cause, failure: Failure, names: Sequence[str]) -> str:
    count = f"{len(names)} databases" if len(names) > 1 else names[0]
    match cause.scope:
        case "server":
            return f"{cause.label} is unreachable: {count}"
        case "credential":
            return f"login refused, {cause.label}: {count}"
        case "model":
            return f"language model {cause.label} does not answer: {count}"
        case "store":
            return f"publish target {cause.label} cannot be used: {count}"
        case "search":
            return f"search service {cause.label} cannot be used: {count}"
        case "configuration":
            return f"configuration error: {count}"
        case "run":
            return f"runs ended without a result: {count}"
        case _:
            return f"run failed ({failure.identifier}): {count}"


def _more(count: int) -> str:
    return f" and {count - _MOST_LISTED} more" if count > _MOST_LISTED else ""


def _server_label(server: str, spec: ConnectionSpec) -> str:
    """The server with its port, where that is configured, as several servers may share a host; or the file."""
    url = spec.options.get("url")
    try:
        port = urlsplit(str(url)).port if url else spec.options.get("port")
    except ValueError:
        port = None
    path = spec.options.get("path")
    if path:
        return f"file {path}"
    return f"server {server}" if port is None or server.endswith(f":{port}") else f"server {server}:{port}"


def _model_label(model: ModelSettings | None) -> str:
    if model is None:
        return ""
    return f"{model.model} at {_without_login(model.base_url) if model.base_url else model.provider}"


def _without_login(address: str) -> str:
    """An address without what could be a password or a key in it."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return "its server"
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _store_label(target: PublishTarget) -> str:
    if target.azure is None:
        return target.root
    return f"{target.azure.account_url or 'Azure'} container {target.azure.container}"
