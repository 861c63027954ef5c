"""When each database was last found to be what its dictionary says.

A completed run verifies its database, and so does a scheduled look that finds nothing to do. All databases
of a project share one small file in the project's store, so that a look at forty of them is one write.
Losing it costs one run per database.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from dictionary_pipeline import __version__, jsontext
from dictionary_pipeline.config.resolved import DatabaseConfig, ProbeSettings, ScheduleSettings
from dictionary_pipeline.errors import StoreConflict, StoreError
from dictionary_pipeline.handover import SNAPSHOT
from dictionary_pipeline.publishing.manifest import read_manifest
from dictionary_pipeline.run import PipelineRun
from dictionary_pipeline.state import StageState
from dictionary_pipeline.store import Store

KEY = ".state/verified.json"
_FORMAT = 1
_CONFLICTS = 100
_LONGEST_PAUSE_S = 0.05
_CLOCKS_DIFFER = timedelta(minutes=1)
"""Machines that share a store agree to within this; what is later than it was written by a wrong clock."""
WAITING = "waiting"
"""Fact of a stage's state: how many tables a limit left for the next run."""


class Verification(NamedTuple):
    """The last time that a database and its dictionary were known to agree."""

    at: datetime
    """UTC."""
    probe: str | None
    """The change signal of that moment."""
    manifest: str
    """Hash of the manifest that was compared."""
    configuration: str
    """`configuration_digest` of the run."""
    settled: bool
    """The run left nothing over for the next one: no problem, and no table that waits for a model."""


def last_verified(shared: Store) -> Mapping[str, datetime]:
    """When each database was last verified, by name, in UTC.

    Args:
        shared: What the databases of the project share.

    Raises:
        StoreError: the store cannot be read.
    """
    return {name: found.at for name, found in verifications(shared).items()}


def verifications(shared: Store) -> Mapping[str, Verification]:
    """All that is known; arguments and errors as of `last_verified`."""
    return _parsed(shared.read(KEY))


def record_verified(shared: Store, new: Mapping[str, Verification]) -> None:
    """Keep new verifications, all in one conditional write; of two for a database the later one stays.

    Raises:
        StoreError: the store cannot be used, or too many others write to the file.
    """
    if not new:
        return
    for _ in range(_CONFLICTS):
        current = shared.read_versioned(KEY)
        known = _parsed(current.data if current else None)
        later = {name: found for name, found in new.items() if name not in known or known[name].at <= found.at}
        try:
            shared.swap(KEY, _document(known | later), current.etag if current else None)
            return
        except StoreConflict:
            time.sleep(random.uniform(0.0, _LONGEST_PAUSE_S))
    raise StoreConflict(
        "the record of verified databases is written by too many runs at once", where=KEY, fix="Run again."
    )


def record_run(run: PipelineRun, states: Mapping[str, StageState]) -> tuple[str, ...]:
    """Record that a run over a configured database has just ended well, whether or not it found anything new.

    Args:
        run: Still holding its lease.
        states: Of the stages whose results it published.

    Returns:
        A warning when it could not be recorded: the dictionary is published all the same.
    """
    if run.shared is None or run.config.file is None or run.options.entities:
        return ()
    try:
        published = read_manifest(run.store)
        if published is None:
            return ()
        waiting = any(state.facts.get(WAITING) for state in states.values())
        found = Verification(
            datetime.now(UTC),
            states[SNAPSHOT].facts["probe"],
            published.sha256,
            configuration_digest(run.config),
            settled=published.manifest.complete and not waiting,
        )
        record_verified(run.shared, {run.config.name: found})
    except StoreError as error:
        return (f"The time of this run could not be recorded: {error}",)
    return ()


def configuration_digest(config: DatabaseConfig) -> str:
    """Hash of what a run's result depends on beside the database: its configuration and the product's version.

    A moved line or folder changes it too, which costs one run. Secrets are not part of it.
    """
    bearing = replace(config, schedule=ScheduleSettings(), probe=ProbeSettings(), file=None)
    return jsontext.digest([__version__, repr(bearing)])[:24]


def _clock() -> datetime:
    return datetime.now(UTC)


def _document(known: Mapping[str, Verification]) -> bytes:
    databases = {
        name: {**found._asdict(), "at": found.at.astimezone(UTC).isoformat(timespec="milliseconds")}
        for name, found in sorted(known.items())
    }
    return jsontext.pretty({"format": _FORMAT, "databases": databases}).encode()


def _parsed(data: bytes | None) -> dict[str, Verification]:
    """What a file says, without moments that are still to come; nothing when it is damaged or of another version."""
    latest = _clock() + _CLOCKS_DIFFER
    try:
        document = json.loads(data) if data is not None else None
        if document is None or document["format"] != _FORMAT:
            return {}
        known = {
            name: Verification(
                datetime.fromisoformat(found["at"]).astimezone(UTC),
                found["probe"],
                str(found["manifest"]),
                str(found["configuration"]),
                found["settled"] is True,
            )
            for name, found in document["databases"].items()
        }
        return {name: found for name, found in known.items() if found.at <= latest}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}
