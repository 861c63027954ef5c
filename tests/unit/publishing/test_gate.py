"""The gate searches every file of a bundle for sealed values, whatever the verdicts say."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dictionary_pipeline.errors import ContractViolation
from dictionary_pipeline.publishing.bundle import Bundle, build_bundle
from dictionary_pipeline.publishing.sealed import Sealed, seal
from dictionary_pipeline.publishing.staging import parquet_bytes
from dictionary_pipeline.publishing.verify import PRIVACY, require_verified, verify
from unit.publishing.bundles import make_config, shop, staged, staged_frame, staged_json
from unit.publishing.test_verify import with_file

SECRET = "cust1@shop.example"
EMAIL = ("sales", "customer", "password")
ENTRY, NAMES = "schema_store/shop.sales.customer.json", "column_value_store/shop.sales.customer.name.jsonl"


def raw_values(*texts: str) -> pl.DataFrame:
    rows = [(*EMAIL, text) for text in texts]
    return pl.DataFrame(rows, schema=["schema", "table", "column", "value"], orient="row")


@pytest.fixture
def sealed() -> Sealed:
    raw = raw_values(SECRET, "555-0001")
    return seal(raw, raw, None)


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    return build_bundle(tmp_path, shop())


def leaks(bundle: Bundle, sealed: Sealed) -> list[str]:
    return [finding.path for finding in verify(bundle, sealed) if finding.check == PRIVACY]


def edited(bundle: Bundle, path: str, edit: Callable[[Any], object]) -> Bundle:
    document = staged_json(bundle, path)
    edit(document)
    return with_file(bundle, path, json.dumps(document).encode())


def test_a_clean_bundle_passes(bundle: Bundle, sealed: Sealed) -> None:
    assert verify(bundle, sealed) == ()
    assert verify(bundle, Sealed(b"", {})) == ()


@pytest.mark.parametrize(
    "edit",
    [
        lambda entry: entry.update(Definition=f"e.g. {SECRET}"),
        lambda entry: entry["Columns"][0].update(Definition=f"see {SECRET}."),
        lambda entry: entry["Columns"][2].update(SampleValues=[SECRET]),
        lambda entry: entry["Columns"][2].update(AllowedValues=[{"nested": [SECRET]}]),
    ],
)
def test_an_entry_that_shows_a_value_is_found(edit: Callable[[Any], object], bundle: Bundle, sealed: Sealed) -> None:
    assert ENTRY in leaks(edited(bundle, ENTRY, edit), sealed)


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("exports/x.json", json.dumps({"deep": [{"text": f"mail {SECRET}"}]}).encode()),
        ("exports/x.jsonl", json.dumps({"text": SECRET}).encode() + b"\n"),
        ("exports/x.md", f"# Title\n\nWrite to {SECRET}.\n".encode()),
        ("graph/settings.yaml", f'default: "{SECRET}"\n'.encode()),
        ("graph/graph.graphml", f"<data key='d0'>{SECRET}</data>".encode()),
        ("graph/extra.parquet", parquet_bytes(pl.DataFrame({"a": [None, f"x {SECRET}"]}))),
        ("graph/lists.parquet", parquet_bytes(pl.DataFrame({"a": [["x"], [SECRET]]}))),
    ],
)
def test_any_other_file_that_shows_a_value_is_found(path: str, content: bytes, bundle: Bundle, sealed: Sealed) -> None:
    assert leaks(with_file(bundle, path, content), sealed) == [path]


def test_a_value_file_and_a_profile_of_the_sealed_column_are_searched(bundle: Bundle, sealed: Sealed) -> None:
    lines = staged(bundle, NAMES).decode().replace('"Column": "name"', '"Column": "password"').replace("Ann", SECRET)
    path = "column_value_store/shop.sales.customer.password.jsonl"
    assert path in leaks(with_file(bundle, path, lines.encode()), sealed)
    profiles = staged_frame(bundle, "value_profiles").with_columns(
        pl.when(pl.col("column") == "password").then(pl.lit(SECRET)).alias("max")
    )
    path = "catalog/value_profiles.parquet"
    assert path in leaks(with_file(bundle, path, parquet_bytes(profiles)), sealed)


def test_a_value_that_another_column_has_as_its_own_is_no_leak(bundle: Bundle, sealed: Sealed) -> None:
    shown = edited(bundle, ENTRY, lambda entry: entry["Columns"][1].update(SampleValues=["555-0001"]))
    assert leaks(shown, sealed) == []
    told = edited(shown, ENTRY, lambda entry: entry.update(Definition="Customers; 555-0001 is the hotline."))
    assert leaks(told, sealed) == []
    assert leaks(edited(told, ENTRY, lambda entry: entry.update(EntityName=SECRET)), sealed) == [ENTRY]


def test_a_name_of_the_catalog_is_no_leak(tmp_path: Path) -> None:
    raw = raw_values("customer_id", "Customer Id")
    assert leaks(build_bundle(tmp_path, shop()), seal(raw, raw, None)) == []


def test_a_refusal_names_object_column_and_the_line_that_releases_it(bundle: Bundle, sealed: Sealed) -> None:
    shown = edited(bundle, ENTRY, lambda entry: entry.update(Definition=f"e.g. {SECRET}"))
    with pytest.raises(ContractViolation) as refusal:
        require_verified(verify(shown, sealed), "shop")
    text = str(refusal.value)
    assert ENTRY in text
    assert "sales.customer.password" in text
    assert "privacy: {allow: [sales.customer.password]}" in text
    assert "databases/shop.yml" in text
    assert SECRET not in text


def test_both_layouts_are_searched(tmp_path: Path, sealed: Sealed) -> None:
    single = build_bundle(tmp_path, shop(config=make_config(single_file=True)))
    path = "schema_store/entities.json"
    shown = edited(single, path, lambda entries: entries[0].update(Definition=f"e.g. {SECRET}"))
    assert leaks(shown, sealed) == [path]
