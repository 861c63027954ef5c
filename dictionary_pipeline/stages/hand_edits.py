"""What a publish reports of plain files that people had edited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from dictionary_pipeline.publishing.hand_edits import edit_sentence
from dictionary_pipeline.report import MAX_TABLE_ROWS

_TABLE = "hand_edited_files"
_MOST_WARNINGS = 20


def hand_edited(paths: Sequence[str], database: str, *, purged: bool) -> dict[str, pl.DataFrame]:
    """The edited files with what to do about them, as a table of the report; nothing when there are none.

    Args:
        purged: A purge of a newly withheld column has deleted what was kept.
    """
    rows = [(path, edit_sentence(path, database, purged=purged)) for path in paths[:MAX_TABLE_ROWS]]
    frame = pl.DataFrame(rows, schema={"file": pl.String(), "message": pl.String()}, orient="row")
    return {_TABLE: frame} if rows else {}


def hand_edit_warnings(tables: Mapping[str, pl.DataFrame]) -> tuple[str, ...]:
    """The same as warnings, the first of many."""
    if _TABLE not in tables:
        return ()
    said = tables[_TABLE]["message"].to_list()
    more = len(said) - _MOST_WARNINGS
    rest = (f"{more} more files were edited by hand; the table {_TABLE} lists them.",) if more > 0 else ()
    return (*said[:_MOST_WARNINGS], *rest)
