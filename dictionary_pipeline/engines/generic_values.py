"""From the values that drivers return to cells of a sample."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any


def as_cell(value: Any) -> int | float | bool | str | bytes | None:
    """A native cell as it is; times as ISO text in UTC, nested values as JSON, all else as its text."""
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return value
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, dt.datetime):
        return (value if value.tzinfo is None else value.astimezone(dt.UTC)).isoformat(sep=" ")
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, ensure_ascii=False, default=_plain)
    return str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, bytes | bytearray | memoryview):
        return f"<{len(bytes(value))} bytes>"
    return as_cell(value)
