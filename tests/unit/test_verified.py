"""The record of when each database was verified."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dictionary_pipeline.config.resolved import (
    ConnectionSpec,
    DatabaseConfig,
    PrivacyPolicy,
    ProbeSettings,
    ScheduleSettings,
    Secret,
)
from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.verified import (
    KEY,
    Verification,
    configuration_digest,
    last_verified,
    record_verified,
    verifications,
)

NOW = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=2)
FOUND = Verification(NOW, "7", "m", "c", True)


def test_what_is_recorded_is_read_back(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    assert last_verified(store) == {}
    record_verified(store, {"a": FOUND, "b": FOUND._replace(probe=None, settled=False)})
    record_verified(store, {"b": FOUND._replace(at=NOW + timedelta(hours=1))})
    assert verifications(store) == {"a": FOUND, "b": FOUND._replace(at=NOW + timedelta(hours=1))}
    assert last_verified(store) == {"a": NOW, "b": NOW + timedelta(hours=1)}


def test_an_older_verification_does_not_replace_a_later_one(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    record_verified(store, {"a": FOUND})
    record_verified(store, {"a": FOUND._replace(at=NOW - timedelta(minutes=1), probe="6")})
    assert verifications(store) == {"a": FOUND}


def test_a_wrong_clock_that_was_put_right_leaves_no_moment_that_is_still_to_come(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    record_verified(store, {"a": FOUND._replace(at=NOW + timedelta(days=400)), "b": FOUND})
    assert last_verified(store) == {"b": NOW}
    record_verified(store, {"a": FOUND})
    assert last_verified(store) == {"a": NOW, "b": NOW}


def test_nothing_new_writes_nothing(tmp_path: Path) -> None:
    record_verified(LocalStore(tmp_path), {})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"format": 1}', b'{"format": 1, "databases": {"a": {"at": 1}}}']
)
def test_a_damaged_record_is_as_good_as_none(tmp_path: Path, content: bytes) -> None:
    store = LocalStore(tmp_path)
    store.write(KEY, content)
    assert last_verified(store) == {}
    record_verified(store, {"a": FOUND})
    assert last_verified(store) == {"a": NOW}


def test_runs_that_end_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    names = [f"d{number}" for number in range(12)]
    threads = [threading.Thread(target=record_verified, args=(LocalStore(tmp_path), {name: FOUND})) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(last_verified(LocalStore(tmp_path))) == sorted(names)


def test_the_digest_of_a_configuration_moves_with_what_a_run_depends_on_only() -> None:
    config = DatabaseConfig("a", ConnectionSpec("sqlite", {"path": "/x"}, {"password": Secret.literal("s")}))
    same = replace(
        config,
        connection=replace(config.connection, secrets={"password": Secret.literal("other")}),
        schedule=ScheduleSettings("0 5 * * *"),
        probe=ProbeSettings(every_minutes=5),
    )
    assert configuration_digest(same) == configuration_digest(config)
    assert configuration_digest(replace(config, withhold=("ssn",))) != configuration_digest(config)
    assert configuration_digest(replace(config, privacy=PrivacyPolicy("mask"))) != configuration_digest(config)
