"""What a sensor remembers between ticks, as Dagster keeps it: a text."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Self


@dataclass(frozen=True)
class JsonCursor:
    """A cursor whose fields are JSON values, each with a default."""

    @classmethod
    def parse(cls, text: str | None) -> Self:
        """Read a cursor; a fresh one when there is none, or none of this version."""
        try:
            return cls(**json.loads(text)) if text else cls()
        except (ValueError, TypeError):
            return cls()

    def dump(self) -> str:
        """As kept by Dagster."""
        return json.dumps(asdict(self), sort_keys=True)
