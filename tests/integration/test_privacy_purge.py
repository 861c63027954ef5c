"""A column that is newly hidden disappears from the whole store, whatever dies at whatever point."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from privacy_probes import holders
from test_publish_protocol import FailingStore, PowerCut, put, read_set
from unit.builders import make_catalog
from unit.publishing.bundles import make_inputs

from dictionary_pipeline.publishing.bundle import Bundle, build_bundle
from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.publishing.purge import MARKER_KEY

SECRET = "bob@shop.example"


@pytest.fixture(autouse=True)
def _without_flushing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)


class Failing(FailingStore):
    def sweep(self) -> None:
        self._base.sweep()


def bundle(folder: Path, *, treat: str | None = None, text: str = "", column: str | None = "mail") -> Bundle:
    """A bundle that shows an address unless its column is treated; `column` null: it has no such column."""
    shown = column is not None and treat in (None, "allow")
    catalog = make_catalog(tables={"s.t": ["id int", *([f"{column} text"] if column else [])]})
    name = f"s.t.{column}"
    inputs = make_inputs(
        catalog,
        samples={name: [f'"{SECRET}"']} if shown else {name: ['"aaa@aaaa.aaaaaaa"']} if treat == "mask" else {},
        values={name: [(SECRET, 1)]} if shown else {},
        treated={name: treat} if treat else {},
        definitions={"s.t": (text or "A table.", "human")},
    )
    return build_bundle(folder / f"staged-{treat}-{text}-{column}", inputs)


def shown_before(root: Path, staging: Path) -> LocalStore:
    store = LocalStore(root)
    put(store, bundle(staging))
    put(store, bundle(staging, text="changed"), at=1)
    assert len(holders(root, SECRET)) >= 4
    return store


@pytest.mark.parametrize("treat", ["deny", "withhold", "mask"])
def test_everything_older_goes_in_the_same_publish(treat: str, tmp_path: Path) -> None:
    root = tmp_path / "out"
    store = shown_before(root, tmp_path)
    report = put(store, bundle(tmp_path, treat=treat), at=2)
    assert report.objects_purged > 0
    assert holders(root, SECRET) == []
    assert not list((root / ".manifests").iterdir())
    assert not (root / MARKER_KEY).exists()
    assert read_set(root)
    assert put(store, bundle(tmp_path, treat=treat, text="later"), at=3).objects_purged == 0
    assert len(list((root / ".manifests").iterdir())) == 1


@pytest.mark.parametrize("after", [False, True])
def test_a_purge_that_died_at_any_write_is_finished_by_the_next_publish(after: bool, tmp_path: Path) -> None:
    hidden = bundle(tmp_path, treat="withhold")
    for step in range(1, 1_000):
        root = tmp_path / f"out{step}"
        store = shown_before(root, tmp_path)
        try:
            put(Failing(store, step, after=after), hidden, at=2, lease_store=store)
        except PowerCut:
            assert read_set(root)
        else:
            assert step > 10
            break
        put(store, hidden, at=3)
        assert holders(root, SECRET) == [], step
        assert not (root / MARKER_KEY).exists()
        assert read_set(root)


def test_what_a_killed_writer_left_unfinished_goes_too(tmp_path: Path) -> None:
    root = tmp_path / "out"
    store = shown_before(root, tmp_path)
    for folder in (".objects/ab", ".state/stages/column_samples", "schema_store"):
        (root / folder).mkdir(parents=True, exist_ok=True)
        (root / folder / ".writing-0123").write_text(SECRET)
    put(store, bundle(tmp_path, treat="withhold"), at=2)
    assert holders(root, SECRET) == []


def test_state_that_can_be_recomputed_goes_and_what_is_needed_stays(tmp_path: Path) -> None:
    root = tmp_path / "out"
    store = shown_before(root, tmp_path)
    store.write(".state/cache/answers.json", SECRET.encode())
    store.write(".state/stages/column_samples.json", b"{}")
    put(store, bundle(tmp_path, treat="withhold"), at=2)
    left = {item.key for item in store.list(".state/")}
    assert ".state/cache/answers.json" not in left
    assert {".state/stages/column_samples.json", ".state/mirrored"} <= left


def test_a_column_that_was_shown_by_an_older_bundle_only_is_purged_too(tmp_path: Path) -> None:
    root = tmp_path / "out"
    store = shown_before(root, tmp_path)
    put(store, bundle(tmp_path, column=None), at=2)
    assert holders(root, SECRET)
    assert put(store, bundle(tmp_path, treat="withhold"), at=3).objects_purged > 0
    assert holders(root, SECRET) == []


def test_history_stays_while_nothing_is_newly_hidden(tmp_path: Path) -> None:
    root = tmp_path / "out"
    store = LocalStore(root)
    put(store, bundle(tmp_path, treat="withhold"))
    assert put(store, bundle(tmp_path, treat="mask", text="x"), at=1).objects_purged == 0
    assert put(store, bundle(tmp_path, treat="allow"), at=2).objects_purged == 0
    assert put(store, bundle(tmp_path, treat="allow", column="other"), at=3).objects_purged == 0
    assert put(store, bundle(tmp_path, treat="withhold", column="new"), at=4).objects_purged == 0
    assert len(list((root / ".manifests").iterdir())) == 4
