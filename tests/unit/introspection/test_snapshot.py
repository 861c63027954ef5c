from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from dictionary_pipeline.catalog import Catalog, Identity
from dictionary_pipeline.config.resolved import Selection
from dictionary_pipeline.engines.base import Capability, Engine, SampleRequest, Session
from dictionary_pipeline.errors import ConnectionFailed, NothingToDescribe, QueryTimeout
from dictionary_pipeline.introspection.snapshot import take_snapshot
from dictionary_pipeline.problems import Problem
from unit.builders import make_catalog

EVERYTHING = Selection()


class OneSnapshot(Session):
    """Knows whether a snapshot is open."""

    inside = False

    def rows(self, sql: str, *, timeout_s: float | None = None) -> list[tuple[Any, ...]]:
        raise AssertionError("introspection sends no SQL of its own")

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        self.inside = True
        yield
        self.inside = False

    def close(self) -> None:
        self.inside = False


class HandMade(Engine):
    """An engine whose catalog is given."""

    name: ClassVar[str] = "postgres"
    sqlglot_dialect: ClassVar[str] = "postgres"
    capabilities: ClassVar[frozenset[Capability]] = frozenset()

    def __init__(self, catalog: Catalog, probe: str | Exception | None = "7") -> None:
        self.catalog = catalog
        self.answer = probe

    @property
    def identity(self) -> Identity:
        return self.catalog.identity

    @property
    def server(self) -> str:
        return "db.internal"

    def connect(self) -> OneSnapshot:
        return OneSnapshot()

    def read_catalog(self, session: Session) -> Catalog:
        assert isinstance(session, OneSnapshot)
        assert session.inside
        return self.catalog

    def probe(self, session: Session) -> str | None:
        assert isinstance(session, OneSnapshot)
        assert session.inside
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def quote(self, identifier: str) -> str:
        return '"' + identifier.replace('"', '""') + '"'

    def sample_sql(self, request: SampleRequest) -> str:
        raise AssertionError("introspection reads no rows")


def snapshot(catalog: Catalog, selection: Selection = EVERYTHING, probe: str | Exception | None = "7") -> Catalog:
    engine = HandMade(catalog, probe)
    with engine.open() as session:
        return take_snapshot(engine, session, selection)


def shop() -> Catalog:
    return make_catalog(
        tables={"sales.orders": ["id integer", "state text"], "hr.person": ["id integer"]},
        checks=[("sales.orders", "state IN ('paid', 'new')")],
    )


def test_snapshot_is_read_at_one_moment_and_completed() -> None:
    taken = snapshot(shop())
    assert taken.probe == "7"
    assert taken.fingerprint is not None
    assert taken.tables["fingerprint"].null_count() == 0
    assert taken.columns["allowed_values"].to_list() == [None, None, ["new", "paid"]]
    assert taken.problems == ()


def test_fingerprint_covers_the_selection_only() -> None:
    selection = Selection(include_schemas=("hr",))
    wider = make_catalog(tables={"sales.orders": ["id bigint"], "hr.person": ["id integer"]})
    assert snapshot(shop(), selection).fingerprint == snapshot(wider, selection).fingerprint
    assert snapshot(shop()).fingerprint != snapshot(wider).fingerprint


def test_frames_are_sorted_whatever_order_the_engine_gives() -> None:
    mixed = replace(shop(), tables=shop().tables.reverse(), columns=shop().columns.reverse())
    assert snapshot(mixed).tables.equals(snapshot(shop()).tables)
    assert snapshot(mixed).columns.equals(snapshot(shop()).columns)


def test_unreadable_table_is_kept_and_named_with_the_grant_to_give() -> None:
    taken = snapshot(
        make_catalog(tables={"s.open": ["id integer"], 's.My "T"': ["id integer"]}, unreadable=['s.My "T"'])
    )
    assert taken.tables.height == 2
    (problem,) = taken.problems
    assert (problem.object, problem.stage) == ('s.My "T"', "schema_snapshot")
    assert 'GRANT SELECT ON "s"."My ""T"""' in problem.hint


def test_unreadable_table_that_the_engine_already_named_is_named_once() -> None:
    known = Problem("s.t", "schema_snapshot", "42501", "broken", "mend it")
    taken = snapshot(make_catalog(tables={"s.t": ["id integer"]}, unreadable=["s.t"], problems=[known]))
    assert taken.problems == (known,)


def test_failing_probe_is_a_problem_and_not_the_end() -> None:
    taken = snapshot(shop(), probe=QueryTimeout("The change signal took too long", code="57014"))
    assert taken.probe is None
    assert [(problem.object, problem.code) for problem in taken.problems] == [("shop", "57014")]


def test_lost_connection_while_probing_ends_the_stage() -> None:
    with pytest.raises(ConnectionFailed):
        snapshot(shop(), probe=ConnectionFailed("The server closed the connection"))


def test_empty_database_and_empty_selection_are_told_apart() -> None:
    with pytest.raises(NothingToDescribe, match="shop: the database has no table or view the account can see"):
        snapshot(make_catalog())
    with pytest.raises(NothingToDescribe, match="the selection excludes all 2 tables") as caught:
        snapshot(shop(), Selection(include_schemas=("sale",)))
    assert "Did you mean `sales`?" in str(caught.value)
    with pytest.raises(NothingToDescribe, match="excludes the only table"):
        snapshot(make_catalog(tables={"s.t": []}), Selection(exclude_entities=("*",)))
