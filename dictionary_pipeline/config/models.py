"""What the files of `dbt_like_configs/` may say. The descriptions are the configuration reference."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from dictionary_pipeline.config import schedule
from dictionary_pipeline.config.resolved import AutomationConfig, PathLimits, PublishTarget, SamplingLimits
from dictionary_pipeline.config.sources import Source

_SAMPLING = SamplingLimits()
_PATHS = PathLimits()
_PUBLISH = PublishTarget()
_AUTOMATION = AutomationConfig()


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Globs = Annotated[tuple[str, ...], BeforeValidator(_as_list)]
"""A list of patterns; a single one may stand alone."""
Count = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    """A mapping of the product's own: unknown keys are errors, a key without a value is not given."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, coerce_numbers_to_str=True)

    @model_validator(mode="before")
    @classmethod
    def _drop_empty(cls, data: Any) -> Any:
        return {key: value for key, value in data.items() if value is not None} if isinstance(data, dict) else data


class Publish(Section):
    """Where bundles go."""

    root: str = Field(
        default=_PUBLISH.root,
        description="Folder, relative to the project folder; a database's bundle goes to `<root>/<database>/`.",
    )
    single_file: bool = Field(
        default=_PUBLISH.single_file,
        description="Write `schema_store/entities.json` instead of one file per entity.",
    )


class Paths(Section):
    """Limits of `CompleteEntityRelationshipsGraph`."""

    max_paths: Count = Field(default=_PATHS.max_paths, description="Paths listed per table at most.")
    max_hops: Count = Field(default=_PATHS.max_hops, description="Joins in a path at most.")
    max_visited: Count = Field(default=_PATHS.max_visited, description="Steps of the search per table at most.")


class Limits(Section):
    """What sampling may cost."""

    enabled: bool = Field(
        default=_SAMPLING.enabled, description="Whether values are read at all; `false` reads the catalog only."
    )
    row_limit: Count = Field(default=_SAMPLING.row_limit, description="Rows read of a table at most.")
    table_seconds: Annotated[float, Field(gt=0)] = Field(
        default=_SAMPLING.table_seconds, description="Seconds that a table may take."
    )
    max_connections: Count = Field(
        default=_SAMPLING.max_connections, description="Connections open to the database at most."
    )
    max_values: Count = Field(default=_SAMPLING.max_values, description="Values per column in the value store at most.")
    value_store_views: bool = Field(
        default=_SAMPLING.value_store_views, description="Whether the value store covers views."
    )
    paths: Paths = Field(default=Paths(), description="Limits of the listed join paths.")


class Privacy(Section):
    """Which columns' values may be read and published."""

    withhold: Globs = Field(
        default=(), description="Columns never to be read: globs on `column`, `table.column` or `schema.table.column`."
    )
    allow: Globs = Field(
        default=(), description="Columns whose values may be published although their name looks sensitive; same globs."
    )


class Patterns(Section):
    """Globs, case-sensitive; exclusion wins."""

    include: Globs = Field(default=(), description="What to describe; everything when empty.")
    exclude: Globs = Field(default=(), description="What to leave out.")


class Automation(Section):
    """What Dagster does by itself."""

    nightly_cron: str = Field(
        default=_AUTOMATION.nightly_cron, description="When `nightly_refresh` runs: five cron fields."
    )
    timezone: str = Field(default=_AUTOMATION.timezone, description="Time zone of the schedule, e.g. `Europe/Berlin`.")
    nightly_enabled: bool = Field(default=_AUTOMATION.nightly_enabled, description="Whether the nightly schedule runs.")
    registry_sensor_enabled: bool = Field(
        default=_AUTOMATION.registry_sensor_enabled,
        description="Whether a new file under `databases/` becomes a partition by itself.",
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
        fault = schedule.cron_fault(value)
        if fault:
            raise mistake(fault, 'Write five fields in quotes, e.g. "0 2 * * *" for every night at two.')
        return value

    @field_validator("timezone")
    @classmethod
    def _is_timezone(cls, value: str) -> str:
        fix = schedule.timezone_fix(value)
        if fix:
            raise mistake(f"unknown time zone {value!r}", fix)
        return value


class ProjectFile(Section):
    """`dbt_like_configs/project.yml`: defaults for every database."""

    profiles_path: str = Field(
        default="dbt_like_configs/profiles.yml",
        description="Profiles file, relative to the project folder; `~/.dbt/profiles.yml` works too.",
    )
    publish: Publish = Field(default=Publish(), description="Where bundles go.")
    sampling: Limits = Field(default=Limits(), description="Default limits of every database.")
    privacy: Privacy = Field(default=Privacy(), description="Added to the patterns of every database.")
    automation: Automation = Field(default=Automation(), description="Schedules and sensors.")


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
    limits: Limits = Field(
        default=Limits(), description="Limits of this database; what is not given comes from `project.yml`."
    )
    privacy: Privacy = Field(default=Privacy(), description="Sensitive columns of this database.")
    publish: Publish = Field(default=Publish(), description="Publish target of this database.")
    dbt_manifest: str | None = Field(
        default=None,
        description="A dbt `manifest.json` whose descriptions and tests are read; relative to the project folder.",
    )
    sources: tuple[Source, ...] = Field(
        default=(), description="dbt `sources:` blocks: what people know about the tables."
    )
    relationships: tuple[DatabaseRelationship, ...] = Field(
        default=(), description="Foreign keys that the database does not declare, also composite and across schemas."
    )


def mistake(what: str, fix: str) -> PydanticCustomError:
    """An error of a validator that carries its own repair."""
    return PydanticCustomError("mistake", "{what}", {"what": what, "fix": fix})
