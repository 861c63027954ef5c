"""Holding: a run found breaking drift, so the published bundle stays, and its manifest says that something waits."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from dictionary_pipeline.drift.holding import Pending
from dictionary_pipeline.publishing.lease import Lease
from dictionary_pipeline.publishing.manifest import read_manifest
from dictionary_pipeline.publishing.mirror import mirror
from dictionary_pipeline.publishing.publish import swap_manifest
from dictionary_pipeline.publishing.staging import StagedContent
from dictionary_pipeline.store import BatchStore, Store


def hold(store: Store, pending: Pending, lease: Lease, *, plain: Collection[str] | None = None) -> tuple[str, ...]:
    """Mark the published bundle as pending; its files stay as they are.

    Plain paths that a killed publish left half-written are finished, as by a publish.

    Returns:
        Plain files that a person had edited; what they said is kept by `hand_edits`.

    Raises:
        LeaseHeld: another run took the lease over.
        StoreError: the store cannot be used.
    """
    lease.ensure_held()
    replaced = current = read_manifest(store)
    if current is not None and current.manifest.pending != pending:
        current = swap_manifest(store, replace(current.manifest, pending=pending).to_bytes(), replaced)
    trusted = isinstance(store, BatchStore)
    done = mirror(store, StagedContent(Path(), {}), current, plain=plain, trusted=trusted, replaced=replaced)
    return done.hand_edited
