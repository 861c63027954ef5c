from __future__ import annotations

import pytest

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.resolved import Selection
from dictionary_pipeline.introspection.selection import select
from dictionary_pipeline.problems import Problem
from unit.builders import make_catalog


def shop() -> Catalog:
    return make_catalog(
        tables={
            "sales.orders": ["id integer", "customer_id integer"],
            "sales.customer": ["id integer"],
            "sales.recent": ["id integer"],
            "hr.person": ["id integer"],
            "hr.a[1]": ["id integer"],
        },
        views={"sales.recent": "SELECT id FROM sales.orders"},
        primary_keys={"sales.customer": ["id"], "hr.person": ["id"]},
        foreign_keys=["sales.orders(customer_id) -> sales.customer(id)", "hr.person(id) -> sales.customer(id)"],
        indexes=[("hr.person", "by_id", ["id"])],
        checks=[("hr.person", "id > 0")],
        lineage=[("sales.recent", "sales.orders")],
    )


def names(catalog: Catalog) -> list[str]:
    return [f"{schema}.{table}" for schema, table in catalog.tables.select("schema", "table").iter_rows()]


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (Selection(), ["hr.a[1]", "hr.person", "sales.customer", "sales.orders", "sales.recent"]),
        (Selection(include_schemas=("s*",)), ["sales.customer", "sales.orders", "sales.recent"]),
        (Selection(exclude_schemas=("s*",)), ["hr.a[1]", "hr.person"]),
        (
            Selection(include_schemas=("hr", "sales"), exclude_schemas=("hr",), include_entities=("p*", "o*")),
            ["sales.orders"],
        ),
        (Selection(include_entities=("person", "sales.o*")), ["hr.person", "sales.orders"]),
        (Selection(include_entities=("*e*",), exclude_entities=("sales.*",)), ["hr.person"]),
        (Selection(include_entities=("a[1]",)), ["hr.a[1]"]),
        (Selection(include_entities=("Person", "orders")), ["sales.orders"]),
    ],
)
def test_globs_select_schemas_and_entities_and_exclusion_wins(selection: Selection, expected: list[str]) -> None:
    assert names(select(shop(), selection)) == expected


def test_all_that_belongs_to_a_dropped_table_is_dropped() -> None:
    left = select(shop(), Selection(exclude_entities=("person", "recent")))
    assert set(left.columns["table"]) == {"orders", "customer", "a[1]"}
    assert left.keys["table"].to_list() == ["customer"]
    assert left.foreign_keys["from_table"].to_list() == ["orders"]
    assert left.indexes.is_empty()
    assert left.checks.is_empty()
    assert left.lineage.is_empty()


def test_keys_and_lineage_to_dropped_objects_are_kept() -> None:
    left = select(shop(), Selection(exclude_entities=("customer", "orders")))
    assert left.foreign_keys["to_table"].to_list() == ["customer"]
    assert left.lineage["source_table"].to_list() == ["orders"]


@pytest.mark.parametrize(
    ("selection", "pattern", "hint"),
    [
        (Selection(include_schemas=("sales", "HR")), "HR", "Did you mean `hr`?"),
        (Selection(include_schemas=("sales", "finance*")), "finance*", "account can see: `hr`, `sales`."),
        (Selection(include_entities=("orders", "custmer")), "custmer", "Did you mean `customer`?"),
        (Selection(include_entities=("orders", "sales.Customer")), "sales.Customer", "Did you mean `sales.customer`?"),
        (
            Selection(include_schemas=("sales",), include_entities=("orders", "person")),
            "person",
            "schema patterns leave out",
        ),
    ],
)
def test_include_pattern_that_matches_nothing_is_a_problem_with_a_hint(
    selection: Selection, pattern: str, hint: str
) -> None:
    (problem,) = select(shop(), selection).problems
    assert (problem.object, problem.stage, problem.code) == (pattern, "schema_snapshot", None)
    assert "matches nothing" in problem.message
    assert hint in problem.hint


def test_exclude_pattern_that_matches_nothing_is_no_problem() -> None:
    assert select(shop(), Selection(exclude_schemas=("x",), exclude_entities=("y",))).problems == ()


def test_problems_of_dropped_objects_are_dropped() -> None:
    about = ["hr.person", "hr.person.id", "sales.orders", "hr", "gone.view"]
    catalog = make_catalog(
        tables={"hr.person": ["id integer"], "sales.orders": ["id integer"]},
        problems=[Problem(name, "schema_snapshot", None, "broken", "mend it") for name in about],
    )
    left = select(catalog, Selection(exclude_schemas=("hr",)))
    assert [problem.object for problem in left.problems] == ["gone.view", "hr", "sales.orders"]
