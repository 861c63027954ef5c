from __future__ import annotations

import uuid

import polars as pl

from dictionary_pipeline.extraction.ids import IDS, extend_ids, without_withheld


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


def test_names_of_gone_objects_that_may_not_be_shown_by_now_leave_the_map_and_nothing_else_moves() -> None:
    keys = [
        *(("entity", name) for name in ("A", "SECRET", "T->U")),
        *(("relationship", pair) for pair in ("A->SECRET", "A->T-\\>U")),
    ]
    first = extend_ids(None, keys)
    left = [keys[0], keys[2], keys[4]]

    shown = without_withheld(first, left, lambda text: text == "SECRET")

    assert numbers(shown, "entity") == {"A": 0, "withheld 1": 1, "T->U": 2}
    assert numbers(shown, "relationship") == {"withheld 0": 0, "A->T-\\>U": 1}
    assert not set(shown["id"]) & set(first.filter(pl.col("key").str.contains("SECRET"))["id"])
    assert numbers(extend_ids(shown, [*left, ("entity", "SECRET")]), "entity")["SECRET"] == 3
    assert without_withheld(first, keys, lambda text: text == "SECRET").equals(first)
    assert without_withheld(shown, left, lambda text: text == "T->U").equals(shown)
    assert numbers(without_withheld(first, keys[:1], lambda text: text == "T->U"), "relationship") == {
        "A->SECRET": 0,
        "withheld 1": 1,
    }
