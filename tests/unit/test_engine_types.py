"""Classes of native type texts, and the deadline of statements."""

from __future__ import annotations

import threading
import time

import pytest

from dictionary_pipeline.engines.deadline import Deadline
from dictionary_pipeline.engines.types import type_class


@pytest.mark.parametrize(
    ("native", "expected"),
    [
        ("VARCHAR", "string"),
        ("character varying(20)", "string"),
        ("VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "string"),
        ("ENUM('a(', ')b[]')", "string"),
        ("ENUM('a')[]", "array"),
        ("INTEGER[3]", "array"),
        ("STRUCT(a INTEGER, b TIMESTAMP)", "array"),
        ("MAP(VARCHAR, STRUCT(d DATE))", "array"),
        ("UNION(n INTEGER)", "array"),
        ("INT(11) UNSIGNED", "integer"),
        ("HUGEINT", "integer"),
        ("DECIMAL(12,2)", "decimal"),
        ("NUMERIC(10, 2)", "decimal"),
        ("double  precision", "float"),
        ("TIMESTAMP(6) WITHOUT TIME ZONE", "timestamp"),
        ("TIMESTAMP WITH TIME ZONE", "timestamp"),
        ("TIME WITH TIME ZONE", "time"),
        ("UNIQUEIDENTIFIER", "uuid"),
        ("BLOB", "binary"),
        ("BIT", "other"),
        ("GEOMETRY", "other"),
        ('"NULL"', "other"),
        ("", "other"),
    ],
)
def test_native_types_are_classed_without_their_parameters(native: str, expected: str) -> None:
    assert type_class(native) == expected


def test_a_deadline_interrupts_once_and_says_so() -> None:
    interrupted = threading.Event()
    with Deadline(0.01, interrupted.set) as deadline:
        assert interrupted.wait(5)
    assert deadline.expired


@pytest.mark.parametrize("seconds", [None, 0.05])
def test_a_deadline_leaves_a_block_that_ended_alone(seconds: float | None) -> None:
    calls: list[int] = []
    with Deadline(seconds, lambda: calls.append(1)) as deadline:
        pass
    time.sleep(0.1)
    assert calls == [] and not deadline.expired
