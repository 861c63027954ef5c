"""Writes a commented `dagster.yaml` into DAGSTER_HOME the first time.

`python -m dictionary_pipeline.orchestration.instance` is called by `make dev` and `make demo`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from dictionary_pipeline.config.resolved import AutomationConfig
from dictionary_pipeline.errors import ConfigurationError, DictionaryError
from dictionary_pipeline.orchestration.project import current_project

_TEMPLATE = """\
# Dagster instance of this project. Written once; edit freely.

telemetry:
  enabled: false # nothing is sent anywhere

concurrency:
  runs:
    # Runs that may work at the same time. One run is one database.
    max_concurrent_runs: {max_concurrent_runs}
    tag_concurrency_limits:
      # Never two runs of one database, however they were started.
      - key: dagster/partition
        value:
          applyLimitPerUniqueValue: true
        limit: 1
      - key: database
        value:
          applyLimitPerUniqueValue: true
        limit: 1
      # Protects a server that holds many databases.
      - key: server
        value:
          applyLimitPerUniqueValue: true
        limit: {max_runs_per_server}

run_monitoring:
  # A run whose process never came up, or died, is marked failed instead of blocking its database.
  enabled: true
  start_timeout_seconds: 300
  max_resume_run_attempts: 0
  poll_interval_seconds: 60

retention:
  schedule: # it ticks every 15 minutes
    purge_after_days:
      skipped: 7
      failure: 30
      success: 90
  sensor:
    purge_after_days:
      skipped: 7
      failure: 30
      success: 90

# Outgrowing one machine: keep the instance in Postgres and send whole runs to warm workers.
# storage:
#   postgres:
#     postgres_url:
#       env: DAGSTER_PG_URL # postgresql+psycopg2://...
# run_launcher:
#   module: dagster_celery.launcher
#   class: CeleryRunLauncher
"""


def write_instance(home: Path, automation: AutomationConfig) -> bool:
    """Write `dagster.yaml` unless there is one; whether it was written."""
    path = home / "dagster.yaml"
    if path.exists():
        return False
    home.mkdir(parents=True, exist_ok=True)
    path.write_text(
        _TEMPLATE.format(
            max_concurrent_runs=automation.max_concurrent_runs, max_runs_per_server=automation.max_runs_per_server
        ),
        encoding="utf-8",
    )
    return True


def main() -> int:
    """Prepare DAGSTER_HOME; the exit code."""
    home = os.environ.get("DAGSTER_HOME")
    try:
        if not home:
            raise ConfigurationError("DAGSTER_HOME is not set", fix="Set it to an absolute folder, or use `make dev`.")
        if write_instance(Path(home), current_project().automation):
            sys.stderr.write(f"Wrote {Path(home) / 'dagster.yaml'}\n")
    except DictionaryError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
