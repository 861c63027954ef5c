"""Values of the value store stay where they were."""

from __future__ import annotations

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.sampling.value_order import keep_places


def values(*rows: tuple[str, str, int]) -> pl.DataFrame:
    return frames.from_rows([("app", "orders", *row) for row in rows], frames.VALUES)


def test_known_values_keep_their_places_and_new_ones_follow_in_their_order() -> None:
    before = values(("zone", "north", 9), ("zone", "south", 5), ("zone", "west", 4), ("kind", "web", 3))
    now = values(("zone", "east", 8), ("zone", "west", 7), ("zone", "up", 6), ("zone", "north", 5), ("kind", "web", 4))
    assert (
        keep_places(now, before).rows()
        == values(
            ("zone", "north", 5), ("zone", "west", 7), ("zone", "east", 8), ("zone", "up", 6), ("kind", "web", 4)
        ).rows()
    )


def test_a_column_that_was_not_there_is_in_its_own_order_and_columns_stay_in_theirs() -> None:
    now = values(("zone", "b", 2), ("zone", "a", 1), ("area", "d", 2), ("area", "c", 1))
    assert (
        keep_places(now, values(("area", "c", 9))).rows()
        == values(("zone", "b", 2), ("zone", "a", 1), ("area", "c", 1), ("area", "d", 2)).rows()
    )
    assert keep_places(now, frames.empty(frames.VALUES)).equals(now)
