from __future__ import annotations

import base64

import dagster as dg
import polars as pl
from dagster._serdes import serialize_value

from dictionary_pipeline.orchestration.metadata import stage_metadata
from dictionary_pipeline.problems import Problem
from dictionary_pipeline.report import MAX_IMAGE_BYTES, StageReport


def test_a_picture_is_shown_as_an_image_within_markdown() -> None:
    value = stage_metadata(StageReport("stage", {}, images={"er_diagram": b"<svg>\xc3\xa9</svg>"}))["er_diagram"]
    assert isinstance(value, dg.MarkdownMetadataValue)
    start, _, data = str(value.value).partition(",")
    assert start == "![er_diagram](data:image/svg+xml;base64"
    assert base64.b64decode(data.removesuffix(")")) == b"<svg>\xc3\xa9</svg>"


def test_an_event_with_the_largest_pictures_and_many_rows_stays_small() -> None:
    rows = pl.DataFrame({f"column{number}": ["x" * 100] * 200 for number in range(6)})
    report = StageReport(
        "stage",
        {},
        tables={"first": rows, "second": rows},
        images={"er_diagram": b"x" * (MAX_IMAGE_BYTES - 10), "er_largest_area": b"x" * 10},
        problems=(Problem("s.t", "stage", "code", "m" * 200, "h" * 200),) * 200,
    )
    event = dg.AssetMaterialization("stage", metadata=stage_metadata(report))
    assert len(serialize_value(event)) < 100_000
