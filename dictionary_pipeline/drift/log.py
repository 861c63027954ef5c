"""The drift log: `drift/log-YYYY-MM.jsonl`, one line per detected change, by the month of detection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields

from dictionary_pipeline import jsontext
from dictionary_pipeline.drift.record import Entry

FOLDER = "drift"
_FIELDS = frozenset(field.name for field in fields(Entry))


def log_path(entry: Entry) -> str:
    """The file of a bundle that an entry belongs to."""
    return f"{FOLDER}/log-{entry.detected_at[:7]}.jsonl"


def is_log(path: str) -> bool:
    """Whether a published path is a month of the drift log."""
    return path.startswith(f"{FOLDER}/log-") and path.endswith(".jsonl")


def appended(files: Mapping[str, bytes], entries: Iterable[Entry]) -> dict[str, bytes]:
    """The log with further entries; a line that it already holds is not written again.

    Args:
        files: Path -> content of every month so far; months without a new entry keep their bytes.
        entries: In order of detection.
    """
    result = dict(files)
    for entry in entries:
        path, line = log_path(entry), entry.line().encode()
        content = result.get(path, b"")
        if line not in content.splitlines(keepends=True):
            result[path] = content + line
    return result


def rewritten(content: bytes, rewrite: Callable[[Entry], Entry]) -> bytes:
    """A month with some entries replaced; lines that stay the same, or are of another format, keep their bytes."""
    lines = []
    for line in content.splitlines(keepends=True):
        entry = parse(line)
        changed = rewrite(entry) if entry is not None else None
        lines.append(line if changed is None or changed == entry else changed.line().encode())
    return b"".join(lines)


def parse(line: bytes) -> Entry | None:
    """A line of the log, or null when another version wrote it differently."""
    try:
        document = jsontext.loads_strict(line)
    except ValueError:
        return None
    if not isinstance(document, dict) or document.keys() != _FIELDS:
        return None
    return Entry(**document)
