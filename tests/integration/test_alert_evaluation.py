"""Evaluations that share a store: races, lost records, a store that goes away in between."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from servers.webhook_receiver import WebhookReceiver, running_receiver
from unit.alerts.alerting import NOW, STAMP, drift, entry, settings

from dictionary_pipeline.alerts.evaluation import Evaluated, evaluate, load
from dictionary_pipeline.alerts.failures import Watched, start, tell_failures
from dictionary_pipeline.alerts.reachability import REACHABILITY_KEY, Silence, note_probes, read_reachability
from dictionary_pipeline.alerts.reading import Reading
from dictionary_pipeline.alerts.state import DRIFT, load_state
from dictionary_pipeline.alerts.topics import Published
from dictionary_pipeline.errors import StoreError
from dictionary_pipeline.publishing.local import LocalStore

TOPICS = drift(entry())


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[WebhookReceiver]:
    with running_receiver() as server:
        monkeypatch.setenv("HOOK_URL", server.url)
        yield server


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path)


def tell(store: LocalStore, now: float = NOW, unsaved: str | None = None) -> Evaluated:
    return evaluate(DRIFT, TOPICS, settings(), store, load(store, DRIFT, unsaved), now)


def test_of_two_evaluations_at_once_one_delivers(store: LocalStore, receiver: WebhookReceiver) -> None:
    barrier = threading.Barrier(2)
    results: list[Evaluated] = []

    def work() -> None:
        kept = load(store, DRIFT, None)
        barrier.wait()
        results.append(evaluate(DRIFT, TOPICS, settings(), store, kept, NOW))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(receiver.received) == 1
    assert sorted(result.is_busy for result in results) == [False, True]


def test_an_evaluation_that_finds_nothing_new_writes_nothing(store: LocalStore, receiver: WebhookReceiver) -> None:
    tell(store)
    etag = load_state(store, DRIFT).etag
    assert tell(store, NOW + 60) == Evaluated()
    assert load_state(store, DRIFT).etag == etag


def test_a_damaged_record_is_a_lost_one(store: LocalStore, receiver: WebhookReceiver) -> None:
    store.write(".state/alerts/drift.json", b'{"format": 1, "records": [{"topic": 3}]}')
    assert len(tell(store).delivered) == 1
    assert tell(store, NOW + 60).delivered == ()


class Fading(LocalStore):
    """A store that takes so many writes and then is away."""

    def __init__(self, root: Path, writes: int) -> None:
        super().__init__(root)
        self.writes = writes

    def swap(self, key: str, data: bytes, etag: str | None) -> str:
        self.writes -= 1
        if self.writes < 0:
            raise StoreError("away", where=key)
        return super().swap(key, data, etag)


@pytest.mark.parametrize("writes", [0, 1])
def test_what_cannot_be_recorded_is_handed_back_and_not_told_twice(
    tmp_path: Path, receiver: WebhookReceiver, writes: int
) -> None:
    store = Fading(tmp_path, writes)
    first = tell(store)
    assert len(first.delivered) == 1
    assert first.unsaved is not None
    again = tell(store, NOW + 300, first.unsaved)
    assert (again.delivered, again.unsaved) == ((), first.unsaved)
    store.writes = 5
    assert tell(store, NOW + 600, again.unsaved) == Evaluated()
    assert tell(store, NOW + 900) == Evaluated()
    assert len(receiver.received) == 1


def test_probes_are_noted_only_when_something_changed(store: LocalStore) -> None:
    note_probes(store, {}, ["a", "b"], NOW)
    assert store.read(REACHABILITY_KEY) is None
    note_probes(store, {"a": Silence("refused")}, ["b"], NOW)
    note_probes(store, {"a": Silence("refused again")}, ["b"], NOW + 60)
    noted = read_reachability(store)
    assert (noted.down["a"].text, noted.down["a"].at) == ("refused", NOW)
    note_probes(store, {}, ["a"], NOW + 120)
    assert read_reachability(store).down == {}
    assert read_reachability(store).back == {"a": NOW + 120}
    store.write(REACHABILITY_KEY, b"[]")
    assert read_reachability(store).down == {}


def test_a_file_that_became_invalid_ends_no_failure(store: LocalStore, receiver: WebhookReceiver) -> None:
    def tick(reading: Reading, now: float) -> None:
        watched = Watched(settings(group_seconds=0), store, dict, frozenset({"a"}), lambda: reading, dict)
        tell_failures(watched, start(watched, None), (), now)

    away, well = (Reading({"a": Published(STAMP, model_outage=outage)}) for outage in ("the model is away", None))
    tick(away, NOW)
    tick(Reading({}), NOW + 60)
    assert [item.document["event"] for item in receiver.received] == ["failure"]
    tick(well, NOW + 120)
    assert [item.document["event"] for item in receiver.received] == ["failure", "recovery"]
