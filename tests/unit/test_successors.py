"""A withheld column stays withheld under another name."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.resolved import ConnectionSpec, DatabaseConfig
from dictionary_pipeline.sampling.privacy import Policy, denied_columns
from dictionary_pipeline.sampling.successors import successor_warnings, with_successors
from unit.builders import make_catalog

BEFORE = make_catalog(tables={"s.memo": ("id int", "body text"), "s.other": ("id int", "title text")})


def policy(*withhold: str, allow: tuple[str, ...] = ()) -> Policy:
    config = DatabaseConfig("d", ConnectionSpec("sqlite", {}, {}, "test"))
    return Policy(replace(config, withhold=withhold, allow=allow))


def published(catalog: Catalog, rules: Policy) -> pl.DataFrame:
    denied = denied_columns(catalog, rules).select(
        "schema", "table", "column", sensitivity="category", sensitivity_reason="reason"
    )
    return catalog.columns.join(denied, on=["schema", "table", "column"], how="left")


def denied(rules: Policy, catalog: Catalog) -> list[str]:
    return [".".join(row) for row in denied_columns(catalog, rules).select("schema", "table", "column").iter_rows()]


@pytest.mark.parametrize(
    ("tables", "followers"),
    [
        ({"s.memo": ("id int", "content text"), "s.other": ("id int", "title text")}, ["s.memo.content"]),
        ({"s.memo": ("id int", "body text", "more text"), "s.other": ("id int", "title text")}, ["s.memo.body"]),
        ({"s.memo": ("id int", "size int"), "s.other": ("id int", "title text", "more text")}, []),
        ({"s.note": ("id int", "body text"), "s.other": ("id int", "title text")}, ["s.note.body"]),
        ({"s.other": ("id int", "title text", "body text")}, []),
    ],
)
def test_new_columns_that_may_be_a_lost_one_are_denied(
    tables: dict[str, tuple[str, ...]], followers: list[str]
) -> None:
    rules, after = policy("memo.body"), make_catalog(tables=tables)
    assert denied(with_successors(rules, after, published(BEFORE, rules)), after) == followers


def test_a_successor_stays_denied_through_later_runs_and_renames_and_tells_what_to_do() -> None:
    rules = policy("memo.body")
    frame = published(BEFORE, rules)
    for name in ("content", "content", "contents"):
        catalog = make_catalog(tables={"s.memo": ("id int", f"{name} text")})
        followed = with_successors(rules, catalog, frame)
        assert denied(followed, catalog) == [f"s.memo.{name}"]
        frame = published(catalog, followed)
    (warning,) = successor_warnings(followed)
    assert "s.memo.contents is withheld" in warning and "s.memo.body" in warning and "`memo.body`" in warning


@pytest.mark.parametrize("decided", [policy("memo.body", allow=("memo.content",)), policy(), policy("memo.content")])
def test_a_person_decides(decided: Policy) -> None:
    rules = policy("memo.body")
    renamed = make_catalog(tables={"s.memo": ("id int", "content text")})
    frame = published(renamed, with_successors(rules, renamed, published(BEFORE, rules)))
    assert not with_successors(decided, renamed, frame).successors


def test_without_a_published_dictionary_the_policy_is_the_configured_one() -> None:
    rules = policy("memo.body")
    assert with_successors(rules, BEFORE, None) is rules
