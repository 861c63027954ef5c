"""Problem rows: an error is not an absence, so what could not be read is named."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Problem(NamedTuple):
    """One object that a stage could not handle completely (contract: manifest `problems`)."""

    object: str
    """Qualified name as shown to people: `schema.table`, `schema.table.column` or a database."""
    stage: str
    """Stage that met the problem, e.g. `schema_snapshot`."""
    code: str | None
    """SQLSTATE or vendor number, null when the product itself found the problem."""
    message: str
    """The product's own text per error class; never a driver's text."""
    hint: str
    """What the reader can do about it."""


def sorted_unique(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Order problems for publishing: by object, stage, code and text, duplicates once."""
    return tuple(sorted(set(problems), key=lambda p: (p.object, p.stage, p.code or "", p.message, p.hint)))
