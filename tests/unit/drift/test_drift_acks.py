"""Acknowledgements, the published log and the mark of a held bundle, as read from a store."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dictionary_pipeline.drift.acks import ACKS_KEY, Ack, acknowledge, acknowledged, read_acks
from dictionary_pipeline.drift.holding import Pending, pending
from dictionary_pipeline.drift.model import Change
from dictionary_pipeline.drift.reading import published_entries
from dictionary_pipeline.drift.record import Detection, Entry, Step, entries_of
from dictionary_pipeline.errors import StoreConflict, StoreError
from dictionary_pipeline.publishing.local import LocalStore

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
CHANGES = (Change("column_removed", "s", "t", "c", severity="breaking"), Change("table_added", "s", "u"))


def entries(at: str = "2026-11-30T12:00:00Z", run_id: str = "run") -> tuple[Entry, ...]:
    return entries_of(CHANGES, Step("old", "new"), Detection(at, run_id), {})


def publish(store: LocalStore, months: dict[str, Sequence[Entry]], **more: object) -> None:
    files = {}
    for month, lines in months.items():
        content = "".join(entry.line() for entry in lines).encode()
        sha256 = hashlib.sha256(content).hexdigest()
        store.write(f".objects/{sha256[:2]}/{sha256}", content)
        files[f"drift/log-{month}.jsonl"] = {"sha256": sha256, "bytes": len(content)}
    store.write("manifest.json", json.dumps({"files": files, **more}).encode())


def test_an_acknowledgement_names_who_and_why_and_the_first_one_stays(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    assert acknowledge(store, ["b", "a"], "ann", "known", NOW) == (
        Ack("a", "ann", "known", "2026-11-30T12:00:00Z"),
        Ack("b", "ann", "known", "2026-11-30T12:00:00Z"),
    )
    assert [ack.key for ack in acknowledge(store, ["c", "a"], "bob", "me too", NOW)] == ["c"]
    assert (acknowledged(store), read_acks(store)["a"].author) == ({"a", "b", "c"}, "ann")


@pytest.mark.parametrize("content", [b"", b"[]", b'{"format": 1}', b'{"format": 9, "acknowledged": []}', b"\xff"])
def test_a_lost_or_damaged_record_only_makes_drift_unacknowledged(tmp_path: Path, content: bytes) -> None:
    store = LocalStore(tmp_path)
    assert acknowledged(store) == frozenset()
    store.write(ACKS_KEY, content)
    assert acknowledged(store) == frozenset()
    acknowledge(store, ["a"], "ann", "known", NOW)
    assert acknowledged(store) == {"a"}


class Busy(LocalStore):
    """A store in which somebody else always writes first."""

    losses = 0

    def swap(self, key: str, data: bytes, etag: str | None) -> str:
        if self.losses:
            self.losses -= 1
            acknowledge(LocalStore(Path(self.location)), [f"other{self.losses}"], "bob", "first", NOW)
        return super().swap(key, data, etag)


def test_two_people_who_acknowledge_at_once_lose_nothing(tmp_path: Path) -> None:
    store = Busy(tmp_path)
    store.losses = 3
    acknowledge(store, ["mine"], "ann", "known", NOW)
    assert acknowledged(store) == {"mine", "other0", "other1", "other2"}
    store.losses = 1_000
    with pytest.raises(StoreConflict, match="Run the command again"):
        acknowledge(store, ["more"], "ann", "known", NOW)


def test_the_log_is_read_oldest_first_and_from_a_moment_on(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    old, new = entries("2026-10-05T00:00:00Z"), entries("2026-11-30T12:00:00Z")
    publish(store, {"2026-11": new, "2026-10": old})
    assert published_entries(store) == (*old, *new)
    assert published_entries(store, "2026-10-06") == new
    assert published_entries(store, "2026-11-30T12:00:01Z") == ()
    assert published_entries(LocalStore(tmp_path / "nothing")) == ()


def test_months_before_the_moment_are_not_read(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    publish(store, {"2026-11": entries(), "2026-10": entries("2026-10-05T00:00:00Z")})
    document = json.loads((tmp_path / "manifest.json").read_bytes())
    sha256 = document["files"]["drift/log-2026-10.jsonl"]["sha256"]
    (tmp_path / ".objects" / sha256[:2] / sha256).unlink()
    assert published_entries(store, "2026-11-01") == entries()
    with pytest.raises(StoreError, match="missing or damaged"):
        published_entries(store)


@pytest.mark.parametrize("content", [b"{", b"[]", b"{}", b'{"files": 3}'])
def test_a_broken_manifest_is_an_error_and_not_an_empty_log(tmp_path: Path, content: bytes) -> None:
    store = LocalStore(tmp_path)
    store.write("manifest.json", content)
    with pytest.raises(StoreError, match="not a complete manifest"):
        published_entries(store)
    with pytest.raises(StoreError, match="not a complete manifest"):
        pending(store)


def test_the_mark_of_a_held_bundle_is_read_back(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    held = Pending("2026-11-30T12:00:00Z", "run", "new", entries())
    publish(store, {}, pending=held.as_json())
    assert pending(store) == held
    publish(store, {})
    assert pending(store) is None
    publish(store, {}, pending={"since": "x"})
    with pytest.raises(StoreError, match="held bundle is damaged"):
        pending(store)


def test_a_change_that_waits_keeps_its_detection_when_more_changes_arrive() -> None:
    waiting = entries("2026-11-01T00:00:00Z", "first")[:1]
    later = entries_of(CHANGES, Step("old", "newer"), Detection("2026-11-30T12:00:00Z", "second"), {}, waiting)
    assert later[0] == waiting[0]
    assert (later[1].run_id, later[1].new) == ("second", "newer")
    other_baseline = entries_of(CHANGES, Step("else", "newer"), Detection("2026-11-30T12:00:00Z", "2"), {}, waiting)
    assert other_baseline[0].run_id == "2"


def test_a_severity_configured_while_a_change_waits_counts() -> None:
    waiting = entries()[:1]
    changes = [replace(CHANGES[0], severity="safe", reason="configured")]
    (entry,) = entries_of(changes, Step("old", "newer"), Detection("2027-01-01T00:00:00Z", "2"), {}, waiting)
    assert asdict(entry) == {**asdict(waiting[0]), "severity": "safe", "reason": "configured"}
    assert entry.key == waiting[0].key
