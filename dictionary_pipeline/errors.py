"""The errors that reach a user: what went wrong, where, and how to fix it.

Every error carries text of the product's own. A driver's message can quote values of the
database, so it is never shown, logged or stored; its SQLSTATE or vendor number is, as `code`.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from dictionary_pipeline.problems import Problem

Scope = Literal["database", "server", "credential", "model", "store", "search", "configuration"]
"""What has to be put right: failures of several databases with the same one have one cause."""


class DictionaryError(Exception):
    """Base of all errors of the product.

    Args:
        what: One sentence: what is wrong.
        where: File and line, object, or location the sentence is about.
        fix: One sentence: what the reader can do.
        code: SQLSTATE or vendor number, when a driver reported one.
    """

    identifier: ClassVar[str] = "DD-UNEXPECTED"
    """Short and stable; docs/operations.md has a section on each."""
    scope: ClassVar[Scope] = "database"
    exit_code: ClassVar[int] = 1
    """Exit code of the command line when this error ends it."""
    retryable: ClassVar[bool] = False
    """Whether trying again later, with nothing changed, may succeed."""

    def __init__(self, what: str, *, where: str | None = None, fix: str | None = None, code: str | None = None) -> None:
        self.what = what
        self.where = where
        self.fix = fix
        self.code = code
        super().__init__(self.__str__())

    def __str__(self) -> str:
        head = f"{self.where}: {self.what}" if self.where else self.what
        head = head.rstrip(".")
        end = "" if head.endswith("?") else "."
        return f"{head}{end} {self.fix}" if self.fix else f"{head}{end}"

    def as_problem(self, object_name: str, stage: str) -> Problem:
        """Turn the error into a row of the manifest's `problems`."""
        return Problem(object_name, stage, self.code, self.what, self.fix or "")


class ConfigurationError(DictionaryError):
    """The command line, a file of `dbt_like_configs/` or an environment variable is wrong."""

    identifier = "DD-CONFIG"
    scope: ClassVar[Scope] = "configuration"
    exit_code = 2


class ConnectionFailed(DictionaryError):
    """The database could not be reached or opened."""

    identifier = "DD-CONNECTION"
    scope: ClassVar[Scope] = "server"
    retryable = True


class AuthenticationFailed(ConnectionFailed):
    """The server refused the credentials. Not retried: that could lock the account."""

    identifier = "DD-LOGIN"
    scope: ClassVar[Scope] = "credential"
    retryable = False


class NotADatabase(ConnectionFailed):
    """The file exists but no engine can open it."""

    identifier = "DD-FILE"
    scope: ClassVar[Scope] = "database"
    retryable = False


class PermissionDenied(DictionaryError):
    """The account may not read an object."""

    identifier = "DD-PERMISSION"


class QueryTimeout(DictionaryError):
    """A statement ran into its time budget."""

    identifier = "DD-TIMEOUT"
    retryable = True


class QueryFailed(DictionaryError):
    """The engine refused or failed a statement for another reason."""

    identifier = "DD-QUERY"


class NothingToDescribe(DictionaryError):
    """The catalog shows no table or view within the selection."""

    identifier = "DD-EMPTY"


class ContractViolation(DictionaryError):
    """A bundle breaks the published contract; nothing of it is published."""

    identifier = "DD-CONTRACT"


class StateMismatch(DictionaryError):
    """A stage's input was computed from something other than the current upstream state."""

    identifier = "DD-STATE"


class StoreError(DictionaryError):
    """The publish target could not be read or written."""

    identifier = "DD-STORE"
    scope: ClassVar[Scope] = "store"
    retryable = True


class StoreUnusable(StoreError):
    """The target or what is published there cannot be used, and trying again will not help."""

    identifier = "DD-STORE-UNUSABLE"
    retryable = False


class StoreConflict(StoreError):
    """A conditional write lost against another writer."""

    identifier = "DD-STORE-CONFLICT"
    scope: ClassVar[Scope] = "database"


class LeaseHeld(StoreError):
    """Another run holds the database's lease."""

    identifier = "DD-LEASE"
    scope: ClassVar[Scope] = "database"
