"""Hands on which databases did not answer a probe, for `failure_alerts`."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from dictionary_pipeline.alerts.reachability import Silence, note_probes
from dictionary_pipeline.config.resolved import Project
from dictionary_pipeline.errors import DictionaryError
from dictionary_pipeline.orchestration.metadata import shorten
from dictionary_pipeline.orchestration.probing import Down, Outcome, Probed, Unchanged
from dictionary_pipeline.publishing.open_store import open_store
from dictionary_pipeline.verified import Verification


def note_outcomes(
    project: Project,
    outcomes: Mapping[str, Outcome],
    last: Mapping[str, Verification],
    now: float,
    log: logging.Logger,
) -> None:
    """Keep who answered and who did not, where somebody is to be told; a store that is away only costs the message.

    Args:
        project: The configuration.
        outcomes: Of the databases that were asked; one that is not watched tells nothing.
        last: When each database was verified last, which ends a silence too.
        now: Epoch seconds.
        log: Of the tick.
    """
    if not project.alerts.channels or not outcomes:
        return
    down = {
        name: Silence(outcome.error, outcome.identifier, outcome.scope)
        for name, outcome in outcomes.items()
        if isinstance(outcome, Down)
    }
    answered = {name for name, outcome in outcomes.items() if isinstance(outcome, Probed | Unchanged)}
    verified = {name: found.at.timestamp() for name, found in last.items()}
    try:
        note_probes(open_store(project.publish, project.folder, ""), down, answered, now, verified)
    except DictionaryError as error:
        log.warning(shorten(f"who does not answer could not be noted for alerts: {error}"))
