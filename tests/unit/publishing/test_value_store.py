from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dictionary_pipeline.config.resolved import SamplingLimits
from dictionary_pipeline.publishing.bundle import Bundle, build_bundle
from dictionary_pipeline.publishing.manifest import Limit
from unit.publishing.bundles import make_config, shop, staged

NAMES = "column_value_store/shop.sales.customer.name.jsonl"


def lines(bundle: Bundle, path: str = NAMES) -> list[dict[str, Any]]:
    return [json.loads(line) for line in staged(bundle, path).decode().split("\n")[:-1]]


def value_files(bundle: Bundle) -> list[str]:
    return [path for path in bundle.files if path.startswith("column_value_store/")]


def test_lines_have_exact_keys_in_the_order_of_the_sampling_and_values_as_in_the_database(tmp_path: Path) -> None:
    found = lines(build_bundle(tmp_path, shop()))
    assert [line["Value"] for line in found] == ["Bob", "Ann", "Ürsula\tB"]
    assert list(found[0]) == ["Entity", "Schema", "Database", "FQN", "Column", "Value", "Synonyms", "Id"]
    assert (found[0]["FQN"], found[0]["Column"], found[0]["Synonyms"]) == ("shop.sales.customer.name", "name", [])


def test_the_id_is_the_hash_of_the_names_parts_and_the_value(tmp_path: Path) -> None:
    found = lines(build_bundle(tmp_path, shop()))[2]
    expected = hashlib.sha256('["shop","sales","customer","name","Ürsula\\tB"]'.encode()).hexdigest()
    assert found["Id"] == expected[:32]


def test_withheld_columns_and_columns_without_values_have_no_file(tmp_path: Path) -> None:
    assert value_files(build_bundle(tmp_path, shop())) == [NAMES]


@pytest.mark.parametrize(("role", "files"), [("dimension", 1), ("lookup", 1), ("other", 1), ("fact", 0), ("bridge", 0)])
def test_only_describing_tables_have_value_files(role: str, files: int, tmp_path: Path) -> None:
    assert len(value_files(build_bundle(tmp_path, shop(roles={"sales.customer": role})))) == files


def test_views_are_published_only_when_configured(tmp_path: Path) -> None:
    values = {"sales.v_customer.name": [("Ann", 1)]}
    wanted = make_config(sampling=SamplingLimits(value_store_views=True))
    assert value_files(build_bundle(tmp_path / "a", shop(values=values))) == []
    assert value_files(build_bundle(tmp_path / "b", shop(values=values, config=wanted))) == [
        "column_value_store/shop.sales.v_customer.name.jsonl"
    ]


def test_columns_that_are_not_text_are_left_out(tmp_path: Path) -> None:
    assert value_files(build_bundle(tmp_path, shop(values={"sales.customer.id": [("1", 1)]}))) == []


def test_human_synonyms_are_attached_to_their_value(tmp_path: Path) -> None:
    config = make_config(synonyms={"sales.customer.name": {"Ann": ("Anna", "Annie")}})
    found = {line["Value"]: line["Synonyms"] for line in lines(build_bundle(tmp_path, shop(config=config)))}
    assert found["Ann"] == ["Anna", "Annie"]
    assert found["Bob"] == []


def test_texts_over_200_characters_never_enter(tmp_path: Path) -> None:
    values = {"sales.customer.name": [("x" * 201, 9), ("y" * 200, 1)]}
    assert [line["Value"] for line in lines(build_bundle(tmp_path, shop(values=values)))] == ["y" * 200]


@pytest.mark.parametrize(("given", "distinct", "truncated"), [(3, 3, True), (2, 9, True), (2, 2, False), (1, 9, False)])
def test_the_most_frequent_values_are_kept_and_the_cut_is_recorded(
    given: int, distinct: int, truncated: bool, tmp_path: Path
) -> None:
    config = make_config(sampling=SamplingLimits(max_values=2))
    values = {"sales.customer.name": [(f"v{number}", 10 - number) for number in range(given)]}
    bundle = build_bundle(tmp_path, shop(values=values, config=config, distinct=distinct))
    assert [line["Value"] for line in lines(bundle)] == [f"v{number}" for number in range(min(given, 2))]
    assert (Limit("sales.customer.name", "max_values", 2) in bundle.facts.limits) is truncated


def test_a_partly_read_table_is_recorded_as_sampled(tmp_path: Path) -> None:
    bundle = build_bundle(tmp_path, shop(complete=False))
    assert Limit("sales.customer", "sampled", 20_000) in bundle.facts.limits
    assert [limit for limit in build_bundle(tmp_path, shop()).facts.limits if limit.limit == "sampled"] == []


def test_row_order_of_the_input_does_not_matter(tmp_path: Path) -> None:
    inputs = shop()
    turned = replace(
        inputs,
        # The order of values within a column is what they are published in.
        values=inputs.values.sort("column", descending=True, maintain_order=True),
        **{name: getattr(inputs, name).reverse() for name in ("profiles", "roles", "column_definitions")},
        relationships=inputs.relationships.sample(fraction=1, shuffle=True, seed=1),
        join_graph=inputs.join_graph.select(pl.all().reverse()),
    )
    assert build_bundle(tmp_path / "a", inputs).files == build_bundle(tmp_path / "b", turned).files
