"""What makes an approved text stale: the object's own structure, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from dictionary_pipeline.config.resolved import Approval, HumanColumn, HumanKnowledge, HumanTable
from dictionary_pipeline.enrichment.approved import stale_approvals, structure_hashes

from ..builders import make_catalog

TABLES = {"s.a": ["id int not null", "b_id int", "note text"], "s.b": ["id int"]}
SHAPE: dict[str, Any] = {
    "tables": TABLES,
    "views": {"s.v": "SELECT id FROM s.a"},
    "primary_keys": {"s.a": ["id"], "s.b": ["id"]},
    "foreign_keys": ["s.a(b_id) -> s.b(id)"],
}
BEFORE = structure_hashes(make_catalog(**SHAPE))
A, B, V = ("s", "a", None), ("s", "b", None), ("s", "v", None)


def changed(**parts: Any) -> set[tuple[str, str, str | None]]:
    """Objects with another hash after a change of the shape; those that are gone or new do not count."""
    after = structure_hashes(make_catalog(**{**SHAPE, **parts}))
    return {name for name in BEFORE.keys() & after.keys() if BEFORE[name] != after[name]}


@pytest.mark.parametrize(
    ("parts", "objects"),
    [
        ({"tables": {**TABLES, "s.a": ["note text", "b_id int", "id int"]}}, set()),
        ({"foreign_keys": ["other: s.a(b_id) -> s.b(id)"]}, set()),
        ({"views": {"s.v": "SELECT  id\n FROM s.a"}}, set()),
        ({"comments": {"s.a": "Said.", "s.a.note": "Said."}, "row_estimates": {"s.a": 9}}, set()),
        ({"indexes": [("s.a", "i", ["note"])], "checks": [("s.a", "b_id > 0")]}, set()),
        ({"tables": {**TABLES, "s.a": [*TABLES["s.a"], "new int"]}}, {A}),
        ({"tables": {**TABLES, "s.a": TABLES["s.a"][:2]}}, {A}),
        ({"tables": {**TABLES, "s.a": [*TABLES["s.a"][:2], "note varchar(9)"]}}, {A, ("s", "a", "note")}),
        ({"primary_keys": {"s.a": ["id"]}}, {B, ("s", "b", "id")}),
        ({"unique": [("s.a", ["note"])]}, {A, ("s", "a", "note")}),
        ({"foreign_keys": []}, {A, ("s", "a", "b_id")}),
        ({"views": {"s.v": "SELECT id FROM s.a WHERE b_id > 0"}}, {V}),
    ],
)
def test_only_the_objects_own_structure_counts(parts: dict[str, Any], objects: set[Any]) -> None:
    assert changed(**parts) == objects


def test_some_tables_have_the_same_hashes_as_all() -> None:
    some = structure_hashes(make_catalog(**SHAPE), {("s", "a")})
    assert some == {name: BEFORE[name] for name in BEFORE if name[1] == "a"}


def test_hashes_are_texts_in_yaml() -> None:
    assert all(text[0] == "s" and len(text) == 12 for text in BEFORE.values())


def human(structure: str | None, **column: Any) -> HumanKnowledge:
    approval = Approval("model", structure)
    columns = (HumanColumn("NOTE", "Said.", approval=approval, **column),)
    return HumanKnowledge((HumanTable("S", "a", "Said.", columns=columns, approval=approval),))


def test_names_in_another_case_are_found_and_fitting_approvals_stand() -> None:
    catalog = make_catalog(**SHAPE)
    assert [item.name for item in stale_approvals(catalog, human("s00000000000"))] == ["s.a", "s.a.note"]
    assert [item.name for item in stale_approvals(catalog, human(BEFORE[A]))] == ["s.a.note"]
    assert stale_approvals(catalog, human(None)) == ()


def test_an_approval_without_a_text_says_nothing() -> None:
    entry = HumanTable("s", "a", approval=Approval("model", "s00000000000"))
    assert stale_approvals(make_catalog(**SHAPE), HumanKnowledge((entry,))) == ()
