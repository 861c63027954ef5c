"""`predict.py lineage` answers from the inputs of a corpus alone."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_lineage_is_predicted_in_lower_case_and_without_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "benchmarks"))
    from predictions.lineage import predict

    view = {
        "id": "case.1",
        "dialect": "tsql",
        "default_schema": "dbo",
        "sql": "CREATE VIEW [Totals] (Nr, Sum) AS SELECT o.OrderID, Price * Qty FROM [Order Lines] o",
        "schema": {"dbo.Order Lines": {"OrderID": "int", "Price": "money", "Qty": "int"}},
        "gold": {"never": ["read"]},
    }
    (tmp_path / "lineage").mkdir()
    (tmp_path / "lineage" / "some.json").write_text(json.dumps([view]), encoding="utf-8")
    assert predict(tmp_path, "some") == {
        "case.1": {"nr": ["order lines.orderid"], "sum": ["order lines.price", "order lines.qty"]}
    }
    sys.modules.pop("predictions.lineage")
