"""One run over one database: its configuration, its store, its options and its lease."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path

from dictionary_pipeline.config.resolved import DatabaseConfig
from dictionary_pipeline.engines.base import Engine
from dictionary_pipeline.engines.registry import create_engine
from dictionary_pipeline.errors import ConfigurationError
from dictionary_pipeline.publishing.lease import Lease, hold_lease
from dictionary_pipeline.publishing.open_store import open_store
from dictionary_pipeline.publishing.overlay import OverlayStore
from dictionary_pipeline.publishing.publish import check_target
from dictionary_pipeline.store import Store

FORCE_CHOICES = ("samples", "definitions", "graph", "all")

Progress = Callable[[str, int, int], None]
"""Called with (stage, done, total) while a stage works."""


def _no_progress(stage: str, done: int, total: int) -> None:
    """Show nothing."""


@dataclass(frozen=True)
class RunOptions:
    """What the caller asked for beyond the configuration."""

    entities: tuple[str, ...] = ()
    """Globs on `table` or `schema.table`; only these are worked on, the rest comes from state."""
    force: frozenset[str] = frozenset()
    """Which kept results to recompute: `FORCE_CHOICES`."""
    dry_run: bool = False
    """Build everything, write nothing to the store."""
    changed_only: bool = False
    """Keep the samples of tables that did not change since, as long as they are not too old."""

    def __post_init__(self) -> None:
        for choice in sorted(self.force - set(FORCE_CHOICES)):
            raise ConfigurationError(
                f"--force does not know {choice!r}", fix=f"Use one or more of {', '.join(FORCE_CHOICES)}."
            )

    def forces(self, what: str) -> bool:
        """Whether kept results of this kind are to be recomputed."""
        return "all" in self.force or what in self.force

    def covers(self, schema: str, table: str) -> bool:
        """Whether a table is to be worked on."""
        return not self.entities or any(
            fnmatchcase(table, glob) or fnmatchcase(f"{schema}.{table}", glob) for glob in self.entities
        )


NO_OPTIONS = RunOptions()
"""Everything, as configured."""


@dataclass(frozen=True)
class PipelineRun:
    """Everything a stage needs. `store` is scoped to the database."""

    config: DatabaseConfig
    store: Store
    run_id: str
    options: RunOptions = NO_OPTIONS
    progress: Progress = _no_progress
    lease: Lease | None = None
    """Held while stages work; null only in dry runs, which write nothing."""
    shared: Store | None = None
    """What the databases of the project share; null: the database's own store."""
    may_retry: bool = False
    """The caller repeats a stage that ends with a retryable error."""

    @cached_property
    def engine(self) -> Engine:
        """The engine, created on first use so that stages that need no database touch none."""
        return create_engine(self.config.connection)


def new_run_id() -> str:
    """A run id for runs that Dagster did not start."""
    return str(uuid.uuid4())


def database_store(config: DatabaseConfig, folder: Path) -> Store:
    """The store of one configured database: `<publish root>/<name>` under the project folder, or on Azure.

    Raises:
        ConfigurationError: a variable with a credential is missing or unusable.
    """
    return open_store(config.publish, folder, config.name)


def shared_store(config: DatabaseConfig, folder: Path) -> Store:
    """What the databases of a project share: the project's publish root itself."""
    return open_store(config.shared, folder, "")


@contextmanager
def open_run(
    config: DatabaseConfig,
    store: Store,
    *,
    run_id: str,
    options: RunOptions = NO_OPTIONS,
    progress: Progress = _no_progress,
    overlay_folder: Path | None = None,
    keep_lease: bool = False,
    shared: Store | None = None,
    may_retry: bool = False,
) -> Iterator[PipelineRun]:
    """Hold the database's lease and hand out the run.

    Args:
        overlay_folder: Where a dry run keeps what it does not write; a temporary folder by default.
            Stages that run in separate calls share their results by naming the same folder.
        shared: What the databases of the project share; the database's own store by default.
        may_retry: The caller repeats a stage that ends with a retryable error.
        keep_lease: Leave the lease to its owner after a success, for a later stage of the same run.

    Raises:
        ConfigurationError: the store holds another database's bundle.
        LeaseHeld: another run works on this database.
    """
    check_target(store, config.name)
    if options.dry_run:
        with OverlayStore(store, overlay_folder) as overlay:
            yield PipelineRun(config, overlay, run_id, options, progress)
        return
    with hold_lease(store, owner=run_id, host=socket.gethostname(), keep=keep_lease) as lease:
        yield PipelineRun(config, store, run_id, options, progress, lease, shared, may_retry)
