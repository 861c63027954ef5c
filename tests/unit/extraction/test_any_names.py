from __future__ import annotations

from dataclasses import replace

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.extraction.checks import check_graph
from dictionary_pipeline.extraction.graphrag import graphrag_frames
from unit.builders import make_catalog
from unit.extraction.graphs import make_graph, make_relations

_NAMES = st.one_of(
    st.sampled_from(["a", "A", "a.b", "b", "ß", "SS", "{}", "{0}", "a\nb", "<|>", "->", '"', "%s", "#1", " "]),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6),
)
_TABLES = st.lists(st.tuples(_NAMES, _NAMES), min_size=1, max_size=5, unique=True)


def catalog_of(tables: list[tuple[str, str]], columns: list[str]) -> Catalog:
    """Every table has all columns, the first one its key and, in all tables, a key to the first table."""
    rows = [
        (*name, column, ordinal, "int", "integer", True, None, False, False, None, None, None, None, None)
        for name in sorted(tables)
        for ordinal, column in enumerate(columns, start=1)
    ]
    first = columns[:1]
    return replace(
        make_catalog(),
        tables=frames.fit(
            pl.DataFrame(sorted(tables), schema=["schema", "table"], orient="row").with_columns(kind=pl.lit("table")),
            frames.TABLES,
        ),
        columns=frames.from_rows(rows, frames.COLUMNS),
        keys=frames.from_rows([(*name, "pk", "primary", first, "declared", 1.0) for name in tables], frames.KEYS),
        foreign_keys=frames.from_rows(
            [(*name, first, None, *tables[0], first, "fk", True, None, None) for name in tables], frames.FOREIGN_KEYS
        ),
    )


@settings(max_examples=30, deadline=None)
@given(tables=_TABLES, columns=st.lists(_NAMES, min_size=1, max_size=4, unique=True))
def test_the_graph_equals_the_catalog_whatever_the_names(tables: list[tuple[str, str]], columns: list[str]) -> None:
    catalog = catalog_of(tables, columns)
    graph = make_graph(catalog)

    assert check_graph(catalog, make_relations(catalog), graph) == ()
    found = graphrag_frames(graph.entities, graph.edges, graph.ids, granularity="column")
    assert found.entities.height == len(tables) * (1 + len(columns))
    assert found.relationships.height == graph.edges.select("source", "target").n_unique()
    assert found.entities["text_unit_ids"].list.len().eq(1).all()
