"""Pushing to Azure AI Search: the real client library over TLS against a double that records the calls."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from search_shop import CACHE, ENTITIES, VALUES, Output, Shop, opened_shop, published_project
from servers.search_stub import Answer, Call


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return published_project(tmp_path_factory.mktemp("published") / "project")


@pytest.fixture
def shop(published: Path, tmp_path: Path) -> Iterator[Shop]:
    with opened_shop(published, tmp_path) as project:
        yield project


def cached(question: str, sql: str, *entities: str) -> dict[str, Any]:
    """A document as agents write it to the query cache."""
    schemas = [{"Entity": entity, "Columns": []} for entity in entities]
    parts = [{"SqlQuery": sql, "Schemas": schemas}]
    return {"Id": question, "Question": question, "SqlQueryDecomposition": parts}


def test_a_first_push_makes_the_indexes_and_sends_all_and_a_second_sends_no_document(
    shop: Shop, capsys: Output
) -> None:
    capsys.readouterr()
    assert shop.push() == 0
    # 3 tables; customer.city has 3 values, customer.segment 2, region.name 2
    assert "shop: 10 documents pushed, 0 deleted, 0 unchanged" in capsys.readouterr().out
    assert set(shop.stub.indexes) == {ENTITIES, VALUES, CACHE}
    assert shop.tables() == [("shop", f"main.{table}") for table in ("customer", "orders", "region")]
    values = {(item["FQN"], item["Value"]) for item in shop.stub.documents[VALUES].values()}
    assert ("main.customer.city", "Zurich") in values and len(values) == len(shop.stub.documents[VALUES]) == 7
    assert {action["@search.action"] for action in shop.stub.sent} == {"mergeOrUpload"}
    state = shop.state("shop").read_bytes()

    assert shop.push() == 0
    assert [(call.method, call.index) for call in shop.stub.calls] == [
        ("GET", ENTITIES),
        ("GET", VALUES),
        ("GET", CACHE),
    ]
    assert "shop: 0 documents pushed, 0 deleted, 10 unchanged" in capsys.readouterr().out
    assert shop.state("shop").read_bytes() == state


def test_a_run_pushes_what_it_published_unless_told_otherwise(shop: Shop, capsys: Output) -> None:
    assert shop.call("run") == 0
    assert shop.stub.calls == []
    project = shop.folder / "dbt_like_configs/project.yml"
    project.write_text(project.read_text().replace("automatic: false", "automatic: true"))
    assert shop.call("run", "--dry-run") == 0
    assert shop.stub.calls == []
    capsys.readouterr()
    assert shop.call("run", "--json") == 0
    assert json.loads(capsys.readouterr().out)["database"] == "shop"
    assert len(shop.tables()) == 3
    shop.stub.script = lambda call: Answer(403)
    assert shop.call("run") == 3
    said = capsys.readouterr()
    assert "published" in said.out or "unchanged" in said.out
    assert f"error: shop is published, but not pushed: {shop.stub.endpoint}: the key in" in said.err


def test_a_rerun_that_publishes_the_same_sends_no_document(shop: Shop) -> None:
    assert shop.push() == 0
    assert shop.call("run", "--force", "all") == 0
    assert shop.push("shop") == 0
    assert shop.stub.sent == []


def test_only_what_changed_is_sent_and_only_what_is_gone_is_deleted(shop: Shop, capsys: Output) -> None:
    shop.push()
    shop.sql("shop", "DROP TABLE region; ALTER TABLE orders ADD note INTEGER; DELETE FROM customer WHERE id = 3;")
    shop.refresh()
    capsys.readouterr()
    assert shop.push() == 0
    found = {(item["@search.action"], item.get("FQN")) for item in shop.stub.sent}
    assert ("mergeOrUpload", "main.orders") in found
    assert {fqn for kind, fqn in found if kind == "mergeOrUpload"} <= {"main.orders", "main.customer"}
    # region itself, its 2 values, the city and the segment that no row has any more
    assert "5 deleted" in capsys.readouterr().out
    assert shop.tables() == [("shop", "main.customer"), ("shop", "main.orders")]
    left = {item["Value"] for item in shop.stub.documents[VALUES].values()}
    assert left == {"Zurich", "Basel", "retail"}


def test_databases_share_an_index_and_only_their_own_documents_are_deleted(shop: Shop) -> None:
    shop.add("shop-eu")  # the same names, and a name that begins with the other's
    shop.refresh()
    assert shop.push() == 0
    assert len(shop.tables()) == 6
    foreign = {"Id": "bWFpbi5vdGhlcg", "FQN": "main.other"}
    shop.stub.documents[ENTITIES]["bWFpbi5vdGhlcg"] = foreign  # another program's
    shop.sql("shop", "DROP TABLE region")
    shop.refresh("shop")
    for words in (("shop",), ("shop", "--full")):
        assert shop.push(*words) == 0
        assert shop.tables() == sorted(
            [
                ("", "main.other"),
                *(("shop", f"main.{table}") for table in ("customer", "orders")),
                *(("shop-eu", f"main.{table}") for table in ("customer", "orders", "region")),
            ]
        )


@pytest.mark.parametrize("damage", ["lost", "damaged", "killed"])
def test_without_its_state_a_push_asks_the_index_and_leaves_nothing_that_is_gone(shop: Shop, damage: str) -> None:
    shop.push()
    shop.sql("shop", "DROP TABLE region")
    shop.refresh()
    if damage == "lost":
        shop.state("shop").unlink()
    else:
        text = '{"format": 1, "at_work": true}' if damage == "killed" else '{"format": 1, "indexes": ['
        shop.state("shop").write_text(text)
    assert shop.push() == 0
    assert shop.tables() == [("shop", "main.customer"), ("shop", "main.orders")]
    assert {item["FQN"] for item in shop.stub.documents[VALUES].values()} == {
        "main.customer.city",
        "main.customer.segment",
    }
    shop.push()
    assert shop.stub.sent == []


def test_an_index_that_was_deleted_is_filled_again(shop: Shop) -> None:
    shop.push()
    del shop.stub.indexes[VALUES], shop.stub.documents[VALUES]
    assert shop.push() == 0
    assert len(shop.stub.documents[VALUES]) == 7
    assert {call.index for call in shop.stub.calls if call.documents} == {VALUES}


def test_requests_hold_a_thousand_documents_at_most(shop: Shop) -> None:
    rows = ", ".join(f"({number}, 'place {number % 1300}')" for number in range(2600))
    shop.add("big", f"CREATE TABLE place (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO place VALUES {rows};")
    file = shop.folder / "dbt_like_configs/databases/big.yml"
    file.write_text(file.read_text() + "limits: {max_values: 5000}\nvalue_store: {include: [name]}\n")
    shop.refresh("big")
    assert shop.push("big") == 0
    assert [len(call.documents) for call in shop.stub.calls if call.documents] == [1, 1000, 300]


def test_of_a_batch_that_failed_in_part_only_that_part_is_sent_again(shop: Shop) -> None:
    shop.push()
    key = shop.key("main.orders")
    shop.stub.document_faults[key] = [503, 409]
    assert shop.push("--full") == 0
    sizes = [len(call.documents) for call in shop.stub.calls if call.documents and call.index == ENTITIES]
    assert sizes == [3, 1, 1]


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_service_is_asked_again(shop: Shop, status: int) -> None:
    busy = [Answer(status, headers={"Retry-After": "0"})] * 3
    shop.stub.script = lambda call: busy.pop() if call.documents and busy else None
    assert shop.push() == 0
    assert len(shop.tables()) == 3


def test_a_document_that_is_refused_is_named_and_tried_again_by_the_next_push(shop: Shop, capsys: Output) -> None:
    shop.push()
    value = next(key for key, item in shop.stub.documents[VALUES].items() if item["Value"] == "Canary-on-Sea")
    shop.stub.document_faults[value] = [400]
    capsys.readouterr()
    assert shop.push("--full") == 3
    said = capsys.readouterr()
    assert "main.customer.city: the search service does not take a document about it" in said.err
    assert "Canary" not in said.err + said.out
    assert shop.push() == 0
    assert [item["Id"] for item in shop.stub.sent] == [value]


def test_a_push_that_fails_half_way_goes_on_where_it_stopped(shop: Shop, capsys: Output) -> None:
    shop.stub.script = lambda call: Answer(503) if call.documents and call.index == VALUES else None
    capsys.readouterr()
    assert shop.push() == 1
    assert "the search service cannot answer at the moment" in capsys.readouterr().err
    shop.stub.script = lambda call: None
    shop.sql("shop", "DROP TABLE region")  # some of its documents may have arrived
    shop.refresh()
    assert shop.push() == 0
    kinds = [(item["@search.action"], item.get("FQN")) for item in shop.stub.sent]
    assert kinds.count(("delete", None)) == 3
    assert ("mergeOrUpload", "main.customer") not in kinds and ("mergeOrUpload", "main.customer.city") in kinds


def test_an_answer_that_was_lost_does_no_harm(shop: Shop) -> None:

    def lose(call: Call) -> Answer | None:
        if call.documents and not lost:
            lost.append(call)
            shop.stub._answer(call)  # it took effect
            return Answer(500)
        return None

    lost: list[Call] = []
    shop.stub.script = lose
    assert shop.push() == 0
    assert lost and len(shop.tables()) == 3


def test_a_change_that_was_taken_unnoticed_is_taken_back_with_the_text(shop: Shop) -> None:
    file = shop.folder / "dbt_like_configs/databases/shop.yml"
    before = file.read_text()
    shop.push()
    original = dict(shop.stub.documents[ENTITIES])

    def take_and_fail(call: Call) -> Answer | None:
        if call.documents:
            shop.stub._answer(call)
            return Answer(500)
        return None

    file.write_text(before + "sources: [{name: main, tables: [{name: orders, description: Else.}]}]\n")
    shop.refresh()
    shop.stub.script = take_and_fail
    assert shop.push() == 1
    assert "Else." in json.dumps(shop.stub.documents[ENTITIES])
    shop.stub.script = lambda call: None
    file.write_text(before)
    shop.refresh()
    assert shop.push() == 0
    found = shop.stub.documents[ENTITIES]
    assert {key: item["Definition"] for key, item in found.items()} == {
        key: item["Definition"] for key, item in original.items()
    }


def test_drift_drops_the_cached_queries_that_touch_what_changed(shop: Shop, capsys: Output) -> None:
    shop.push()
    queries = [
        cached("q1", "SELECT city FROM main.customer", "main.customer"),
        cached("q2", "SELECT total FROM orders", "orders"),
        cached("q3", "SELECT o.total FROM main.orders o JOIN main.customer c", "main.orders", "main.customer"),
        cached("q4", "SELECT name FROM region"),
        cached("q5", "SELECT x FROM other.customer", "other.customer"),
        cached("q6", 'SELECT 1 FROM "CUSTOMER"'),
    ]
    shop.stub.documents[CACHE] = {query["Id"]: query for query in queries}
    shop.sql("shop", "ALTER TABLE customer DROP COLUMN segment; ALTER TABLE region ADD COLUMN note INTEGER")
    shop.refresh()
    capsys.readouterr()
    assert shop.push() == 0
    assert set(shop.stub.documents[CACHE]) == {"q2", "q4", "q5"}  # a new column is harmless
    assert "3 cached queries dropped" in capsys.readouterr().out
    shop.stub.documents[CACHE]["q1"] = queries[0]  # asked and answered anew
    assert shop.push() == 0
    assert "q1" in shop.stub.documents[CACHE] and shop.stub.sent == []


def test_a_cached_query_that_cannot_be_deleted_is_named_and_tried_again(shop: Shop, capsys: Output) -> None:
    shop.push()
    query = cached("q1", "SELECT city FROM main.customer", "main.customer")
    shop.stub.documents[CACHE] = {query["Id"]: query}
    shop.sql("shop", "ALTER TABLE customer DROP COLUMN segment")
    shop.refresh()
    shop.stub.document_faults[query["Id"]] = [400]
    capsys.readouterr()
    assert shop.push() == 3
    assert "does not delete 1 cached queries that may be wrong by now" in " ".join(capsys.readouterr().err.split())
    assert shop.push() == 0
    assert shop.stub.documents[CACHE] == {}


def test_a_cache_that_was_filled_after_a_push_had_failed_is_looked_through(shop: Shop) -> None:
    shop.stub.script = lambda call: Answer(503) if call.documents and call.index == VALUES else None
    assert shop.push() == 1
    shop.stub.script = lambda call: None
    query = cached("q1", "SELECT city FROM main.customer", "main.customer")
    shop.stub.documents[CACHE] = {query["Id"]: query}
    shop.sql("shop", "ALTER TABLE customer DROP COLUMN segment")
    shop.refresh()
    assert shop.push() == 0
    assert shop.stub.documents[CACHE] == {}


def test_a_newly_withheld_column_disappears_from_index_and_cached_samples(shop: Shop) -> None:
    shop.push()
    shop.stub.documents[CACHE] = {
        query["Id"]: query
        for query in (cached("q1", "SELECT 1", "main.customer"), cached("q2", "SELECT 1", "main.region"))
    }
    shop.add("shop", yaml="privacy: {withhold: [customer.city]}\n")
    shop.refresh()
    assert shop.push() == 0
    assert "Canary-on-Sea" not in json.dumps([shop.stub.documents[ENTITIES], shop.stub.documents[VALUES]])
    assert len(shop.stub.documents[VALUES]) == 4
    assert set(shop.stub.documents[CACHE]) == {"q2"}
    assert "Canary-on-Sea" not in json.dumps([call.body for call in shop.stub.calls])
