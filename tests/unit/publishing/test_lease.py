from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dictionary_pipeline.errors import LeaseHeld, StoreError
from dictionary_pipeline.publishing import lease as lease_module
from dictionary_pipeline.publishing.lease import LEASE_KEY, hold_lease
from dictionary_pipeline.publishing.local import LocalStore

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def at(seconds: float) -> Callable[[], datetime]:
    return lambda: START + timedelta(seconds=seconds)


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path)


def record(store: LocalStore) -> dict[str, object]:
    content: dict[str, object] = json.loads(store.read(LEASE_KEY) or b"")
    return content


def test_a_second_run_is_refused_with_the_owner_and_the_fix(store: LocalStore) -> None:
    with (
        hold_lease(store, owner="r1", host="h1", clock=at(0)),
        pytest.raises(
            LeaseHeld, match=rf"run r1 on host h1 \(process {os.getpid()}\).*since 2026-01-02T03:04:05.*Wait"
        ),
        hold_lease(store, owner="r2", host="h2", clock=at(60)),
    ):
        raise AssertionError("two runs hold the lease")


def test_the_lease_is_free_after_the_run_whether_it_succeeds_or_fails(store: LocalStore) -> None:
    with hold_lease(store, owner="r1"):
        pass
    with pytest.raises(ZeroDivisionError), hold_lease(store, owner="r2"):
        raise ZeroDivisionError
    with hold_lease(store, owner="r3") as lease:
        assert lease.owner == "r3"


def test_a_kept_lease_is_for_the_same_owner_only_and_released_by_its_last_stage(store: LocalStore) -> None:
    with hold_lease(store, owner="r1", keep=True):
        pass
    with pytest.raises(LeaseHeld), hold_lease(store, owner="r2"):
        pass
    with hold_lease(store, owner="r1"):
        pass
    with hold_lease(store, owner="r2"):
        pass


def test_a_failing_stage_gives_even_a_kept_lease_back(store: LocalStore) -> None:
    with pytest.raises(ZeroDivisionError), hold_lease(store, owner="r1", keep=True):
        raise ZeroDivisionError
    with hold_lease(store, owner="r2"):
        pass


def test_an_expired_lease_of_another_host_is_taken_over_and_its_owner_notices(store: LocalStore) -> None:
    with hold_lease(store, owner="r1", host="h1", clock=at(0)) as first:
        with hold_lease(store, owner="r2", host="h2", clock=at(121)) as second:
            with pytest.raises(LeaseHeld, match="run r2 on host h2 took the lease over from run r1"):
                first.ensure_held()
            second.ensure_held()
        with pytest.raises(LeaseHeld):
            first.ensure_held()


def test_a_live_lease_is_renewed_by_a_check(store: LocalStore) -> None:
    now = 0.0
    with hold_lease(store, owner="r1", host="h1", clock=lambda: START + timedelta(seconds=now)) as lease:
        now = 100.0
        lease.ensure_held()
        with pytest.raises(LeaseHeld), hold_lease(store, owner="r2", host="h2", clock=at(200)):
            pass


def test_the_background_thread_renews_the_lease(store: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_module, "TTL_S", 0.4)
    with hold_lease(store, owner="r1", host="h1"):
        first = record(store)["expires_at"]
        deadline = datetime.now(UTC) + timedelta(seconds=10)
        while record(store)["expires_at"] == first and datetime.now(UTC) < deadline:
            continue
        assert record(store)["expires_at"] != first


@pytest.mark.skipif(not Path("/proc/self/ns/pid").exists(), reason="the death of a process is seen in Linux's /proc")
def test_the_lease_of_a_dead_process_of_this_host_is_taken_over_at_once(store: LocalStore) -> None:
    script = (
        "import os, sys\nfrom pathlib import Path\n"
        "from dictionary_pipeline.publishing.lease import hold_lease\n"
        "from dictionary_pipeline.publishing.local import LocalStore\n"
        "with hold_lease(LocalStore(Path(sys.argv[1])), owner='dead', host='h1'):\n    os._exit(9)\n"
    )
    assert subprocess.run([sys.executable, "-c", script, store.location]).returncode == 9
    assert record(store)["owner"] == "dead"
    with pytest.raises(LeaseHeld), hold_lease(store, owner="r2", host="h2"):
        raise AssertionError("another host cannot know that the process died")
    with hold_lease(store, owner="r3", host="h1"):
        assert record(store)["owner"] == "r3"


@pytest.mark.skipif(not Path("/proc/self/ns/pid").exists(), reason="start times are read from Linux's /proc")
def test_a_reused_process_number_does_not_keep_a_dead_lease_alive(store: LocalStore) -> None:
    with hold_lease(store, owner="r1", host="h1", keep=True):
        pass
    reused = record(store)
    assert reused["pid"] == os.getpid()
    store.write(LEASE_KEY, json.dumps({**reused, "process": f"{reused['process']}0"}).encode())
    with hold_lease(store, owner="r2", host="h1"):
        pass


def lease_with(**changes: object) -> bytes:
    whole = {"owner": "x", "host": "h9", "pid": 1, "process": "", "acquired_at": "", "expires_at": "2999-01-01T00:00Z"}
    return json.dumps(whole | changes).encode()


def test_a_lease_as_written_by_another_host_holds(store: LocalStore) -> None:
    store.write(LEASE_KEY, lease_with())
    with pytest.raises(LeaseHeld, match="free at 2999-01-01"), hold_lease(store, owner="r1"):
        pass


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[1]",
        b'{"owner": "x"}',
        lease_with(owner=5),
        lease_with(pid=2**70),
        lease_with(pid="1"),
        lease_with(process=None),
        lease_with(expires_at="2999-01-01T00:00:00"),
    ],
)
def test_content_that_no_run_wrote_holds_nothing(content: bytes, store: LocalStore) -> None:
    store.write(LEASE_KEY, content)
    with hold_lease(store, owner="r1") as lease:
        assert lease.owner == "r1"


def test_a_store_that_fails_while_releasing_does_not_hide_the_runs_own_error(store: LocalStore, tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), hold_lease(store, owner="r1"):
        for path in (tmp_path / ".state").iterdir():
            path.unlink()
        (tmp_path / ".state").rmdir()
        (tmp_path / ".state").write_text("in the way")
        raise ZeroDivisionError


def test_a_store_that_cannot_be_written_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("in the way")
    with pytest.raises(StoreError), hold_lease(LocalStore(tmp_path / "out"), owner="r1"):
        pass
