"""Every invented column of `columns.txt` gets the verdict written beside it."""

from __future__ import annotations

import re

import pytest
from own_columns import OwnColumn, own_columns

from dictionary_pipeline.sampling.sensitivity.detect import detect

COLUMNS = own_columns()
SCHEMES = frozenset(("US_SSN", "US_ITIN", "UK_NHS", "UK_NINO", "ES_NIF", "ES_NIE", "IT_FISCAL_CODE", "PL_PESEL"))


def family(category: str | None) -> str | None:
    """National schemes are one: which of them a number belongs to only its values tell."""
    return "NATIONAL_ID" if category in SCHEMES else category


@pytest.mark.parametrize("column", COLUMNS, ids=[f"{at}-{column.label}" for at, column in enumerate(COLUMNS)])
def test_an_invented_column_is_judged_as_labelled(column: OwnColumn) -> None:
    verdict = detect(column.evidence)
    assert family(verdict.category if verdict else None) == family(column.expected), verdict


def test_a_reason_never_quotes_a_value_and_a_confidence_is_a_probability() -> None:
    for column in COLUMNS:
        verdict = detect(column.evidence)
        if verdict is None:
            continue
        assert 0.5 <= verdict.confidence <= 1.0, column.label
        told = re.sub(r"'[^']*'", "", verdict.reason).split(" of values ")[-1]
        assert not any(value in told for value in column.evidence.values if len(value) > 3), column.label


def test_the_same_evidence_gives_the_same_verdict() -> None:
    assert [detect(column.evidence) for column in COLUMNS] == [detect(column.evidence) for column in COLUMNS]
