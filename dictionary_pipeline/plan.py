"""What a run would do, told from the catalog and what the last run left; no value is read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from dictionary_pipeline import frames, handover
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.model_settings import ModelBudget
from dictionary_pipeline.config.resolved import DatabaseConfig
from dictionary_pipeline.engines.base import Engine
from dictionary_pipeline.engines.registry import create_engine
from dictionary_pipeline.extracting import planned_extraction
from dictionary_pipeline.handover import DEFINITIONS, RELATIONS, SAMPLES
from dictionary_pipeline.introspection.snapshot import take_snapshot
from dictionary_pipeline.places import configured_database
from dictionary_pipeline.problems import Problem
from dictionary_pipeline.publishing.previous import read_previous
from dictionary_pipeline.publishing.value_policy import value_store_policy
from dictionary_pipeline.sampling.plan import Action, plan_sampling
from dictionary_pipeline.sampling.privacy import Policy, denied_columns, withheld_of
from dictionary_pipeline.sampling.verdicts import Judge
from dictionary_pipeline.state import load_stage
from dictionary_pipeline.store import Store
from dictionary_pipeline.terminal import complain, counted, say
from dictionary_pipeline.withholding import policy_of
from dictionary_pipeline.writing import PlannedRequests, planned_requests

_MOST_ROWS = 200
_TABLE = ["schema", "table"]


@dataclass(frozen=True)
class RunPlan:
    """What a run over one database would do."""

    database: str
    engine: str
    tables: int
    views: int
    columns: int
    sampling_statements: int
    """One for each table that is read; an empty page sample costs a second one."""
    verification_statements_at_most: int
    sensitive_columns: pl.DataFrame
    """schema, table, column, category, treatment, reason: known by name, policy or last verdict."""
    value_store: pl.DataFrame
    """schema, table, reason, stored, left_out: how many text columns go to the value store or not, and why."""
    definitions_to_renew: int
    """Tables that are new or whose structure changed since the last publish."""
    problems: tuple[Problem, ...]
    model: PlannedRequests | None = None
    """Null: no language model is configured."""
    model_limits: ModelBudget = field(default_factory=ModelBudget)

    def as_json(self) -> dict[str, object]:
        """The plan for machines (`--json`)."""
        counts = (
            "database engine tables views columns sampling_statements verification_statements_at_most "
            "definitions_to_renew"
        )
        return {
            **{name: getattr(self, name) for name in counts.split()},
            "model_requests": self.model.requests if self.model else 0,
            "model_tokens": self.model.tokens if self.model else 0,
            "model_cost": self.model.cost if self.model else None,
            "sensitive_columns": self.sensitive_columns.to_dicts(),
            "value_store": self.value_store.to_dicts(),
            "problems": [problem._asdict() for problem in self.problems],
        }

    def lines(self) -> Iterator[str]:
        """The plan for people."""
        found = f"{counted(self.tables, 'table')}, {counted(self.views, 'view')}, {counted(self.columns, 'column')}"
        yield f"{self.database} ({self.engine}): {found}"
        yield (
            f"sampling: {self.sampling_statements} statements, and {self.verification_statements_at_most} at most to "
            "verify value sets"
        )
        shown = self.sensitive_columns.filter(pl.col("treatment") == "allow").height
        yield f"sensitive columns known so far: {self.sensitive_columns.height}, of which {shown} are shown as they are"
        yield from _rows(self.sensitive_columns, "  {schema}.{table}.{column}: {treatment}, {category} ({reason})")
        yield f"value store: {int(self.value_store['stored'].sum())} text columns"
        yield from _rows(self.value_store, "  {schema}.{table}: {stored} stored, {left_out} left out ({reason})")
        yield f"definitions to renew: those of {self.definitions_to_renew} tables and views"
        if self.model is None:
            yield "model: none is configured"
        else:
            yield self.model.line(self.model_limits)


def plan_run(config: DatabaseConfig, store: Store) -> RunPlan:
    """Read the catalog and tell what a run would do.

    Raises:
        DictionaryError: the database cannot be reached or its catalog not be read.
    """
    engine = create_engine(config.connection)
    with engine.open() as session:
        catalog = take_snapshot(engine, session, config.selection)
    is_view = catalog.tables["kind"].is_in(["view", "materialized_view"])
    sensitivity = _known_sensitivity(catalog, config, store)
    statements, verifications = _statements(catalog, config, engine)
    return RunPlan(
        database=config.name,
        engine=catalog.identity.engine,
        tables=int((~is_view).sum()),
        views=int(is_view.sum()),
        columns=catalog.columns.height,
        sampling_statements=statements,
        verification_statements_at_most=verifications,
        sensitive_columns=sensitivity.select(*_TABLE, "column", "category", "treatment", "reason"),
        value_store=_value_store(catalog, config, store, sensitivity),
        definitions_to_renew=_stale(catalog, store),
        problems=catalog.problems,
        model=_model(config, store, catalog),
        model_limits=config.model.budget if config.model else ModelBudget(),
    )


def _model(config: DatabaseConfig, store: Store, catalog: Catalog) -> PlannedRequests | None:
    """What definitions and knowledge graph would ask the model."""
    definitions = planned_requests(config, store, catalog, DEFINITIONS)
    return definitions + planned_extraction(config, store, catalog) if definitions else None


def show_plan(name: str, project: Path | None, *, as_json: bool) -> int:
    """`plan`: what a run over a configured database would do."""
    place = configured_database(name, project)
    plan = plan_run(place.config, place.store)
    if as_json:
        say(json.dumps(plan.as_json()))
    else:
        for line in plan.lines():
            say(line)
    for problem in plan.problems[:_MOST_ROWS]:
        complain("problem", f"{problem.object}: {problem.message}. {problem.hint}")
    return 0


def _known_sensitivity(catalog: Catalog, config: DatabaseConfig, store: Store) -> pl.DataFrame:
    """`frames.SENSITIVITY` as far as names, the policy and the last run's verdicts tell."""
    policy = policy_of(config, catalog, store)
    state = load_stage(store, SAMPLES, only=("sensitivity", "profiles"))
    judge = Judge(catalog, policy, denied_columns(catalog, policy), handover.verdicts_from(state))
    if state:
        read = state.frames["profiles"].filter(pl.col("sampled_rows").is_not_null()).select(_TABLE).unique()
        for schema, table in catalog.tables.join(read, on=_TABLE, how="semi").select(_TABLE).iter_rows():
            judge.keep(schema, table)
    return judge.sensitivity()


def _statements(catalog: Catalog, config: DatabaseConfig, engine: Engine) -> tuple[int, int]:
    """Sampling statements, and the most that verifying value sets can add."""
    denied = denied_columns(catalog, Policy(config))
    plan = plan_sampling(catalog, denied, None, enabled=config.sampling.enabled, only=None)
    read = [table for table in plan.tables if table.action is Action.READ]
    verified = not engine.billed_by_scan if config.sampling.verify is None else config.sampling.verify
    scannable = [table for table in read if table.kind in ("table", "materialized_view")]
    return len(read), len(scannable) if verified else 0


def _value_store(catalog: Catalog, config: DatabaseConfig, store: Store, sensitivity: pl.DataFrame) -> pl.DataFrame:
    state = load_stage(store, RELATIONS, only=("roles",))
    roles = frames.fit(state.frames["roles"], frames.ROLES) if state else frames.empty(frames.ROLES)
    policy = value_store_policy(catalog, roles, withheld_of(sensitivity), config)
    if not state:
        # Without a run, roles are not known; `other` would sound as if they were.
        known = pl.col("reason").str.starts_with("its table is of role")
        reason = pl.when(known).then(pl.lit("the role of its table is not known yet")).otherwise("reason")
        policy = policy.with_columns(reason.alias("reason"))
    grouped = policy.group_by(*_TABLE, "reason").agg(
        pl.col("stored").sum().cast(pl.Int64()), left_out=(~pl.col("stored")).sum().cast(pl.Int64())
    )
    return grouped.sort(*_TABLE, "reason")


def _stale(catalog: Catalog, store: Store) -> int:
    previous = read_previous(store)
    published = previous.tables if previous else None
    now = catalog.tables.select(*_TABLE, "fingerprint")
    return now.height if published is None else now.join(published, on=now.columns, how="anti").height


def _rows(frame: pl.DataFrame, pattern: str) -> Iterator[str]:
    for row in frame.head(_MOST_ROWS).iter_rows(named=True):
        yield pattern.format(**row)
    if frame.height > _MOST_ROWS:
        yield f"  ... and {frame.height - _MOST_ROWS} more; --json lists all"
