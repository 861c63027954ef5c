"""Which columns the detector calls sensitive, for every column of `pii/SPLIT.columns.jsonl`."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

from dictionary_pipeline.engines.types import type_class
from dictionary_pipeline.sampling.sensitivity.detect import detect
from dictionary_pipeline.sampling.sensitivity.model import ColumnEvidence


def predict(corpus: Path, split: str) -> dict[str, dict[str, object]]:
    """Predictions by column id; the other columns of the file's same table are the siblings."""
    lines = (corpus / "pii" / f"{split}.columns.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines if line]
    siblings: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in rows:
        siblings[row["db"], row["table"]].append(row["column"])
    return {row["id"]: _prediction(row, tuple(siblings[row["db"], row["table"]])) for row in rows}


def _prediction(row: dict[str, object], siblings: tuple[str, ...]) -> dict[str, object]:
    values = row["values"]
    verdict = detect(
        ColumnEvidence(
            schema="",
            table=str(row["table"]),
            column=str(row["column"]),
            data_type=str(row["type"]),
            type_class=type_class(str(row["type"])),
            values=tuple(str(value) for value in values) if isinstance(values, list) else (),
            siblings=siblings,
        )
    )
    if verdict is None:
        return {"sensitive": False}
    return {"sensitive": True, "category": verdict.category, "score": verdict.confidence, "reason": verdict.reason}
