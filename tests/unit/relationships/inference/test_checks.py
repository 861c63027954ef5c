from __future__ import annotations

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.config.resolved import HumanKnowledge, HumanRelationship, InferenceSettings, PathLimits
from dictionary_pipeline.relationships.inference.checks import (
    awaiting,
    described,
    tables_without_relationship,
    type_mismatches,
)
from dictionary_pipeline.relationships.model import RelationshipGraph
from dictionary_pipeline.relationships.relate import Evidence, relate
from dictionary_pipeline.relationships.report import CHECKS, relationship_report
from unit.relationships.inference.databases import Tables, catalog_of, cycle, ids, profiles_of

TABLES: Tables = {
    "customer": {"customer_id": ids(60), "name": [f"c{at}" for at in range(60)]},
    "orders": {"order_id": ids(120), "customer_id": [str(at % 60 + 1) for at in range(120)]},
    "visit": {"visit_id": ids(40), "clerk_id": cycle([None, 1, 2, 3], 40)},
    "employee": {"employee_id": ids(3)},
    "lonely": {"note": ["a", "b"]},
}
CATALOG = catalog_of(TABLES)


def graph(human: HumanKnowledge | None = None) -> RelationshipGraph:
    profiles, values = profiles_of(CATALOG, TABLES)
    evidence = Evidence(values, frames.empty(frames.SENSITIVITY), InferenceSettings())
    return relate(CATALOG, profiles, human or HumanKnowledge(), PathLimits(), evidence)


def given(child: str, column: str, parent: str, key: str) -> HumanKnowledge:
    return HumanKnowledge(relationships=(HumanRelationship("app", child, (column,), "app", parent, (key,), "x.yml:1"),))


def test_keys_of_another_kind_are_told_with_both_types() -> None:
    known = graph(given("orders", "customer_id", "customer", "customer_id"))
    assert type_mismatches(CATALOG, known.relationships) == (
        "app.orders(customer_id) -> app.customer(customer_id): text refers to bigint",
    )


def test_tables_that_nothing_reaches_are_named() -> None:
    known = graph(given("orders", "customer_id", "customer", "customer_id"))
    assert tables_without_relationship(CATALOG, known.relationships) == ("app.employee", "app.lonely", "app.visit")


def test_proposals_wait_surest_first() -> None:
    waiting = awaiting(graph().relationships)
    assert [described(row) for row in waiting.iter_rows(named=True)][-1] == (
        "app.visit(clerk_id) -> app.employee(employee_id)"
    )
    assert waiting["confidence"].is_sorted(descending=True)


def test_a_relationship_of_people_that_samples_contradict_is_told() -> None:
    human = given("visit", "visit_id", "employee", "employee_id")
    assert graph(human).contradicted == (
        "app.visit(visit_id) -> app.employee(employee_id): a sampled value is not among the values of the key",
    )


def test_enforced_keys_are_not_doubted() -> None:
    catalog = catalog_of(TABLES, foreign_keys=["app.visit(visit_id) -> app.employee(employee_id)"])
    profiles, values = profiles_of(catalog, TABLES)
    evidence = Evidence(values, frames.empty(frames.SENSITIVITY), InferenceSettings())
    assert relate(catalog, profiles, HumanKnowledge(), PathLimits(), evidence).contradicted == ()


def test_the_report_has_one_check_per_question() -> None:
    report = relationship_report("relationship_graph", CATALOG, graph(), "hash")
    assert tuple(check.name for check in report.checks) == CHECKS
    failed = {check.name for check in report.checks if not check.passed}
    assert {"tables_are_related", "inferred_keys_are_confirmed"} <= failed
    assert report.metrics["inferred_proposed"] == report.tables["proposed_relationships"].height
    assert isinstance(report.tables["relationship_list"], pl.DataFrame)
