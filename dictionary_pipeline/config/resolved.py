"""What the rest of the product sees of the configuration: plain frozen values, defaults applied.

The pydantic models that read the YAML live beside this module; nothing outside `config/` sees them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import time
from pathlib import Path
from typing import Any, Literal, NamedTuple

from dictionary_pipeline.config.alert_settings import AlertSettings
from dictionary_pipeline.config.drift_settings import DriftSettings
from dictionary_pipeline.config.graph_settings import GraphSettings
from dictionary_pipeline.config.model_settings import ModelSettings
from dictionary_pipeline.config.search_settings import SearchSettings


class Secret:
    """A value that never shows: not in repr, str, pickles, comparisons or messages.

    It is resolved (for example from the environment) only when `reveal` is called, which happens
    at the moment of connecting.
    """

    __slots__ = ("_resolve",)

    def __init__(self, resolve: Callable[[], str]) -> None:
        self._resolve = resolve

    @classmethod
    def literal(cls, value: str) -> Secret:
        """Hold a literal secret given in a file or a URL."""
        return cls(lambda: value)

    def reveal(self) -> str:
        """The value itself. Raises ConfigurationError when its variable is not set."""
        return self._resolve()

    def __repr__(self) -> str:
        return "Secret(***)"

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError("a Secret is not serialised")


@dataclass(frozen=True)
class ConnectionSpec:
    """How to reach one database.

    `options` holds dbt's profile keys without secrets (`host`, `port`, `user`, `dbname`, `path`,
    ...), or `url` for a SQLAlchemy URL whose password was moved to `secrets["password"]`.
    """

    type: str
    """Engine name: postgres | duckdb | sqlite | snowflake | databricks | sqlserver | mysql | generic."""
    options: Mapping[str, Any] = field(default_factory=dict)
    secrets: Mapping[str, Secret] = field(default_factory=dict)
    origin: str = ""
    """Where it was configured, for messages: `profiles.yml:12` or `the command line`."""


@dataclass(frozen=True)
class ColumnPatterns:
    """Globs on `column`, `table.column` or `schema.table.column`, ignoring case; exclusion wins."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True)
class Selection:
    """Which schemas and entities to describe. Globs, case-sensitive; exclusion wins.

    Entity globs match `table` or `schema.table`. Empty includes mean everything.
    """

    include_schemas: tuple[str, ...] = ()
    exclude_schemas: tuple[str, ...] = ()
    include_entities: tuple[str, ...] = ()
    exclude_entities: tuple[str, ...] = ()
    columns: ColumnPatterns = ColumnPatterns()
    """A column that is not kept is hidden: it appears nowhere, as if the table did not have it."""


@dataclass(frozen=True)
class SamplingLimits:
    """Bounds on what sampling may cost."""

    enabled: bool = True
    row_limit: int = 20_000
    """Rows read of a table at most."""
    table_seconds: float = 10.0
    """Time budget per table."""
    max_connections: int = 4
    max_values: int = 1_000
    """Values per column in the value store."""
    value_store_views: bool = False
    verify: bool | None = None
    """Look at all rows of a large table for values that its sample missed; null: where that is not billed."""
    verify_seconds: float = 60.0
    """Time that a run may spend on that, all tables together."""
    max_warehouse_seconds: float | None = None
    """Working time of a billed warehouse after which no further table is sampled; null: no limit."""
    max_age_hours: float = 168.0
    """Age at which a run over changed tables reads unchanged ones again too."""


@dataclass(frozen=True)
class PathLimits:
    """Limits of CompleteEntityRelationshipsGraph (contract 3.1)."""

    max_paths: int = 50
    max_hops: int = 10
    max_visited: int = 10_000


@dataclass(frozen=True)
class InferenceSettings:
    """How relationships are inferred that the database does not declare."""

    enabled: bool = True
    accept_at: float = 0.9
    """Confidence from which an inferred relationship enters the dictionary, marked as inferred."""
    list_at: float = 0.5
    """Confidence from which it is listed as a proposal."""
    probe: bool | None = None
    """Whether the database is asked for counts of found values; null: where that is not billed by scan."""


@dataclass(frozen=True)
class Approval:
    """A person took a text over instead of writing it."""

    origin: Literal["model", "derived"]
    """Whose text it is."""
    structure: str | None
    """Hash of the object's structure at that moment; null: not noted down."""


@dataclass(frozen=True)
class HumanColumn:
    """What people wrote about a column."""

    name: str
    description: str | None = None
    allowed_values: tuple[Any, ...] | None = None
    """JSON scalars; from `meta.allowed_values` or a dbt `accepted_values` test."""
    allowed_values_origin: Literal["dbt", "human"] | None = None
    value_synonyms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rejected: tuple[str, ...] = ()
    """Hashes of drafts that a person rejected."""
    approval: Approval | None = None
    is_in_dbt: bool = False
    """There is a description, but only dbt knows its text."""


@dataclass(frozen=True)
class HumanTable:
    """What people wrote about a table or view."""

    schema: str
    table: str
    description: str | None = None
    entity_name: str | None = None
    columns: tuple[HumanColumn, ...] = ()
    origin: str = ""
    """File and line, for messages."""
    rejected: tuple[str, ...] = ()
    """Hashes of drafts that a person rejected."""
    approval: Approval | None = None
    is_in_dbt: bool = False
    """There is a description, but only dbt knows its text."""


@dataclass(frozen=True)
class HumanKey:
    """A dbt `unique` test or unique combination: a declared unique key of origin dbt."""

    schema: str
    table: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class HumanRelationship:
    """A dbt `relationships` test or YAML relationship: declared truth of origin dbt."""

    from_schema: str
    from_table: str
    from_columns: tuple[str, ...]
    to_schema: str
    to_table: str
    to_columns: tuple[str, ...]
    origin: str = ""


@dataclass(frozen=True)
class HumanKnowledge:
    """All human knowledge about one database: its YAML first, then the dbt manifest."""

    tables: tuple[HumanTable, ...] = ()
    """At most one per (schema, table); merged per field, the database's YAML wins."""
    keys: tuple[HumanKey, ...] = ()
    relationships: tuple[HumanRelationship, ...] = ()
    rejected: tuple[HumanRelationship, ...] = ()
    """Relationships that are none, whatever names and data suggest."""


Treatment = Literal["deny", "withhold", "mask", "allow"]
"""What happens to a column's values: never read; read in memory but not shown; shown with letters and
digits replaced; shown."""
ReadTreatment = Literal["withhold", "mask", "allow"]


@dataclass(frozen=True)
class ColumnRule:
    """`privacy: columns:`: what people decided about the columns that match a pattern."""

    match: str
    """Glob on `column`, `table.column` or `schema.table.column`, ignoring case."""
    treat: Treatment


@dataclass(frozen=True)
class PrivacyPolicy:
    """What happens to sensitive columns: deny wins, then the first rule that fits, the category, the default."""

    default: ReadTreatment = "withhold"
    columns: tuple[ColumnRule, ...] = ()
    """A database's own rules first, then the project's."""
    categories: Mapping[str, ReadTreatment] = field(default_factory=dict)


class AzurePlace(NamedTuple):
    """A folder within a container."""

    container: str
    prefix: str = ""


AZURE_PLAIN = frozenset({"schema_store", "column_value_store", "site"})
"""Folders with plain paths on Azure: those that indexers and browsers ask for by name."""


@dataclass(frozen=True)
class AzureTarget:
    """Azure Blob Storage. Secrets stand in the environment; here are the names of their variables."""

    container: str
    prefix: str = ""
    account_url: str | None = None
    """Null: the connection string names it."""
    connection_string_env: str | None = None
    account_key_env: str | None = None
    sas_env: str | None = None
    """With none of the three, Entra ID is asked."""
    client_id: str | None = None
    """Of a user-assigned managed identity."""
    api_version: str | None = None
    schema_store: AzurePlace | None = None
    column_value_store: AzurePlace | None = None
    state: AzurePlace | None = None


@dataclass(frozen=True)
class PublishTarget:
    """Where bundles go: `<root>/<database>/`, or `root` itself for `build`."""

    root: str = "published"
    """Local folder (relative to the project folder), unless `azure` says otherwise."""
    single_file: bool = False
    """Write `schema_store/entities.json` instead of one file per entity."""
    azure: AzureTarget | None = None
    plain: tuple[str, ...] | None = None
    """Folders also written under their plain paths; null: what the kind of store suggests."""

    @property
    def plain_folders(self) -> frozenset[str] | None:
        """Folders also written under their plain paths; null: all."""
        if self.plain is None:
            return AZURE_PLAIN if self.azure else None
        return frozenset(folder.strip("/") for folder in self.plain)


class ProbeWindow(NamedTuple):
    """A part of the day, across midnight when it ends before it starts; the end is not in it."""

    start: time
    end: time
    timezone: str


@dataclass(frozen=True)
class ScheduleSettings:
    """When `nightly_refresh` is due for a database."""

    cron: str = "0 2 * * *"
    timezone: str = "UTC"


@dataclass(frozen=True)
class ProbeSettings:
    """How the sensor `schema_change` looks for changes."""

    enabled: bool | None = None
    """Null: where the engine's probe costs nothing."""
    every_minutes: int = 1
    window: ProbeWindow | None = None
    """Null: at any time."""


@dataclass(frozen=True)
class DatabaseConfig:
    """Everything a run needs to know about one database."""

    name: str
    """Partition key: `[a-z0-9][a-z0-9_-]*`."""
    connection: ConnectionSpec
    selection: Selection = Selection()
    sampling: SamplingLimits = SamplingLimits()
    value_store: ColumnPatterns = ColumnPatterns()
    """Text columns whose values go to the value store whatever their table's role or their length, or not at all."""
    paths: PathLimits = PathLimits()
    inference: InferenceSettings = InferenceSettings()
    model: ModelSettings | None = None
    """The language model that writes definitions; null: none is asked."""
    graph: GraphSettings = field(default_factory=GraphSettings)
    search: SearchSettings | None = None
    """The search service that gets the dictionary; null: none does."""
    human: HumanKnowledge = HumanKnowledge()
    publish: PublishTarget = PublishTarget()
    shared: PublishTarget = PublishTarget()
    """The project's own target, below which is kept what its databases share."""
    withhold: tuple[str, ...] = ()
    """Extra column globs (`column`, `table.column` or `schema.table.column`) never to be read."""
    allow: tuple[str, ...] = ()
    """Column globs whose values may be published although they look sensitive."""
    privacy: PrivacyPolicy = PrivacyPolicy()
    probe: ProbeSettings = ProbeSettings()
    schedule: ScheduleSettings = ScheduleSettings()
    drift: DriftSettings = field(default_factory=DriftSettings)
    file: Path | None = None
    """The database's YAML file; null where there is none."""
    fqn_database: str | None = None
    """Overrides the database part of FQNs."""
    warnings: tuple[str, ...] = ()
    """Said once per run, e.g. a literal secret in a file; file and line included."""


@dataclass(frozen=True)
class AutomationConfig:
    """`project.yml automation:`."""

    nightly_cron: str = ScheduleSettings.cron
    timezone: str = ScheduleSettings.timezone
    nightly_enabled: bool = True
    registry_sensor_enabled: bool = True
    schema_change_enabled: bool = True
    max_concurrent_runs: int = 4
    max_runs_per_server: int = 2


@dataclass(frozen=True)
class InvalidDatabase:
    """A database file that could not be used; its partition is kept and this is reported."""

    name: str
    file: Path
    error: str


@dataclass(frozen=True)
class Project:
    """A whole `dbt_like_configs/`."""

    folder: Path
    """The project folder, i.e. the parent of `dbt_like_configs/`; relative paths start here."""
    databases: Mapping[str, DatabaseConfig] = field(default_factory=dict)
    invalid: tuple[InvalidDatabase, ...] = ()
    automation: AutomationConfig = AutomationConfig()
    publish: PublishTarget = PublishTarget()
    alerts: AlertSettings = field(default_factory=AlertSettings)
    search: SearchSettings | None = None
    """Of all databases but those that opt out; null: none is configured."""
