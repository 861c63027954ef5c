"""Masked and released columns in the published frames, and the scrubbing of texts about them."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.publishing.bundle import build_bundle
from dictionary_pipeline.publishing.scrub import scrub_catalog
from dictionary_pipeline.publishing.sealed import seal
from unit.builders import make_catalog
from unit.publishing.bundles import shop, staged_frame, staged_json


def sensitivity(**treatments: str) -> pl.DataFrame:
    rows = [("s", "t", column, "PERSON", 0.9, "its values", treat) for column, treat in treatments.items()]
    return frames.from_rows(rows, frames.SENSITIVITY)


def test_masked_and_released_columns_say_so_and_are_not_withheld(tmp_path: Path) -> None:
    treated = {"sales.customer.name": "mask", "sales.customer.state": "allow"}
    bundle = build_bundle(tmp_path, shop(treated=treated))
    columns = staged_frame(bundle, "columns").filter(pl.col("table") == "customer")
    told = {row["column"]: (row["withheld"], row["sensitivity_reason"]) for row in columns.iter_rows(named=True)}
    assert told["name"] == (False, "its values; shown masked")
    assert told["state"] == (False, "its values; released by configuration")
    assert told["password"] == (True, "its name")
    assert told["id"] == (False, None)
    entry = staged_json(bundle, "schema_store/shop.sales.customer.json")
    assert entry["Columns"][1]["SampleValues"] is not None


def test_lists_of_masked_columns_are_masked_and_of_withheld_ones_removed() -> None:
    catalog = make_catalog(
        tables={"s.t": ["a text", "b text", "c text"]},
        enums={"s.t.a": ["Bob1", "Al2", "Cy3"], "s.t.b": ["Bob1"], "s.t.c": ["Bob1"]},
    )
    verdicts = sensitivity(a="mask", b="withhold", c="allow")
    once = scrub_catalog(catalog, verdicts)
    assert dict(once.columns.select("column", "enum_values").iter_rows()) == {
        "a": ["Aa9", "Aaa9"],
        "b": None,
        "c": ["Bob1"],
    }
    assert scrub_catalog(once, verdicts).columns.equals(once.columns)


def test_known_values_are_scrubbed_wherever_a_text_quotes_them() -> None:
    catalog = make_catalog(
        tables={"s.t": ["mail text", "n int"], "s.other": ["x text"]},
        views={"s.v": "SELECT x FROM s.other WHERE x = 'bob@shop.example' AND n = 1"},
        comments={"s.other": "Ask bob@shop.example for 'more'.", "s.other.x": "like 'abc'"},
        checks=[("s.other", "x <> 'bob@shop.example'"), ("s.other", "x <> 'abc'")],
    )
    raw = pl.DataFrame(
        [("s", "t", "mail", "bob@shop.example")], schema=["schema", "table", "column", "value"], orient="row"
    )
    scrubbed = scrub_catalog(catalog, sensitivity(mail="withhold"), seal(raw, raw, None))
    tables = {row["table"]: row for row in scrubbed.tables.iter_rows(named=True)}
    assert tables["v"]["view_sql"] == "SELECT x FROM s.other WHERE x = '***' AND n = '***'"
    assert tables["other"]["comment"] == "Ask *** for 'more'."
    assert "like 'abc'" in scrubbed.columns["comment"].to_list()
    assert scrubbed.checks["expression"].to_list() == ["x <> '***'", "x <> 'abc'"]
