from __future__ import annotations

import re
from string import Formatter

import pytest
import yaml

from dictionary_pipeline.extraction.delimited import EntityRecord, Record, RelationshipRecord, parse_replies
from dictionary_pipeline.extraction.documents import extraction_prompt
from dictionary_pipeline.extraction.edges import WEIGHTS
from dictionary_pipeline.extraction.model import EDGE_TYPES
from dictionary_pipeline.extraction.settings import graphrag_settings

_ENDS = {
    "REFERENCES": "TABLE TABLE",
    "IS_FOREIGN_KEY_REF_FOR": "COLUMN COLUMN",
    "IS_DERIVED_FROM": "COLUMN COLUMN",
    "IS_FOREIGN_KEY_IN": "COLUMN TABLE",
    "IS_PRIMARY_KEY_OF": "COLUMN TABLE",
}


def examples() -> list[tuple[str, str]]:
    """(entity types, answer) of every example."""
    parts = extraction_prompt().split("######\n")[1:-1]
    return [(re.findall(r"Entity types: (.*)", part)[0], part.split("Answer:\n")[1]) for part in parts]


def as_graphrag_reads(answer: str) -> list[Record]:
    """The rules of GraphRAG's own parser, which loses whatever stands otherwise."""
    records: list[Record] = []
    for line in answer.split("##"):
        fields = re.sub(r"^\(|\)$", "", line.strip()).split("<|>")
        if fields[0] == '"entity"' and len(fields) >= 4:
            records.append(EntityRecord(*fields[1:4]))
        elif fields[0] == '"relationship"' and len(fields) >= 5:
            records.append(RelationshipRecord(*fields[1:4], float(fields[-1])))
    return records


def test_the_template_is_filled_by_format_with_the_two_variables_that_graphrag_gives() -> None:
    variables = {name for _, name, _, _ in Formatter().parse(extraction_prompt()) if name is not None}
    filled = extraction_prompt().format(entity_types="SQLTABLE,GEO", input_text="a {brace} and ## and <|>")

    assert variables == {"entity_types", "input_text"}
    assert filled.endswith("Entity types: SQLTABLE,GEO\nText:\na {brace} and ## and <|>\n\nAnswer:\n")
    assert "<|COMPLETE|>" in filled


@pytest.mark.parametrize(("types", "answer"), examples())
def test_graphrag_and_the_own_parser_read_every_record_of_an_example(types: str, answer: str) -> None:
    records = as_graphrag_reads(answer)

    assert len(records) == answer.count('("')
    assert parse_replies([answer]) == (tuple(records), ())
    assert len(set(records)) == len(records)


@pytest.mark.parametrize(("types", "answer"), examples())
def test_edges_of_an_example_are_consistent(types: str, answer: str) -> None:
    records = as_graphrag_reads(answer)
    entities = {record.name: record for record in records if isinstance(record, EntityRecord)}
    edges = [record for record in records if isinstance(record, RelationshipRecord)]

    assert {entity.type for entity in entities.values()} <= set(types.split(","))
    assert {end for edge in edges for end in edge[:2]} == set(entities)
    for edge in edges:
        kind = edge.description.partition(":")[0]
        if kind in WEIGHTS:
            assert edge.weight == WEIGHTS[kind]
            ends = " ".join(end.rsplit(" ", 1)[1] for end in edge[:2])
            assert ends == _ENDS.get(kind, ends)
        if kind in ("IS_FOREIGN_KEY_IN", "IS_PRIMARY_KEY_OF"):
            assert edge.source.startswith(edge.target.removesuffix(" TABLE") + ".")
    columns = [name for name in entities if name.endswith(" COLUMN")]
    owned = [edge.target for edge in edges if edge.description.startswith("HAS_COLUMN:")]
    assert sorted(owned) == sorted(columns)


def test_every_edge_type_is_explained_and_shown() -> None:
    shown = "".join(answer for _, answer in examples())
    for kind in EDGE_TYPES:
        assert f"- {kind}: " in extraction_prompt()
        assert f"<|>{kind}: " in shown


def test_the_settings_mention_the_prompt_only_as_a_comment() -> None:
    assert "#   prompt: prompts/extract_graph.txt" in graphrag_settings()
    assert "extract_graph" not in yaml.safe_load(graphrag_settings())
