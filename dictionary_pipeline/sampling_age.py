"""When each table was sampled and what could have changed since: what `run --changed-only` need not read again.

This is kept beside the results of the stages, not in them, so that the clock moves nothing that is
published. Losing it costs a new sampling.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from dictionary_pipeline import __version__, jsontext
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.resolved import DatabaseConfig, SamplingLimits
from dictionary_pipeline.handover import SAMPLES
from dictionary_pipeline.sampling.marks import Marks, TableKey
from dictionary_pipeline.state import load_stage
from dictionary_pipeline.store import Store

KEY = ".state/sampled.json"
_FORMAT = 1
_BASIS_CHARACTERS = 24
_WITHOUT_EFFECT = ("max_age_hours", "max_connections", "max_warehouse_seconds")
"""Limits that change nothing about what is found in a table."""


class Sampled(NamedTuple):
    """The last sampling of a table."""

    at: str
    """ISO 8601, UTC; no two samplings of a table have the same."""
    basis: str
    """Hash of what the sampling depended on: structure, configuration, change mark."""


@dataclass(frozen=True)
class SamplingAge:
    """When the tables of one database were sampled; a table is missing when that failed."""

    tables: Mapping[TableKey, Sampled] = field(default_factory=dict)
    max_age_hours: float = SamplingLimits.max_age_hours
    """As configured at the last sampling."""

    def unchanged(self, bases: Mapping[TableKey, str], now: datetime, max_age_hours: float) -> frozenset[TableKey]:
        """Tables whose samples still hold.

        Args:
            bases: `sampling_bases` of now.
            now: The time.
            max_age_hours: Older samples are read again, whatever else is known.
        """
        return frozenset(
            key
            for key, sampled in self.tables.items()
            if bases.get(key) == sampled.basis
            and now - datetime.fromisoformat(sampled.at) < timedelta(hours=max_age_hours)
        )

    def after(self, read: Iterable[TableKey], bases: Mapping[TableKey, str], now: datetime) -> SamplingAge:
        """The same after a sampling that read some tables and kept others; tables of neither are forgotten.

        Args:
            read: Tables that were read without a problem.
            bases: `sampling_bases` of before the reading, of all tables read or kept.
            now: When the reading began.
        """
        new = dict.fromkeys(read, now.astimezone(UTC).isoformat())
        old = {key: sampled for key, sampled in self.tables.items() if key in bases}
        return replace(self, tables=old | {key: Sampled(at, bases[key]) for key, at in new.items()})

    @property
    def oldest(self) -> datetime | None:
        """When the sampling that is longest ago was; null when nothing is sampled."""
        return min((datetime.fromisoformat(sampled.at) for sampled in self.tables.values()), default=None)


def sampling_bases(catalog: Catalog, config: DatabaseConfig, marks: Marks) -> dict[TableKey, str]:
    """Hash of what the sampling of each table depends on, beside its age."""
    limits = {name: value for name, value in asdict(config.sampling).items() if name not in _WITHOUT_EFFECT}
    settings = jsontext.digest(
        [
            __version__,
            limits,
            asdict(config.value_store),
            asdict(config.privacy),
            sorted(config.withhold),
            sorted(config.allow),
        ]
    )
    lists = {
        (table.schema, table.table): [(column.name, column.allowed_values) for column in table.columns]
        for table in config.human.tables
        if any(column.allowed_values is not None for column in table.columns)
    }
    content = {
        (schema, table): [fingerprint, marks.told.get((schema, table))]
        for schema, table, fingerprint in catalog.tables.select("schema", "table", "fingerprint").iter_rows()
    }
    read = _read_by_views(catalog)
    # What a view shows moves with what it reads; that may lie outside the selection.
    below = {
        key: [[source, content.get(source) or marks.told.get(source)] for source in read.get(key, ())]
        for key in content
    }
    return {
        key: jsontext.digest([settings, *content[key], lists.get(key), *below[key]])[:_BASIS_CHARACTERS]
        for key in content
    }


def _read_by_views(catalog: Catalog) -> dict[TableKey, list[TableKey]]:
    """What each view reads, through other views too, as far as the engine's catalog records it."""
    direct: dict[TableKey, set[TableKey]] = {}
    pairs = catalog.lineage.select("view_schema", "view", "source_schema", "source_table").unique()
    for schema, view, source_schema, source in pairs.iter_rows():
        direct.setdefault((schema, view), set()).add((source_schema, source))
    found: dict[TableKey, list[TableKey]] = {}
    for key in direct:
        reached: set[TableKey] = set()
        waiting = [key]
        while waiting:
            new = direct.get(waiting.pop(), set()) - reached
            reached |= new
            waiting += new
        found[key] = sorted(reached)
    return found


def load_age(store: Store, samples: str) -> SamplingAge:
    """What is kept about the samples with this hash; empty when that was lost or belongs to others."""
    try:
        document = json.loads(store.read(KEY) or b"{}")
        if document.get("format") != _FORMAT or document["samples"] != samples:
            return SamplingAge()
        tables = {(schema, table): Sampled(at, basis) for schema, table, at, basis in document["tables"]}
        for sampled in tables.values():
            datetime.fromisoformat(sampled.at)
        return SamplingAge(tables, float(document["max_age_hours"]))
    except (ValueError, KeyError, TypeError, AttributeError):  # unreadable state is lost state
        return SamplingAge()


def save_age(store: Store, age: SamplingAge, samples: str) -> None:
    """Keep it together with the hash of the samples that it belongs to."""
    rows = [[*key, *sampled] for key, sampled in sorted(age.tables.items())]
    document = {"format": _FORMAT, "samples": samples, "max_age_hours": age.max_age_hours, "tables": rows}
    data = (jsontext.compact(document) + "\n").encode()
    if store.read(KEY) != data:
        store.write(KEY, data)


def samples_expire_at(store: Store) -> datetime | None:
    """When the oldest samples reach the age at which `run --changed-only` reads them again.

    The age is `sampling.max_age_hours` of the last run.

    Returns:
        Null when nothing is sampled, or what was known of it is lost.
    """
    state = load_stage(store, SAMPLES, only=())
    age = load_age(store, state.output) if state else SamplingAge()
    return age.oldest + timedelta(hours=age.max_age_hours) if age.oldest else None
