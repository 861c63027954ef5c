"""Tells drift that nobody acknowledged, from the published logs of all databases."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from dictionary_pipeline.alerts.evaluation import Evaluated, evaluate, load
from dictionary_pipeline.alerts.reading import Reading
from dictionary_pipeline.alerts.state import DRIFT, load_state
from dictionary_pipeline.alerts.topics import drift_topics
from dictionary_pipeline.config.alert_settings import AlertSettings
from dictionary_pipeline.store import Store


def tell_drift(
    settings: AlertSettings,
    store: Store,
    read: Callable[[], Reading],
    unusable: Collection[str],
    unsaved: str | None,
    now: float,
) -> Evaluated:
    """Tell what is due.

    Args:
        settings: Channels and rules.
        store: The store that the project's databases share.
        read: Reads what is published.
        unusable: Databases whose file is invalid, so that their store is not known.
        unsaved: What the last evaluation could not save.
        now: Epoch seconds.

    Raises:
        StoreError: the store cannot be read, and nothing unsaved says what was told.
    """
    reading = read()
    topics = drift_topics(reading.published, settings.dagster_url, now)
    # Without a record of what was told, a store that is away is waited for: everything open would be told again.
    kept = load(store, DRIFT, unsaved) if unsaved else load_state(store, DRIFT)
    came = evaluate(DRIFT, topics, settings, store, kept, now, {*reading.unread, *unusable})
    return replace(came, unread=reading.unread)
