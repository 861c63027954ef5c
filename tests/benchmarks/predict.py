"""Run the product's own code on a quality corpus and write its predictions.

usage: predict.py TASK CORPUS SPLIT OUT

TASK is a module of `predictions/`: foreign_keys, roles, sensitivity, lineage or drift. It reads nothing
but the inputs, never an answer.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

TASKS = ("foreign_keys", "roles", "sensitivity", "lineage", "drift")


def main(arguments: list[str]) -> int:
    """Command line; the exit code."""
    if len(arguments) != 4 or arguments[0] not in TASKS:
        sys.stderr.write(f"usage: predict.py {{{'|'.join(TASKS)}}} CORPUS SPLIT OUT\n")
        return 2
    task, corpus, split, out = arguments
    sys.path.insert(0, str(Path(__file__).parent))
    predictions = importlib.import_module(f"predictions.{task}").predict(Path(corpus), split)
    Path(out).write_text(json.dumps(predictions, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
