from __future__ import annotations

import io
import xml.etree.ElementTree as ET

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.resolved import HumanKnowledge
from dictionary_pipeline.enrichment.definitions import define
from dictionary_pipeline.extraction.documents import input_documents
from dictionary_pipeline.extraction.exports import graph_texts
from dictionary_pipeline.extraction.graphml import graphml
from dictionary_pipeline.extraction.graphrag import graph_keys, graphrag_frames
from dictionary_pipeline.extraction.ids import extend_ids
from dictionary_pipeline.extraction.model import KnowledgeGraph
from dictionary_pipeline.extraction.neo4j import neo4j_files
from dictionary_pipeline.extraction.readme import expected_report_calls
from unit.builders import make_catalog
from unit.enrichment.profiled import make_profiles
from unit.extraction.graphs import make_graph, make_relations
from unit.extraction.test_any_names import catalog_of
from unit.extraction.test_exact import shop as orders
from unit.extraction.test_report import with_business

_XML = "{http://graphml.graphdrawing.org/xmlns}"


def shop() -> Catalog:
    return make_catalog(
        tables={
            "s.orders": ["id int not null", "customer_id int", "state text"],
            "s.customers": ["id int not null", "email text"],
            "s.notes": ["body text"],
            "s.open_orders": ["id int"],
        },
        views={"s.open_orders": "select id from s.orders where state = 'open'"},
        primary_keys={"s.orders": ["id"], "s.customers": ["id"]},
        unique=[("s.customers", ["email"])],
        foreign_keys=["fk: s.orders(customer_id) -> s.customers(id)", "out: s.orders(state) -> ext.states(code)"],
        comments={"s.orders": 'Orders & "returns"\n<|> and ##', "s.orders.state": "State <of> the order"},
        enums={"s.orders.state": ["open", "paid"]},
    )


def documents_of(catalog: Catalog, allowed: dict[str, list[str]] | None = None) -> dict[str, str]:
    relations, profiles = make_relations(catalog), make_profiles(catalog, allowed=allowed or {}, origin="enum")
    return input_documents(catalog, profiles, relations, define(catalog, profiles, relations, HumanKnowledge()))


def nodes_and_edges(text: str) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    root = ET.fromstring(text)
    names = {key.get("id", ""): f"{key.get('for')}_{key.get('attr.name')}" for key in root.findall(f"{_XML}key")}
    found = []
    for kind in ("node", "edge"):
        elements = root.findall(f"{_XML}graph/{_XML}{kind}")
        data = [{names[item.get("key", "")]: item.text or "" for item in element} for element in elements]
        found.append([{**element.attrib, **values} for element, values in zip(elements, data, strict=True)])
    return found[0], found[1]


def test_a_document_holds_the_definition_and_a_statement_with_all_keys_inside() -> None:
    text = documents_of(shop(), {"s.orders.state": ["open", "paid"]})["s.orders.txt"]

    assert text.startswith('Name: table shop.s.orders\n\nDefinition: Orders & "returns" <|> and ##')
    assert (
        'CREATE TABLE "s"."orders" (\n'
        '    "id" int NOT NULL,\n'
        '    "customer_id" int,\n'
        '    "state" text,\n'
        '    PRIMARY KEY ("id"),\n'
        '    FOREIGN KEY ("customer_id") REFERENCES "s"."customers" ("id"),\n'
        '    FOREIGN KEY ("state") REFERENCES "ext"."states" ("code")\n'
        ");"
    ) in text
    assert "- Column shop.s.orders.state. State <of> the order" in text
    assert "Allowed values: open and paid." in text


def test_there_is_a_document_for_every_table_and_view_and_a_view_shows_its_query_and_sources() -> None:
    documents = documents_of(shop())

    assert list(documents) == ["s.customers.txt", "s.notes.txt", "s.open_orders.txt", "s.orders.txt"]
    view = documents["s.open_orders.txt"]
    assert 'CREATE VIEW "s"."open_orders" (' in view
    assert "Query:\nselect id from s.orders where state = 'open'" in view
    assert "- created using table shop.s.orders" in view
    assert 'UNIQUE ("email")' in documents["s.customers.txt"]


def test_graphml_holds_every_entity_and_typed_edge_with_its_texts() -> None:
    graph = make_graph(shop())

    nodes, edges = nodes_and_edges(graphml(graph))

    assert [node["node_title"] for node in nodes] == graph.entities["title"].to_list()
    assert [node["node_description"] for node in nodes] == graph.entities["description"].to_list()
    titles = {node["id"]: node["node_title"] for node in nodes}
    found = [(titles[edge["source"]], titles[edge["target"]], edge["edge_type"]) for edge in edges]
    assert found == graph.edges.select("source", "target", "type").rows()
    assert {edge["edge_is_inferred"] for edge in edges} == {"false"}


def test_neo4j_files_name_only_entities_that_exist_and_keep_every_edge() -> None:
    graph = make_graph(shop())

    files = {name: pl.read_csv(io.StringIO(text)) for name, text in neo4j_files(graph).items()}

    entities, edges = files["entities.csv"], files["relationships.csv"]
    assert entities["title:ID"].to_list() == graph.entities["title"].to_list()
    assert set(entities[":LABEL"]) == {"SQLTABLE", "SQLVIEW", "SQLCOLUMN"}
    assert edges.select(":START_ID", ":END_ID", ":TYPE").rows() == graph.edges.select("source", "target", "type").rows()
    assert edges["weight:double"].to_list() == graph.edges["weight"].to_list()


def test_expected_report_calls_lie_between_the_connected_groups_and_half_the_connected_tables() -> None:
    catalog = make_catalog(
        tables={f"s.t{number}": ["id int", "other int"] for number in range(8)},
        foreign_keys=[f"f{number}: s.t{number}(other) -> s.t{number + 1}(id)" for number in (0, 1, 2, 5)],
    )
    graph = make_graph(catalog)

    calls = expected_report_calls(graphrag_frames(graph.entities, graph.edges, graph.ids).relationships)

    assert calls == (2, 3)


def test_the_readme_counts_edges_and_report_calls() -> None:
    graph = make_graph(shop())
    texts = graph_texts(graph, graphrag_frames(graph.entities, graph.edges, graph.ids), {"s.notes.txt": "x"})

    assert "| REFERENCES | 2 |" in texts["README.md"]
    assert "| SQLVIEW | 1 |" in texts["README.md"]
    assert "no model was asked for it" in texts["README.md"]
    assert "graph of 5 entities (without columns)" in texts["README.md"]
    assert "Expect\n1 to about 2 report calls" in texts["README.md"]
    assert sorted(texts) == [
        "README.md",
        "graph.graphml",
        "input/s.notes.txt",
        "neo4j/entities.csv",
        "neo4j/relationships.csv",
        "prompts/extract_graph.txt",
    ]


def test_exports_hold_business_entities_beside_tables_and_say_where_they_come_from() -> None:
    graph = with_business(make_graph(orders()))
    ids = extend_ids(graph.ids, graph_keys(graph.entities, graph.edges))
    graph = KnowledgeGraph(graph.entities, graph.edges, ids)

    texts = graph_texts(graph, graphrag_frames(graph.entities, graph.edges, graph.ids, granularity="column"), {})

    nodes, edges = nodes_and_edges(texts["graph.graphml"])
    assert {"node_title": "ACME", "node_type": "ORGANIZATION", "node_qualified_name": "Acme"}.items() <= nodes[
        -2
    ].items()
    assert [edge["edge_type"] for edge in edges[-2:]] == ["IS_RECORDED_IN", "USES"]
    entities = pl.read_csv(io.StringIO(texts["neo4j/entities.csv"]), infer_schema=False)
    assert entities.filter(pl.col("title:ID") == "ACME")[":LABEL"].to_list() == ["ORGANIZATION"]
    relationships = pl.read_csv(io.StringIO(texts["neo4j/relationships.csv"]), infer_schema=False)
    assert set(relationships[":START_ID"]) | set(relationships[":END_ID"]) <= set(entities["title:ID"])
    assert "| ORGANIZATION | 1 |" in texts["README.md"]
    assert "`llm:`" in texts["README.md"]
    assert "(with columns)" in texts["README.md"]


@settings(max_examples=25, deadline=None)
@given(
    tables=st.lists(
        st.tuples(st.text(min_size=1, max_size=4), st.text(min_size=1, max_size=4)), min_size=1, max_size=4, unique=True
    ),
    columns=st.lists(
        st.sampled_from(["a", "A", "\x01", "<&>", '"', "a\r\nb", ",", "]]>", "\ufffe"]), min_size=1, unique=True
    ),
)
def test_exports_are_well_formed_whatever_the_names(tables: list[tuple[str, str]], columns: list[str]) -> None:
    catalog = catalog_of(
        [(a.encode("utf-8", "ignore").decode() or "x", b.encode("utf-8", "ignore").decode() or "y") for a, b in tables],
        columns,
    )
    graph = make_graph(catalog)

    nodes, edges = nodes_and_edges(graphml(graph))

    assert (len(nodes), len(edges)) == (graph.entities.height, graph.edges.height)
    found = pl.read_csv(io.StringIO(neo4j_files(graph)["entities.csv"]), infer_schema=False)
    assert found["title:ID"].to_list() == graph.entities["title"].to_list()
    assert len(documents_of(catalog)) == catalog.tables.height
