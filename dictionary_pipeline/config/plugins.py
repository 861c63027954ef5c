"""Connection types that installed packages add."""

from __future__ import annotations

import importlib.metadata

from dictionary_pipeline.config.engine_options import BY_NAME, ConnectionType

GROUP = "dictionary_pipeline.engines"
"""Entry-point group of engines; an entry's name is the `type` of its connections and the scheme of its URLs."""


def plugin_type(name: str) -> ConnectionType | None:
    """The type of this name that a package brought; all its keys are options, which only the package knows."""
    if name in BY_NAME or not importlib.metadata.entry_points(group=GROUP, name=name):
        return None
    return ConnectionType(name, f"Engine of an installed package: {name}", (), takes_any=True)
