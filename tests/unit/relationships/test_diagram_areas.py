from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from dictionary_pipeline.relationships.diagram.areas import Pair, subject_areas
from dictionary_pipeline.relationships.names import TableName


def table(name: str) -> TableName:
    return TableName("s", name)


def areas(links: Sequence[tuple[str, str]], most: int = 25, extra: Sequence[str] = ()) -> list[list[str]]:
    pairs = [(table(child), table(parent)) for child, parent in links]
    tables = sorted({end for pair in pairs for end in pair} | {table(name) for name in extra})
    return [[name.table for name in area] for area in subject_areas(tables, pairs, most)]


def test_tables_that_refer_to_each_other_are_an_area() -> None:
    links = [("b", "a"), ("c", "a"), ("y", "x")]
    assert areas(links) == [["a", "b", "c"], ["x", "y"]]


def test_tables_without_relationships_are_in_no_area() -> None:
    assert areas([("b", "a"), ("c", "c")], extra=["z"]) == [["a", "b"]]


def test_groups_are_parted_where_fewest_relationships_are_cut() -> None:
    def group(name: str) -> list[tuple[str, str]]:
        return [(f"{name}{child}", f"{name}{parent}") for child in range(4) for parent in range(child)]

    assert areas([*group("a"), *group("b"), ("a0", "b3")], most=5) == [
        ["a0", "a1", "a2", "a3"],
        ["b0", "b1", "b2", "b3"],
    ]


def test_a_lookup_that_all_refer_to_does_not_pull_all_together() -> None:
    pairs = [(f"child{n}", f"parent{n}") for n in range(10)]
    lookups = [(name, "country") for pair in pairs for name in pair]
    found = areas([*pairs, *lookups], most=4)
    assert all(any({*pair} <= {*area} for area in found) for pair in pairs)


@pytest.mark.parametrize("most", [1, 2, 7, 25])
def test_no_area_is_larger_than_allowed_and_every_related_table_is_in_one(most: int) -> None:
    chance = random.Random(most)
    links = [(f"t{n}", f"t{chance.randrange(n)}") for n in range(1, 200)]
    found = areas(links, most)
    assert max(map(len, found)) <= most
    assert sorted(name for area in found for name in area) == sorted({name for link in links for name in link})


def test_the_order_of_tables_and_relationships_does_not_matter() -> None:
    chance = random.Random(1)
    tables = [table(f"t{n}") for n in range(100)]
    links: list[Pair] = [(tables[n], tables[chance.randrange(n)]) for n in range(1, 100) for _ in range(2)]
    first = subject_areas(tables, links)
    chance.shuffle(links)
    assert subject_areas(tables[::-1], links) == first
