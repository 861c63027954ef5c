"""How well people find what they look for by derived definitions alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from dictionary_pipeline.demo.build import build_demo

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


def test_derived_definitions_of_the_demo_find_their_tables_and_invent_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from quality import measure

    build_demo(tmp_path / "demo.duckdb")
    found = measure(tmp_path / "demo.duckdb")
    assert found.table_mrr >= 0.8
    assert found.table_mrr_definition >= 0.8
    assert found.invented == 0
