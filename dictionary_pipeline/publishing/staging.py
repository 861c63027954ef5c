"""Where the files of a bundle wait, content-addressed on the local disk, until they are published."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from dictionary_pipeline.publishing.manifest import FileInfo

_ROW_GROUP = 100_000


class Staging:
    """Collects files under a local folder; equal content is kept once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._folder.mkdir(parents=True, exist_ok=True)
        self.files: dict[str, FileInfo] = {}
        """Published path -> content."""

    def add(self, path: str, content: bytes) -> None:
        """Stage one file of the bundle."""
        info = FileInfo(hashlib.sha256(content).hexdigest(), len(content))
        target = staged_path(self._folder, info.sha256)
        if not target.exists():
            target.write_bytes(content)
        self.files[path] = info

    def add_chunks(self, path: str, chunks: Iterable[bytes]) -> None:
        """Stage one file that is too large to build in memory."""
        hashed, size = hashlib.sha256(), 0
        partial = self._folder / "partial"
        with partial.open("wb") as file:
            for chunk in chunks:
                file.write(chunk)
                hashed.update(chunk)
                size += len(chunk)
        info = FileInfo(hashed.hexdigest(), size)
        partial.replace(staged_path(self._folder, info.sha256))
        self.files[path] = info

    def add_frame(self, path: str, frame: pl.DataFrame) -> None:
        """Stage a frame as Parquet."""
        self.add(path, parquet_bytes(frame))


def staged_path(folder: Path, sha256: str) -> Path:
    """Where content lies within a staging folder."""
    return folder / sha256


def parquet_bytes(frame: pl.DataFrame) -> bytes:
    """Parquet whose bytes depend on the frame's content only: one chunk, fixed codec and row groups."""
    buffer = io.BytesIO()
    frame.rechunk().write_parquet(
        buffer, compression="zstd", compression_level=3, statistics=True, row_group_size=_ROW_GROUP
    )
    return buffer.getvalue()
