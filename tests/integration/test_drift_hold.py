"""`on_breaking: hold` on a real SQLite database: what stays published, what releases it, and what does not wait."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import jsonschema
import pytest

from dictionary_pipeline import publishing
from dictionary_pipeline.config.drift_settings import DriftSettings
from dictionary_pipeline.config.resolved import ColumnRule, ConnectionSpec, DatabaseConfig, PrivacyPolicy
from dictionary_pipeline.drift.acks import acknowledge
from dictionary_pipeline.drift.holding import Pending, pending
from dictionary_pipeline.drift.reading import published_entries
from dictionary_pipeline.drift.record import moment
from dictionary_pipeline.errors import StoreError
from dictionary_pipeline.pipeline import RunSummary, run_database
from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.publishing.manifest import read_manifest
from dictionary_pipeline.run import RunOptions
from dictionary_pipeline.stages import publish as publish_stage

SCHEMA = """
CREATE TABLE city (id INTEGER PRIMARY KEY, name TEXT, slogan TEXT);
CREATE TABLE shop (id INTEGER PRIMARY KEY, city_id INTEGER REFERENCES city (id), note TEXT);
INSERT INTO city (name, slogan) VALUES ('Rome', 'Caput Mundi'), ('Oslo', 'Tigerstaden');
"""
MANIFEST_SCHEMA = json.loads((Path(publishing.__file__).parent / "schemas/manifest.schema.json").read_text())


class Held:
    """A SQLite file whose breaking drift is held, published once."""

    def __init__(self, folder: Path) -> None:
        self.path, self.out = folder / "shop.db", folder / "out"
        self.store = LocalStore(self.out)
        self.settings = DriftSettings(on_breaking="hold")
        self.change(SCHEMA)
        assert self.run().exit_code == 0

    def change(self, script: str) -> None:
        with closing(sqlite3.connect(self.path)) as connection:
            connection.executescript(script)

    def run(self, *, dry: bool = False, privacy: PrivacyPolicy | None = None) -> RunSummary:
        spec = ConnectionSpec("sqlite", {"path": str(self.path)})
        config = DatabaseConfig("shop", spec, drift=self.settings, privacy=privacy or PrivacyPolicy())
        summary = run_database(config, self.store, options=RunOptions(dry_run=dry))
        assert summary.error is None
        return summary

    def status(self) -> object:
        return self.run().reports[-1].metrics["status"]

    def waiting(self) -> Pending:
        found = pending(self.store)
        assert found is not None
        return found

    def acknowledge(self, *keys: str) -> None:
        acknowledge(self.store, keys or [e.key for e in self.waiting().entries], "ann", "known", datetime.now(UTC))

    def plain_files(self) -> dict[str, str]:
        return {
            str(path.relative_to(self.out)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(self.out.rglob("*"))
            if path.is_file() and path.relative_to(self.out).parts[0] not in (".state", ".objects", ".manifests")
        }

    def logged(self) -> list[str]:
        return [entry.kind for entry in published_entries(self.store)]


@pytest.fixture
def held(tmp_path: Path) -> Held:
    return Held(tmp_path)


def test_breaking_drift_leaves_every_plain_file_and_marks_the_manifest(held: Held) -> None:
    before = held.plain_files()
    held.change("ALTER TABLE shop DROP COLUMN note")
    summary = held.run()
    assert (summary.exit_code, summary.held, summary.reports[-1].metrics["status"]) == (3, True, "held")
    assert any("drift ack shop --all" in warning for warning in summary.warnings)
    after = held.plain_files()
    assert {path for path in after if after[path] != before.get(path)} == {"manifest.json"}
    (entry,) = held.waiting().entries
    assert (entry.kind, entry.column, entry.run_id) == ("column_removed", "note", summary.run_id)
    jsonschema.validate(json.loads((held.out / "manifest.json").read_bytes()), MANIFEST_SCHEMA)
    assert held.logged() == []


def test_a_run_that_finds_the_same_again_writes_nothing(held: Held) -> None:
    held.change("ALTER TABLE shop DROP COLUMN note")
    held.run()
    manifest = (held.out / "manifest.json").stat()
    assert held.run().exit_code == 3
    after = (held.out / "manifest.json").stat()
    assert (after.st_ino, after.st_mtime_ns) == (manifest.st_ino, manifest.st_mtime_ns)


def test_an_acknowledgement_lets_the_next_run_publish_and_log_once_with_the_first_detection(held: Held) -> None:
    held.change("ALTER TABLE shop DROP COLUMN note")
    first = held.run()
    held.change("CREATE TABLE extra (id INTEGER)")
    held.run()
    assert held.waiting().since == held.waiting().entries[0].detected_at
    held.acknowledge()
    assert held.status() == "published"
    assert pending(held.store) is None
    assert held.logged() == ["column_removed", "table_added"]
    assert published_entries(held.store)[0].run_id == first.run_id
    assert held.status() == "unchanged"
    assert held.logged() == ["column_removed", "table_added"]


def test_a_further_breaking_change_after_the_acknowledgement_holds_again(held: Held) -> None:
    held.change("ALTER TABLE shop DROP COLUMN note")
    held.run()
    held.acknowledge()
    held.change("ALTER TABLE city DROP COLUMN slogan")
    assert held.status() == "held"
    held.acknowledge()
    assert held.status() == "published"
    assert held.logged() == ["column_removed", "column_removed"]


def test_the_same_change_that_happens_again_is_not_acknowledged_by_what_was_said_of_the_first(held: Held) -> None:
    held.change("ALTER TABLE shop DROP COLUMN note")
    held.run()
    held.acknowledge()
    assert held.status() == "published"
    held.change("ALTER TABLE shop ADD COLUMN note TEXT")
    assert held.status() == "published"
    detected = published_entries(held.store)[-1].detected_at
    while moment(datetime.now(UTC)) <= detected:  # moments are told in seconds
        time.sleep(0.1)
    held.change("ALTER TABLE shop DROP COLUMN note")
    assert held.status() == "held"
    held.acknowledge()
    assert held.status() == "published"
    assert held.logged() == ["column_removed", "column_added", "column_removed"]


def test_a_harmless_change_after_the_acknowledgement_does_not_hold(held: Held) -> None:
    held.change("ALTER TABLE shop DROP COLUMN note")
    held.run()
    held.acknowledge()
    held.change("CREATE TABLE extra (id INTEGER)")
    assert held.status() == "published"


def test_acknowledging_the_breaking_ones_is_enough(held: Held) -> None:
    held.change("ALTER TABLE shop DROP COLUMN note; CREATE TABLE extra (id INTEGER)")
    held.run()
    held.acknowledge(next(entry.key for entry in held.waiting().entries if entry.severity == "breaking"))
    assert held.status() == "published"


def test_harmless_drift_is_never_held(held: Held) -> None:
    held.change("CREATE TABLE extra (id INTEGER)")
    assert held.status() == "published"


def test_a_column_that_comes_back_ends_the_hold_and_nothing_is_logged(held: Held) -> None:
    before = held.plain_files()
    held.change("ALTER TABLE shop DROP COLUMN note")
    held.run()
    held.change("ALTER TABLE shop ADD COLUMN note TEXT")
    assert held.run().exit_code == 0
    assert pending(held.store) is None
    after = held.plain_files()
    assert {path for path in after if after[path] != before.get(path)} == {"manifest.json"}
    assert held.logged() == []


def test_a_severity_configured_meanwhile_ends_the_hold(held: Held) -> None:
    held.change("ALTER TABLE shop DROP COLUMN note")
    held.run()
    held.settings = DriftSettings({"column_removed:main.shop.*": "risky"}, on_breaking="hold")
    assert held.status() == "published"
    (entry,) = published_entries(held.store)
    assert (entry.severity, entry.reason) == ("risky", "configured")


def test_a_dry_run_says_that_a_run_would_hold_and_writes_nothing(held: Held) -> None:
    held.change("ALTER TABLE shop DROP COLUMN note")
    before = held.plain_files()
    summary = held.run(dry=True)
    assert summary.reports[-1].metrics["would_hold"] is True
    assert not any("newly withheld" in warning for warning in summary.warnings)
    assert held.plain_files() == before


def test_losing_the_state_loses_neither_the_hold_nor_the_first_detection(held: Held) -> None:
    held.change("ALTER TABLE shop DROP COLUMN note")
    first = held.run()
    for path in sorted((held.out / ".state").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    assert held.status() == "held"
    assert held.waiting().entries[0].run_id == first.run_id


def test_a_newly_withheld_column_is_purged_although_the_bundle_was_to_be_held(held: Held) -> None:
    """What is published shows the values, so it cannot stay: privacy wins over the hold."""
    assert "Tigerstaden" in _everything(held.out)
    held.change("ALTER TABLE shop DROP COLUMN note")
    held.run()
    summary = held.run(privacy=PrivacyPolicy(columns=(ColumnRule("city.slogan", "withhold"),)))
    assert summary.reports[-1].metrics["status"] == "published"
    assert any("newly withheld" in warning for warning in summary.warnings)
    assert "Tigerstaden" not in _everything(held.out)
    assert pending(held.store) is None
    assert held.logged() == ["column_removed"]


def test_a_purge_that_died_half_way_is_finished_although_the_bundle_was_to_be_held(
    held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    privacy = PrivacyPolicy(columns=(ColumnRule("city.slogan", "withhold"),))
    from dictionary_pipeline.publishing import publish as protocol

    def die(*_args: object) -> None:
        raise StoreError("the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr(protocol, "swap_manifest", die)
        with pytest.raises(AssertionError):
            held.run(privacy=privacy)
    held.change("ALTER TABLE shop DROP COLUMN note")
    assert held.run(privacy=privacy).reports[-1].metrics["status"] == "published"
    assert "Tigerstaden" not in _everything(held.out)


def test_what_a_killed_publish_left_half_written_is_finished_by_a_held_run(
    held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dictionary_pipeline.publishing import publish as protocol

    def die(*_args: object, **_options: object) -> None:
        raise StoreError("the disk is gone")

    held.change("CREATE TABLE extra (id INTEGER)")
    with monkeypatch.context() as patch:
        patch.setattr(protocol, "mirror", die)
        with pytest.raises(AssertionError):
            held.run()
    assert not (held.out / "schema_store" / "main.extra.json").exists()
    held.change("ALTER TABLE shop DROP COLUMN note")
    assert held.status() == "held"
    assert (held.out / "schema_store" / "main.extra.json").exists()


def test_a_run_that_dies_while_it_marks_holds_the_next_time(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(*_args: object, **_options: object) -> None:
        raise StoreError("the disk is gone")

    held.change("ALTER TABLE shop DROP COLUMN note")
    with monkeypatch.context() as patch:
        patch.setattr(publish_stage, "hold", die)
        with pytest.raises(AssertionError):
            held.run()
    assert pending(held.store) is None
    assert held.status() == "held"


def test_what_is_not_known_to_be_undone_stays_held(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    held.change("DROP TABLE shop")
    held.run()
    before = held.waiting()
    real = publish_stage.drifting.handover.catalog_from

    def incomplete(state: object) -> object:
        from dataclasses import replace

        return replace(real(state), complete=False, fingerprint=None)  # type: ignore[arg-type]

    monkeypatch.setattr(publish_stage.drifting.handover, "catalog_from", incomplete)
    held.run()
    assert held.waiting() == before
    stored = read_manifest(held.store)
    assert stored is not None
    assert "schema_store/main.shop.json" in stored.manifest.files


def _everything(folder: Path) -> str:
    return "".join(path.read_bytes().decode("latin-1") for path in folder.rglob("*") if path.is_file())


def test_most_tables_gone_at_once_is_held_although_breaking_drift_is_published(held: Held) -> None:
    held.settings = DriftSettings()
    held.change("CREATE TABLE a (id INTEGER); CREATE TABLE b (id INTEGER)")
    assert held.status() == "published"
    held.change("DROP TABLE shop; DROP TABLE a; DROP TABLE b")
    summary = held.run()
    assert summary.held
    assert any("3 of 4 tables and views are gone" in warning for warning in summary.warnings)
    held.settings = DriftSettings(on_suspicious="publish")
    assert held.status() == "published"
