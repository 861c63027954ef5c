"""A profile output or inline `connection:` as a `ConnectionSpec`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dictionary_pipeline.config import urls
from dictionary_pipeline.config.engine_options import BY_NAME, ConnectionType, Option, is_secret_name
from dictionary_pipeline.config.environment import parse_template, render
from dictionary_pipeline.config.faults import did_you_mean, each, raise_all
from dictionary_pipeline.config.plugins import plugin_type
from dictionary_pipeline.config.resolved import ConnectionSpec, Secret
from dictionary_pipeline.config.yamlfile import Document, Loc, scalar_text, user_path
from dictionary_pipeline.errors import ConfigurationError

_SECRET_FIX = "Write \"{{ env_var('NAME') }}\" there and put NAME=... into .env."


@dataclass(frozen=True)
class Connection:
    """A connection and what to tell its owner about the way it is written."""

    spec: ConnectionSpec
    warnings: tuple[str, ...] = ()


def read_connection(
    data: Mapping[str, Any], document: Document, loc: Loc, *, folder: Path, label: str, strict: bool
) -> Connection:
    """Evaluate one profile output or inline connection.

    Args:
        data: The mapping in the file.
        document: The file it is from.
        loc: Where in the file it is.
        folder: Where relative database paths start.
        label: Name of the connection for messages: `profile shop, target dev`.
        strict: Whether a key that nothing knows is an error; in a dbt profile it is a warning,
            because adapters have keys of their own.

    Raises:
        ConfigurationError: everything that is wrong with it.
    """
    origin = f"{document.where(loc)} ({label})"
    if data.get("type") is None and "url" not in data:
        fix = f"Add one of: {', '.join(sorted(BY_NAME))}; or give a url: alone."
        raise document.error(loc, "the connection has no 'type'", fix)
    declared = scalar_text(render(data.get("type") or "sqlalchemy", document, (*loc, "type")))
    kind = BY_NAME.get(declared.lower()) or plugin_type(declared)
    if kind is None:
        fix = did_you_mean(declared, BY_NAME, noun="types")
        raise document.error((*loc, "type"), f"unknown connection type {declared!r}", fix)
    if data.get("url") is not None:
        return _from_url(data, kind, document, loc, folder=folder, origin=origin)
    reader = _Reader(kind, document, loc, folder, strict)
    reader.read(data)
    raise_all(reader.errors)
    options = urls.with_url(kind.name, reader.options)
    return Connection(ConnectionSpec(kind.name, options, reader.secrets, origin), tuple(reader.warnings))


def _from_url(
    data: Mapping[str, Any], kind: ConnectionType, document: Document, loc: Loc, *, folder: Path, origin: str
) -> Connection:
    """`url:` says everything; a `password:` beside it is added to what the URL holds."""
    for key in data:
        if key not in ("type", "url", "password", "pass") and not (key in kind.ignored and kind.name == "generic"):
            fix = "Put it into the URL, or replace 'url' by single options."
            raise document.error((*loc, key), f"{key!r} cannot stand beside 'url'", fix)
    at = (*loc, "url")
    template = parse_template(scalar_text(data["url"]), document, at)
    url = str(template.render())
    spec = urls.spec_from_url(url, origin=f"{document.where(at)}: url", folder=folder)
    if not urls.same_engine(kind.name, spec):
        fix = "Remove 'type', or set it to the engine of the URL."
        raise document.error((*loc, "type"), f"type is {kind.name!r} but the URL is for {spec.type!r}", fix)
    warnings = []
    if urls.has_password(template.literal_text):
        warnings.append(_literal_warning(document, at))
    secrets = dict(spec.secrets)
    for key in ("password", "pass"):
        if data.get(key) is not None:
            secrets["password"], warning = _secret(data[key], document, (*loc, key))
            warnings += warning
    return Connection(replace(spec, secrets=secrets, origin=origin), tuple(warnings))


def _literal_warning(document: Document, loc: Loc) -> str:
    return f"{document.where(loc)}: {loc[-1]}: a secret is written in the file. {_SECRET_FIX}"


def _secret(value: Any, document: Document, loc: Loc) -> tuple[Secret, list[str]]:
    """Hold a secret unevaluated, with a warning when its text is in the file."""
    if isinstance(value, dict | list):
        raise document.error(loc, "must be one text", _SECRET_FIX)
    template = parse_template(scalar_text(value), document, loc)
    warnings = [_literal_warning(document, loc)] if template.literal_text else []
    return Secret(lambda: str(template.render())), warnings


@dataclass
class _Reader:
    """Sorts the keys of one connection into options and secrets."""

    kind: ConnectionType
    document: Document
    loc: Loc
    folder: Path
    strict: bool
    options: dict[str, Any] = field(default_factory=dict)
    secrets: dict[str, Secret] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    errors: list[ConfigurationError] = field(default_factory=list)

    def read(self, data: Mapping[str, Any]) -> None:
        seen: dict[str, str] = {}
        given = _with_sqlite_main(self.kind, data)
        for key, value in given.items():
            option = self.kind.find(key)
            if value is None or key == "type":
                continue
            if option is None:
                self._unknown(key)
            elif option.key in seen:
                # dbt-mysql wants the same name as `schema` and as `database`.
                if value != given[seen[option.key]]:
                    self._fault(key, f"contradicts {seen[option.key]!r}", "Keep one of the two.")
            else:
                seen[option.key] = key
                self._take(option, key, value)
        for option in self.kind.options:
            if option.required and option.key not in seen:
                spellings = " or ".join(repr(name) for name in (option.key, *option.aliases))
                self.errors.append(
                    self.document.error(
                        self.loc, f"{self.kind.name} needs {spellings}", f"Add {option.key}: {option.meaning}"
                    )
                )

    def _take(self, option: Option, key: str, value: Any) -> None:
        at = (*self.loc, key)
        try:
            if option.secret:
                self.secrets[option.key], warnings = _secret(value, self.document, at)
                self.warnings += warnings
            else:
                self.options[option.key] = self._typed(option, value, at)
        except ConfigurationError as error:
            self.errors += each(error)

    def _typed(self, option: Option, value: Any, at: Loc) -> Any:
        if option.kind == "mapping":
            return self._mapping(value, at)
        if isinstance(value, dict | list):
            raise self.document.error(at, "must be one value", f"Write {option.key}: {option.meaning}")
        result = render(value, self.document, at)
        if option.kind == "whole number":
            if isinstance(result, bool) or not str(result).strip().isdecimal():
                raise self.document.error(at, "must be a whole number", "Write digits only, e.g. 5432.")
            return int(result)
        if option.kind == "yes or no":
            answer = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
            if scalar_text(result).lower() not in answer:
                raise self.document.error(at, "must be true or false", "Write true or false.")
            return answer[scalar_text(result).lower()]
        text = scalar_text(result)
        if option.kind == "path" and option.required:
            return urls.file_path(text, origin=f"{self.document.where(at)}: {at[-1]}", folder=self.folder)
        return str(user_path(text)) if option.kind == "path" else text

    def _mapping(self, value: Any, at: Loc) -> Any:
        if not isinstance(value, dict):
            raise self.document.error(at, "must be 'key: value' lines", "Indent the arguments below it.")
        for key in value:
            if is_secret_name(key):
                fix = "Move it up, beside 'type', under the name that the connection type has for it."
                raise self.document.error((*at, key), "a secret may not stand here", fix)
        return render(value, self.document, at)

    def _unknown(self, key: str) -> None:
        if key in self.kind.ignored:
            return
        fix = did_you_mean(key, self.kind.names(), noun="keys")
        if self.strict or fix.startswith("Did you mean"):
            self._fault(key, f"unknown key for type {self.kind.name}", fix)
        else:
            place = self.document.where((*self.loc, key))
            self.warnings.append(f"{place}: {key}: not used for type {self.kind.name}, ignored.")

    def _fault(self, key: str, what: str, fix: str) -> None:
        self.errors.append(self.document.error((*self.loc, key), what, fix))


def _with_sqlite_main(kind: ConnectionType, data: Mapping[str, Any]) -> Mapping[str, Any]:
    """dbt-sqlite names the file as `schemas_and_paths: {main: FILE}`."""
    paths = data.get("schemas_and_paths")
    if kind.name == "sqlite" and "path" not in data and isinstance(paths, dict) and "main" in paths:
        return {**data, "path": paths["main"]}
    return data
