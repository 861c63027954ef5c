from __future__ import annotations

import uuid

import polars as pl

from dictionary_pipeline.extraction.ids import IDS, extend_ids


def numbers(ids: pl.DataFrame, kind: str) -> dict[str, int]:
    return dict(ids.filter(pl.col("kind") == kind).select("key", "human_readable_id").iter_rows())


def test_first_ids_are_numbered_per_kind_in_key_order_whatever_the_order_given() -> None:
    keys = [("entity", "B"), ("relationship", "A->B"), ("entity", "A"), ("entity", "A")]

    ids = extend_ids(None, keys)

    assert ids.schema == dict(IDS)
    assert numbers(ids, "entity") == {"A": 0, "B": 1}
    assert numbers(ids, "relationship") == {"A->B": 0}
    assert ids.equals(extend_ids(None, list(reversed(keys))))
    assert {uuid.UUID(text).version for text in ids["id"]} == {5}
    assert ids["id"].n_unique() == 3


def test_rows_that_exist_never_change_or_go_and_new_ones_are_appended() -> None:
    first = extend_ids(None, [("entity", "B"), ("entity", "C")])

    second = extend_ids(first, [("entity", "A"), ("entity", "C"), ("document", "A")])

    assert numbers(second, "entity") == {"B": 0, "C": 1, "A": 2}
    assert numbers(second, "document") == {"A": 0}
    assert second.join(first, on=first.columns, how="semi").height == first.height


def test_a_number_that_an_object_had_is_never_given_to_another() -> None:
    first = extend_ids(None, [("entity", "A"), ("entity", "B")])
    gone = extend_ids(first, [("entity", "A")])

    assert numbers(extend_ids(gone, [("entity", "C")]), "entity") == {"A": 0, "B": 1, "C": 2}
    assert extend_ids(gone, [("entity", "B")]).equals(first)


def test_nothing_to_number_gives_an_empty_map() -> None:
    assert extend_ids(None, []).schema == dict(IDS)
