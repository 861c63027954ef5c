from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dictionary_pipeline.errors import ContractViolation
from dictionary_pipeline.publishing.bundle import Bundle, build_bundle
from dictionary_pipeline.publishing.manifest import FileInfo
from dictionary_pipeline.publishing.staging import StagedContent, parquet_bytes
from dictionary_pipeline.publishing.verify import require_verified, verify
from unit.publishing.bundles import make_config, shop, staged, staged_frame, staged_json

CUSTOMER, LINE = "schema_store/shop.sales.customer.json", "schema_store/shop.sales.order_line.json"
NAMES = "column_value_store/shop.sales.customer.name.jsonl"
PROFILES = "catalog/value_profiles.parquet"


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    titles = ["A TABLE", "B TABLE"]
    edges = pl.DataFrame({"source": titles[:1], "target": titles[1:]})
    graph = {
        "output/entities.parquet": pl.DataFrame({"title": titles}),
        "output/relationships.parquet": edges,
        "edges.parquet": pl.DataFrame({"source": ["A TABLE"], "target": ["A.X COLUMN"]}),
        "ids.parquet": pl.DataFrame({"kind": ["entity"] * 3, "key": [*titles, "A.X COLUMN"]}),
        "settings.yaml": "workflows: []\n",
    }
    return build_bundle(tmp_path, shop(graph_files=graph))


def with_file(bundle: Bundle, path: str, content: bytes) -> Bundle:
    info, pack = FileInfo(hashlib.sha256(content).hexdigest(), len(content)), bundle.content.pack
    offsets = {**bundle.content.offsets, info.sha256: (pack.stat().st_size, info.bytes)}
    pack.write_bytes(pack.read_bytes() + content)
    return replace(bundle, content=StagedContent(pack, offsets), files={**bundle.files, path: info})


def edited(bundle: Bundle, path: str, edit: Callable[[Any], object]) -> Bundle:
    document = staged_json(bundle, path)
    edit(document)
    return with_file(bundle, path, json.dumps(document).encode())


def checks(bundle: Bundle) -> set[tuple[str, str]]:
    return {(finding.check, finding.path) for finding in verify(bundle)}


def test_a_built_bundle_passes_in_both_layouts(bundle: Bundle, tmp_path: Path) -> None:
    assert verify(bundle) == ()
    assert verify(build_bundle(tmp_path / "single", shop(config=make_config(single_file=True)))) == ()
    require_verified((), "shop")


def test_changed_or_missing_content_is_found(bundle: Bundle) -> None:
    offsets = dict(bundle.content.offsets)
    offsets[bundle.files[CUSTOMER].sha256] = (0, 2)
    del offsets[bundle.files[LINE].sha256]
    assert checks(replace(bundle, content=StagedContent(bundle.content.pack, offsets))) == {
        ("files", CUSTOMER),
        ("files", LINE),
    }


@pytest.mark.parametrize("content", [b'{"a": NaN}', b'{"a": 1, "a": 2}', b"\xff", b""])
def test_json_that_is_not_strict_is_found(content: bytes, bundle: Bundle) -> None:
    assert ("strict_json", "exports/x.json") in checks(with_file(bundle, "exports/x.json", content))


@pytest.mark.parametrize(
    ("check", "edit"),
    [
        ("structure", lambda entry: entry.update(Definition=entry.pop("Definition"))),
        ("structure", lambda entry: entry.update(EntityName=None)),
        ("structure", lambda entry: entry["Columns"][0].update(Extra=1)),
        ("structure", lambda entry: entry["Columns"][0].update(SampleValues=[1] * 6)),
        ("structure", lambda entry: entry["EntityRelationships"][0].pop("ForeignDatabase")),
        ("relationships", lambda entry: entry["EntityRelationships"][0].update(ForeignFQN="shop.sales.gone")),
        ("relationships", lambda entry: entry["EntityRelationships"][0]["ForeignKeys"][0].update(Column="gone")),
        ("privacy", lambda entry: entry["Columns"][2].update(SampleValues=["hunter2"])),
    ],
)
def test_an_entry_that_breaks_the_contract_is_found(check: str, edit: Callable[[Any], object], bundle: Bundle) -> None:
    assert (check, CUSTOMER) in checks(edited(bundle, CUSTOMER, edit))


def test_a_missing_or_doubled_entry_is_found(bundle: Bundle) -> None:
    missing = replace(bundle, files={path: info for path, info in bundle.files.items() if path != CUSTOMER})
    doubled = with_file(bundle, "schema_store/again.json", staged(bundle, CUSTOMER))
    assert ("structure", "schema_store") in checks(missing)
    assert ("structure", "schema_store") in checks(doubled)


@pytest.mark.parametrize(
    ("check", "change"),
    [
        ("structure", lambda text: text + text),
        ("structure", lambda text: text.replace('"Entity"', '"entity"')),
        ("structure", lambda text: text.rstrip("\n")),
        ("strict_json", lambda text: text.replace('"Bob"', "NaN")),
        ("privacy", lambda text: text.replace('"Column": "name"', '"Column": "password"')),
    ],
)
def test_a_value_file_that_breaks_the_contract_is_found(
    check: str, change: Callable[[str], str], bundle: Bundle
) -> None:
    content = change(staged(bundle, NAMES).decode()).encode()
    assert (check, NAMES) in checks(with_file(bundle, NAMES, content))


def test_a_profile_that_shows_a_withheld_value_is_found(bundle: Bundle) -> None:
    shown = staged_frame(bundle, "value_profiles").with_columns(pl.lit("hunter2").alias("min"))
    assert ("privacy", PROFILES) in checks(with_file(bundle, PROFILES, parquet_bytes(shown)))


def test_a_relationship_of_the_catalog_to_nowhere_is_found(bundle: Bundle) -> None:
    lost = staged_frame(bundle, "relationships").with_columns(pl.lit("gone").alias("to_table"))
    path = "catalog/relationships.parquet"
    assert ("relationships", path) in checks(with_file(bundle, path, parquet_bytes(lost)))


@pytest.mark.parametrize("path", ["graph/edges.parquet", "graph/output/relationships.parquet"])
def test_a_graph_edge_to_nowhere_is_found(path: str, bundle: Bundle) -> None:
    lost = pl.DataFrame({"source": ["A TABLE"], "target": ["C TABLE"]})
    assert checks(with_file(bundle, path, parquet_bytes(lost))) == {("graph", path)}


def test_a_graph_with_tables_only_may_have_edges_to_columns_that_have_an_id(bundle: Bundle) -> None:
    assert "A.X COLUMN" not in bundle.frame("graph/output/entities.parquet")["title"].to_list()
    assert verify(bundle) == ()


def test_findings_refuse_the_bundle_by_name(bundle: Bundle) -> None:
    findings = verify(edited(bundle, CUSTOMER, lambda entry: entry.update(EntityName=None)))
    with pytest.raises(ContractViolation, match=r"shop: .*customer\.json"):
        require_verified(findings, "shop")
