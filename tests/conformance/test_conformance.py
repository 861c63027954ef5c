"""Every engine reads the same declared database as the same neutral catalog."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from conformance.model import FACTS, Declaration, EngineUnderTest
from conformance.neutral import NeutralCatalog, expected, neutral
from conformance.shop import EVERY_TYPE, EXPECTED_SAMPLES, HOSTILE, SHOP, many_tables
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.resolved import ConnectionSpec, DatabaseConfig
from dictionary_pipeline.engines.base import Engine, Session
from dictionary_pipeline.engines.registry import create_engine
from dictionary_pipeline.introspection.allowed_values import with_allowed_values
from dictionary_pipeline.sampling.sample import SampleResult, sample_tables

FEW, MANY = 20, 1_000


class CountingSession(Session):
    """Counts the statements that pass through."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.statements: list[str] = []

    def rows(self, sql: str, *, timeout_s: float | None = None) -> list[tuple[Any, ...]]:
        self.statements.append(sql)
        return self.session.rows(sql, timeout_s=timeout_s)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        with self.session.snapshot():
            yield

    def close(self) -> None:
        self.session.close()


@dataclass(frozen=True)
class Shop:
    """The declared shop as an engine holds and reads it."""

    under_test: EngineUnderTest
    declaration: Declaration
    spec: ConnectionSpec
    engine: Engine
    catalog: Catalog
    statements: tuple[str, ...]

    @property
    def found(self) -> NeutralCatalog:
        return neutral(self.catalog, self.engine.sqlglot_dialect, self.under_test.unsupported)

    @property
    def wanted(self) -> NeutralCatalog:
        return expected(self.declaration, self.under_test.unsupported)


def adapted(under_test: EngineUnderTest, declaration: Declaration) -> Declaration:
    return declaration.adapted(under_test.unsupported, only_schema=under_test.only_schema)


def read_counted(engine: Engine) -> tuple[Catalog, tuple[str, ...]]:
    with engine.open() as session, session.snapshot():
        counting = CountingSession(session)
        catalog = engine.read_catalog(counting)
    return catalog, tuple(counting.statements)


@pytest.fixture(scope="module")
def shop(engine_under_test: EngineUnderTest) -> Shop:
    declaration = adapted(engine_under_test, SHOP)
    spec = engine_under_test.build(declaration)
    engine = create_engine(spec)
    catalog, statements = read_counted(engine)
    return Shop(engine_under_test, declaration, spec, engine, catalog, statements)


@pytest.fixture(scope="module")
def samples(shop: Shop) -> SampleResult:
    catalog = with_allowed_values(shop.catalog, shop.engine.sqlglot_dialect)
    return sample_tables(shop.engine, catalog, DatabaseConfig("shop", shop.spec))


def test_every_left_out_fact_is_known_and_has_a_reason(engine_under_test: EngineUnderTest) -> None:
    unsupported: Mapping[str, str] = engine_under_test.unsupported
    assert unsupported.keys() <= FACTS.keys()
    assert all(unsupported.values())


@pytest.mark.parametrize("fact", NeutralCatalog._fields)
def test_declared_fact_comes_back(shop: Shop, fact: str) -> None:
    assert getattr(shop.found, fact) == getattr(shop.wanted, fact)


def test_nothing_is_reported_as_a_problem(shop: Shop) -> None:
    assert shop.catalog.problems == ()
    assert shop.catalog.complete


def test_native_types_are_kept(shop: Shop) -> None:
    assert all(shop.catalog.columns["data_type"].to_list())


def test_reading_twice_gives_equal_frames(shop: Shop) -> None:
    again, _ = read_counted(create_engine(shop.spec))
    for name in ("tables", "columns", "keys", "indexes", "foreign_keys", "checks", "lineage"):
        assert getattr(again, name).equals(getattr(shop.catalog, name)), name


def test_statements_stay_within_the_promised_number(shop: Shop) -> None:
    assert len(shop.statements) <= min(12, shop.under_test.max_catalog_statements)


def test_every_family_is_sampled_as_the_same_value(shop: Shop, samples: SampleResult) -> None:
    table = shop.declaration.table(shop.declaration.schemas[0], EVERY_TYPE.name)
    found = {
        column: [json.loads(text) for text in texts or []]
        for schema, name, column, texts in samples.profiles.select("schema", "table", "column", "samples").iter_rows()
        if (schema, name) == (table.schema, table.name)
    }
    skipped = {fact.partition(":")[2] for fact in shop.under_test.unsupported if fact.startswith("value:")}
    wanted = {
        column.name: [EXPECTED_SAMPLES[column.name]]
        for column in table.columns
        if column.name in EXPECTED_SAMPLES and column.family not in skipped
    }
    assert {name: found[name] for name in wanted} == wanted


def test_hostile_names_are_sampled_from_their_own_table(shop: Shop, samples: SampleResult) -> None:
    declared = [
        table for table in shop.declaration.tables if table.name in {each.name for each in HOSTILE} | {"pair", "Pair"}
    ]
    found = {
        (schema, table, column): texts
        for schema, table, column, texts in samples.profiles.select("schema", "table", "column", "samples").iter_rows()
    }
    for table in declared:
        for row in table.rows:
            column = table.columns[1].name
            assert found[table.schema, table.name, column] == [json.dumps(row[1], ensure_ascii=False)]


def test_sampling_leaves_no_problem(samples: SampleResult) -> None:
    assert samples.problems == ()
    assert set(samples.profiles["status"]) <= {"ok", "withheld"}


def test_statements_do_not_grow_with_tables(engine_under_test: EngineUnderTest) -> None:
    # Last, because a build may replace the database of the build before.
    counts = []
    for count in (FEW, MANY):
        spec = engine_under_test.build(adapted(engine_under_test, many_tables(count)))
        catalog, statements = read_counted(create_engine(spec))
        assert catalog.tables.height == count
        assert catalog.columns.height == 3 * count
        counts.append(len(statements))
    assert counts[0] == counts[1] <= engine_under_test.max_catalog_statements
