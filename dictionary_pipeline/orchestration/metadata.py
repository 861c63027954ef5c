"""Stage reports as Dagster metadata: fixed names, bounded size, no Mermaid and no raw HTML."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping

import dagster as dg
import polars as pl

from dictionary_pipeline.report import MAX_TABLE_ROWS, StageReport, problem_frame

MAX_TEXT = 2_000
_MAX_CELL = 120
_MAX_TABLE_BYTES = 30_000
_MAX_TABLES_BYTES = 75_000
_MAX_TEXTS_BYTES = 15_000
_ROW_BYTES = 60
"""What Dagster writes around the cells of a row."""


def stage_metadata(report: StageReport) -> dict[str, dg.MetadataValue]:
    """Problems first, then metrics, pictures, and tables of at most 200 rows in what room is left."""
    metadata: dict[str, dg.MetadataValue] = {}
    room = _MAX_TABLES_BYTES
    if report.problems:
        metadata["problem_rows"], used = table_value(problem_frame(report.problems), room)
        room -= used
    metadata.update(_scalars(report.metrics))
    for name, text in report.texts.items():
        shown = shorten(text, min(_MAX_TEXTS_BYTES, room))
        metadata[name] = dg.MetadataValue.md(shown)
        room -= len(json.dumps(shown))
    for name, svg in report.images.items():
        metadata[name], used = _image(name, svg)
        room -= used
    for name, frame in report.tables.items():
        if frame.height:
            metadata[name], used = table_value(frame, room)
            room -= used
    return metadata


def shorten(text: str, limit: int = MAX_TEXT) -> str:
    """A text as it is, or cut with an ellipsis: names in a database may be very long."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _image(name: str, svg: bytes) -> tuple[dg.MarkdownMetadataValue, int]:
    """A picture that the UI shows, and the bytes that it takes."""
    text = f"![{name}](data:image/svg+xml;base64,{base64.b64encode(svg).decode()})"
    return dg.MetadataValue.md(text), len(text)


def _scalars(metrics: Mapping[str, int | float | str | bool]) -> dict[str, dg.MetadataValue]:
    return {name: _scalar(value) for name, value in metrics.items()}


def _scalar(value: int | float | str | bool) -> dg.MetadataValue:
    match value:
        case bool():
            return dg.MetadataValue.bool(value)
        case int():
            return dg.MetadataValue.int(value)
        case float():
            return dg.MetadataValue.float(value)
        case _:
            return dg.MetadataValue.text(shorten(value))


def table_value(frame: pl.DataFrame, room: int) -> tuple[dg.TableMetadataValue, int]:
    """A frame as a table of short cells, cut where its event would grow too large.

    Args:
        frame: Most important rows first.
        room: Bytes that the event has left.

    Returns:
        The table, and about how many bytes of the event it takes.
    """
    records: list[dg.TableRecord] = []
    used = 0
    for row in frame.head(MAX_TABLE_ROWS).iter_rows(named=True):
        record = {name: _cell(value) for name, value in row.items()}
        size = len(json.dumps(record)) + _ROW_BYTES
        if used + size > min(room, _MAX_TABLE_BYTES):
            break
        used += size
        records.append(dg.TableRecord(record))
    columns = [dg.TableColumn(name, "int" if dtype.is_integer() else "string") for name, dtype in frame.schema.items()]
    return dg.MetadataValue.table(records, schema=dg.TableSchema(columns)), used


def _cell(value: object) -> str | int | float | bool | None:
    if value is None or isinstance(value, bool | int | float):
        return value
    return shorten(str(value), _MAX_CELL)
