"""The asset that pushes the published dictionary to Azure AI Search; defined only where that is configured."""

# No `from __future__ import annotations` here: Dagster reads the annotations of asset functions as types.
from collections.abc import Iterator

import dagster as dg

from dictionary_pipeline.errors import DictionaryError
from dictionary_pipeline.handover import PUBLISHED
from dictionary_pipeline.orchestration.assets import GROUP, OWNER, RETRY, as_failure, asset_key
from dictionary_pipeline.orchestration.metadata import shorten
from dictionary_pipeline.orchestration.partitions import databases
from dictionary_pipeline.orchestration.project import current_project, run_config
from dictionary_pipeline.orchestration.resources import RefreshOptions
from dictionary_pipeline.orchestration.tags import tag_run
from dictionary_pipeline.publishing.search.progress import STAGE
from dictionary_pipeline.run import database_store, shared_store
from dictionary_pipeline.searching import push_published
from dictionary_pipeline.unexpected import unexpected

CHECK = "everything_was_pushed"
_KEY = asset_key(STAGE)


@dg.asset(
    key=_KEY,
    deps=[asset_key(PUBLISHED)],
    partitions_def=databases,
    group_name=GROUP,
    owners=[OWNER],
    kinds={"azureaisearch"},
    description="Push what changed of the published dictionary to the search service.",
    retry_policy=RETRY,
    check_specs=[dg.AssetCheckSpec(CHECK, asset=_KEY)],
)
def search_index(
    context: dg.AssetExecutionContext, refresh_options: RefreshOptions
) -> Iterator[dg.MaterializeResult[None]]:
    try:
        result = _pushed(context, refresh_options)
    except Exception as error:  # noqa: BLE001 - a foreign text could quote values of the database in an event
        failure = error if isinstance(error, DictionaryError) else unexpected(error)
        raise as_failure(failure) from None
    yield result


def _pushed(context: dg.AssetExecutionContext, options: RefreshOptions) -> dg.MaterializeResult[None]:
    project, name = current_project(), context.partition_key
    config, _ = run_config(project, name)
    tag_run(context)
    if options.dry_run or config.search is None:
        why = "dry run, nothing pushed" if options.dry_run else "this database is not to be pushed"
        return dg.MaterializeResult(metadata={"status": why}, check_results=[_check(0, why)])
    report = push_published(
        config,
        config.search,
        database_store(config, project.folder),
        shared_store(config, project.folder),
        owner=context.run.run_id,
    )
    for problem in report.problems[:20]:
        context.log.warning(shorten(f"{problem.object}: {problem.message}. {problem.hint}"))
    first = f"{report.problems[0].object}: {report.problems[0].message}" if report.problems else ""
    return dg.MaterializeResult(
        metadata={
            "status": "pushed" if report.sent or report.deleted else "unchanged",
            "documents_pushed": report.sent,
            "documents_deleted": report.deleted,
            "documents_unchanged": report.unchanged,
            "cached_queries_dropped": report.queries_dropped,
            "embedding_requests": report.embedding_requests,
            "location": config.search.endpoint,
        },
        check_results=[_check(len(report.problems), first or "The indexes hold the published dictionary.")],
    )


def _check(found: int, text: str) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(
        asset_key=_KEY,
        check_name=CHECK,
        passed=not found,
        severity=dg.AssetCheckSeverity.WARN,
        description=shorten(text),
        metadata={"found": found},
    )
