from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import Catalog, Identity
from dictionary_pipeline.config.resolved import HumanKnowledge, PathLimits
from dictionary_pipeline.relationships.paths import join_graph, maximal_paths, nearest_paths, stub_fqn
from dictionary_pipeline.relationships.relate import relate
from unit.builders import make_catalog

BARE = Identity("sqlite")


def catalog_of(edges: Sequence[str], *more: str, identity: Identity = BARE) -> Catalog:
    """Tables and keys from `a>b`: a refers to b; all live in schema `s`."""
    pairs = [edge.split(">") for edge in edges]
    tables = sorted({table for pair in pairs for table in pair} | set(more))
    return make_catalog(
        tables={f"s.{table}": ["id integer"] for table in tables},
        foreign_keys=[f"fk{number}: s.{a}(id) -> s.{b}(id)" for number, (a, b) in enumerate(pairs)],
        identity=identity,
    )


def graph_of(catalog: Catalog, limits: PathLimits | None = None) -> pl.DataFrame:
    return relate(catalog, frames.empty(frames.PROFILES), HumanKnowledge(), limits or PathLimits()).join_graph


def paths(catalog: Catalog, limits: PathLimits | None = None) -> dict[str, list[str]]:
    """Table -> paths, written short: `a>b>c`."""
    rows = graph_of(catalog, limits).select("table", "paths").iter_rows()
    return {table: [re.sub(r"\bs\.", "", path).replace(" -> ", ">") for path in found] for table, found in rows}


def aborted(catalog: Catalog, limits: PathLimits | None = None) -> dict[str, bool]:
    return dict(graph_of(catalog, limits).select("table", "aborted").iter_rows())


def test_chain_gives_only_the_maximal_paths() -> None:
    assert paths(catalog_of(["a>b", "b>c", "c>d"])) == {
        "a": ["a>b>c>d"],
        "b": ["b>a", "b>c>d"],
        "c": ["c>b>a", "c>d"],
        "d": ["d>c>b>a"],
    }


def test_star_is_walked_in_fqn_order() -> None:
    found = paths(catalog_of(["z>hub", "a>hub", "m>hub"]))
    assert found["hub"] == ["hub>a", "hub>m", "hub>z"]
    assert found["m"] == ["m>hub>a", "m>hub>z"]


def test_cycle_is_walked_in_both_directions() -> None:
    assert paths(catalog_of(["a>b", "b>c", "c>a"]))["a"] == ["a>b>c", "a>c>b"]


def test_cycle_with_a_tail_backtracks() -> None:
    assert paths(catalog_of(["a>b", "b>c", "c>a", "c>d"]))["a"] == ["a>b>c>d", "a>c>b", "a>c>d"]


def test_self_reference_comes_first_and_is_not_walked() -> None:
    catalog = catalog_of(["a>a", "a>b", "b>b"], "c")
    assert paths(catalog) == {"a": ["a>a", "a>b"], "b": ["b>b", "b>a"], "c": []}
    one = PathLimits(max_paths=1)
    assert paths(catalog, one)["a"] == ["a>a", "a>b"]
    assert aborted(catalog, one)["a"] is False
    assert paths(catalog_of(["a>a"])) == {"a": ["a>a"]}


def test_parallel_and_opposite_keys_count_once() -> None:
    assert paths(catalog_of(["a>b", "a>b", "b>a"])) == {"a": ["a>b"], "b": ["b>a"]}


def test_components_do_not_meet_and_isolated_tables_have_no_path() -> None:
    assert paths(catalog_of(["a>b", "c>d"], "e")) == {"a": ["a>b"], "b": ["b>a"], "c": ["c>d"], "d": ["d>c"], "e": []}


def test_paths_are_written_with_the_whole_fqn() -> None:
    catalog = catalog_of(["a>b"], identity=Identity("postgres", database="shop"))
    assert graph_of(catalog)["paths"].to_list() == [["shop.s.a -> shop.s.b"], ["shop.s.b -> shop.s.a"]]


def test_object_outside_the_selection_is_a_node_without_a_row() -> None:
    catalog = make_catalog(
        tables={"s.a": ["x integer"], "s.b": ["x integer"]},
        foreign_keys=["s.a(x) -> s.out(id)", "s.b(x) -> s.out(id)"],
        identity=BARE,
    )
    assert paths(catalog) == {"a": ["a>out>b"], "b": ["b>out>a"]}


def test_object_in_another_database_is_named_with_it() -> None:
    catalog = catalog_of(["a>b"], identity=Identity("sqlserver", database="shop"))
    relationships = relate(catalog, frames.empty(frames.PROFILES), HumanKnowledge(), PathLimits()).relationships
    away = relationships.with_columns(pl.lit("crm").alias("to_database"))
    assert join_graph(catalog, away, PathLimits())["paths"].to_list() == [["shop.s.a -> crm.s.b"], []]
    assert stub_fqn(Identity("databricks", catalog="main"), "other", "s", "t") == "other.s.t"
    assert stub_fqn(Identity("snowflake", warehouse="wh", database="db"), "other", "s", "t") == "wh.other.s.t"


def test_relationship_that_is_only_proposed_does_not_count() -> None:
    catalog = catalog_of(["a>b"])
    relationships = relate(catalog, frames.empty(frames.PROFILES), HumanKnowledge(), PathLimits()).relationships
    proposed = relationships.with_columns(pl.lit(False).alias("accepted"))
    assert join_graph(catalog, proposed, PathLimits())["paths"].to_list() == [[], []]


def test_view_has_no_paths() -> None:
    catalog = make_catalog(
        tables={"s.t": ["id integer"], "s.v": ["id integer"]},
        views={"s.v": "SELECT id FROM s.t"},
        foreign_keys=["s.v(id) -> s.t(id)"],
        identity=BARE,
    )
    assert paths(catalog) == {"t": ["t>v"], "v": []}


def test_fifty_paths_are_written_and_the_fifty_first_aborts() -> None:
    leaves = [f"l{number:02}>hub" for number in range(50)]
    fits, too_many = catalog_of(leaves), catalog_of([*leaves, "l50>hub"])
    assert aborted(fits)["hub"] is False
    assert len(paths(fits)["hub"]) == 50
    assert aborted(too_many)["hub"] is True
    assert paths(too_many)["hub"] == [f"hub>l{number:02}" for number in range(50)]


def test_ten_hops_are_written_and_the_eleventh_aborts() -> None:
    names = "abcdefghijkl"
    chain = [f"{child}>{parent}" for child, parent in pairwise(names)]
    ten, eleven = catalog_of(chain[:10]), catalog_of(chain)
    assert paths(ten)["a"] == [">".join(names[:11])]
    assert aborted(eleven) == {name: name in "al" for name in names}
    assert paths(eleven)["a"] == [">".join(names[: hops + 1]) for hops in range(1, 7)]


def test_visits_beyond_the_limit_abort() -> None:
    catalog = catalog_of(["a>b", "b>c"])
    assert aborted(catalog, PathLimits(max_visited=3))["a"] is False
    assert aborted(catalog, PathLimits(max_visited=2))["a"] is True
    assert paths(catalog, PathLimits(max_visited=2))["a"] == ["a>b", "a>b>c"]


def test_aborted_search_orders_by_hops_then_fqn_and_breaks_ties_by_the_smallest_sequence() -> None:
    # z is reached over b and over c; y only over c; x, one hop away, comes before both.
    catalog = catalog_of(["a>c", "a>b", "b>z", "c>z", "c>y", "a>x"])
    assert paths(catalog, PathLimits(max_paths=5))["a"] == ["a>b>z>c>y", "a>c>y", "a>c>z>b", "a>x"]
    limits = PathLimits(max_visited=2)
    assert paths(catalog, limits)["a"] == ["a>b", "a>c", "a>x", "a>c>y", "a>b>z"]


def test_configured_limits_bound_the_aborted_search_too() -> None:
    catalog = catalog_of(["a>b", "b>c", "c>d", "a>e"])
    assert paths(catalog, PathLimits(max_hops=2))["a"] == ["a>b", "a>e", "a>b>c"]
    assert paths(catalog, PathLimits(max_paths=1))["a"] == ["a>b"]


def test_tables_whose_fqns_are_equal_stay_two_nodes() -> None:
    catalog = make_catalog(
        tables={"a.b": ["id integer"], "a.c": ["id integer"]}, foreign_keys=["a.c(id) -> a.b(id)"], identity=BARE
    )
    dotted = catalog.foreign_keys.with_columns(pl.lit("a.c").alias("to_schema"), pl.lit("d").alias("to_table"))
    other = make_catalog(tables={"a.c": ["id integer"]}, identity=BARE)
    twins = pl.concat(
        [other.tables, other.tables.with_columns(pl.lit("a").alias("schema"), pl.lit("c.d").alias("table"))]
    )
    found = graph_of(replace(other, tables=twins, foreign_keys=dotted))
    assert found["paths"].to_list() == [["a.c -> a.c.d"], []]


def test_long_chain_needs_no_recursion() -> None:
    size = 5000
    neighbours = [[n for n in (i - 1, i + 1) if 0 <= n < size] for i in range(size)]
    unlimited = PathLimits(max_hops=size, max_visited=size)
    assert maximal_paths(neighbours, 0, unlimited) == [list(range(size))]


graphs = st.integers(1, 7).flatmap(
    lambda size: st.tuples(
        st.just(size), st.sets(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)), max_size=12)
    )
)


def linked(size: int, edges: set[tuple[int, int]]) -> list[list[int]]:
    both = edges | {(b, a) for a, b in edges}
    return [sorted({b for a, b in both if a == node and b != node}) for node in range(size)]


@settings(max_examples=60, deadline=None)
@given(graphs)
def test_paths_are_simple_maximal_unique_ordered_and_complete(graph: tuple[int, set[tuple[int, int]]]) -> None:
    neighbours = linked(*graph)

    def by_definition(path: list[int]) -> list[list[int]]:
        steps = [node for node in neighbours[path[-1]] if node not in path]
        return [found for node in steps for found in by_definition([*path, node])] if steps else [path]

    found = maximal_paths(neighbours, 0, PathLimits(max_paths=10_000, max_visited=1_000_000))
    assert found == [path for path in by_definition([0]) if len(path) > 1]
    assert all(len(set(path)) == len(path) for path in found)
    assert found == sorted(found)


@settings(max_examples=60, deadline=None)
@given(graphs, st.integers(1, 6))
def test_nearest_paths_are_the_smallest_shortest_ones(graph: tuple[int, set[tuple[int, int]]], count: int) -> None:
    neighbours = linked(*graph)
    level, shortest = [[0]], {0: [0]}
    while level:
        level = sorted([*path, node] for path in level for node in neighbours[path[-1]] if node not in shortest)
        for path in level:
            shortest.setdefault(path[-1], path)
        level = [path for path in level if shortest[path[-1]] == path]
    expected = sorted((len(path), node) for node, path in shortest.items() if 1 < len(path) <= 7)[:count]
    assert nearest_paths(neighbours, 0, PathLimits(max_paths=count)) == [shortest[node] for _, node in expected]


@pytest.mark.parametrize("size", [20])
def test_dense_graph_is_given_up_at_once(size: int) -> None:
    catalog = catalog_of([f"t{a:02}>t{b:02}" for a in range(size) for b in range(a)])
    found = paths(catalog)
    assert all(aborted(catalog).values())
    assert found["t05"] == [f"t05>t{other:02}" for other in range(size) if other != 5]
