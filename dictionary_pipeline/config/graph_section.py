"""`graph:` of `project.yml` and of a database file."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Annotated, Any, get_args

from pydantic import BeforeValidator, Field, field_validator

from dictionary_pipeline.config.graph_documents import documents_mark
from dictionary_pipeline.config.graph_prompt import template_fault
from dictionary_pipeline.config.graph_settings import (
    DOCUMENT_SUFFIXES,
    ENTITY_TYPES,
    MAX_DOCUMENT_BYTES,
    AnswerFormat,
    Granularity,
    GraphSettings,
)
from dictionary_pipeline.config.section import Section, mistake, one_of
from dictionary_pipeline.config.yamlfile import Document
from dictionary_pipeline.errors import ConfigurationError

_DEFAULT = GraphSettings()
_TYPE = re.compile(r"[A-Z][A-Z0-9_]{0,39}")
_SQL_TYPE = re.compile(r"SQL_?\w*|TABLE|VIEW|COLUMN")


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


_Texts = Annotated[tuple[str, ...], BeforeValidator(_as_list)]


class Graph(Section):
    """The knowledge graph: what it holds beside the catalog, and in which detail GraphRAG gets it."""

    granularity: Annotated[Granularity, one_of(get_args(Granularity))] = Field(
        default=_DEFAULT.granularity,
        description="Detail of `graph/output/`: `table` holds tables, views and business entities, which makes for few "
        "and telling community reports; `column` holds columns too.",
    )
    entities: bool = Field(
        default=_DEFAULT.entities,
        description="Whether the language model of `model:` extracts business entities and how they relate, from "
        "definitions, comments, glossary and `documents`.",
    )
    entity_types: tuple[str, ...] = Field(
        default=ENTITY_TYPES,
        min_length=1,
        description="Types of business entities; any other is refused. Where texts disagree about a type, the more "
        "frequent one counts, then the one that stands first.",
    )
    format: Annotated[AnswerFormat, one_of(get_args(AnswerFormat))] = Field(
        default=_DEFAULT.format,
        description="Answer format: `json` (strict JSON Schema, several texts a request), or `delimited` (that of "
        "GraphRAG's prompts, one text a request) for models that keep no JSON.",
    )
    max_gleanings: Annotated[int, Field(ge=0, le=10)] = Field(
        default=_DEFAULT.max_gleanings,
        description="How often the model is asked for what it missed in the same texts. Each time costs the whole "
        "conversation again; worth it for long documents only.",
    )
    language: str | None = Field(
        default=None, min_length=1, description="Language of the descriptions; that of `model:` by default."
    )
    max_reject_rate: Annotated[float, Field(ge=0, le=1)] = Field(
        default=_DEFAULT.max_reject_rate,
        description="The check `graph_reject_rate` warns when a greater share of the model's records is refused.",
    )
    aliases: dict[str, _Texts] = Field(
        default={}, description="Name of a business entity and its other names: `{Northwind: [NW, Northwind Traders]}`."
    )
    documents: _Texts = Field(
        default=(),
        description=f"Globs of texts ({', '.join(DOCUMENT_SUFFIXES)}; UTF-8, at most {MAX_DOCUMENT_BYTES // 1_000_000} "
        "MB each) to extract from, relative to the project folder and never outside it.",
    )
    prompt: str | None = Field(
        default=None,
        description="File with an extraction prompt of your own, relative to the project folder; "
        "`{entity_types}` must stand in it, `{relationship_types}` and `{language}` may.",
    )

    @field_validator("entity_types", mode="before")
    @classmethod
    def _are_types(cls, value: Any) -> Any:
        for name in value if isinstance(value, list | tuple) else ():
            if not _TYPE.fullmatch(str(name)):
                raise mistake(f"{str(name)[:60]!r} is not a type", "Write capitals, digits and '_', e.g. COST_CENTER.")
            if _SQL_TYPE.fullmatch(str(name)):
                raise mistake(f"{name!r} is a type of the catalog", "Name business types only.")
        return value

    @field_validator("documents")
    @classmethod
    def _are_inside(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in value:
            _require_inside(pattern)
            if any("**" in part and part != "**" for part in pattern.split("/")):
                raise mistake("has '**' inside a name", "Write '**' as a folder of its own: docs/**/*.md.")
        return value

    @field_validator("prompt")
    @classmethod
    def _is_inside(cls, value: str | None) -> str | None:
        if value is not None:
            _require_inside(value)
        return value


def graph_settings(project: Graph, own: Graph, document: Document, root: Path) -> GraphSettings:
    """What holds for a database: its own keys win, aliases of both add up.

    Args:
        document: The database's file, for messages.
        root: The project folder.

    Raises:
        ConfigurationError: the prompt's file cannot be read, or is no template.
    """
    told = {name: getattr(section, name) for section in (project, own) for name in section.model_fields_set}
    told["aliases"] = {**project.aliases, **own.aliases}
    file = told.pop("prompt", None)
    place = document.where(("graph", "prompt")) if own.prompt else "dbt_like_configs/project.yml"
    mark = documents_mark(root.resolve(), told["documents"]) if told.get("documents") else ""
    prompt = _prompt(file, place, root) if file else None
    return GraphSettings(**told, folder=root, documents_mark=mark, prompt=prompt)


def _prompt(file: str, place: str, root: Path) -> str:
    path = (root / file).resolve()
    fault: str | None = "leads out of the project folder"
    text = ""
    if path.is_relative_to(root.resolve()):
        try:
            text = path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            fault = "cannot be read as UTF-8 text"
        else:
            fault = template_fault(text)
    if fault:
        fix = "See 'Own prompt' in docs/graph.md for what may stand in it."
        raise ConfigurationError(f"graph.prompt: {file} {fault}", where=place, fix=fix)
    return text


def _require_inside(path: str) -> None:
    """Refuse what could lead out of the project folder."""
    parts = PurePosixPath(path.replace("\\", "/")).parts
    if not parts or ".." in parts or path.startswith(("/", "~")) or PureWindowsPath(path).anchor or "\0" in path:
        raise mistake("must lie within the project folder", "Write a path relative to it, without '..'.")
