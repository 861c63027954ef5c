"""dbt `sources:` blocks as models. What dbt knows and we do not use is accepted and dropped."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

_COMMON = frozenset(
    {"tags", "docs", "enabled", "loader", "loaded_at_field", "loaded_at_query", "freshness", "overrides"}
)


class DbtModel(BaseModel):
    """A mapping of dbt's: its own other keys are dropped, anything else is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, coerce_numbers_to_str=True)
    ignored: ClassVar[frozenset[str]] = _COMMON

    @model_validator(mode="before")
    @classmethod
    def _drop_ignored(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        joined = cls._joined(dict(data))
        return {key: value for key, value in joined.items() if value is not None and key not in cls.ignored}

    @staticmethod
    def _joined(data: dict[str, Any]) -> dict[str, Any]:
        """`tests` is dbt's older name of `data_tests`, `config.meta` the newer place of `meta`."""
        config = data.pop("config", None)
        inner = config.get("meta") if isinstance(config, dict) else None
        if isinstance(inner, dict):
            outer = data.get("meta")
            data["meta"] = {**outer, **inner} if isinstance(outer, dict) else inner
        return data


class SourceColumn(DbtModel):
    """What people know about a column."""

    ignored: ClassVar[frozenset[str]] = _COMMON | {"quote", "data_type", "policy_tags", "constraints", "granularity"}

    name: str = Field(description="Column name, exactly as in the database.")
    description: str | None = Field(default=None, description="Definition of the column; beats comment and model.")
    meta: dict[str, Any] = Field(
        default={},
        description="`allowed_values`, `value_synonyms` and what `review` notes down; see the table below.",
    )
    data_tests: tuple[Any, ...] = Field(
        default=(),
        description="`accepted_values`, `relationships` and `unique` are used, other dbt tests accepted; also `tests`.",
    )
    tests: tuple[Any, ...] = Field(default=(), description="dbt's older name of `data_tests`.")


class SourceTable(DbtModel):
    """What people know about a table or view."""

    ignored: ClassVar[frozenset[str]] = _COMMON | {"quoting", "external", "database"}

    name: str = Field(description="Name of the table, by which `source()` refers to it.")
    identifier: str | None = Field(default=None, description="Name in the database when it is another one.")
    description: str | None = Field(default=None, description="Definition of the table; beats comment and model.")
    meta: dict[str, Any] = Field(
        default={}, description="`entity_name` and what `review` notes down; see the table below."
    )
    columns: tuple[SourceColumn, ...] = Field(default=(), description="Its columns; only those with something to say.")
    data_tests: tuple[Any, ...] = Field(
        default=(),
        description="`dbt_utils.unique_combination_of_columns` is used, other dbt tests accepted; also `tests`.",
    )
    tests: tuple[Any, ...] = Field(default=(), description="dbt's older name of `data_tests`.")


class Source(DbtModel):
    """One schema's tables."""

    ignored: ClassVar[frozenset[str]] = _COMMON | {"quoting", "meta", "tests", "data_tests", "description"}

    name: str = Field(description="Name of the source; the schema's name unless `schema` says otherwise.")
    # `schema` would hide a method of pydantic's base class.
    schema_: str | None = Field(default=None, alias="schema", description="Schema in the database.")
    database: str | None = Field(
        default=None, description="Database of the tables; a source of another database than the file's is skipped."
    )
    tables: tuple[SourceTable, ...] = Field(default=(), description="Its tables.")
