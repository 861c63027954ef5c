"""All stages of one database in one call: what the command line runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dictionary_pipeline.config.resolved import DatabaseConfig
from dictionary_pipeline.errors import DictionaryError
from dictionary_pipeline.problems import Problem, sorted_unique
from dictionary_pipeline.report import HELD, StageReport
from dictionary_pipeline.run import NO_OPTIONS, PipelineRun, Progress, RunOptions, new_run_id, open_run
from dictionary_pipeline.stages import STAGES
from dictionary_pipeline.store import Store

EXIT_PARTIAL = 3


@dataclass(frozen=True)
class RunSummary:
    """How a run over one database ended."""

    database: str
    run_id: str
    location: str
    reports: tuple[StageReport, ...]
    error: DictionaryError | None = None
    """What ended the run before it published, if anything."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What could not be read or was given wrongly; the dictionary is partial when there is any."""
        return sorted_unique(problem for report in self.reports for problem in report.problems)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What people gave wrongly, e.g. a description of a table that does not exist."""
        return tuple(dict.fromkeys(warning for report in self.reports for warning in report.warnings))

    @property
    def exit_code(self) -> int:
        """0 complete, 1 failed, 2 configuration error, 3 published but partial, or held."""
        if self.error is not None:
            return self.error.exit_code
        return EXIT_PARTIAL if self.problems or self.held else 0

    @property
    def held(self) -> bool:
        """Whether the bundle published before was left as it is, because of breaking drift."""
        return any(report.metrics.get("status") == HELD for report in self.reports)

    def as_json(self) -> dict[str, object]:
        """Summary for machines (`--json`)."""
        return {
            "database": self.database,
            "run_id": self.run_id,
            "location": self.location,
            "exit_code": self.exit_code,
            "error": str(self.error) if self.error else None,
            "error_code": self.error.identifier if self.error else None,
            "warnings": list(self.warnings),
            "problems": [problem._asdict() for problem in self.problems],
            "stages": {report.stage: dict(report.metrics) for report in self.reports},
        }


def run_database(
    config: DatabaseConfig,
    store: Store,
    *,
    options: RunOptions = NO_OPTIONS,
    progress: Progress | None = None,
    on_stage: Callable[[StageReport], None] = lambda report: None,
    overlay_folder: Path | None = None,
    shared: Store | None = None,
) -> RunSummary:
    """Run every stage under the database's lease; an error ends the run and is in the summary."""
    run_id = new_run_id()
    reports: list[StageReport] = []
    try:
        with open_run(
            config,
            store,
            run_id=run_id,
            options=options,
            progress=progress or (lambda stage, done, total: None),
            overlay_folder=overlay_folder,
            shared=shared,
        ) as run:
            _run_stages(run, reports, on_stage)
    except DictionaryError as error:
        return RunSummary(config.name, run_id, store.location, tuple(reports), error)
    return RunSummary(config.name, run_id, store.location, tuple(reports))


def _run_stages(run: PipelineRun, reports: list[StageReport], on_stage: Callable[[StageReport], None]) -> None:
    for stage in STAGES:
        if run.lease is not None:
            run.lease.ensure_held()  # a run that was suspended must not write between the stages of another
        run.progress(stage.name, 0, 1)
        report = stage.run(run)
        reports.append(report)
        on_stage(report)
