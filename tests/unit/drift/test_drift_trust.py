"""An error is not an absence."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.drift.carrying import carried
from dictionary_pipeline.drift.diff import compare_catalogs, diff_catalogs
from dictionary_pipeline.drift.trust import is_authoritative, judge
from dictionary_pipeline.problems import Problem
from unit.builders import make_catalog

COLUMNS = ("id int not null", "note text")


def catalog(*names: str, columns: tuple[str, ...] = COLUMNS, **more: object) -> Catalog:
    return make_catalog(tables={f"s.{name}": columns for name in names}, **more)  # type: ignore[arg-type]


def problem(name: str, code: str | None = None) -> Problem:
    return Problem(name, "schema_snapshot", code, "could not be read", "")


def kinds(before: Catalog, after: Catalog) -> list[str]:
    return [change.kind for change in diff_catalogs(before, after)]


def test_a_complete_catalog_proves_a_removal() -> None:
    assert is_authoritative(catalog("a", "b"), catalog("a"))
    assert kinds(catalog("a", "b"), catalog("a")) == ["table_removed"]


def test_nothing_is_removed_by_an_incomplete_catalog() -> None:
    after = replace(catalog("a", columns=("id int not null",)), complete=False)
    drift = compare_catalogs(catalog("a", "b", primary_keys={"s.a": ["id"]}), after)
    assert (drift.changes, drift.authoritative) == ((), False)
    assert "incomplete" in drift.notes[0]


def test_changes_of_what_is_there_count_in_an_incomplete_catalog() -> None:
    after = replace(catalog("a", columns=("id bigint not null", "note text", "more text")), complete=False)
    assert kinds(catalog("a", "b"), after) == ["column_added", "type_widened"]


def test_facts_that_an_incomplete_catalog_lacks_are_not_changes() -> None:
    before = catalog("a", comments={"s.a": "A table", "s.a.id": "A key"})
    before = replace(before, columns=before.columns.with_columns(default=pl.lit("1")))
    lost = before.columns.with_columns(data_type=pl.lit(None, pl.String), default=pl.lit(None, pl.String))
    after = replace(catalog("a"), columns=lost.with_columns(comment=pl.lit(None, pl.String)), complete=False)
    assert kinds(before, after) == []
    assert kinds(after, before) == []


def test_nothing_is_added_to_an_incomplete_catalog() -> None:
    after = catalog("a", "b", primary_keys={"s.a": ["id"]}, checks=[("s.a", "id > 0")], unique=[("s.a", ["note"])])
    assert len(kinds(catalog("a"), after)) == 4
    assert kinds(replace(catalog("a"), complete=False), after) == []


def test_tables_that_vanish_with_privileges_are_not_removed() -> None:
    drift = compare_catalogs(catalog("a", "b", "c"), catalog("a", "b", unreadable=["s.b"]))
    assert (drift.changes, drift.authoritative) == ((), False)
    assert "privileges" in drift.notes[0]


def test_tables_that_vanish_with_a_refusal_are_not_removed() -> None:
    assert kinds(catalog("a", "b"), catalog("a", problems=[problem("s.a", "42501")])) == []


def test_an_old_refusal_is_no_news() -> None:
    refused = [problem("s.a", "42501")]
    assert kinds(catalog("a", "b", problems=refused), catalog("a", problems=refused)) == ["table_removed"]


def test_a_view_broken_by_a_removed_table_does_not_hide_the_removal() -> None:
    view = {"s.v": "SELECT id FROM s.b"}
    before = make_catalog(tables={"s.a": COLUMNS, "s.b": COLUMNS, "s.v": ("id int",)}, views=view)
    after = make_catalog(tables={"s.a": COLUMNS}, views=view, unreadable=["s.v"], problems=[problem("s.v")])
    assert kinds(before, after) == ["table_removed"]


def test_columns_missing_from_a_table_with_a_new_problem_are_not_removed() -> None:
    after = catalog("a", "b", columns=("id int not null",), problems=[problem("s.a")])
    found = diff_catalogs(catalog("a", "b"), after)
    assert [(change.kind, change.table) for change in found] == [("column_removed", "b")]


def test_a_table_without_any_column_was_not_read() -> None:
    after = catalog("a", "b")
    after = replace(after, columns=after.columns.filter(pl.col("table") == "b"))
    assert kinds(catalog("a", "b"), after) == []


def test_most_tables_gone_at_once_is_suspicious() -> None:
    drift = compare_catalogs(catalog("a", "b", "c", "d", "e"), catalog("a", "b"))
    assert drift.suspicious
    assert "3 of 5" in drift.notes[0]
    assert {change.kind for change in drift.changes} == {"table_removed"}


def test_half_of_the_tables_gone_is_not_suspicious() -> None:
    assert not compare_catalogs(catalog("a", "b", "c", "d", "e", "f"), catalog("a", "b", "c")).suspicious


def later(before: Catalog, after: Catalog, end: Catalog) -> list[str]:
    """Kinds that a third comparison tells, after one that left something in doubt."""
    start = carried(before, after, judge(before, after))
    assert start is not None
    return kinds(start, end)


def test_what_was_told_of_a_doubtful_table_is_not_told_again() -> None:
    before = catalog("a", "b", checks=[("s.a", "id > 0")])
    changed = ("id bigint not null", "more text")
    refused = catalog("a", columns=changed, problems=[problem("s.a", "42501")], checks=[("s.a", "id > 1")])
    assert set(kinds(before, refused)) == {"type_widened", "column_added", "check_changed"}
    assert later(before, refused, refused) == []
    granted = catalog("a", columns=changed, checks=[("s.a", "id > 1")])
    assert set(later(before, refused, granted)) == {"column_removed", "table_removed"}


def test_what_an_incomplete_catalog_lacks_is_neither_gone_nor_new_once_it_is_back() -> None:
    before = catalog(
        "a", "b", primary_keys={"s.a": ["id"]}, comments={"s.a.id": "A key"}, indexes=[("s.b", "i", ["id"])]
    )
    before = replace(before, columns=before.columns.with_columns(default=pl.lit("1")))
    blind = before.columns.with_columns(
        data_type=pl.lit(None, pl.String), default=pl.lit(None, pl.String), comment=pl.lit(None, pl.String)
    )
    after = replace(catalog("a"), columns=blind.filter(pl.col("table") == "a"), complete=False)
    assert kinds(before, after) == later(before, after, before) == []
    assert later(before, after, catalog("a")) == kinds(before, catalog("a"))
