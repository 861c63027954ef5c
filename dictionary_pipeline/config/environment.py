"""Environment variables: the `.env` file, and dbt's `{{ env_var('NAME', 'default') }}`."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dotenv import dotenv_values

from dictionary_pipeline.config.yamlfile import Document, Loc
from dictionary_pipeline.errors import ConfigurationError

_MARK = "_DICTIONARY_PIPELINE_ENV_FILE"
"""Tells, to child processes too, what came from `.env`: an edited file is followed, a real variable is not."""

_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_CALL = re.compile(
    rf"""env_var\(\s*(?P<name>{_QUOTED})\s*
         (?:,\s*(?:default\s*=\s*)?(?P<default>{_QUOTED}|-?\d+(?:\.\d+)?|[Tt]rue|[Ff]alse|[Nn]one)\s*)?
         \)\s*(?P<filters>(?:\|\s*\w+\s*)*)""",
    re.VERBOSE,
)
_TAG = re.compile(r"\{\{-?(.*?)-?\}\}", re.DOTALL)
_FILTERS: dict[str, Callable[[str], Any]] = {
    "int": int,
    "as_number": lambda text: int(text) if re.fullmatch(r"-?\d+", text.strip()) else float(text),
    "float": float,
    "as_bool": lambda text: {"true": True, "false": False}[text.strip().lower()],
    "as_text": str,
    "as_native": str,
    "string": str,
    "trim": str.strip,
}


def load_env_file(folder: Path) -> None:
    """Put the variables of `<folder>/.env` into the environment; those already set there to something else win.

    What equals the file counts as taken from it: Dagster reads the same file when it starts.

    Raises:
        ConfigurationError: the file exists but cannot be read.
    """
    path = folder / ".env"
    if not path.is_file():
        return
    try:
        values = dotenv_values(path, encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise ConfigurationError(
            "the file cannot be read", where=str(path), fix="Check its permissions and save it as UTF-8."
        ) from None
    taken = set(os.environ.get(_MARK, "").split())
    for name, value in values.items():
        current = os.environ.get(name)
        if value is not None and (current in (None, value) or _fingerprint(name, current) in taken):
            os.environ[name] = value
            taken = {mark for mark in taken if not mark.startswith(f"{name}=")} | {_fingerprint(name, value)}
    os.environ[_MARK] = " ".join(sorted(taken))


def _fingerprint(name: str, value: str | None) -> str:
    return f"{name}={hashlib.sha256(os.fsencode(value or '')).hexdigest()[:16]}"


def missing_variable(name: str, where: str) -> ConfigurationError:
    """The error for a variable that is not set."""
    return ConfigurationError(
        f"the environment variable {name} is not set",
        where=where,
        fix=f"Add the line {name}=... to the file .env in the project folder, or export it.",
    )


def variable(name: str, where: str) -> str:
    """The value of an environment variable.

    Raises:
        ConfigurationError: it is not set.
    """
    value = os.environ.get(name)
    if value is None:
        raise missing_variable(name, where)
    return value


@dataclass(frozen=True)
class _Call:
    """One `{{ env_var(...) }}`."""

    name: str
    default: str | None = field(repr=False)
    filters: tuple[str, ...]


@dataclass(frozen=True)
class Template:
    """A scalar that may hold `{{ env_var(...) }}`; parsed once, evaluated when asked."""

    where: str
    key: str
    parts: tuple[str | _Call, ...] = field(repr=False)

    @property
    def literal_text(self) -> str:
        """What stands in the file itself: the text, and defaults that may take a variable's place."""
        return "".join(part if isinstance(part, str) else part.default or "" for part in self.parts)

    def render(self) -> Any:
        """The value now: text, or a number or boolean when a filter says so.

        Raises:
            ConfigurationError: a variable is not set or a filter does not fit its value.
        """
        values = [part if isinstance(part, str) else self._call(part) for part in self.parts]
        return values[0] if len(values) == 1 else "".join(str(value) for value in values)

    def _call(self, call: _Call) -> Any:
        value: Any = os.environ.get(call.name, call.default)
        if value is None:
            raise missing_variable(call.name, f"{self.where}: {self.key}")
        for name in call.filters:
            fits = True
            try:
                value = _FILTERS[name](str(value))
            except (ValueError, KeyError):
                fits = False
            # Raised outside the handler: the first exception quotes the value and must not become the context.
            if not fits:
                raise ConfigurationError(
                    f"{self.key}: the value of {call.name} does not fit the filter '| {name}'",
                    where=self.where,
                    fix=f"Correct {call.name} in .env or the environment.",
                )
        return value


def parse_template(text: str, document: Document, loc: Loc) -> Template:
    """Parse a scalar of a file.

    Raises:
        ConfigurationError: it holds Jinja other than `env_var`.
    """
    key = str(loc[-1]) if loc else ""
    parts: list[str | _Call] = []
    at = 0
    for tag in _TAG.finditer(text):
        parts.append(text[at : tag.start()])
        parts.append(_parse_call(tag[1].strip(), document, loc))
        at = tag.end()
    parts.append(text[at:])
    if any(isinstance(part, str) and re.search(r"\{\{|\{%|\{#", part) for part in parts):
        raise _other_jinja(document, loc)
    return Template(document.where(loc), key, tuple(part for part in parts if part != "") or ("",))


def _parse_call(expression: str, document: Document, loc: Loc) -> _Call:
    found = _CALL.fullmatch(expression)
    if found is None:
        raise _other_jinja(document, loc)
    filters = tuple(name.strip() for name in found["filters"].split("|")[1:])
    for name in filters:
        if name not in _FILTERS:
            raise document.error(loc, f"the Jinja filter {name!r} is not understood", f"Use {', '.join(_FILTERS)}.")
    default = found["default"]
    if default is not None:
        default = None if default.lower() == "none" else _unquote(default)
    return _Call(_unquote(found["name"]), default, filters)


def _unquote(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text[:1] in "'\"" else text


def _other_jinja(document: Document, loc: Loc) -> ConfigurationError:
    return document.error(
        loc,
        "only {{ env_var('NAME') }} and {{ env_var('NAME', 'default') }} are understood as Jinja",
        "Write the value itself, or read it from an environment variable that way.",
    )


def render(value: Any, document: Document, loc: Loc) -> Any:
    """Evaluate every scalar inside a value of a file.

    Raises:
        ConfigurationError: see `parse_template` and `Template.render`.
    """
    if isinstance(value, str):
        return parse_template(value, document, loc).render() if "{" in value else value
    if isinstance(value, dict):
        return {key: render(item, document, (*loc, key)) for key, item in value.items()}
    if isinstance(value, list):
        return [render(item, document, (*loc, at)) for at, item in enumerate(value)]
    return value
