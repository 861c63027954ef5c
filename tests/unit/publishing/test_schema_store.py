from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dictionary_pipeline import jsontext
from dictionary_pipeline.catalog import Identity
from dictionary_pipeline.errors import ContractViolation
from dictionary_pipeline.publishing.bundle import BundleInputs, build_bundle
from unit.builders import make_catalog
from unit.publishing.bundles import make_config, make_inputs, shop, staged, staged_json

CUSTOMER, LINE = "schema_store/shop.sales.customer.json", "schema_store/shop.sales.order_line.json"
ENTRY_KEYS = [
    *("Entity", "Definition", "Schema", "EntityName", "Database"),
    *("EntityRelationships", "CompleteEntityRelationshipsGraph", "Columns", "FQN"),
]


def entry(inputs: BundleInputs, tmp_path: Path, path: str) -> dict[str, Any]:
    content: dict[str, Any] = staged_json(build_bundle(tmp_path, inputs), path)
    return content


def test_an_entry_has_the_contracts_keys_in_order_with_indent_four_and_readable_text(tmp_path: Path) -> None:
    bundle = build_bundle(tmp_path, shop())
    text = staged(bundle, CUSTOMER).decode()
    assert list(json.loads(text)) == ENTRY_KEYS
    assert text.startswith('{\n    "Entity": "customer",\n    "Definition": "People who buy.",\n    "Schema": "sales"')
    assert text.endswith('    "FQN": "shop.sales.customer"\n}\n')
    assert "Ürsula" in text


def test_the_entity_name_falls_back_to_the_words_of_the_name_and_definitions_stay_null(tmp_path: Path) -> None:
    content = entry(shop(), tmp_path, LINE)
    assert (content["EntityName"], content["Definition"]) == ("Order Line", None)


def test_columns_follow_table_order_and_show_allowed_values_only_when_known(tmp_path: Path) -> None:
    columns = {column["Name"]: column for column in entry(shop(), tmp_path, CUSTOMER)["Columns"]}
    assert list(columns) == ["id", "name", "password", "state"]
    assert list(columns["id"]) == ["Name", "DataType", "Definition", "SampleValues"]
    assert list(columns["state"]) == ["Name", "DataType", "Definition", "AllowedValues", "SampleValues"]
    assert columns["state"]["AllowedValues"] == ["new", "gone"]
    assert columns["id"]["SampleValues"] == [1, 2]
    assert columns["state"]["SampleValues"] == []


def test_nested_json_stays_nested_and_numbers_beyond_floats_keep_their_text(tmp_path: Path) -> None:
    name = entry(shop(), tmp_path, CUSTOMER)["Columns"][1]
    assert name["SampleValues"] == ["Ürsula", {"nested": [1, None, "1e400"]}]


def test_failed_and_withheld_samples_are_null(tmp_path: Path) -> None:
    bundle = build_bundle(tmp_path, shop(allowed={"sales.customer.password": ['"x"']}))
    password, parent = staged_json(bundle, CUSTOMER)["Columns"][2], staged_json(bundle, LINE)["Columns"][3]
    assert password["SampleValues"] is None and "AllowedValues" not in password
    assert parent["SampleValues"] is None


def test_a_composite_self_reference_is_one_item_listed_once_from_child_to_parent(tmp_path: Path) -> None:
    items = entry(shop(), tmp_path, LINE)["EntityRelationships"]
    own = [item for item in items if item["ForeignEntity"] == "order_line"]
    assert [item["ForeignKeys"] for item in own] == [
        [{"Column": "tenant", "ForeignColumn": "tenant"}, {"Column": "parent_no", "ForeignColumn": "no"}]
    ]


def test_a_relationship_is_turned_round_on_the_parent_with_exact_keys(tmp_path: Path) -> None:
    assert entry(shop(), tmp_path, CUSTOMER)["EntityRelationships"] == [
        {
            "ForeignEntity": "order_line",
            "ForeignSchema": "sales",
            "ForeignKeys": [{"Column": "id", "ForeignColumn": "customer_id"}],
            "ForeignDatabase": "shop",
            "FQN": "shop.sales.customer",
            "ForeignFQN": "shop.sales.order_line",
        }
    ]


def test_a_key_to_an_outside_table_keeps_its_item_but_that_table_gets_no_file(tmp_path: Path) -> None:
    bundle = build_bundle(tmp_path, shop())
    foreign = [item["ForeignFQN"] for item in staged_json(bundle, LINE)["EntityRelationships"]]
    assert foreign == ["shop.hidden.tenant", "shop.sales.customer", "shop.sales.order_line"]
    assert [path for path in bundle.files if path.startswith("schema_store/")] == [
        CUSTOMER,
        LINE,
        "schema_store/shop.sales.v_customer.json",
    ]


def test_a_key_into_another_database_names_it_even_when_its_columns_are_unknown(tmp_path: Path) -> None:
    row = ("sales", "order_line", ["tenant", "no"], "archive", "old", "line", [], None, "declared", 1.0)
    inputs = shop(relationships=[(*row, "many_to_one", None, True, True)])
    item = entry(inputs, tmp_path, LINE)["EntityRelationships"][0]
    assert (item["ForeignDatabase"], item["ForeignFQN"]) == ("archive", "archive.old.line")
    assert item["ForeignKeys"] == [
        {"Column": "tenant", "ForeignColumn": None},
        {"Column": "no", "ForeignColumn": None},
    ]


def test_inferred_relationships_end_with_origin_and_confidence_and_proposals_are_left_out(tmp_path: Path) -> None:
    base = ("sales", "order_line", ["customer_id"], None, "sales", "customer", ["id"], None, "inferred", 0.8)
    proposal = ("sales", "order_line", ["no"], None, "sales", "customer", ["id"], None, "inferred", 0.3)
    inputs = shop(
        relationships=[(*base, "many_to_one", None, True, False), (*proposal, "many_to_one", None, False, False)]
    )
    bundle = build_bundle(tmp_path, inputs)
    for path in (CUSTOMER, LINE):
        (item,) = staged_json(bundle, path)["EntityRelationships"]
        assert list(item)[-2:] == ["Origin", "Confidence"]
        assert (item["Origin"], item["Confidence"]) == ("inferred", 0.8)


def test_relationships_are_ordered_by_foreign_name_then_columns_then_constraint(tmp_path: Path) -> None:
    catalog = make_catalog(
        tables={"s.a": ["x int", "y int"], "s.b": ["id int"], "s.c": ["id int"]},
        foreign_keys=["k3: s.a(y) -> s.b(id)", "k2: s.a(x) -> s.c(id)", "k1: s.a(x) -> s.b(id)"],
    )
    items = entry(make_inputs(catalog), tmp_path, "schema_store/shop.s.a.json")["EntityRelationships"]
    assert [(item["ForeignEntity"], item["ForeignKeys"][0]["Column"]) for item in items] == [
        ("b", "x"),
        ("b", "y"),
        ("c", "x"),
    ]


@pytest.mark.parametrize(
    ("identity", "fields", "fqn"),
    [
        (Identity("sqlite"), [], "main.t"),
        (Identity("snowflake", warehouse="wh", database="db"), ["Warehouse", "Database"], "wh.db.main.t"),
        (Identity("databricks", catalog="cat"), ["Catalog"], "cat.main.t"),
    ],
)
def test_engine_fields_follow_the_engine(identity: Identity, fields: list[str], fqn: str, tmp_path: Path) -> None:
    catalog = make_catalog(tables={"main.t": ["id int"]}, identity=identity)
    content = entry(make_inputs(catalog), tmp_path, f"schema_store/{fqn}.json")
    assert list(content)[4:-4] == fields
    assert content["FQN"] == fqn


def test_the_single_file_is_the_array_of_the_same_entries_sorted_by_fqn(tmp_path: Path) -> None:
    separate = build_bundle(tmp_path / "a", shop())
    single = build_bundle(tmp_path / "b", replace(shop(), config=make_config(single_file=True)))
    entries = [staged_json(separate, path) for path in separate.files if path.startswith("schema_store/")]
    entries.sort(key=lambda item: item["FQN"])
    assert [path for path in single.files if path.startswith("schema_store/")] == ["schema_store/entities.json"]
    assert staged(single, "schema_store/entities.json").decode() == jsontext.pretty(entries)


def test_awkward_names_get_distinct_files_and_keep_their_names_inside(tmp_path: Path) -> None:
    names = ["t", "T", "in/out", "o'brien", "ünïcode" * 40, ".hidden", "con:*?"]
    catalog = make_catalog(tables={f"main.{name}": ["id int"] for name in names})
    bundle = build_bundle(tmp_path, make_inputs(catalog))
    files = [path for path in bundle.files if path.startswith("schema_store/")]
    assert len({path.casefold() for path in files}) == len(names)
    assert all("/" not in path.removeprefix("schema_store/") and len(path.encode()) < 200 for path in files)
    assert sorted(staged_json(bundle, path)["Entity"] for path in files) == sorted(names)


def test_a_value_that_is_not_json_is_refused_with_the_columns_name(tmp_path: Path) -> None:
    with pytest.raises(ContractViolation, match=r"shop\.sales\.customer\.id"):
        build_bundle(tmp_path, shop(samples={"sales.customer.id": ["NaN"]}))
