"""Builds the embedded demo database: Larkspur Outdoor, a made-up retailer, as one DuckDB file.

The rows come from SQL without randomness or clock, so every build holds the same data.
"""

from __future__ import annotations

import hashlib
import uuid
from importlib.resources import files
from pathlib import Path

import duckdb

from dictionary_pipeline.errors import ConfigurationError, ConnectionFailed, StoreError

DEFAULT_PATH = Path("demo.duckdb")
"""Where `profiles.yml` expects the file, seen from the project folder."""

SCRIPTS = (
    "vocabulary.sql",
    "tables_logistics.sql",
    "tables_hr.sql",
    "tables_merchandise.sql",
    "tables_sales.sql",
    "views.sql",
    "rows_logistics.sql",
    "rows_hr.sql",
    "rows_merchandise.sql",
    "rows_sales.sql",
    "rows_shipments.sql",
)


def build_demo(path: Path, *, force: bool = False) -> bool:
    """Build the demo database unless `path` already holds this version of it.

    A file that somebody has since changed is kept, so that the effect of a change on the dictionary
    can be tried out; `force` builds it anew.

    Args:
        path: The DuckDB file. Written under a temporary name, closed, then renamed over it.
        force: Build even when the file is there.

    Returns:
        Whether the file was built.

    Raises:
        ConfigurationError: `path` holds something that this function did not build.
        ConnectionFailed: another process holds the file.
        StoreError: the folder cannot be written.
    """
    version = demo_version()
    if not force and path.exists() and _version_of(path) == version:
        return False
    work = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            _write(work, version)
            work.replace(path)
        finally:
            for leftover in (work, work.with_name(work.name + ".wal")):
                leftover.unlink(missing_ok=True)
    except (OSError, duckdb.IOException) as error:
        raise StoreError(
            "the demo database cannot be written",
            where=str(path),
            fix="Choose a folder that you may write, with 100 MB to spare.",
            code=str(error.errno) if isinstance(error, OSError) else None,
        ) from None
    return True


def demo_version() -> str:
    """Version of the demo database: a hash of the scripts that make it."""
    return hashlib.sha256("\n".join(_script(name) for name in SCRIPTS).encode()).hexdigest()[:16]


def _script(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _write(path: Path, version: str) -> None:
    with duckdb.connect(str(path)) as connection:
        for name in SCRIPTS:
            connection.execute("BEGIN")
            connection.execute(_script(name))
            connection.execute("COMMIT")
        # The version sits in a macro, which no data dictionary lists among tables and views.
        connection.execute(f"CREATE MACRO main.demo_version() AS '{version}'")
        connection.execute("CHECKPOINT")


def _version_of(path: Path) -> str:
    try:
        with duckdb.connect(str(path), read_only=True) as connection:
            row = connection.execute("SELECT main.demo_version()").fetchone()
    except duckdb.IOException as error:
        if "lock" in str(error):
            raise ConnectionFailed(
                "another process has the demo database open for writing",
                where=str(path),
                fix="Close that program and try again.",
            ) from None
        raise _foreign(path) from None
    except duckdb.CatalogException:
        raise _foreign(path) from None
    return str(row[0]) if row else ""


def _foreign(path: Path) -> ConfigurationError:
    return ConfigurationError(
        "the file exists but is not a demo database",
        where=str(path),
        fix="Name another path, or add --force to replace the file.",
    )
