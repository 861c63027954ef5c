"""Hand edits beside kills and on a real Azurite: only what people wrote is kept, and it costs next to nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from integration.azure_stores import KEY_VARIABLE, Wire, open_on
from servers.azurite import AzuriteServer, running_azurite
from test_azure_store import assert_shows
from test_azure_store import put as put_on_azure
from test_publish_protocol import FailingStore, PowerCut, hashes, make_bundle, plain, put

from dictionary_pipeline.import_files import find_files
from dictionary_pipeline.publishing import publish
from dictionary_pipeline.publishing.hand_edits import BASES, KEPT
from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.publishing.mirror import MIRRORED_KEY, MirrorResult

FILE = "schema_store/shop.s.a.json"
EDITED = b'{"Entity": "a", "Definition": "Mine."}'


@pytest.fixture(autouse=True)
def _without_flushing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.mark.parametrize("after", [False, True], ids=["before_the_write", "after_the_write"])
def test_no_half_mirrored_set_is_taken_for_an_edit(after: bool, tmp_path: Path) -> None:
    old, dying, new = (make_bundle(tmp_path, ["a"], text) for text in ("old", "dying", "new"))
    for step in range(1, 200):
        root = tmp_path / f"out{step}"
        store = LocalStore(root)
        put(store, old)
        try:
            put(FailingStore(store, step, after=after), dying, at=1, lease_store=store)
        except PowerCut:
            bundle = dying if step % 2 else new
            assert put(store, bundle, at=2).hand_edited == (), step
            assert plain(root) == hashes(bundle)
        else:
            break
    assert step > 10


def test_an_edit_survives_a_kill_at_any_moment_of_the_publish_that_replaces_it(tmp_path: Path) -> None:
    old, new = make_bundle(tmp_path, ["a"], "old"), make_bundle(tmp_path, ["a"], "new")
    for step in range(1, 200):
        root = tmp_path / f"out{step}"
        store = LocalStore(root)
        put(store, old)
        (root / FILE).write_bytes(EDITED)
        try:
            put(FailingStore(store, step, after=True), new, at=1, lease_store=store)
        except PowerCut:
            put(store, new, at=2)
            assert (root / KEPT / FILE).read_bytes() == EDITED, step
            assert plain(root) == hashes(new)
        else:
            break
    assert step > 10


def test_a_run_that_was_overtaken_takes_no_newer_file_for_an_edit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, slow, newer = (make_bundle(tmp_path, ["a"], text) for text in ("old", "slow", "newer"))
    root = tmp_path / "out"
    put(LocalStore(root), old)
    mirror = publish.mirror

    def late(*arguments: Any, **options: Any) -> MirrorResult:
        monkeypatch.undo()
        put(LocalStore(root), newer, at=2)
        return mirror(*arguments, **options)

    monkeypatch.setattr(publish, "mirror", late)
    assert put(LocalStore(root), slow, at=1).hand_edited == ()
    assert plain(root) == hashes(newer) and not (root / KEPT).exists()


def test_kept_edits_are_bounded_and_the_oldest_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dictionary_pipeline.publishing.hand_edits._MOST_KEPT", 2)
    bundle = make_bundle(tmp_path, ["a", "b", "c"])
    root = tmp_path / "out"
    put(LocalStore(root), bundle)
    for number, table in enumerate("abc"):
        (root / f"schema_store/shop.s.{table}.json").write_bytes(EDITED)
        put(LocalStore(root), bundle, at=number + 1)
        kept = root / KEPT / f"schema_store/shop.s.{table}.json"
        os.utime(kept, (time.time() - 60 + number,) * 2)
    assert sorted(path.name for path in (root / KEPT / "schema_store").iterdir()) == ["shop.s.b.json", "shop.s.c.json"]
    assert sorted(path.name for path in (root / BASES / "schema_store").iterdir()) == ["shop.s.b.json", "shop.s.c.json"]


@pytest.fixture(scope="module")
def azurite() -> Iterator[AzuriteServer]:
    with running_azurite() as server:
        yield server


@pytest.fixture
def container(azurite: AzuriteServer, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(KEY_VARIABLE, azurite.connection_string)
    return azurite.create_container()


def test_on_azure_an_edit_is_kept_when_its_file_is_to_be_rewritten_and_can_be_imported(
    azurite: AzuriteServer, container: str, tmp_path: Path
) -> None:
    old, new = make_bundle(tmp_path, ["a", "b"], "old"), make_bundle(tmp_path, ["a", "b"], "new")
    store = open_on(azurite, container, "shop")
    put_on_azure(store, old)
    time.sleep(1.1)  # a blob's time has whole seconds
    before = store.read(FILE)
    store.write(FILE, EDITED)
    wire = Wire()
    unchanged = put_on_azure(open_on(azurite, container, "shop", transport=wire), old, at=1, lease_store=store)
    assert (unchanged.hand_edited, wire.requests <= 3) == ((), True), "nothing is rewritten, so nothing is looked at"
    assert put_on_azure(store, new, at=2).hand_edited == (FILE,)
    assert_shows(store, new)
    assert (store.read(KEPT + FILE), store.read(BASES + FILE)) == (EDITED, before)
    (file,) = find_files(Path(KEPT + FILE), store).schema
    assert (file.text.encode(), (file.base or "").encode()) == (EDITED, before)


def _die(*_: object) -> None:
    raise PowerCut


def test_on_azure_an_edit_survives_a_kill_before_its_file_is_rewritten(
    azurite: AzuriteServer, container: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = make_bundle(tmp_path, ["a", "b"], "old"), make_bundle(tmp_path, ["a", "b"], "new")
    store = open_on(azurite, container, "shop")
    put_on_azure(store, old)
    time.sleep(1.1)
    store.write(FILE, EDITED)
    with monkeypatch.context() as killed:
        killed.setattr(type(store), "write_untouched", _die)
        with pytest.raises(PowerCut):
            put_on_azure(store, new, at=1)
    assert put_on_azure(store, new, at=2).hand_edited == (FILE,)
    assert_shows(store, new)
    assert store.read(KEPT + FILE) == EDITED


def test_on_azure_looking_for_edits_takes_one_listing_of_each_folder(
    azurite: AzuriteServer, container: str, tmp_path: Path
) -> None:
    old, new = make_bundle(tmp_path, ["a", "b", "c"], "old"), make_bundle(tmp_path, ["a", "b", "c"], "new")
    store = open_on(azurite, container, "shop")
    put_on_azure(store, old)
    time.sleep(1.1)
    store.write(MIRRORED_KEY, store.read(MIRRORED_KEY) or b"")
    wire = Wire()
    assert (
        put_on_azure(open_on(azurite, container, "shop", transport=wire), new, at=2, lease_store=store).hand_edited
        == ()
    )
    assert wire.seen["GET"] <= 8, wire.seen
