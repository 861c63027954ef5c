"""Tags by which the queue limits runs: one per database, a few per server."""

from __future__ import annotations

import dagster as dg

from dictionary_pipeline.engines.registry import create_engine
from dictionary_pipeline.errors import DictionaryError
from dictionary_pipeline.orchestration.project import current_project, run_config

DATABASE_TAG = "database"
SERVER_TAG = "server"
PARTITION_TAG = "dagster/partition"
RUN_KEY_TAG = "dagster/run_key"
_UNKNOWN_SERVER = "unknown"


def partition_tags(name: str) -> dict[str, str]:
    """Tags of a run over this database; the server is unknown while its configuration is broken."""
    try:
        server = create_engine(run_config(current_project(only=name), name).config.connection).server
    except DictionaryError:
        server = _UNKNOWN_SERVER
    return {DATABASE_TAG: name, SERVER_TAG: server}


def tag_run(context: dg.AssetExecutionContext) -> None:
    """Tag a run that was started without the job's tags, for example from the asset graph."""
    if DATABASE_TAG not in context.run.tags:
        context.instance.add_run_tags(context.run.run_id, partition_tags(context.partition_key))
