"""What the Launchpad can set for a run."""

from __future__ import annotations

import dagster as dg
from pydantic import Field

from dictionary_pipeline.run import RunOptions


class RefreshOptions(dg.ConfigurableResource[None]):
    """Options of a refresh, the same as the command line's."""

    entities: list[str] = Field(
        default=[], description="Globs on `table` or `schema.table`; only these are worked on. Empty: all."
    )
    force: list[str] = Field(default=[], description="Kept results to recompute: samples, definitions, graph or all.")
    dry_run: bool = Field(default=False, description="Build everything, write nothing to the store.")

    changed_only: bool = Field(
        default=False,
        description="Keep the samples of tables that did not change, as long as `sampling: max_age_hours` allows.",
    )

    def options(self) -> RunOptions:
        """As the core takes them."""
        return RunOptions(tuple(self.entities), frozenset(self.force), self.dry_run, self.changed_only)
