from __future__ import annotations

import polars as pl
import pytest

from dictionary_pipeline import frames
from dictionary_pipeline.relationships.inference.probes import Inclusion, Uniqueness
from unit.relationships.inference.databases import (
    Database,
    Tables,
    catalog_of,
    confidence_of,
    cycle,
    edges,
    evidence_of,
    ids,
    infer_from,
)


def shop() -> Tables:
    return {
        "customer": {"customer_id": ids(90), "name": [f"c{at}" for at in range(90)]},
        "orders": {"order_id": ids(200), "customer_id": cycle(range(1, 91), 200, step=7)},
    }


def declared(child: str, column: str, parent: str, key: str) -> pl.DataFrame:
    row = ("app", child, [column], None, "app", parent, [key], "fk", "declared", 1.0, "many_to_one", "", True, False)
    return frames.from_rows([row], frames.RELATIONSHIPS)


def test_the_evidence_says_how_many_values_were_found_and_how_the_names_fit() -> None:
    found = infer_from(shop())
    assert evidence_of(found, "orders", "customer_id") == (
        "customer_id: 90 of 90 sampled values found in customer.customer_id; same name as the key"
    )
    assert found.relationships.select("origin", "accepted", "cardinality", "name", "to_stub").rows() == [
        ("inferred", True, "many_to_one", None, False)
    ]


def test_surrogate_keys_that_include_each_other_are_no_relationship() -> None:
    tables = {
        table: {
            "id": ids(100),
            "number": cycle(range(1, 101), 100, step=3),
            "level": cycle(range(1, 6), 100),
            "external_id": cycle(range(1, 91), 100, step=7),
            "batch_no": cycle(range(1, 51), 100, step=3),
        }
        for table in ("sensor", "invoice", "recipe", "poem")
    }
    assert edges(infer_from(tables), 0.5) == set()


def test_a_column_whose_values_are_not_in_the_key_is_not_proposed_whatever_its_name() -> None:
    tables = {**shop(), "orders": {"order_id": ids(200), "customer_id": ids(200, 5_000)}}
    assert edges(infer_from(tables), 0.5) == set()


def test_few_orphans_are_tolerated_and_told() -> None:
    customers = [7 * at for at in range(1, 91)]
    tables = {
        "customer": {"customer_id": customers},
        "orders": {"order_id": ids(400), "customer_id": [*cycle(customers, 397, step=7), 99_999, 99_999, 99_999]},
    }
    found = infer_from(tables)
    assert confidence_of(found, "orders", "customer_id") >= 0.9
    assert "3 of 400 rows refer to nothing" in evidence_of(found, "orders", "customer_id")


def test_many_orphans_are_not_tolerated() -> None:
    customers = [7 * at for at in range(1, 91)]
    tables = {
        "customer": {"customer_id": customers},
        "orders": {"order_id": ids(400), "customer_id": [*cycle(customers, 300, step=7), *ids(100, 90_000)]},
    }
    assert confidence_of(infer_from(tables), "orders", "customer_id") < 0.5


def test_zero_that_stands_for_none_is_told_and_does_not_count_as_an_orphan() -> None:
    tables = {**shop(), "orders": {"order_id": ids(200), "customer_id": cycle([0, 0, *range(1, 91)], 200, step=7)}}
    found = infer_from(tables)
    assert confidence_of(found, "orders", "customer_id") >= 0.9
    assert evidence_of(found, "orders", "customer_id").endswith("one value stands for none")


def test_a_hierarchy_refers_to_its_own_table() -> None:
    tables: Tables = {
        "employee": {
            "employee_id": ids(60),
            "reports_to": [None, None, *cycle(range(1, 21), 58)],
            "manager_id": [None, *cycle(range(1, 31), 59)],
        }
    }
    assert edges(infer_from(tables)) == {
        "employee(reports_to) -> employee(employee_id)",
        "employee(manager_id) -> employee(employee_id)",
    }


def test_a_parent_in_every_row_would_be_a_circle_and_is_not_accepted() -> None:
    tables: Tables = {"node": {"id": ids(100), "parent_id": cycle(range(1, 101), 100, step=7)}}
    assert confidence_of(infer_from(tables), "node", "parent_id") < 0.5


def test_a_person_is_looked_for_among_people() -> None:
    tables: Tables = {
        "users": {"id": ids(80), "email": [f"u{at}@x" for at in range(80)]},
        "documents": {
            "id": ids(200),
            "created_by": cycle(range(1, 81), 200, step=7),
            "approver_id": cycle([None, *range(1, 81)], 200, step=11),
        },
    }
    assert edges(infer_from(tables), 0.5) == {
        "documents(created_by) -> users(id)",
        "documents(approver_id) -> users(id)",
    }


def test_a_polymorphic_id_is_recognised_and_never_accepted() -> None:
    tables: Tables = {
        "users": {"id": ids(80)},
        "posts": {"id": ids(40), "author_id": cycle(range(1, 81), 40, step=3)},
        "photos": {"id": ids(60), "post_id": cycle(range(1, 41), 60, step=3)},
        "attachments": {
            "id": ids(100),
            "owner_type": cycle(("Post", "Photo"), 100),
            "owner_id": cycle(range(1, 41), 100, step=3),
        },
    }
    found = infer_from(tables)
    assert found.polymorphic == 1
    targets = found.relationships.filter(pl.col("from_columns").list.first() == "owner_id")
    assert targets["to_table"].to_list() == ["photos", "posts"]
    assert not targets["accepted"].any()
    assert targets["confidence"].max() < 0.5
    assert set(targets["evidence"]) == {"polymorphic id: owner_type says which of 2 tables it refers to"}


def test_a_type_that_names_no_table_does_not_make_an_id_polymorphic() -> None:
    tables: Tables = {
        "product": {"product_id": ids(70), "label": [f"p{at}" for at in range(70)]},
        "stock": {
            "stock_id": ids(140),
            "product_id": cycle(range(1, 71), 140, step=3),
            "product_type": cycle(("new", "used"), 140),
        },
    }
    found = infer_from(tables)
    assert found.polymorphic == 0
    assert edges(found) == {"stock(product_id) -> product(product_id)"}


def test_a_composite_key_is_found_and_looked_up_as_a_whole() -> None:
    pairs = [(part, supplier) for part in range(1, 41) for supplier in range(1, 11) if (part + supplier) % 3]
    tables: Tables = {
        "part": {"p_partkey": ids(40), "p_name": [f"p{at}" for at in range(40)]},
        "supplier": {"s_suppkey": ids(10), "s_name": [f"s{at}" for at in range(10)]},
        "partsupp": {
            "ps_partkey": [pair[0] for pair in pairs],
            "ps_suppkey": [pair[1] for pair in pairs],
            "ps_cost": [at / 7 for at in range(len(pairs))],
        },
        "lineitem": {
            "l_orderkey": [at // 3 + 1 for at in range(600)],
            "l_linenumber": [at % 3 + 1 for at in range(600)],
            "l_partkey": [pairs[(7 * at) % len(pairs)][0] for at in range(600)],
            "l_suppkey": [pairs[(7 * at) % len(pairs)][1] for at in range(600)],
        },
    }
    found = infer_from(tables)
    assert "lineitem(l_partkey, l_suppkey) -> partsupp(ps_partkey, ps_suppkey)" in edges(found)
    assert {"partsupp(ps_partkey) -> part(p_partkey)", "partsupp(ps_suppkey) -> supplier(s_suppkey)"} <= edges(found)
    primary = {row[1]: row[4] for row in found.keys.iter_rows()}
    assert primary["partsupp"] == ["ps_partkey", "ps_suppkey"]
    assert primary["lineitem"] == ["l_orderkey", "l_linenumber"]
    assert primary["part"] == ["p_partkey"]


def test_a_subtype_shares_the_key_of_its_supertype_and_not_the_other_way_round() -> None:
    tables: Tables = {
        "person": {"person_id": ids(120), "born": cycle(("x", "y"), 120)},
        "doctor": {"person_id": [3 * at + 1 for at in range(40)], "field": cycle("abc", 40)},
    }
    found = infer_from(tables)
    assert edges(found) == {"doctor(person_id) -> person(person_id)"}
    assert found.relationships["cardinality"].to_list() == ["one_to_one"]


def test_codes_are_recognised_by_their_values_where_names_say_nothing() -> None:
    codes = [f"{left}{right}X" for left in "ABCDEF" for right in "GHIJK"]
    tables: Tables = {
        "airports": {"iata": codes, "airport_name": [f"a{at}" for at in range(30)]},
        "legs": {"leg_id": ids(200), "origin": cycle(codes, 200, step=7), "comment": cycle(("ok", "late"), 200)},
    }
    found = infer_from(tables)
    assert edges(found, 0.5) == {"legs(origin) -> airports(iata)"}
    assert "no name match, the values fit" in evidence_of(found, "legs", "origin")


def test_ids_of_one_unknown_name_lead_to_the_only_key_that_ends_where_they_end() -> None:
    tables: Tables = {
        "title": {"id": ids(500), "year": cycle(range(1950, 2020), 500)},
        "person": {"id": ids(300)},
        "cast_list": {"id": ids(900), "movie_id": cycle(range(1, 501), 900, step=7)},
        "keywords": {"id": ids(700), "movie_id": cycle(range(1, 500), 700, step=3)},
    }
    found = infer_from(tables)
    assert edges(found, 0.5) == {"cast_list(movie_id) -> title(id)", "keywords(movie_id) -> title(id)"}
    assert not found.relationships["accepted"].any()


def test_each_schema_refers_to_its_own_table_of_a_name() -> None:
    tables = {f"{tenant}.{table}": columns for tenant in ("alpha", "beta") for table, columns in shop().items()}
    found = infer_from(tables)
    assert found.relationships.select("from_schema", "to_schema").rows() == [("alpha", "alpha"), ("beta", "beta")]


def test_declared_columns_are_left_alone() -> None:
    tables = shop()
    found = infer_from(tables, relationships=declared("orders", "customer_id", "customer", "customer_id"))
    assert found.relationships.is_empty()


def test_a_rejected_relationship_is_not_inferred_again() -> None:
    pair = ("app", "orders", None, "app", "customer", frozenset([("customer_id", "customer_id")]))
    assert infer_from(shop(), rejected=frozenset([pair])).relationships.is_empty()


def test_a_denied_column_is_never_asked_about() -> None:
    tables = shop()
    denied = [("app", "orders", "customer_id")]
    database = Database(tables)
    found = infer_from(tables, denied=denied, with_data=False)
    assert found.answers.statements == 0
    for question in database.asked:
        columns = question.child_columns if isinstance(question, Inclusion) else question.columns
        assert "customer_id" not in columns


def test_what_complete_samples_prove_is_not_asked() -> None:
    found = infer_from(shop())
    assert found.answers.statements == 0


def test_what_partial_samples_leave_open_is_asked() -> None:
    found = infer_from(shop(), row_limit=50)
    assert edges(found) == {"orders(customer_id) -> customer(customer_id)"}
    assert found.answers.statements == 1
    asked = list(found.answers.included) + list(found.answers.counted)
    assert {type(question) for question in asked} == {Inclusion, Uniqueness}


def test_without_answers_partial_samples_do_not_reach_certainty() -> None:
    found = infer_from(shop(), row_limit=50, asking=False)
    assert 0.5 <= confidence_of(found, "orders", "customer_id") <= 0.89


def test_a_key_that_is_not_unique_is_no_key() -> None:
    tables = {**shop(), "customer": {"customer_id": cycle(range(1, 46), 90), "name": cycle("ab", 90)}}
    found = infer_from(tables, row_limit=40)
    assert edges(found, 0.5) == set()
    assert "customer" not in found.keys["table"].to_list()


def test_declared_primary_keys_are_not_inferred_again() -> None:
    catalog = catalog_of(shop(), primary_keys={"app.customer": ["customer_id"]})
    found = infer_from(shop(), catalog=catalog)
    assert found.keys["table"].to_list() == ["orders"]


def test_columns_without_values_rest_on_names() -> None:
    tables = {**shop(), "orders": {"order_id": ids(20), "customer_id": [None] * 20}}
    catalog = catalog_of({**shop()})
    assert confidence_of(infer_from(tables, catalog=catalog), "orders", "customer_id") == pytest.approx(0.89)


def test_the_result_does_not_depend_on_the_order_of_tables() -> None:
    tables = shop()
    forward, backward = infer_from(tables), infer_from(dict(reversed(tables.items())))
    assert forward.relationships.equals(backward.relationships)
    assert forward.keys.equals(backward.keys)
