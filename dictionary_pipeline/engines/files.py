"""Checks that embedded engines share before a file is opened."""

from __future__ import annotations

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
    try:
        with path.open("rb") as file:
            return file.read(100)
    except (FileNotFoundError, NotADirectoryError):
        raise NotADatabase("there is no such file", where=str(path), fix="Check the path.") from None
    except IsADirectoryError:
        raise NotADatabase(
            "this is a folder, not a database file", where=str(path), fix="Name the file inside it."
        ) from None
    except OSError as error:
        raise _unreadable(path, error) from None


def change_mark(path: Path, *more: str) -> str:
    """A text that differs once the file, or one beside it with one of the suffixes, was written to.

    Raises:
        ConnectionFailed: The folder cannot be looked into.
    """
    marks = []
    for file in (path, *(path.with_name(path.name + suffix) for suffix in more)):
        try:
            status = file.stat()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise _unreadable(file, error) from None
        marks.append(f"{status.st_mtime_ns}:{status.st_size}")
    return " ".join(marks)


def _unreadable(path: Path, error: OSError) -> ConnectionFailed:
    return ConnectionFailed(
        "the database file cannot be read",
        where=str(path),
        fix="Give the account that runs this read permission on the file and its folders.",
        code=None if error.errno is None else str(error.errno),
    )
