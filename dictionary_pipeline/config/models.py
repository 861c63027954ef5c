"""What the files of `dbt_like_configs/` may say. The descriptions are the configuration reference."""

from __future__ import annotations

from typing import Annotated, Any, get_args

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from dictionary_pipeline.config.alerts_section import Alerts
from dictionary_pipeline.config.drift_section import Drift
from dictionary_pipeline.config.graph_section import Graph
from dictionary_pipeline.config.model_section import DatabaseModel, Model
from dictionary_pipeline.config.publish_section import Publish
from dictionary_pipeline.config.resolved import (
    AutomationConfig,
    InferenceSettings,
    PathLimits,
    PrivacyPolicy,
    ReadTreatment,
    SamplingLimits,
    Treatment,
)
from dictionary_pipeline.config.schedule_section import Probe, Schedule, checked_cron, checked_timezone
from dictionary_pipeline.config.search_section import DatabaseSearch, Search, require_model
from dictionary_pipeline.config.section import Count, Section, mistake, one_of
from dictionary_pipeline.config.sources import Source

_SAMPLING = SamplingLimits()
_PATHS = PathLimits()
_INFERENCE = InferenceSettings()
_AUTOMATION = AutomationConfig()
_PRIVACY = PrivacyPolicy()


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Globs = Annotated[tuple[str, ...], BeforeValidator(_as_list)]
"""A list of patterns; a single one may stand alone."""
Share = Annotated[float, Field(ge=0, le=1)]


class Paths(Section):
    """Limits of `CompleteEntityRelationshipsGraph`."""

    max_paths: Count = Field(default=_PATHS.max_paths, description="Paths listed per table at most.")
    max_hops: Count = Field(default=_PATHS.max_hops, description="Joins in a path at most.")
    max_visited: Count = Field(default=_PATHS.max_visited, description="Steps of the search per table at most.")


class Inference(Section):
    """How keys are inferred that the database does not declare."""

    enabled: bool = Field(default=_INFERENCE.enabled, description="Whether undeclared keys are inferred at all.")
    accept_at: Share = Field(
        default=_INFERENCE.accept_at,
        description="Confidence from which an inferred relationship enters the dictionary, marked as inferred.",
    )
    list_at: Share = Field(
        default=_INFERENCE.list_at,
        description="Confidence from which it is listed in `catalog/relationships.parquet` as a proposal.",
    )
    probe: bool | None = Field(
        default=_INFERENCE.probe,
        description="Whether the database counts how many values of a column are found in a key: at most one statement "
        "per 20 tables, which returns counts only. By default only where scanning is not billed. Without it, and "
        "without complete samples, confidence stays below 0.9.",
    )


class Limits(Section):
    """What sampling may cost."""

    enabled: bool = Field(
        default=_SAMPLING.enabled, description="Whether values are read at all; `false` reads the catalog only."
    )
    row_limit: Count = Field(default=_SAMPLING.row_limit, description="Rows read of a table at most.")
    table_seconds: Annotated[float, Field(gt=0, le=86_400)] = Field(
        default=_SAMPLING.table_seconds, description="Seconds that a table may take."
    )
    max_connections: Count = Field(
        default=_SAMPLING.max_connections, description="Connections open to the database at most."
    )
    max_values: Count = Field(default=_SAMPLING.max_values, description="Values per column in the value store at most.")
    value_store_views: bool = Field(
        default=_SAMPLING.value_store_views, description="Whether the value store covers views."
    )
    verify: bool | None = Field(
        default=_SAMPLING.verify,
        description="Whether a large table is scanned once, within `table_seconds`, when its sample suggests that "
        "columns hold few distinct values, and again when its rows changed; without it no such column gets "
        "`AllowedValues`. By default only where scanning is not billed.",
    )
    verify_seconds: Annotated[float, Field(ge=0, le=86_400)] = Field(
        default=_SAMPLING.verify_seconds, description="Seconds that all those scans of a run may take together."
    )
    max_warehouse_seconds: Annotated[float, Field(gt=0, le=86_400)] | None = Field(
        default=_SAMPLING.max_warehouse_seconds,
        description="Snowflake and Databricks: seconds that the statements of a run may take together before sampling "
        "stops; the catalog is kept, tables not reached are named in one problem. No limit by default.",
    )
    max_age_hours: Annotated[float, Field(gt=0, le=87_600)] = Field(
        default=_SAMPLING.max_age_hours,
        description="Hours for which `run --changed-only` keeps the samples of a table that did not change.",
    )
    paths: Paths = Field(default=Paths(), description="Limits of the listed join paths.")


Treat = Annotated[Treatment, one_of(get_args(Treatment))]
ReadTreat = Annotated[ReadTreatment, one_of(get_args(ReadTreatment))]


class PrivacyColumn(Section):
    """What to do with the columns that match a pattern."""

    match: str = Field(
        min_length=1, description="Glob on `column`, `table.column` or `schema.table.column`; ignores case."
    )
    treat: Treat = Field(
        description="`deny`: never read. `withhold`: read to recognise it, its values are shown nowhere. `mask`: shown "
        "with letters as `a` or `A` and digits as `9`. `allow`: shown."
    )


class Privacy(Section):
    """Which columns' values may be read and published."""

    default: ReadTreat = Field(
        default=_PRIVACY.default,
        description="What happens to a column found sensitive: `withhold`, `mask` or `allow`. Passwords, secrets, "
        "national ids and card numbers known by name are not read unless a pattern or category says otherwise.",
    )
    columns: tuple[PrivacyColumn, ...] = Field(
        default=(), description="Decisions about single columns; the first pattern that fits counts, `deny` wins."
    )
    categories: dict[str, ReadTreat] = Field(
        default={},
        description="Category, as in `sensitivity` of `catalog/columns.parquet`, and `withhold`, `mask` or `allow`.",
    )
    withhold: Globs = Field(
        default=(),
        description="Columns never to be read (`deny`): globs on `column`, `table.column` or `schema.table.column`.",
    )
    allow: Globs = Field(
        default=(),
        description="Columns whose values may be published although they look sensitive; same globs. `columns` wins.",
    )

    @field_validator("categories")
    @classmethod
    def _are_categories(cls, value: dict[str, ReadTreatment]) -> dict[str, ReadTreatment]:
        for name in value:
            if name != name.upper():
                raise mistake(f"{name!r} is not a category", f"Categories are upper case: {name.upper()}.")
        return value


class Patterns(Section):
    """Globs, case-sensitive; exclusion wins."""

    include: Globs = Field(default=(), description="What to describe; everything when empty.")
    exclude: Globs = Field(default=(), description="What to leave out.")


class HiddenColumns(Section):
    """Globs on `column`, `table.column` or `schema.table.column` that ignore case; exclusion wins."""

    include: Globs = Field(default=(), description="Columns to describe; everything when empty.")
    exclude: Globs = Field(
        default=(),
        description="Columns to hide: they appear nowhere, nor do keys, indexes and CHECKs that use them, nor the text "
        "of views that name them. A key that is left out for this is listed among the problems.",
    )


class StoredColumns(Section):
    """Globs on `column`, `table.column` or `schema.table.column` that ignore case; exclusion wins."""

    include: Globs = Field(
        default=(),
        description="Text columns whose values are stored also from views, fact and bridge tables, and when they are "
        "long and nearly unique.",
    )
    exclude: Globs = Field(default=(), description="Columns whose values are not stored.")


class Automation(Section):
    """What Dagster does by itself."""

    nightly_cron: str = Field(
        default=_AUTOMATION.nightly_cron,
        description="When `nightly_refresh` is due, where a database's file does not say: five cron fields.",
    )
    timezone: str = Field(default=_AUTOMATION.timezone, description="Time zone of the schedule, e.g. `Europe/Berlin`.")
    nightly_enabled: bool = Field(default=_AUTOMATION.nightly_enabled, description="Whether the nightly schedule runs.")
    registry_sensor_enabled: bool = Field(
        default=_AUTOMATION.registry_sensor_enabled,
        description="Whether a new file under `databases/` becomes a partition by itself.",
    )
    schema_change_enabled: bool = Field(
        default=_AUTOMATION.schema_change_enabled,
        description="Whether a changed schema starts a run by itself.",
    )
    max_concurrent_runs: Count = Field(
        default=_AUTOMATION.max_concurrent_runs, description="Runs at the same time at most."
    )
    max_runs_per_server: Count = Field(
        default=_AUTOMATION.max_runs_per_server, description="Runs on the same server at the same time at most."
    )

    @field_validator("nightly_cron")
    @classmethod
    def _is_cron(cls, value: str) -> str:
        return checked_cron(value)

    @field_validator("timezone")
    @classmethod
    def _is_timezone(cls, value: str) -> str:
        return checked_timezone(value)


class ProjectFile(Section):
    """`dbt_like_configs/project.yml`: defaults for every database."""

    profiles_path: str = Field(
        default="dbt_like_configs/profiles.yml",
        description="Profiles file, relative to the project folder; `~/.dbt/profiles.yml` works too.",
    )
    publish: Publish = Field(default=Publish(), description="Where bundles go.")
    sampling: Limits = Field(default=Limits(), description="Default limits of every database.")
    privacy: Privacy = Field(default=Privacy(), description="Defaults of every database; patterns add up.")
    inference: Inference = Field(default=Inference(), description="How undeclared keys are inferred.")
    model: Model | None = Field(
        default=None, description="The language model that writes definitions; none by default."
    )
    search: Search | None = Field(
        default=None, description="The Azure AI Search service that dictionaries are pushed to; none by default."
    )
    drift: Drift = Field(default=Drift(), description="How changes of schemas are judged.")
    graph: Graph = Field(default=Graph(), description="What the knowledge graph holds beside the catalog.")
    automation: Automation = Field(default=Automation(), description="Schedules and sensors.")
    alerts: Alerts = Field(default=Alerts(), description="Messages about drift and failures.")

    @field_validator("search")
    @classmethod
    def _has_its_model(cls, value: Search | None, info: ValidationInfo) -> Search | None:
        # A section with mistakes of its own is not there.
        return require_model(value, info.data["model"]) if "model" in info.data else value


class DatabaseRelationship(Section):
    """A foreign key that the database does not declare."""

    from_: str = Field(alias="from", description="Referring table, `schema.table`.")
    columns: Annotated[tuple[str, ...], BeforeValidator(_as_list), Field(min_length=1)] = Field(
        description="Its columns, in order."
    )
    to: str = Field(description="Referred table, `schema.table`.")
    to_columns: Annotated[tuple[str, ...], BeforeValidator(_as_list), Field(min_length=1)] = Field(
        description="Its columns, in the same order."
    )

    @model_validator(mode="after")
    def _same_number(self) -> DatabaseRelationship:
        if len(self.columns) != len(self.to_columns):
            raise mistake(
                f"'columns' has {len(self.columns)} entries but 'to_columns' has {len(self.to_columns)}",
                "List the columns in pairs.",
            )
        return self


class DatabaseFile(Section):
    """`dbt_like_configs/databases/<name>.yml`: one database, one partition."""

    version: int | None = Field(default=None, description="dbt's file version; accepted, not used.")
    profile: str | None = Field(default=None, description="Profile of the profiles file that says how to connect.")
    target: str | None = Field(
        default=None, description="Output of the profile; the profile's own `target` by default."
    )
    connection: dict[str, Any] | None = Field(
        default=None, description="The connection itself instead of a profile, written like a profile output."
    )
    database_name: str | None = Field(
        default=None, description="Database part of fully qualified names, instead of the name that the server reports."
    )
    schemas: Patterns = Field(default=Patterns(), description="Schemas to describe, by name.")
    entities: Patterns = Field(
        default=Patterns(), description="Tables and views to describe, by `table` or `schema.table`."
    )
    columns: HiddenColumns = Field(default=HiddenColumns(), description="Columns to describe, and columns to hide.")
    value_store: StoredColumns = Field(
        default=StoredColumns(), description="Exceptions from what the value store covers."
    )
    limits: Limits = Field(
        default=Limits(), description="Limits of this database; what is not given comes from `project.yml`."
    )
    privacy: Privacy = Field(default=Privacy(), description="Sensitive columns of this database.")
    publish: Publish = Field(default=Publish(), description="Publish target of this database.")
    schedule: Schedule = Field(default=Schedule(), description="When this database is refreshed by itself.")
    probe: Probe = Field(default=Probe(), description="How changes of the schema are noticed.")
    drift: Drift = Field(default=Drift(), description="How changes of this database's schema are judged.")
    dbt_manifest: str | None = Field(
        default=None,
        description="A dbt `manifest.json` whose descriptions and tests are read; relative to the project folder.",
    )
    sources: tuple[Source, ...] = Field(
        default=(), description="dbt `sources:` blocks: what people know about the tables."
    )
    inference: Inference = Field(default=Inference(), description="How undeclared keys of this database are inferred.")
    model: DatabaseModel = Field(default=DatabaseModel(), description="Exceptions from the project's language model.")
    graph: Graph = Field(default=Graph(), description="The knowledge graph of this database.")
    search: DatabaseSearch = Field(default=DatabaseSearch(), description="Exceptions from the project's search.")
    relationships: tuple[DatabaseRelationship, ...] = Field(
        default=(),
        description="Foreign keys that the database does not declare, also composite and across schemas; an inferred "
        "one that is listed here is confirmed.",
    )
    relationships_rejected: tuple[DatabaseRelationship, ...] = Field(
        default=(), description="Relationships that are none: they are never inferred again."
    )
