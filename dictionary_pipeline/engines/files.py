"""Checks that embedded engines share before a file is opened."""

from __future__ import annotations

import contextlib
from pathlib import Path

from dictionary_pipeline.config.resolved import ConnectionSpec
from dictionary_pipeline.errors import ConfigurationError, ConnectionFailed, NotADatabase


def database_file(spec: ConnectionSpec, product: str) -> Path:
    """The configured file of an embedded database; it need not exist yet.

    Raises:
        ConfigurationError: No path, or an in-memory database, which nobody else could read.
    """
    path = str(spec.options.get("path") or "")
    if not path or path.startswith(":memory:"):
        raise ConfigurationError(
            f"a {product} connection needs the path of a database file",
            where=spec.origin or None,
            fix="Set `path:` to the file.",
        )
    return Path(path)


def header(path: Path) -> bytes:
    """The first 100 bytes of a file, which tell what it is.

    Raises:
        NotADatabase: There is no such file.
        ConnectionFailed: The file cannot be read.
    """
    if not path.exists():
        raise NotADatabase("there is no such file", where=str(path), fix="Check the path.")
    if path.is_dir():
        raise NotADatabase("this is a folder, not a database file", where=str(path), fix="Name the file inside it.")
    try:
        with path.open("rb") as file:
            return file.read(100)
    except OSError as error:
        raise ConnectionFailed(
            "the database file cannot be read",
            where=str(path),
            fix="Give the account that runs this read permission on the file.",
            code=None if error.errno is None else str(error.errno),
        ) from None


def change_mark(path: Path, *more: str) -> str:
    """A text that differs once the file, or one beside it with one of the suffixes, was written to."""
    marks = []
    for file in (path, *(path.with_name(path.name + suffix) for suffix in more)):
        with contextlib.suppress(FileNotFoundError):
            status = file.stat()
            marks.append(f"{status.st_mtime_ns}:{status.st_size}")
    return " ".join(marks)
