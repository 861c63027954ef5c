"""What a stage left for the next one, kept in the store under `.state/stages/`.

Every stage's state names the hashes of the states it was computed from, so that a stage never
mixes an old upstream with a new one: the mismatch is an error that names what to run first. Losing
the state costs a recomputation, never a wrong bundle.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from dictionary_pipeline import jsontext
from dictionary_pipeline.errors import StateMismatch, StoreError
from dictionary_pipeline.publishing.store import Store

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
        files[name] = f"{_FOLDER}/{stage}/{name}-{hashlib.sha256(content).hexdigest()[:24]}.parquet"
        store.create(files[name], content)
    output = jsontext.digest({"files": files, "facts": facts})
    pointer = {"format": _FORMAT, "output": output, "inputs": dict(inputs), "files": files, "facts": dict(facts)}
    data, key = jsontext.pretty(pointer).encode(), f"{_FOLDER}/{stage}.json"
    if store.read(key) != data:
        store.write(key, data)
    kept = set(files.values())
    store.delete([item.key for item in store.list(f"{_FOLDER}/{stage}/") if item.key not in kept])
    return StageState(stage, output, dict(inputs), dict(facts), dict(frames))


def load_stage(store: Store, stage: str) -> StageState | None:
    """Read a stage's state, or null when there is none that this version can use."""
    raw = store.read(f"{_FOLDER}/{stage}.json")
    if raw is None:
        return None
    try:
        pointer = json.loads(raw)
        if pointer.get("format") != _FORMAT:
            return None
        loaded = {name: _frame(store, key) for name, key in pointer["files"].items()}
    except (ValueError, KeyError, pl.exceptions.PolarsError, FileNotFoundError) as broken:
        raise StoreError(
            f"the state of stage {stage} cannot be read ({type(broken).__name__})",
            where=f"{store.location}/{_FOLDER}/{stage}.json",
            fix="Delete the .state folder; the next run recomputes it.",
        ) from None
    return StageState(stage, pointer["output"], pointer["inputs"], pointer["facts"], loaded)


def _frame(store: Store, key: str) -> pl.DataFrame:
    data = store.read(key)
    if data is None:
        raise FileNotFoundError(key)
    return pl.read_parquet(io.BytesIO(data))


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
