"""`model_batch`: a run for every database whose batch of definitions the model's provider has answered."""

from __future__ import annotations

from collections.abc import Iterable

import dagster as dg

from dictionary_pipeline.config.resolved import DatabaseConfig
from dictionary_pipeline.errors import DictionaryError
from dictionary_pipeline.orchestration.jobs import refresh_dictionary
from dictionary_pipeline.orchestration.metadata import shorten
from dictionary_pipeline.orchestration.partitions import databases
from dictionary_pipeline.orchestration.project import current_project
from dictionary_pipeline.run import database_store

_TICK_SECONDS = 300


def build_batch_sensor(configs: Iterable[DatabaseConfig]) -> dg.SensorDefinition:
    """The sensor; it is on where a database sends batches.

    Args:
        configs: Of all databases, when the code location is loaded.
    """
    is_used = any(config.model is not None and config.model.batch for config in configs)
    status = dg.DefaultSensorStatus.RUNNING if is_used else dg.DefaultSensorStatus.STOPPED

    @dg.sensor(job=refresh_dictionary, minimum_interval_seconds=_TICK_SECONDS, default_status=status)
    def model_batch(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        """Request a run of every database whose batch of definitions is answered."""
        # The provider's client is only needed where batches are used.
        from dictionary_pipeline.enrichment.model.batch import is_answered

        try:
            project = current_project()
        except DictionaryError as error:
            return dg.SkipReason(shorten(str(error)))  # `database_registry` logs it
        known = set(context.instance.get_dynamic_partitions(str(databases.name)))
        requests = []
        for name, config in sorted(project.databases.items()):
            if name not in known or config.model is None or not config.model.batch:
                continue
            try:
                batch = is_answered(database_store(config, project.folder), config.model)
            except DictionaryError as error:
                context.log.warning(shorten(f"the batch of database {name} cannot be asked for: {error}"))
                continue
            if batch is not None:
                requests.append(dg.RunRequest(run_key=f"{name}:{batch}", partition_key=name))
        return dg.SensorResult(run_requests=requests, skip_reason=None if requests else "No batch was answered.")

    return model_batch
