from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl
import pytest

from dictionary_pipeline import frames
from dictionary_pipeline.relationships.join_path import JoinIndex, JoinPath, join_path
from dictionary_pipeline.relationships.names import TableName

_KEY = re.compile(r"(\w+)\(([^)]*)\) -> (?:(\w+):)?(\w+)\(([^)]*)\)(?: (1:1|n:m))?(?: ([0-9.]+))?( proposed)?")
_CARDINALITIES = {None: "many_to_one", "1:1": "one_to_one", "n:m": "many_to_many"}


def keys(*specs: str) -> pl.DataFrame:
    """Relationships as `child(a, b) -> [database:]parent(c, d) [1:1|n:m] [confidence] [proposed]`."""
    rows = []
    for number, spec in enumerate(specs):
        match = _KEY.fullmatch(spec)
        assert match, spec
        child, from_columns, database, parent, to_columns, cardinality, confidence, proposed = match.groups()
        origin = "inferred" if confidence else "declared"
        ends = ("s", child, from_columns.split(", "), database, "s", parent, to_columns.split(", "), f"key{number}")
        kind = (origin, float(confidence or 1), _CARDINALITIES[cardinality], "", not proposed, bool(database))
        rows.append((*ends, *kind))
    return frames.from_rows(rows, frames.RELATIONSHIPS)


def found(relationships: pl.DataFrame, start: str, end: str, k: int = 1, **options: int) -> list[str]:
    paths = join_path(relationships, TableName("s", start), TableName("s", end), k, **options)
    return [_text(path) for path in paths]


def _text(path: JoinPath) -> str:
    text = path.hops[0].left.table
    for hop in path.hops:
        text += f" [{', '.join('='.join(pair) for pair in hop.pairs)}] {hop.right.table}"
    return text


SHOP = keys(
    "line(order_id) -> orders(id)",
    "line(product_id) -> product(id)",
    "orders(customer_id) -> customer(id)",
    "orders(state_id) -> state(id)",
    "customer(state_id) -> state(id)",
    "product(state_id) -> state(id)",
)


def test_a_path_names_the_columns_of_every_join_in_both_directions() -> None:
    assert found(SHOP, "line", "customer") == ["line [order_id=id] orders [customer_id=id] customer"]
    assert found(SHOP, "customer", "line") == ["customer [id=customer_id] orders [id=order_id] line"]


def test_hops_say_where_the_parent_is_and_how_sure_the_key_is() -> None:
    [path] = join_path(keys("a(x) -> b(y) 0.93"), TableName("s", "b"), TableName("s", "a"))
    [hop] = path.hops
    assert (hop.direction, hop.cardinality, hop.origin, hop.confidence) == ("to_child", "many_to_one", "inferred", 0.93)
    assert path.tables == (TableName("s", "b"), TableName("s", "a"))


def test_a_shared_child_is_a_better_way_than_a_shared_lookup() -> None:
    best, second = found(SHOP, "product", "customer", 2)
    assert best == "product [id=product_id] line [order_id=id] orders [customer_id=id] customer"
    assert second == "product [state_id=id] state [id=state_id] customer"


def test_paths_come_cheapest_first_and_are_simple() -> None:
    paths = join_path(SHOP, TableName("s", "line"), TableName("s", "state"), 9)
    assert [path.cost for path in paths] == sorted(path.cost for path in paths)
    assert all(len(set(path.tables)) == len(path.tables) for path in paths)
    assert len(paths) == len(set(paths)) == 3


def test_parallel_keys_are_different_paths() -> None:
    shipping = keys("orders(bill_to) -> address(id)", "orders(ship_to) -> address(id)")
    assert found(shipping, "orders", "address", 5) == ["orders [bill_to=id] address", "orders [ship_to=id] address"]


def test_the_same_condition_declared_twice_is_one_path() -> None:
    twice = keys("a(x, y) -> b(p, q) 0.95", "a(y, x) -> b(q, p)")
    [path] = join_path(twice, TableName("s", "a"), TableName("s", "b"), 5)
    assert path.hops[0].origin == "declared"
    assert set(path.hops[0].pairs) == {("x", "p"), ("y", "q")}


def test_a_composite_key_joins_on_all_its_columns() -> None:
    assert found(keys("a(x, y) -> b(p, q)"), "b", "a") == ["b [p=x, q=y] a"]


def test_declared_keys_are_preferred_to_inferred_ones_and_sure_ones_to_doubtful_ones() -> None:
    both = keys("a(x) -> b(id) 0.91", "a(y) -> b(id)", "a(z) -> b(id) 0.99")
    assert found(both, "a", "b", 3) == ["a [y=id] b", "a [z=id] b", "a [x=id] b"]


def test_fan_out_is_dearer_than_a_longer_way_along_one_to_one_keys() -> None:
    ways = keys("b(a_id) -> a(id) n:m", "c(a_id) -> a(id) 1:1", "c(b_id) -> b(id) 1:1")
    assert found(ways, "a", "b", 2) == ["a [id=a_id] c [b_id=id] b", "a [id=a_id] b"]


def test_a_table_reaches_itself_by_its_own_references_only() -> None:
    staff = keys("staff(boss_id) -> staff(id)", "staff(mentor_id) -> staff(id)", "team(lead_id) -> staff(id)")
    assert found(staff, "staff", "staff", 5) == ["staff [boss_id=id] staff", "staff [mentor_id=id] staff"]
    assert found(staff, "team", "team") == []
    assert found(staff, "team", "staff", 5) == ["team [lead_id=id] staff"]


@pytest.mark.parametrize("start, end", [("a", "c"), ("a", "nowhere"), ("nowhere", "a")])
def test_unconnected_tables_have_no_path(start: str, end: str) -> None:
    assert found(keys("a(x) -> b(id)", "c(y) -> d(id)"), start, end, 3) == []


def test_proposals_and_keys_to_other_databases_are_not_joined() -> None:
    assert found(keys("a(x) -> b(id) 0.8 proposed", "a(y) -> elsewhere:b(id)"), "a", "b", 3) == []


def test_no_path_is_longer_than_allowed() -> None:
    chain = keys(*(f"t{n}(x) -> t{n + 1}(id)" for n in range(6)))
    assert found(chain, "t0", "t6", max_hops=5) == []
    assert len(found(chain, "t0", "t6", max_hops=6)) == 1


def test_the_order_of_the_relationships_does_not_matter() -> None:
    assert found(SHOP.reverse(), "product", "customer", 9) == found(SHOP, "product", "customer", 9)


def ring(size: int, chords: Sequence[int]) -> pl.DataFrame:
    return keys(*(f"t{n}(r{c}) -> t{(n + c) % size}(id)" for n in range(size) for c in chords))


def test_a_dense_schema_is_searched_best_first() -> None:
    paths = JoinIndex(ring(300, [1, 7, 31])).paths(TableName("s", "t0"), TableName("s", "t150"), 10)
    assert len(set(paths)) == 10
    assert [path.cost for path in paths] == sorted(path.cost for path in paths)
