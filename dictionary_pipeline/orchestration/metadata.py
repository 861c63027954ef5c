"""Stage reports as Dagster metadata: fixed names, bounded size, no Mermaid and no raw HTML."""

from __future__ import annotations

import json
from collections.abc import Mapping

import dagster as dg
import polars as pl

from dictionary_pipeline.report import MAX_TABLE_ROWS, StageReport, problem_frame

_MAX_CELL = 120
_MAX_TABLE_BYTES = 30_000


def stage_metadata(report: StageReport) -> dict[str, dg.MetadataValue]:
    """Problems first, then metrics, then tables of at most 200 rows."""
    metadata: dict[str, dg.MetadataValue] = {}
    if report.problems:
        metadata["problem_rows"] = table_value(problem_frame(report.problems))
    metadata.update(_scalars(report.metrics))
    for name, frame in report.tables.items():
        if frame.height:
            metadata[name] = table_value(frame)
    return metadata


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
            return dg.MetadataValue.text(value)


def table_value(frame: pl.DataFrame) -> dg.TableMetadataValue:
    """A frame as a table of short cells, cut where its event would grow too large."""
    records: list[dg.TableRecord] = []
    room = _MAX_TABLE_BYTES
    for row in frame.head(MAX_TABLE_ROWS).iter_rows(named=True):
        record = {name: _cell(value) for name, value in row.items()}
        room -= len(json.dumps(record))
        if room < 0:
            break
        records.append(dg.TableRecord(record))
    columns = [dg.TableColumn(name, "int" if dtype.is_integer() else "string") for name, dtype in frame.schema.items()]
    return dg.MetadataValue.table(records, schema=dg.TableSchema(columns))


def _cell(value: object) -> str | int | float | bool | None:
    if value is None or isinstance(value, bool | int | float):
        return value
    text = str(value)
    return text if len(text) <= _MAX_CELL else text[: _MAX_CELL - 1] + "…"
