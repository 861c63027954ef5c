from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from dictionary_pipeline.errors import StoreConflict, StoreError
from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.publishing.overlay import OverlayStore
from dictionary_pipeline.publishing.scoped import ScopedStore
from dictionary_pipeline.store import Store

KINDS = ("local", "scoped", "overlay")


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    base = LocalStore(tmp_path / "root")
    if request.param == "overlay":
        with OverlayStore(base) as overlay:
            yield overlay
    else:
        yield ScopedStore(base, "shop") if request.param == "scoped" else base


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def keys(store: Store, prefix: str = "") -> list[str]:
    return [item.key for item in store.list(prefix)]


def test_every_store_reads_back_what_it_wrote(store: Store, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"from a file")
    store.write("a/b.txt", b"one")
    store.write("a/c.txt", source)
    assert (store.read("a/b.txt"), store.read("a/c.txt"), store.read("a/d.txt")) == (b"one", b"from a file", None)
    assert (store.exists("a/b.txt"), store.exists("a"), store.exists("a/b.txt/c")) == (True, False, False)
    store.delete(["a/b.txt", "never/there", "a/c.txt/below"])
    assert store.read("a/b.txt") is None


def test_create_writes_only_what_is_absent(store: Store) -> None:
    assert store.create("x", b"first") is True
    assert store.create("x", b"second") is False
    assert store.read("x") == b"first"


def test_swap_needs_the_current_etag(store: Store) -> None:
    first = store.swap("m", b"1", None)
    with pytest.raises(StoreConflict):
        store.swap("m", b"2", None)
    second = store.swap("m", b"2", first)
    with pytest.raises(StoreConflict):
        store.swap("m", b"3", first)
    versioned = store.read_versioned("m")
    assert versioned is not None and versioned[:2] == (b"2", second)


def test_list_gives_keys_of_a_prefix_in_key_order_with_sizes(store: Store) -> None:
    for key in ("a/b", "a-b", "a/a", "ab/c", "b"):
        store.write(key, b"12")
    assert keys(store) == ["a-b", "a/a", "a/b", "ab/c", "b"]
    assert keys(store, "a/") == ["a/a", "a/b"]
    assert keys(store, "a") == ["a-b", "a/a", "a/b", "ab/c"]
    assert keys(store, "none/") == []
    assert {item.size for item in store.list("")} == {2}


def test_a_scoped_store_is_one_folder_of_its_base(tmp_path: Path) -> None:
    base = LocalStore(tmp_path)
    ScopedStore(base, "shop").write("a/b", b"1")
    base.write("shopping/c", b"2")
    assert (tmp_path / "shop/a/b").read_bytes() == b"1"
    assert keys(ScopedStore(base, "shop")) == ["a/b"]
    assert ScopedStore(base, "shop").location == f"{tmp_path}/shop"


def test_an_overlay_hides_deleted_objects_and_leaves_the_base_alone(tmp_path: Path) -> None:
    base = LocalStore(tmp_path / "base")
    for key in ("kept", "changed", "deleted"):
        base.write(key, b"old")
    with OverlayStore(base) as overlay:
        overlay.write("changed", b"new")
        overlay.write("added", b"new")
        overlay.delete(["deleted", "added"])
        assert keys(overlay) == ["changed", "kept"]
        assert (overlay.read("changed"), overlay.read("deleted")) == (b"new", None)
        assert overlay.create("deleted", b"again") and overlay.read("deleted") == b"again"
    assert {item.key: base.read(item.key) for item in base.list("")} == dict.fromkeys(
        ("changed", "deleted", "kept"), b"old"
    )


def test_overlays_of_one_folder_share_their_changes(tmp_path: Path) -> None:
    base = LocalStore(tmp_path / "base")
    base.write("gone", b"old")
    with OverlayStore(base, tmp_path / "dry") as first:
        first.write("x", b"new")
        first.delete(["gone"])
    with OverlayStore(base, tmp_path / "dry") as second:
        assert (second.read("x"), second.read("gone")) == (b"new", None)


def test_leftovers_of_a_killed_writer_are_not_listed_and_go_when_old(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.write("a/x", b"1")
    for name, age in (("young", 60), ("old", 7200)):
        leftover = tmp_path / f"a/.writing-{name}"
        leftover.write_bytes(b"half")
        os.utime(leftover, (time.time() - age, time.time() - age))
    assert keys(store) == ["a/x"]
    LocalStore(tmp_path).write("a/y", b"2")
    assert names(tmp_path / "a") == [".writing-young", "x", "y"]


def test_a_failed_write_leaves_the_old_content_and_no_temporary_file(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.write("a", b"old")
    with pytest.raises(StoreError):
        store.write("a", tmp_path / "missing source")
    assert names(tmp_path) == ["a"]
    assert store.read("a") == b"old"


def test_create_works_where_the_file_system_has_no_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    store = LocalStore(tmp_path)
    assert (store.create("a", b"1"), store.create("a", b"2"), store.read("a")) == (True, False, b"1")


def test_a_full_disk_is_one_clear_line_that_may_be_retried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fadvise", full, raising=False)
    with pytest.raises(StoreError, match=r"the disk is full\. Free some space") as raised:
        LocalStore(tmp_path).write("a", b"1")
    assert (raised.value.code, raised.value.retryable) == ("ENOSPC", True)
    assert str(tmp_path) in str(raised.value) and "\n" not in str(raised.value)
    assert names(tmp_path) == []


def test_a_file_in_place_of_the_folder_is_named_and_not_retried(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(StoreError, match="a file stands where a folder is needed") as raised:
        LocalStore(tmp_path / "out").write("a/b", b"1")
    assert raised.value.retryable is False and str(tmp_path / "out") in str(raised.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a second account to drop to")
def test_an_unwritable_folder_is_named_with_the_fix(tmp_path: Path) -> None:
    script = (
        "import os, sys\nfrom pathlib import Path\n"
        "from dictionary_pipeline.publishing.local import LocalStore\n"
        "from dictionary_pipeline.errors import StoreError\n"
        "os.seteuid(65534)\n"
        "try:\n    LocalStore(Path('/')).write('a', b'1')\n"
        "except StoreError as error:\n    print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == (
        "/: this account may not use this folder. Choose a folder that this account may read and write, "
        "or change its permissions.\n"
    )


def test_a_folder_that_cannot_be_read_is_an_error_and_not_an_empty_listing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = LocalStore(tmp_path)
    store.write("a/b", b"1")

    def refuse(path: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(StoreError, match="this account may not use this folder"):
        list(store.list(""))


@pytest.mark.parametrize("key", ["../x", "/x", "a//b", "a/../b", "", "."])
def test_keys_cannot_leave_the_root(key: str, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="not a key"):
        LocalStore(tmp_path / "root").write(key, b"1")


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="Linux's /proc tells which file is flushed")
def test_a_swap_flushes_what_was_written_before_it_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[str] = []
    real = os.fsync

    def record(descriptor: int) -> None:
        flushed.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        real(descriptor)

    monkeypatch.setattr(os, "fsync", record)
    store = LocalStore(tmp_path)
    store.create("a", b"1")
    store.write("b", b"2")
    store.write("deleted", b"3")
    store.delete(["deleted"])
    assert flushed == []
    store.swap("m", b"4", None)
    assert flushed[:2] == ["a", "b"] and flushed[-1] == tmp_path.name
    flushed.clear()
    store.swap("n", b"5", None)
    assert "a" not in flushed
