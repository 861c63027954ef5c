"""dbt's `profiles.yml`: profile -> target -> output. Only the selected output is evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dictionary_pipeline.config.connections import Connection, read_connection
from dictionary_pipeline.config.environment import render
from dictionary_pipeline.config.faults import did_you_mean
from dictionary_pipeline.config.yamlfile import Document, Loc, read_yaml, scalar_text
from dictionary_pipeline.errors import ConfigurationError

DEFAULT_TARGET = "default"
"""dbt's name for the output of a profile that says no `target`."""


class UnknownName(ConfigurationError):
    """A profile or target that the profiles file does not have; the asker knows where it was named."""

    def __init__(self, key: str, what: str, *, where: str, fix: str) -> None:
        self.key = key
        super().__init__(what, where=where, fix=fix)


@dataclass(frozen=True)
class Profiles:
    """A profiles file that is read when a database first needs it."""

    path: Path
    folder: Path
    """The project folder."""

    def document(self) -> Document:
        """The parsed file. Raises ConfigurationError."""
        return read_yaml(self.path, folder=self.folder)

    def names(self) -> tuple[str, ...]:
        """Names of the profiles. Raises ConfigurationError."""
        return tuple(name for name in self.document().data if name != "config")

    def connection(self, profile: str, target: str | None = None) -> Connection:
        """Evaluate one output of a profile.

        Args:
            profile: Name of the profile.
            target: Name of the output; the profile's own `target` when null.

        Raises:
            UnknownName: there is no such profile or target.
            ConfigurationError: the output is broken; about this file.
        """
        document = self.document()
        if profile not in self.names():
            fix = did_you_mean(profile, self.names(), noun="profiles")
            raise UnknownName("profile", f"there is no profile {profile!r}", where=document.label, fix=fix)
        entry = _mapping(document, document.data[profile], (profile,))
        outputs = _mapping(document, entry.get("outputs"), (profile, "outputs"))
        name = target or self._own_target(document, entry, profile)
        if name not in outputs:
            fix = did_you_mean(name, outputs, noun="targets")
            what = f"the profile {profile!r} has no target {name!r}"
            if target is None:
                raise document.error((profile, "target"), what, fix)
            raise UnknownName("target", what, where=document.where((profile,)), fix=fix)
        at = (profile, "outputs", name)
        output = _mapping(document, outputs[name], at)
        label = f"profile {profile}, target {name}"
        return read_connection(output, document, at, folder=self.folder, label=label, strict=False)

    @staticmethod
    def _own_target(document: Document, entry: Mapping[str, Any], profile: str) -> str:
        target = entry.get("target")
        return DEFAULT_TARGET if target is None else scalar_text(render(target, document, (profile, "target")))


def _mapping(document: Document, value: Any, loc: Loc) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        shape = "'<profile>: {target: dev, outputs: {dev: {type: postgres, ...}}}'"
        raise document.error(loc, "must be 'key: value' lines", f"A profile looks like {shape}.")
    return value
