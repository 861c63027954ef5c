from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dictionary_pipeline.errors import StoreError
from dictionary_pipeline.problems import Problem
from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.publishing.manifest import FileInfo, Limit, Manifest, parse_manifest, read_manifest

MANIFEST = Manifest(
    database="shop",
    engine="postgres",
    run_id="r1",
    published_at="2026-01-02T03:04:05Z",
    schema_fingerprint="f2",
    previous_fingerprint="f1",
    probe=None,
    complete=False,
    problems=(Problem("s.t", "column_samples", "42501", "not permitted", "Grant SELECT."),),
    counts={"tables": 1},
    limits=(Limit("s.t.c", "max_values", 1000),),
    files={"b.json": FileInfo("b" * 64, 2), "a.json": FileInfo("a" * 64, 1)},
)


def test_the_manifest_has_the_contracts_keys_in_order_and_files_sorted() -> None:
    document = json.loads(MANIFEST.to_bytes())
    assert list(document) == [
        *("format_version", "database", "engine", "run_id", "published_at", "schema_fingerprint"),
        *("previous_fingerprint", "probe", "complete", "problems", "counts", "limits", "files"),
    ]
    assert list(document["files"]) == ["a.json", "b.json"]
    assert list(document["problems"][0]) == ["object", "stage", "code", "message", "hint"]


def test_a_manifest_reads_back_as_written() -> None:
    assert parse_manifest(MANIFEST.to_bytes(), where="x") == MANIFEST


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"run_id": "r2", "published_at": "2027-01-01T00:00:00Z", "probe": "p2"}, True),
        ({"complete": True}, False),
        ({"problems": ()}, False),
        ({"counts": {"tables": 2}}, False),
        ({"limits": ()}, False),
        ({"schema_fingerprint": "f3"}, False),
        ({"files": {}}, False),
    ],
)
def test_only_what_a_reader_can_use_makes_a_new_manifest(change: dict[str, Any], same: bool) -> None:
    assert replace(MANIFEST, **change).says_the_same_as(MANIFEST) is same


def test_a_newer_major_version_is_refused_with_the_fix_and_a_newer_minor_is_read() -> None:
    newer = MANIFEST.to_bytes().replace(b'"1.0.0"', b'"2.0.0"')
    with pytest.raises(StoreError, match=r"format 2\.0\.0.*Upgrade"):
        parse_manifest(newer, where="here")
    minor = parse_manifest(MANIFEST.to_bytes().replace(b'"1.0.0"', b'"1.9.0"'), where="here")
    assert minor.format_version == "1.9.0"


def manifest_with(**changes: object) -> bytes:
    return json.dumps(json.loads(MANIFEST.to_bytes()) | changes).encode()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b'{"format_version": "1.0.0"}',
        MANIFEST.to_bytes()[:-40],
        manifest_with(files=[]),
        manifest_with(files=None),
        manifest_with(published_at=5),
        manifest_with(published_at="yesterday"),
        manifest_with(published_at="2026-11-30T12:00:00"),
        manifest_with(problems=5),
    ],
)
def test_a_broken_manifest_is_one_clear_error(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_bytes(data)
    with pytest.raises(StoreError, match="not a complete manifest") as raised:
        read_manifest(LocalStore(tmp_path))
    assert "\n" not in str(raised.value) and str(tmp_path) in str(raised.value)
    assert raised.value.retryable is False
