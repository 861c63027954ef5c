"""Keeps values of withheld columns out of what stages leave behind, and ready for the gate to look for."""

from __future__ import annotations

import json
from dataclasses import replace

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import FRAME_SCHEMAS, Catalog
from dictionary_pipeline.config.resolved import DatabaseConfig
from dictionary_pipeline.errors import StateMismatch
from dictionary_pipeline.handover import verdicts_from
from dictionary_pipeline.jsontext import leaves
from dictionary_pipeline.publishing.previous import read_previous
from dictionary_pipeline.publishing.scrub import scrub_catalog
from dictionary_pipeline.publishing.sealed import Sealed, load_sealed, seal
from dictionary_pipeline.sampling.collect import HIDDEN_VALUES
from dictionary_pipeline.sampling.privacy import Policy, hidden_of, known_sensitivity
from dictionary_pipeline.sampling.sample import SampleResult
from dictionary_pipeline.sampling.successors import with_successors
from dictionary_pipeline.state import StageState
from dictionary_pipeline.store import Store

_NAME = ["schema", "table", "column"]
_DECLARED = ("enum", "domain", "check")
"""Origins of allowed values that the catalog tells."""


def policy_of(config: DatabaseConfig, catalog: Catalog, store: Store) -> Policy:
    """The privacy policy, which follows withheld columns to other names.

    Raises:
        StoreError: what is published cannot be read.
    """
    previous = read_previous(store)
    return with_successors(Policy(config), catalog, previous.columns if previous else None)


def scrub_known(catalog: Catalog, config: DatabaseConfig, store: Store, samples: StageState | None) -> Catalog:
    """Scrub a fresh catalog of what is known to be withheld before this run samples anything.

    Args:
        samples: What the last sampling left, with its verdicts.
    """
    sensitivity = known_sensitivity(catalog, policy_of(config, catalog, store), verdicts_from(samples))
    sealed = load_sealed(store)
    return scrub_catalog(catalog, sensitivity, sealed.of(hidden_of(sensitivity)) if sealed else None)


def sealed_values(store: Store, result: SampleResult, previous: SampleResult | None) -> Sealed:
    """The values of all withheld and masked columns under the database's seal.

    Args:
        previous: Last samples: they show what is known of a column that is no longer read.
    """
    hidden = hidden_of(result.sensitivity).select(_NAME)
    values = result.hidden_values
    if previous is not None:
        unread = hidden.join(values, on=_NAME, how="anti")
        values = pl.concat([values, _shown(previous, unread)])
    return seal(values, hidden, load_sealed(store))


def without_scrubbed_lists(result: SampleResult, shown: Catalog) -> SampleResult:
    """Samples whose declared allowed values are those that the scrubbed catalog still declares."""
    declares = pl.col("allowed_values").is_not_null() | pl.col("enum_values").is_not_null()
    kept = shown.columns.filter(declares).select(*_NAME, is_declared=True)
    profiles = result.profiles.join(kept, on=_NAME, how="left", maintain_order="left")
    is_kept = ~pl.col("allowed_values_origin").is_in(_DECLARED) | pl.col("is_declared")
    lists = pl.when(is_kept).then(pl.col("allowed_values", "allowed_values_origin"))
    return replace(result, profiles=profiles.with_columns(lists).drop("is_declared"))


def _shown(samples: SampleResult, columns: pl.DataFrame) -> pl.DataFrame:
    """What samples show of some columns, as `sampling.collect.HIDDEN_VALUES`."""
    profiles = samples.profiles.join(columns, on=_NAME, how="semi")
    sampled = profiles.select(*_NAME, value="samples").explode("value").drop_nulls("value")
    texts = [(row[:3], leaf) for row in sampled.iter_rows() for leaf in leaves(json.loads(row[3]))]
    ends = pl.concat([profiles.select(*_NAME, value=end) for end in ("min", "max")]).drop_nulls("value")
    values = samples.values.join(columns, on=_NAME, how="semi").select(*_NAME, "value")
    return pl.concat([frames.from_rows([(*name, leaf) for name, leaf in texts], HIDDEN_VALUES), ends, values])


def require_sealed(store: Store, samples: str) -> Sealed:
    """The sealed values that belong to the current samples, by the hash of their state.

    Raises:
        StateMismatch: they are lost, so nobody could tell whether a bundle shows one of them.
    """
    sealed = load_sealed(store, samples)
    if sealed is None:
        raise StateMismatch(
            "what is needed to look for withheld values was lost",
            where=store.location,
            fix="Materialise dictionary/column_samples first, or run all stages.",
        )
    return sealed


def same_texts(one: Catalog, other: Catalog) -> bool:
    """Whether two catalogs of the same objects say the same."""
    return all(getattr(one, name).equals(getattr(other, name)) for name in FRAME_SCHEMAS)
