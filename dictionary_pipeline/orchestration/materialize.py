"""Materialise every asset of one partition in this process: `python -m ... materialize NAME`.

What `make demo` does. The instance is DAGSTER_HOME's when it is set, so that `dagster dev` shows
the run afterwards, else a temporary one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg
from rich.console import Console
from rich.table import Table

from dictionary_pipeline.definitions import defs
from dictionary_pipeline.errors import DictionaryError
from dictionary_pipeline.orchestration.assets import asset_key
from dictionary_pipeline.orchestration.partitions import databases
from dictionary_pipeline.orchestration.project import current_project
from dictionary_pipeline.places import database_config
from dictionary_pipeline.run import database_store
from dictionary_pipeline.stages import STAGES
from dictionary_pipeline.terminal import complain, prepare_streams

_SHOWN = 4
_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
"""Failures are shown as one line each instead."""


@contextmanager
def _instance() -> Iterator[dg.DagsterInstance]:
    if os.environ.get("DAGSTER_HOME"):
        with dg.DagsterInstance.get() as instance:
            yield instance
    else:
        with dg.DagsterInstance.local_temp() as instance:
            yield instance


def materialize(name: str, console: Console) -> bool:
    """Run the job for one database and print what each stage did; whether it succeeded."""
    project = current_project()
    config = database_config(project, name)
    with _instance() as instance:
        instance.add_dynamic_partitions(str(databases.name), [name])
        job = defs.resolve_job_def("refresh_dictionary")
        result = job.execute_in_process(instance=instance, partition_key=name, run_config=_QUIET, raise_on_error=False)
        if not result.success:
            for event in result.all_events:
                if event.is_step_failure:
                    complain("error", _failure_text(event))
            return False
        _summary(result, console)
    target = database_store(config, project.folder).location
    console.print(
        f"\nPublished to [bold]{target}[/bold]. Look at manifest.json and schema_store/ first.", soft_wrap=True
    )
    console.print("`make dev` opens the same pipeline in the Dagster UI.")
    return True


def _failure_text(event: dg.DagsterEvent) -> str:
    told = event.step_failure_data.user_failure_data
    text = told.description if told and told.description else "failed for a reason that only Dagster's event log tells"
    return f"{event.step_key}: {text}"


def _summary(result: dg.ExecuteInProcessResult, console: Console) -> None:
    table = Table(title="Stages", show_lines=False)
    for heading in ("stage", "result", "checks"):
        table.add_column(heading)
    advice: list[str] = []
    for stage in STAGES:
        events = [e for e in result.get_asset_materialization_events() if e.asset_key == asset_key(stage.name)]
        checks = [c for c in result.get_asset_check_evaluations() if c.asset_key == asset_key(stage.name)]
        metadata = events[-1].materialization.metadata if events else {}
        numbers = [f"{key} {value.value}" for key, value in metadata.items() if isinstance(value, dg.IntMetadataValue)]
        numbers = [str(metadata["status"].value), *numbers] if "status" in metadata else numbers
        passed = sum(check.passed for check in checks)
        table.add_row(stage.name, ", ".join(numbers[:_SHOWN]), f"{passed}/{len(checks)} passed")
        advice += [str(check.description) for check in checks if not check.passed]
    console.print(table)
    for text in advice:
        console.print(f"To look at: {text}", markup=False, soft_wrap=True)


def main(arguments: list[str]) -> int:
    """Command line of this module; the exit code."""
    prepare_streams()
    console = Console()
    if len(arguments) != 1:
        complain("error", "usage: python -m dictionary_pipeline.orchestration.materialize NAME")
        return 2
    try:
        return 0 if materialize(arguments[0], console) else 1
    except DictionaryError as error:
        complain("error", str(error))
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
