"""The drift log: what it keeps, what it never repeats, and when a change was detected."""

from __future__ import annotations

import json
from dataclasses import replace

from dictionary_pipeline.drift.log import appended, log_path, parse, rewritten
from dictionary_pipeline.drift.model import Change
from dictionary_pipeline.drift.record import Detection, Entry, Step, entries_of

GONE = Change("column_removed", "main", "t", "c", severity="breaking", before="TEXT")
NEW = Change("column_added", "main", "t", "é", after="TEXT")
FIRST = Detection("2026-01-31T23:59:59Z", "run-1")
LATER = Detection("2026-02-01T00:00:01Z", "run-2")
STEP = Step("a", "b")


def entries(*changes: Change, now: Detection = FIRST, seen: dict[str, Detection] | None = None) -> tuple[Entry, ...]:
    return entries_of(changes, STEP, now, seen or {})


def test_a_line_is_json_with_the_documented_fields() -> None:
    [entry] = entries(NEW)
    line = entry.line()
    assert line.endswith("\n")
    assert "é" in line
    assert list(json.loads(line)) == [
        *("detected_at", "run_id", "previous", "new", "kind", "severity", "schema", "table", "column", "name"),
        *("before", "after", "confidence", "reason"),
    ]
    assert parse(line.encode()) == entry


def test_a_change_that_was_seen_before_keeps_its_first_detection() -> None:
    [first] = entries(GONE)
    seen = {first.step_key: FIRST}
    again, other = entries(GONE, NEW, now=LATER, seen=seen)
    assert again.line() == first.line()
    assert (other.detected_at, other.run_id) == LATER


def test_the_same_change_between_other_states_is_another_change() -> None:
    [first] = entries(GONE)
    [second] = entries_of([GONE], Step("b", "c"), LATER, {first.step_key: FIRST})
    assert second.detected_at == LATER.detected_at


def test_entries_go_to_the_month_of_their_detection_and_older_months_keep_their_bytes() -> None:
    january = appended({}, entries(GONE))
    both = appended(january, entries(NEW, now=LATER))
    assert sorted(both) == ["drift/log-2026-01.jsonl", "drift/log-2026-02.jsonl"]
    assert both["drift/log-2026-01.jsonl"] == january["drift/log-2026-01.jsonl"]


def test_a_line_is_not_written_twice() -> None:
    once = appended({}, entries(GONE, NEW))
    assert appended(once, entries(GONE, NEW)) == once
    assert len(once[log_path(entries(GONE)[0])].splitlines()) == 2


def test_rewriting_leaves_other_lines_and_foreign_lines_alone() -> None:
    foreign = b'{"kind": "from another version"}\n'
    content = foreign + b"".join(entry.line().encode() for entry in entries(GONE, NEW))
    cleaned = rewritten(content, lambda entry: replace(entry, before="***") if entry.before else entry)
    lines = cleaned.splitlines(keepends=True)
    assert lines[0] == foreign
    assert b"***" in lines[1]
    assert lines[2] == content.splitlines(keepends=True)[2]
