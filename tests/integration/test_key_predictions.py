"""The quality benchmark's predictions come from the inputs of a corpus alone."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "predict.py"


def table(name: str, *columns: str) -> dict[str, Any]:
    listed = [dict(zip(("name", "base"), column.split(":"), strict=True)) for column in columns]
    return {"name": name, "schema": "", "columns": [{**column, "type": column["base"]} for column in listed]}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    shop = tmp_path / "fk" / "small" / "shop"
    (shop / "data").mkdir(parents=True)
    tables = [table("kunde", "id:INTEGER", "name:TEXT"), table("rechnung", "nr:INTEGER", "kunde_id:INTEGER")]
    (shop / "schema.json").write_text(json.dumps({"name": "shop", "tables": tables}))
    (shop / "truth.json").write_text("never read")
    rows = {
        "kunde": ["id,name", *(f"{at},k{at}" for at in range(1, 51))],
        "rechnung": ["nr,kunde_id", *(f"{at},{at % 50 + 1}" for at in range(1, 200)), "200,\\N"],
    }
    for name, lines in rows.items():
        (shop / "data" / f"{name}.csv.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    names = {"name": "names", "tables": [table("team", "id:DECIMAL"), table("player", "id:DECIMAL", "team_id:DECIMAL")]}
    (shop.parent / "x.schemas.json").write_text(json.dumps([names]))
    (tmp_path / "star").mkdir()
    (tmp_path / "star" / "small.json").write_text(json.dumps({"shop": {"labels": "never read"}}))
    return tmp_path


def predict(task: str, corpus: Path) -> Any:
    out = corpus / "out.json"
    subprocess.run([sys.executable, SCRIPT, task, corpus, "small", out], check=True)
    return json.loads(out.read_text())


def edge(child: str, column: str, parent: str, key: str) -> dict[str, Any]:
    return {"from_table": child, "from_columns": [column], "to_table": parent, "to_columns": [key]}


def test_foreign_keys_are_predicted_with_and_without_data(corpus: Path) -> None:
    predicted = predict("foreign_keys", corpus)
    (with_data,), (names_only,) = predicted["shop"], predicted["names"]
    assert with_data.pop("confidence") >= 0.9
    assert 0.5 <= names_only.pop("confidence") <= 0.89
    assert with_data == edge("rechnung", "kunde_id", "kunde", "id")
    assert names_only == edge("player", "team_id", "team", "id")


def test_roles_are_predicted_on_predicted_keys(corpus: Path) -> None:
    assert predict("roles", corpus)["shop"]["kunde"] == "dimension"
