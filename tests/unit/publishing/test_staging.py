"""Staging on a local disk that cannot take the bundle."""

from __future__ import annotations

from pathlib import Path

import pytest

from dictionary_pipeline.errors import StoreError
from dictionary_pipeline.publishing.staging import Staging


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_named(tmp_path: Path) -> None:
    (tmp_path / "pack").symlink_to("/dev/full")
    with pytest.raises(StoreError, match="disk is full"), Staging(tmp_path) as staging:
        staging.add("a.json", b"x" * 100_000)


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="a file stands where a folder is needed"):
        Staging(tmp_path / "file")
