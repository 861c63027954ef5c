"""Stage state: what damages it costs a recomputation, never an error or a wrong input."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from dictionary_pipeline.errors import StateMismatch
from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.state import load_stage, require_stages, save_stage

FRAME = pl.DataFrame({"table": ["a", "b"]})
POINTER = ".state/stages/schema_snapshot.json"


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path)


def save(store: LocalStore, frame: pl.DataFrame = FRAME) -> str:
    return save_stage(store, "schema_snapshot", {"tables": frame}, {"fingerprint": "f", "problems": []}, {}).output


def frame_files(folder: Path) -> list[Path]:
    return sorted((folder / ".state/stages/schema_snapshot").iterdir())


def test_a_stage_reads_back_what_it_saved(store: LocalStore) -> None:
    output = save(store)
    state = load_stage(store, "schema_snapshot")
    assert state is not None
    assert (state.output, state.facts["fingerprint"]) == (output, "f")
    assert state.frames["tables"].equals(FRAME)


def test_frames_that_were_replaced_are_removed(store: LocalStore, tmp_path: Path) -> None:
    save(store)
    save(store, FRAME.head(1))
    assert len(frame_files(tmp_path)) == 1


@pytest.mark.parametrize(
    "pointer",
    [b"", b"junk", b"[]", b"null", b"{}", b'{"format": 1}', b"\xff\xfe", b'{"format": 1, "output": "x", "files": 3}'],
)
def test_a_damaged_pointer_is_lost_state(store: LocalStore, pointer: bytes) -> None:
    save(store)
    store.write(POINTER, pointer)
    assert load_stage(store, "schema_snapshot") is None


def test_a_pointer_whose_facts_were_edited_is_lost_state(store: LocalStore) -> None:
    save(store)
    text = store.read(POINTER)
    assert text is not None
    store.write(POINTER, text.replace(b'"fingerprint": "f"', b'"fingerprint": "g"'))
    assert load_stage(store, "schema_snapshot") is None


@pytest.mark.parametrize("content", [None, b"", b"junk"])
def test_a_damaged_frame_is_lost_state_and_the_next_save_puts_it_right(
    store: LocalStore, tmp_path: Path, content: bytes | None
) -> None:
    save(store)
    [file] = frame_files(tmp_path)
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    assert load_stage(store, "schema_snapshot") is None
    save(store)
    assert load_stage(store, "schema_snapshot") is not None


def test_a_missing_stage_is_named(store: LocalStore) -> None:
    with pytest.raises(StateMismatch, match="Materialise dictionary/schema_snapshot first"):
        require_stages(store, "schema_snapshot")


def test_a_stage_computed_from_an_older_one_is_named(store: LocalStore) -> None:
    output = save(store)
    save_stage(store, "column_samples", {"profiles": FRAME}, {}, {"schema_snapshot": output})
    save(store, FRAME.head(1))
    with pytest.raises(StateMismatch, match="Materialise dictionary/column_samples first"):
        require_stages(store, "schema_snapshot", "column_samples")
