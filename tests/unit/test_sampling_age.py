"""What keeps samples from being read again, and what does not."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import polars as pl
import pytest

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import Catalog, Identity
from dictionary_pipeline.config.resolved import (
    ColumnPatterns,
    ColumnRule,
    ConnectionSpec,
    DatabaseConfig,
    HumanColumn,
    HumanKnowledge,
    HumanTable,
    PrivacyPolicy,
    SamplingLimits,
)
from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.sampling.marks import Marks
from dictionary_pipeline.sampling_age import (
    KEY,
    Sampled,
    SamplingAge,
    load_age,
    samples_expire_at,
    sampling_bases,
    save_age,
)

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
A, B = ("app", "a"), ("app", "b")
CONFIG = DatabaseConfig("db", ConnectionSpec("postgres", {}))
LISTED = HumanKnowledge((HumanTable(*A, columns=(HumanColumn("x", allowed_values=("on", "off")),)),))


def catalog(fingerprint: str = "f") -> Catalog:
    rows = [(*name, "table", None, 10, 8192, None, True, fingerprint) for name in (A, B)]
    empty = {name: frames.empty(getattr(frames, name.upper())) for name in ("columns", "keys", "indexes", "checks")}
    return Catalog(
        Identity("postgres"),
        tables=frames.from_rows(rows, frames.TABLES),
        foreign_keys=frames.empty(frames.FOREIGN_KEYS),
        lineage=frames.empty(frames.LINEAGE),
        **empty,
    )


BASES = sampling_bases(catalog(), CONFIG, Marks({A: "1"}))


def test_structure_rows_and_settings_change_the_basis() -> None:
    others = [
        sampling_bases(catalog("g"), CONFIG, Marks({A: "1"})),
        sampling_bases(catalog(), CONFIG, Marks({A: "2"})),
        sampling_bases(catalog(), CONFIG, Marks({})),
        sampling_bases(catalog(), replace(CONFIG, human=LISTED), Marks({A: "1"})),
    ] + [
        sampling_bases(catalog(), replace(CONFIG, **changes), Marks({A: "1"}))
        for changes in (
            {"sampling": SamplingLimits(row_limit=7)},
            {"sampling": SamplingLimits(verify=False)},
            {"value_store": ColumnPatterns(include=("x",))},
            {"withhold": ("x",)},
            {"allow": ("x",)},
            {"privacy": PrivacyPolicy(columns=(ColumnRule("x", "mask"),))},
            {"privacy": PrivacyPolicy(categories={"EMAIL_ADDRESS": "allow"})},
        )
    ]
    assert len({bases[A] for bases in [BASES, *others]}) == len(others) + 1


def test_a_change_of_one_table_leaves_the_basis_of_others() -> None:
    assert sampling_bases(catalog(), CONFIG, Marks({A: "2"}))[B] == BASES[B]
    assert sampling_bases(catalog(), replace(CONFIG, human=LISTED), Marks({}))[B] == BASES[B]


def test_growth_and_descriptions_change_no_basis() -> None:
    grown = replace(catalog(), tables=catalog().tables.with_columns(row_estimate=pl.lit(99, pl.Int64)))
    described = HumanKnowledge((HumanTable(*A, description="Text", columns=(HumanColumn("x", "Text"),)),))
    assert sampling_bases(grown, replace(CONFIG, human=described), Marks({A: "1"})) == BASES


def test_samples_hold_until_their_age_is_reached_whatever_the_time_zone() -> None:
    age = SamplingAge().after([A, B], BASES, NOON)
    later = (NOON + timedelta(hours=24)).astimezone(timezone(timedelta(hours=9)))
    assert age.unchanged(BASES, later, 24.1) == {A, B}
    assert age.unchanged(BASES, later, 24) == frozenset()
    assert age.unchanged({**BASES, A: "other"}, later, 48) == {B}
    assert age.unchanged({B: BASES[B]}, later, 48) == {B}


def test_tables_that_were_kept_keep_their_time_and_basis() -> None:
    first = SamplingAge().after([A, B], BASES, NOON)
    second = first.after([A], {A: "new", B: "new"}, NOON + timedelta(hours=1))
    assert second.tables == {
        A: Sampled("2026-05-01T13:00:00+00:00", "new"),
        B: Sampled("2026-05-01T12:00:00+00:00", BASES[B]),
    }
    assert second.oldest == NOON
    assert A not in second.after([], {B: "new"}, NOON).tables


def test_what_is_kept_belongs_to_one_set_of_samples(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    age = SamplingAge(max_age_hours=24).after([A, B], BASES, NOON)
    save_age(store, age, "samples")
    assert load_age(store, "samples") == age
    assert load_age(store, "other samples") == SamplingAge()
    assert samples_expire_at(store) is None, "there are no samples"


@pytest.mark.parametrize(
    "damaged",
    [b"", b"[]", b"{", b'{"format": 1, "samples": "s", "max_age_hours": 1, "tables": [["a", "b", "x", "y"]]}'],
)
def test_damaged_state_is_lost_state(tmp_path: Path, damaged: bytes) -> None:
    store = LocalStore(tmp_path)
    store.write(KEY, damaged)
    assert load_age(store, "s") == SamplingAge()
