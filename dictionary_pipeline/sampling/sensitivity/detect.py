"""Whether a column holds personal or secret values, judged by all evidence together."""

from __future__ import annotations

from dictionary_pipeline.sampling.sensitivity import byname, byvalue
from dictionary_pipeline.sampling.sensitivity.byname import Situation
from dictionary_pipeline.sampling.sensitivity.context import read_table
from dictionary_pipeline.sampling.sensitivity.model import ColumnEvidence, Verdict
from dictionary_pipeline.sampling.sensitivity.names import read_name
from dictionary_pipeline.sampling.sensitivity.support import Level
from dictionary_pipeline.sampling.sensitivity.valueset import ValueSet


def detect(evidence: ColumnEvidence) -> Verdict | None:
    """Judge one column.

    What the name says is weighed with the type, the table and the values: a name that values bear out comes
    first, then values whose form leaves no doubt whatever the name, then a name that values do not refute, at
    last values that only look personal. Without values name, type and table decide, with less confidence.

    Returns:
        The category with a confidence and a reason for people that quotes no value; None for a harmless column.
    """
    reading = read_name(evidence.column)
    situation = Situation(evidence, reading, read_table(evidence.table, evidence.siblings), ValueSet(evidence.values))
    named = byname.verdict(situation)
    if named is not None and named[1] is Level.CONFIRMED:
        return named[0]
    formed = byvalue.format_verdict(situation)
    if named is None:
        return formed or byvalue.likeness_verdict(situation)
    if formed is None:
        return named[0]
    return formed if formed.category != named[0].category else _joined(named[0], formed)


def _joined(named: Verdict, formed: Verdict) -> Verdict:
    """One verdict of two that agree."""
    told = named.reason.split("; ")[0]
    return Verdict(named.category, max(named.confidence, formed.confidence), f"{told}; {formed.reason}")
