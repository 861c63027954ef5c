"""Where the content of a bundle waits on the local disk until it is published.

All files lie in one pack, equal content once: creating a file for each would cost more CPU than
building it.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import polars as pl

from dictionary_pipeline.errors import ContractViolation
from dictionary_pipeline.publishing.local import file_errors
from dictionary_pipeline.publishing.manifest import FileInfo

_ROW_GROUP = 100_000


@dataclass(frozen=True)
class StagedContent:
    """Content by its sha256."""

    pack: Path
    offsets: Mapping[str, tuple[int, int]]
    """sha256 -> (offset, bytes) within the pack."""

    def require(self, sha256: str) -> bytes:
        """Content; raises ContractViolation when it was not staged."""
        content = self.read(sha256)
        if content is None:
            raise ContractViolation("a file of the bundle was not staged", where=sha256, fix="Build the bundle again.")
        return content

    def read(self, sha256: str) -> bytes | None:
        """Content, or null when it was not staged."""
        if sha256 not in self.offsets:
            return None
        offset, size = self.offsets[sha256]
        with self.pack.open("rb") as file:
            file.seek(offset)
            return file.read(size)


class Staging:
    """Collects the files of a bundle in a pack."""

    def __init__(self, folder: Path) -> None:
        self._pack = folder / "pack"
        with file_errors(self._pack):
            folder.mkdir(parents=True, exist_ok=True)
            self._file = self._pack.open("wb")
        self._offsets: dict[str, tuple[int, int]] = {}
        self.files: dict[str, FileInfo] = {}
        """Published path -> content."""

    def __enter__(self) -> Staging:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with file_errors(self._pack):
            self._file.close()

    def content(self) -> StagedContent:
        """What was collected; to be read after the staging was closed."""
        return StagedContent(self._pack, self._offsets)

    def add(self, path: str, content: bytes) -> None:
        """Stage one file of the bundle."""
        self.add_chunks(path, [content])

    def add_chunks(self, path: str, chunks: Iterable[bytes]) -> None:
        """Stage one file that is too large to build in memory."""
        start, hashed = self._file.tell(), hashlib.sha256()
        for chunk in chunks:
            with file_errors(self._pack):
                self._file.write(chunk)
            hashed.update(chunk)
        info = FileInfo(hashed.hexdigest(), self._file.tell() - start)
        if info.sha256 in self._offsets:
            self._file.seek(start)
            self._file.truncate()
        else:
            self._offsets[info.sha256] = (start, info.bytes)
        self.files[path] = info

    def add_frame(self, path: str, frame: pl.DataFrame) -> None:
        """Stage a frame as Parquet."""
        self.add(path, parquet_bytes(frame))


def parquet_bytes(frame: pl.DataFrame) -> bytes:
    """Parquet whose bytes depend on the frame's content only: one chunk, fixed codec and row groups."""
    buffer = io.BytesIO()
    frame.rechunk().write_parquet(
        buffer, compression="zstd", compression_level=3, statistics=True, row_group_size=_ROW_GROUP
    )
    return buffer.getvalue()
