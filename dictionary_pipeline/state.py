"""What a stage left for the next one, kept in the store under `.state/stages/`.

Every stage's state names the hashes of the states it was computed from, so that a stage never
mixes an old upstream with a new one: the mismatch is an error that names what to run first. Losing
the state costs a recomputation, never a wrong bundle.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from dictionary_pipeline import jsontext
from dictionary_pipeline.errors import StateMismatch
from dictionary_pipeline.store import Store

_FOLDER = ".state/stages"
_FORMAT = 1


@dataclass(frozen=True)
class StageState:
    """One stage's output as read back from the store."""

    stage: str
    output: str
    """Hash of frames and facts; equal content gives an equal hash."""
    inputs: Mapping[str, str]
    """Upstream stage -> the `output` it was computed from."""
    facts: Mapping[str, Any]
    """Small JSON values, e.g. the fingerprint or problem rows."""
    frames: Mapping[str, pl.DataFrame] = field(default_factory=dict)


def save_stage(
    store: Store, stage: str, frames: Mapping[str, pl.DataFrame], facts: Mapping[str, Any], inputs: Mapping[str, str]
) -> StageState:
    """Write frames create-only under their hash, then the pointer, then drop what it replaced."""
    files: dict[str, str] = {}
    for name, frame in sorted(frames.items()):
        buffer = io.BytesIO()
        frame.write_parquet(buffer, compression="zstd", statistics=False)
        content = buffer.getvalue()
        files[name] = f"{_FOLDER}/{stage}/{name}-{_hash(content)}.parquet"
        if not store.create(files[name], content) and store.read(files[name]) != content:
            store.write(files[name], content)  # damaged from outside, or by a power cut
    output = _output(files, facts)
    pointer = {"format": _FORMAT, "output": output, "inputs": dict(inputs), "files": files, "facts": dict(facts)}
    data, key = jsontext.pretty(pointer).encode(), f"{_FOLDER}/{stage}.json"
    if store.read(key) != data:
        store.write(key, data)
    kept = set(files.values())
    store.delete([item.key for item in store.list(f"{_FOLDER}/{stage}/") if item.key not in kept])
    return StageState(stage, output, dict(inputs), dict(facts), dict(frames))


def load_stage(store: Store, stage: str, *, only: Collection[str] | None = None) -> StageState | None:
    """Read a stage's state, or null when there is none that this version can use.

    State that is damaged is lost state: it is checked against its hashes, and computed again.

    Args:
        only: Names of the frames that are wanted; all by default.

    Raises:
        StoreError: the store cannot be read; that says nothing about the state.
    """
    raw = store.read(f"{_FOLDER}/{stage}.json")
    pointer = _parse(raw) if raw is not None else None
    if pointer is None:
        return None
    loaded: dict[str, pl.DataFrame] = {}
    for name, key in pointer["files"].items():
        if only is not None and name not in only:
            continue
        data = store.read(key)
        if data is None or _hash(data) not in key:
            return None
        loaded[name] = pl.read_parquet(io.BytesIO(data))
    return StageState(stage, pointer["output"], pointer["inputs"], pointer["facts"], loaded)


def _parse(raw: bytes) -> dict[str, Any] | None:
    """A pointer as `save_stage` wrote it, or null for anything else."""
    try:
        pointer = json.loads(raw)
        is_whole = (
            pointer["format"] == _FORMAT
            and isinstance(pointer["inputs"], dict)
            and pointer["output"] == _output(pointer["files"], pointer["facts"])
        )
    except (ValueError, KeyError, TypeError):
        return None
    return pointer if is_whole else None


def _output(files: Mapping[str, str], facts: Mapping[str, Any]) -> str:
    return jsontext.digest({"files": files, "facts": facts})


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:24]


def require_stages(store: Store, *stages: str) -> dict[str, StageState]:
    """Read the upstream stages a stage needs and check that they belong together.

    Raises:
        StateMismatch: one is missing or was computed from something else than the current state
            of its own upstream; the text names the asset to materialise first.
    """
    states: dict[str, StageState] = {}
    for stage in stages:
        state = load_stage(store, stage)
        if state is None:
            raise StateMismatch(
                f"there is no result of stage {stage} yet",
                where=store.location,
                fix=f"Materialise dictionary/{stage} first, or run all stages.",
            )
        for upstream, output in state.inputs.items():
            if upstream in states and states[upstream].output != output:
                raise StateMismatch(
                    f"stage {stage} was computed from an older {upstream}",
                    where=store.location,
                    fix=f"Materialise dictionary/{stage} first, or run all stages.",
                )
        states[stage] = state
    return states
