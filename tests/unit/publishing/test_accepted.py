"""A bundle in which nothing was found is not searched again as long as nothing that matters has changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dictionary_pipeline.problems import Problem
from dictionary_pipeline.publishing import verify
from dictionary_pipeline.publishing.bundle import Bundle, Stub, build_bundle
from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.publishing.manifest import FileInfo
from dictionary_pipeline.publishing.sealed import Sealed, SealedColumn
from dictionary_pipeline.publishing.verify import remember_accepted, was_accepted
from unit.publishing.bundles import shop

COLUMN = ("sales", "customer", "password")
SEALED = Sealed(b"key", {COLUMN: SealedColumn(frozenset({b"12345678"}), {b"87654321": 2})})


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    return build_bundle(tmp_path / "staging", shop())


@pytest.fixture
def store(tmp_path: Path, bundle: Bundle) -> LocalStore:
    store = LocalStore(tmp_path / "store")
    assert not was_accepted(store, bundle, SEALED)
    remember_accepted(store, bundle, SEALED)
    return store


def test_the_same_files_under_the_same_seal_were_accepted(store: LocalStore, bundle: Bundle) -> None:
    again = Sealed(b"key", {COLUMN: SealedColumn(frozenset({b"12345678"}), {b"87654321": 2})})
    assert was_accepted(store, bundle, again)


@pytest.mark.parametrize(
    "sealed",
    [
        Sealed(b"key", {}),
        Sealed(b"other", SEALED.columns),
        Sealed(b"key", {COLUMN: SealedColumn(frozenset({b"12345678", b"x"}), {b"87654321": 2})}),
        Sealed(b"key", {COLUMN: SealedColumn(frozenset({b"12345678"}), {b"87654321": 3})}),
        Sealed(b"key", {(*COLUMN[:2], "pin"): SEALED.columns[COLUMN]}),
    ],
)
def test_another_seal_has_everything_searched(store: LocalStore, bundle: Bundle, sealed: Sealed) -> None:
    assert not was_accepted(store, bundle, sealed)


def test_whatever_else_is_looked_at_has_everything_searched(
    store: LocalStore, bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = Problem("sales.customer", "schema_snapshot", None, "text", "fix")
    path = next(iter(bundle.files))
    for other in (
        replace(bundle, files={**bundle.files, path: FileInfo("0" * 64, 1)}),
        replace(bundle, files={name: info for name, info in bundle.files.items() if name != path}),
        replace(bundle, facts=replace(bundle.facts, problems=(problem,))),
        replace(bundle, stubs=bundle.stubs | {Stub("other", "t", "other.t")}),
    ):
        assert not was_accepted(store, other, SEALED)
    monkeypatch.setattr(verify, "__version__", "another")
    assert not was_accepted(store, bundle, SEALED)
