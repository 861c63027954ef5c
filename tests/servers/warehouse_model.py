"""What a test declares about the databases of a warehouse double, and the faults that it injects.

Nothing here is enforced, as the vendors enforce nothing: keys are metadata, rows are what they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Literal


@dataclass(frozen=True)
class Column:
    """A column with its type as the vendor's DDL writes it."""

    name: str
    type: str
    nullable: bool = True
    comment: str | None = None
    default: str | None = None
    identity: bool = False


@dataclass(frozen=True)
class Key:
    """A primary or unique key."""

    name: str
    kind: Literal["primary", "unique"]
    columns: tuple[str, ...]


@dataclass(frozen=True)
class ForeignKey:
    """A foreign key to a primary or unique key of a table, which may be in another database."""

    name: str
    columns: tuple[str, ...]
    schema: str
    table: str
    to_columns: tuple[str, ...]
    """In the order of `columns`."""
    database: str | None = None
    parent_key: str = "PK"
    """Name of the parent's key."""
    parent_columns: tuple[str, ...] | None = None
    """The parent's key in its own order, where that is not the order of `to_columns`."""


@dataclass(frozen=True)
class Relation:
    """A table or view; the rows of a view are declared like those of a table."""

    schema: str
    name: str
    columns: tuple[Column, ...]
    kind: str = "table"  # table | view | materialized_view | external | foreign
    keys: tuple[Key, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    comment: str | None = None
    text: str | None = None
    """SQL of a view as the vendor shows it; null where its definition is hidden."""
    rows: tuple[tuple[Any, ...], ...] = ()
    row_count: int | None = None
    """What the catalog says; by default the number of rows."""
    bytes: int | None = None
    described: bool = True
    """False: information_schema shows the table but not its columns (federated tables)."""
    schema_changed: str = "2026-01-02 03:04:05.000000000"


@dataclass
class Database:
    """A database or catalog. Privileges may change while it is served."""

    name: str
    relations: tuple[Relation, ...]
    hidden: set[tuple[str, str]] = field(default_factory=set)
    """Tables on which the account has no privilege at all: the catalog does not show them."""
    unreadable: set[tuple[str, str]] = field(default_factory=set)
    """Tables that the catalog shows and SELECT refuses."""
    dropped: set[tuple[str, str]] = field(default_factory=set)
    """Tables that the catalog still shows and that are gone."""
    has_information_schema: bool = True

    def visible(self) -> Iterator[Relation]:
        """What the catalog shows to the account."""
        return (each for each in self.relations if (each.schema, each.name) not in self.hidden)

    def schemas(self) -> list[str]:
        """Schemas with a visible relation, sorted."""
        return sorted({relation.schema for relation in self.visible()})


@dataclass
class Fault:
    """What goes wrong with the statements (or `LOGIN`) that a pattern finds."""

    match: str
    kind: Literal["error", "slow", "drop", "http"]
    code: str = ""
    """Vendor number or error class of an `error`."""
    state: str = ""
    """Its SQLSTATE."""
    status: int = 503
    """HTTP status."""
    retry_after: int | None = None
    seconds: float = 0.0
    times: int = 1
    """How often it happens; negative: always."""


class VendorError(Exception):
    """An error as the vendor reports it."""

    def __init__(self, code: str, state: str, message: str) -> None:
        super().__init__(message)
        self.code, self.state, self.message = code, state, message


class Faults:
    """The faults that are still to happen and the statements that were seen; shared between threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: list[Fault] = []
        self.statements: list[str] = []
        self.logins = 0

    def add(self, fault: Fault) -> None:
        """Let it happen from now on."""
        with self._lock:
            self._waiting.append(fault)

    def clear(self) -> None:
        """Forget faults and statements."""
        with self._lock:
            self._waiting.clear()
            self.statements.clear()
            self.logins = 0

    def take(self, statement: str) -> Fault | None:
        """The fault that befalls a statement, which is recorded."""
        with self._lock:
            if statement == "LOGIN":
                self.logins += 1
            else:
                self.statements.append(statement)
            for fault in self._waiting:
                if fault.times != 0 and re.search(fault.match, statement):
                    fault.times -= 1
                    return fault
            return None
