"""The publish protocol against a real folder: what readers see, whatever dies."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from unit.builders import make_catalog
from unit.publishing.bundles import make_config, make_inputs, shop, tree

from dictionary_pipeline.errors import ConfigurationError, LeaseHeld, StoreConflict, StoreError
from dictionary_pipeline.publishing.bundle import Bundle, build_bundle
from dictionary_pipeline.publishing.gc import gc
from dictionary_pipeline.publishing.lease import hold_lease
from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.publishing.mirror import MIRRORED_KEY
from dictionary_pipeline.publishing.overlay import OverlayStore
from dictionary_pipeline.publishing.previous import read_previous
from dictionary_pipeline.publishing.publish import PublishReport, plan_publish, publish
from dictionary_pipeline.store import Content, Store, StoredObject, Versioned

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _without_flushing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of small files: what a power cut does to a disk is not tested here."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


class PowerCut(BaseException):
    """Not an `Exception`: nothing in the product may catch it."""


class FailingStore:
    """Dies at the n-th call that changes the store, before or after the change."""

    def __init__(self, base: Store, dies_at: int, *, after: bool = False) -> None:
        self._base, self._left, self._after = base, dies_at, after

    @property
    def location(self) -> str:
        return self._base.location

    def _count(self, *, after: bool) -> None:
        if after is self._after:
            self._left -= 1
            if self._left == 0:
                raise PowerCut

    def read(self, key: str) -> bytes | None:
        return self._base.read(key)

    def read_versioned(self, key: str) -> Versioned | None:
        return self._base.read_versioned(key)

    def exists(self, key: str) -> bool:
        return self._base.exists(key)

    def create(self, key: str, content: Content) -> bool:
        self._count(after=False)
        created = self._base.create(key, content)
        self._count(after=True)
        return created

    def write(self, key: str, content: Content) -> None:
        self._count(after=False)
        self._base.write(key, content)
        self._count(after=True)

    def swap(self, key: str, data: bytes, etag: str | None) -> str:
        self._count(after=False)
        tag = self._base.swap(key, data, etag)
        self._count(after=True)
        return tag

    def list(self, prefix: str) -> Iterator[StoredObject]:
        return self._base.list(prefix)

    def delete(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._count(after=False)
            self._base.delete([key])
            self._count(after=True)


def make_bundle(folder: Path, tables: Iterable[str], text: str = "", database: str = "shop") -> Bundle:
    """A bundle of the named tables; `text` changes the content of every entry."""
    catalog = make_catalog(tables={f"s.{table}": ["id int", "name text"] for table in tables})
    definitions = {f"s.{table}": (text or "A table.", "human") for table in tables}
    values = {f"s.{table}.name": [(f"{table} {text}", 1)] for table in tables}
    inputs = make_inputs(catalog, definitions=definitions, values=values, config=make_config(database))
    return build_bundle(folder / f"{database}-{'-'.join(tables)}-{text}", inputs)


def put(
    store: Store, bundle: Bundle, *, run: str = "r1", at: float = 0, lease_store: Store | None = None
) -> PublishReport:
    """Publish; the lease is taken through `lease_store` so that faults hit the publish only."""
    with hold_lease(lease_store or store, owner=run) as lease:
        return publish(store, bundle, run_id=run, lease=lease, now=NOW + timedelta(seconds=at))


def read_set(root: Path) -> dict[str, str] | None:
    """What a reader of the manifest gets: path -> sha256 of its object; fails on a broken set."""
    manifest = root / "manifest.json"
    if not manifest.exists():
        return None
    found = {}
    for path, info in json.loads(manifest.read_bytes())["files"].items():
        content = (root / ".objects" / info["sha256"][:2] / info["sha256"]).read_bytes()
        assert (hashlib.sha256(content).hexdigest(), len(content)) == (info["sha256"], info["bytes"]), path
        found[path] = info["sha256"]
    return found


def hashes(bundle: Bundle) -> dict[str, str]:
    return {path: info.sha256 for path, info in bundle.files.items()}


def plain(root: Path) -> dict[str, str]:
    """Plain path -> sha256, without the manifest and what a killed writer could not finish."""
    return {
        path: hashlib.sha256(content).hexdigest()
        for path, (content, _) in tree(root).items()
        if path != "manifest.json" and "/.writing-" not in path
    }


def test_a_first_publish_writes_every_file_under_its_plain_path_and_its_hash(tmp_path: Path) -> None:
    bundle, root = build_bundle(tmp_path / "staging", shop()), tmp_path / "out"
    report = put(LocalStore(root), bundle)
    assert (report.status, report.objects_written, report.plain_written) == (
        "published",
        len(set(bundle.files.values())),
        len(bundle.files),
    )
    assert report.changes.added == tuple(bundle.files)
    assert read_set(root) == plain(root) == hashes(bundle)
    assert report.manifest_sha == hashlib.sha256((root / "manifest.json").read_bytes()).hexdigest()


def test_an_unchanged_publish_touches_no_file(tmp_path: Path) -> None:
    root = tmp_path / "out"
    put(LocalStore(root), build_bundle(tmp_path / "a", shop()))
    before = tree(root)
    report = put(LocalStore(root), build_bundle(tmp_path / "b", shop()), run="r2", at=3600)
    assert (report.status, report.objects_written, report.plain_written) == ("unchanged", 0, 0)
    assert tree(root) == before
    assert not (root / ".manifests").exists()


def test_only_what_changed_is_written_and_a_dropped_table_loses_its_plain_files(tmp_path: Path) -> None:
    root = tmp_path / "out"
    put(LocalStore(root), make_bundle(tmp_path, ["a", "b", "c"]))
    before = tree(root)
    report = put(LocalStore(root), make_bundle(tmp_path, ["a", "b"]), at=1)
    after = tree(root)
    assert report.changes.removed == ("column_value_store/shop.s.c.name.jsonl", "schema_store/shop.s.c.json")
    assert set(before) - set(after) == set(report.changes.removed)
    assert after["schema_store/shop.s.a.json"] == before["schema_store/shop.s.a.json"]
    assert (report.plain_deleted, report.plain_written) == (2, len(report.changes.changed))
    assert len(list((root / ".manifests").iterdir())) == 1


def test_files_of_others_in_the_folder_are_left_alone(tmp_path: Path) -> None:
    root = tmp_path / "out"
    foreign = {"README.md": b"mine", "schema_store/notes.txt": b"mine", "schema_store/shop.s.z.json": b"mine"}
    for path, content in foreign.items():
        LocalStore(root).write(path, content)
    put(LocalStore(root), make_bundle(tmp_path, ["a", "b"]))
    put(LocalStore(root), make_bundle(tmp_path, ["a"]), at=1)
    shutil.rmtree(root / ".state")
    put(LocalStore(root), make_bundle(tmp_path, ["a"], "new"), at=2)
    assert {path: (root / path).read_bytes() for path in foreign} == foreign
    assert not (root / "schema_store/shop.s.b.json").exists()


@pytest.mark.parametrize("after", [False, True], ids=["before_the_write", "after_the_write"])
@pytest.mark.parametrize("first", [True, False], ids=["first_publish", "second_publish"])
def test_death_at_any_write_leaves_a_whole_set_and_the_next_publish_completes(
    first: bool, after: bool, tmp_path: Path
) -> None:
    old, dying = make_bundle(tmp_path, ["a", "b"], "old"), make_bundle(tmp_path, ["b", "c"], "dying")
    new = make_bundle(tmp_path, ["a", "d"], "new")
    deaths = 0
    for step in range(1, 200):
        root = tmp_path / f"out{step}"
        store = LocalStore(root)
        if not first:
            put(store, old)
        try:
            put(FailingStore(store, step, after=after), dying, run="r2", at=1, lease_store=store)
        except PowerCut:
            deaths += 1
        else:
            assert read_set(root) == plain(root) == hashes(dying)
            break
        assert read_set(root) in (None if first else hashes(old), hashes(dying))
        for number, bundle in enumerate((dying, new) if step % 2 else (new,)):
            put(store, bundle, run="r3", at=2 + number)
            assert read_set(root) == plain(root) == hashes(bundle)
        shutil.rmtree(root)
    assert deaths >= 15


def test_two_deaths_in_a_row_leave_nothing_behind(tmp_path: Path) -> None:
    """Plain files of a bundle that was never mirrored whole are known and removed."""
    sets = [["a"], ["a", "b"], ["a", "c"], ["a", "d"]]
    bundles = [make_bundle(tmp_path, tables, str(number)) for number, tables in enumerate(sets)]
    for step in range(1, 40):
        root = tmp_path / f"out{step}"
        store = LocalStore(root)
        put(store, bundles[0])
        for number in (1, 2):
            try:
                put(FailingStore(store, step), bundles[number], at=number, lease_store=store)
            except PowerCut:
                continue
        put(store, bundles[3], at=3)
        assert read_set(root) == plain(root) == hashes(bundles[3]), step


def test_lost_state_costs_a_comparison_and_leaves_the_right_plain_files(tmp_path: Path) -> None:
    root = tmp_path / "out"
    put(LocalStore(root), make_bundle(tmp_path, ["a", "b"]))
    put(LocalStore(root), make_bundle(tmp_path, ["a"]), at=1)
    shutil.rmtree(root / ".state")
    (root / "schema_store/shop.s.b.json").write_bytes(b"left over")
    before = tree(root)
    report = put(LocalStore(root), make_bundle(tmp_path, ["a"]), at=2)
    assert (report.status, report.plain_written, report.plain_deleted) == ("unchanged", 0, 1)
    assert tree(root) == {path: content for path, content in before.items() if path != "schema_store/shop.s.b.json"}


def test_a_missing_or_cut_object_and_plain_file_are_restored(tmp_path: Path) -> None:
    root, bundle = tmp_path / "out", make_bundle(tmp_path, ["a", "b"])
    put(LocalStore(root), bundle)
    for path, sha256 in list(hashes(bundle).items())[:2]:
        (root / ".objects" / sha256[:2] / sha256).write_bytes(b"")
        (root / path).unlink()
    report = put(LocalStore(root), bundle, at=1)
    assert (report.status, report.objects_written, report.plain_written) == ("unchanged", 2, 2)
    assert read_set(root) == plain(root) == hashes(bundle)


def test_another_databases_bundle_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    root = tmp_path / "out"
    put(LocalStore(root), make_bundle(tmp_path, ["a"]))
    before = tree(root)
    with pytest.raises(ConfigurationError, match="holds the dictionary of database shop, not of other") as raised:
        put(LocalStore(root), make_bundle(tmp_path, ["a"], database="other"))
    assert raised.value.exit_code == 2 and tree(root) == before


def test_problems_and_completeness_alone_make_a_new_manifest(tmp_path: Path) -> None:
    root, bundle = tmp_path / "out", make_bundle(tmp_path, ["a"])
    put(LocalStore(root), bundle)
    partial = replace(bundle, facts=replace(bundle.facts, complete=False))
    assert put(LocalStore(root), partial, at=1).status == "published"
    probed = replace(partial, facts=replace(partial.facts, probe="another"))
    assert put(LocalStore(root), probed, at=2).status == "unchanged"


def test_the_previous_fingerprint_is_the_last_different_one(tmp_path: Path) -> None:
    root, bundle = tmp_path / "out", make_bundle(tmp_path, ["a"])
    seen = []
    for moment, (fingerprint, complete) in enumerate([("f1", True), ("f2", True), ("f2", False), ("f2", False)]):
        facts = replace(bundle.facts, schema_fingerprint=fingerprint, complete=complete)
        put(LocalStore(root), replace(bundle, facts=facts), at=moment)
        seen.append(json.loads((root / "manifest.json").read_bytes())["previous_fingerprint"])
    assert seen == [None, "f1", "f1", "f1"]


def test_a_conflict_with_our_own_write_is_no_loss_and_with_another_run_names_it(tmp_path: Path) -> None:
    class Repeating(FailingStore):
        """Loses the answer of the first manifest swap and tries again, as a client library does."""

        def swap(self, key: str, data: bytes, etag: str | None) -> str:
            if key == "manifest.json":
                self._base.swap(key, self.replacement or data, etag)
            return self._base.swap(key, data, etag)

        replacement: bytes | None = None

    base = LocalStore(tmp_path / "out")
    store = Repeating(base, 0)
    assert put(store, make_bundle(tmp_path, ["a"]), lease_store=base).status == "published"
    winner = (tmp_path / "out/manifest.json").read_bytes().replace(b'"r1"', b'"r9"')
    store.replacement = winner
    with pytest.raises(StoreConflict, match="run r9 published meanwhile"):
        put(store, make_bundle(tmp_path, ["b"]), at=1, lease_store=base)


def test_a_run_that_lost_its_lease_publishes_nothing(tmp_path: Path) -> None:
    store, bundle = LocalStore(tmp_path / "out"), make_bundle(tmp_path, ["a"])
    past = datetime(2020, 1, 1, tzinfo=UTC)
    with (
        hold_lease(store, owner="slow", clock=lambda: past) as lease,
        hold_lease(store, owner="fast"),
        pytest.raises(LeaseHeld, match="fast"),
    ):
        publish(store, bundle, run_id="slow", lease=lease, now=NOW)
    assert not (tmp_path / "out/manifest.json").exists()


def test_a_dry_run_tells_the_changes_and_writes_nothing(tmp_path: Path) -> None:
    root = tmp_path / "out"
    put(LocalStore(root), make_bundle(tmp_path, ["a", "b"]))
    before = tree(root)
    new = make_bundle(tmp_path, ["a", "c"])
    changes = plan_publish(LocalStore(root), new)
    assert changes.added == ("column_value_store/shop.s.c.name.jsonl", "schema_store/shop.s.c.json")
    assert changes.removed == ("column_value_store/shop.s.b.name.jsonl", "schema_store/shop.s.b.json")
    assert "catalog/tables.parquet" in changes.changed and "schema_store/shop.s.a.json" not in changes.changed
    with OverlayStore(LocalStore(root)) as overlay:
        assert put(overlay, new).changes == changes
    assert tree(root) == before


def test_the_previous_bundle_is_read_through_its_manifest_and_checked(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "out")
    assert read_previous(store) is None
    bundle = build_bundle(tmp_path / "staging", shop())
    put(store, bundle)
    previous = read_previous(store)
    assert previous is not None and previous.tables is not None
    assert previous.tables["table"].to_list() == ["customer", "order_line", "v_customer"]
    assert previous.ids is None
    store.write(bundle.files["catalog/columns.parquet"].object_key, b"changed")
    with pytest.raises(StoreError, match="missing or damaged"):
        _ = previous.columns


def test_estimates_stay_as_published_while_they_are_near(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "out")
    put(store, build_bundle(tmp_path / "a", shop(sampled_rows=50, distinct=100)))
    near = shop(sampled_rows=58, distinct=110, previous=read_previous(store))
    unsettled = shop(sampled_rows=58, distinct=110)
    kept, moved = build_bundle(tmp_path / "b", near), build_bundle(tmp_path / "c", unsettled)
    published = read_previous(store)
    assert published is not None
    path = "catalog/tables.parquet"
    assert kept.files[path] == published.manifest.files[path] != moved.files[path]


def test_gc_removes_only_old_objects_that_no_recent_manifest_names(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "out")
    bundles = [make_bundle(tmp_path, ["a"], str(number)) for number in range(31)]
    for number, bundle in enumerate(bundles):
        put(store, bundle, at=number)
    first_only = set(hashes(bundles[0]).values()) - {sha for b in bundles[1:] for sha in hashes(b).values()}
    with hold_lease(store, owner="gc") as lease:
        young = gc(store, lease, datetime.now(UTC))
        assert young.objects_deleted == 0
        report = gc(store, lease, datetime.now(UTC) + timedelta(days=2))
    assert report.objects_deleted == len(first_only) > 0
    assert not any((tmp_path / "out/.objects" / sha[:2] / sha).exists() for sha in first_only)
    assert read_set(tmp_path / "out") == hashes(bundles[-1])
    assert all(
        (tmp_path / "out/.objects" / sha[:2] / sha).exists()
        for bundle in bundles[1:]
        for sha in hashes(bundle).values()
    )


def test_gc_removes_nothing_while_a_manifest_is_broken(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "out")
    for number in range(3):
        put(store, make_bundle(tmp_path, ["a"], str(number)), at=number)
    archived = next((tmp_path / "out/.manifests").iterdir())
    archived.write_bytes(b"{")
    before = [item.key for item in store.list(".objects/")]
    with hold_lease(store, owner="gc") as lease, pytest.raises(StoreError, match="not a complete manifest"):
        gc(store, lease, datetime.now(UTC) + timedelta(days=2))
    assert [item.key for item in store.list(".objects/")] == before


def test_of_two_processes_that_swap_exactly_one_wins(tmp_path: Path) -> None:
    script = (
        "import sys, time\nfrom pathlib import Path\n"
        "from dictionary_pipeline.errors import StoreConflict\n"
        "from dictionary_pipeline.publishing.local import LocalStore\n"
        "store = LocalStore(Path(sys.argv[1]))\n"
        "print('ready', flush=True)\nsys.stdin.readline()\n"
        "for number in range(50):\n"
        "    while (seen := store.read_versioned(f'm{number}')) is None and not store.exists(f'go{number}'):\n"
        "        pass\n"
        "    try:\n        store.swap(f'm{number}', sys.argv[2].encode(), None)\n"
        "    except StoreConflict:\n        continue\n"
        "    print(number, flush=True)\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    racers = [
        subprocess.Popen([*command, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name in ("first", "second")
    ]
    store = LocalStore(tmp_path)
    for racer in racers:
        assert racer.stdout is not None and racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("\n")
        racer.stdin.flush()
    for number in range(50):
        store.write(f"go{number}", b"")
    wins = [racer.communicate(timeout=60)[0].split() for racer in racers]
    assert sorted(int(number) for won in wins for number in won) == list(range(50))
    for won, name in zip(wins, (b"first", b"second"), strict=True):
        assert all(store.read(f"m{number}") == name for number in won)


def test_sigkill_at_any_moment_leaves_a_whole_set(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom pathlib import Path\n"
        "sys.path[:0] = sys.argv[3:]\n"
        "from dictionary_pipeline.publishing.local import LocalStore\n"
        "from integration.test_publish_protocol import make_bundle, put\n"
        "bundles = [make_bundle(Path(sys.argv[2]), ['a', 'b', 'c'][:n], str(n)) for n in (1, 2, 3)]\n"
        "print('ready', flush=True)\n"
        "for number in range(10**6):\n"
        "    put(LocalStore(Path(sys.argv[1])), bundles[number % 3], run=f'r{number}', at=number)\n"
    )
    root = tmp_path / "out"
    folders = [str(Path(__file__).parents[1])]
    seen: list[dict[str, str] | None] = []
    put(LocalStore(root), make_bundle(tmp_path / "staging", ["a"], "first"), run="first", at=0)
    for number in range(4):
        command = [sys.executable, "-c", script, str(root), str(tmp_path / f"staging{number}"), *folders]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        time.sleep(0.15 + 0.037 * number)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        seen.append(read_set(root))
    assert all(seen)
    final = make_bundle(tmp_path, ["a"], "final")
    put(LocalStore(root), final, run="last", at=10**7)
    assert read_set(root) == plain(root) == hashes(final)
    state: dict[str, Any] = json.loads((root / MIRRORED_KEY).read_bytes())
    assert state["pending"] == []


@pytest.mark.parametrize("content", [b"junk", b"[]", b'{"manifest": ["a"]}', b'{"manifest": "a", "pending": [1]}'])
def test_damaged_mirror_state_is_lost_state(tmp_path: Path, content: bytes) -> None:
    store = LocalStore(tmp_path / "out")
    put(store, make_bundle(tmp_path, ["a", "b"], "1"), run="r1")
    store.write(MIRRORED_KEY, content)
    final = make_bundle(tmp_path, ["b", "c"], "2")
    put(store, final, run="r2")
    assert plain(tmp_path / "out") == hashes(final)


def test_published_parquet_is_readable_in_place(tmp_path: Path) -> None:
    put(LocalStore(tmp_path / "out"), build_bundle(tmp_path / "staging", shop()))
    assert pl.read_parquet(tmp_path / "out/catalog/tables.parquet")["fqn"].to_list()[0] == "shop.sales.customer"
