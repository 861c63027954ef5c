"""A run that could not start takes back the folder that only its lease had made."""

from __future__ import annotations

from pathlib import Path

import pytest

from dictionary_pipeline.publishing.lease import forget_released, hold_lease
from dictionary_pipeline.publishing.local import LocalStore


def fail_under_lease(store: LocalStore) -> None:
    with pytest.raises(ZeroDivisionError), hold_lease(store, owner="me"):
        raise ZeroDivisionError


def test_a_folder_made_for_the_lease_alone_goes(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "out")
    fail_under_lease(store)
    forget_released(store)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_was_there_stays_without_state(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    store = LocalStore(tmp_path)
    fail_under_lease(store)
    forget_released(store)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_an_empty_folder_that_was_there_stays(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    fail_under_lease(store)
    forget_released(store)
    assert list(tmp_path.iterdir()) == []


def test_state_of_an_earlier_run_stays(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.write(".state/stages/x.json", b"{}")
    fail_under_lease(store)
    forget_released(store)
    assert [item.key for item in store.list("")] == [".state/lease.json", ".state/stages/x.json"]


def test_the_lease_of_a_live_run_stays(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    with hold_lease(store, owner="somebody"):
        forget_released(store)
        assert store.exists(".state/lease.json")


def test_nothing_is_made_where_nothing_was(tmp_path: Path) -> None:
    forget_released(LocalStore(tmp_path / "out"))
    assert not (tmp_path / "out").exists()
