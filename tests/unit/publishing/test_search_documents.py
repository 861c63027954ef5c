"""Documents for Azure AI Search, and which cached queries are stale."""

from __future__ import annotations

from typing import Any

import pytest

from dictionary_pipeline.publishing.search.documents import entity_document, key_range, value_document
from dictionary_pipeline.publishing.search.service import MOST_BYTES, Action, batches
from dictionary_pipeline.publishing.search.stale import touches


def entry(**changes: Any) -> dict[str, Any]:
    column = {"Name": "state", "DataType": "text", "Definition": None, "AllowedValues": [1, True, "a"]}
    return {
        "Entity": "order",
        "Definition": "What was bought.",
        "Schema": "sales",
        "EntityName": "Order",
        "Database": "shop",
        "EntityRelationships": [],
        "CompleteEntityRelationshipsGraph": [],
        "Columns": [{**column, "SampleValues": [1, 1.5, False, "x", {"a": [1]}, None]}],
        "FQN": "shop.sales.order",
        **changes,
    }


def link(pairs: int = 1) -> dict[str, Any]:
    return {
        "ForeignEntity": "customer",
        "ForeignSchema": "sales",
        "ForeignKeys": [{"Column": "c", "ForeignColumn": "id"}] * pairs,
        "ForeignDatabase": "shop",
        "FQN": "shop.sales.order",
        "ForeignFQN": "shop.sales.customer",
    }


def test_values_of_any_kind_become_texts() -> None:
    body = entity_document(entry(), "shop").body
    assert body["Columns"][0]["SampleValues"] == ["1", "1.5", "false", "x", '{"a": [1]}']
    assert body["Columns"][0]["AllowedValues"] == ["1", "true", "a"]
    assert body["ColumnDefinitions"] == []
    nothing = entry(Columns=[{"Name": "a", "DataType": "text", "Definition": "x", "SampleValues": None}])
    assert entity_document(nothing, "shop").body["Columns"][0]["SampleValues"] == []


def test_all_parts_of_a_relationship_are_there() -> None:
    inferred = {**link(), "Origin": "inferred", "Confidence": 0.9}
    [found] = entity_document(entry(EntityRelationships=[inferred]), "shop").body["EntityRelationships"]
    assert found == {**inferred, "ForeignWarehouse": None, "ForeignCatalog": None}


def test_equal_entries_of_two_databases_are_two_documents_and_a_change_changes_the_hash() -> None:
    one, other = (entity_document(entry(), database) for database in ("shop", "shop-eu"))
    assert one.key != other.key
    start, end = key_range("shop")
    assert start <= one.key < end and not start <= other.key < end
    assert entity_document(entry(), "shop") == one
    assert entity_document(entry(Definition="Else."), "shop").hash != one.hash
    assert entity_document(entry(Definition="Else."), "shop").key == one.key


def test_a_value_keeps_its_published_id() -> None:
    line = {
        "Entity": "e",
        "Schema": "s",
        "FQN": "s.e.c",
        "Column": "c",
        "Value": "v\n\u2028",
        "Synonyms": ["w"],
        "Id": "ab",
    }
    found = value_document(line, "shop")
    assert (found.key, found.about) == ("shop=ab", "s.e.c")
    assert found.body["Value"] == "v\n\u2028" and found.body["Catalog"] is None


def test_a_document_has_no_more_elements_than_the_service_takes() -> None:
    many = entity_document(entry(EntityRelationships=[link(2)] * 1_200), "shop").body
    assert len(many["EntityRelationships"]) == 999  # each is one element and two pairs; one column
    wide = entity_document(entry(Columns=[*entry()["Columns"] * 4_000], EntityRelationships=[link()]), "shop").body
    assert (len(wide["Columns"]), wide["EntityRelationships"]) == (3_000, [])


def test_requests_are_bounded_by_bytes_too() -> None:
    big = Action("k", {"Id": "k", "Value": "x" * (MOST_BYTES // 3)})
    assert [len(batch) for batch in batches([big] * 5)] == [2, 2, 1]


@pytest.mark.parametrize(
    ("sql", "entities", "stale"),
    [
        ("SELECT 1", ["shop.sales.order"], True),
        ("SELECT 1", ['"Sales"."Order"'], True),
        ("SELECT 1", ["[order]"], True),
        ("SELECT 1", ["crm.order"], False),
        ("SELECT 1", ["other.sales.order"], False),
        ("SELECT 1 FROM order", ["sales.customer"], False),
        ("SELECT 1 FROM sales.ORDER o", [], True),
        ("SELECT 1 FROM order_line", [], False),
    ],
)
def test_a_cached_query_is_stale_when_it_uses_the_table(sql: str, entities: list[str], stale: bool) -> None:
    parts = [{"SqlQuery": sql, "Schemas": [{"Entity": entity} for entity in entities] or None}]
    assert touches({"Id": "q", "SqlQueryDecomposition": parts}, [("shop", "sales", "order")]) is stale
    assert touches({"Id": "q"}, [("shop", "sales", "order")]) is False
