"""A run over changed tables only, on a real PostgreSQL: what is read again, what is kept, and that nothing shows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from servers.postgres import PostgresServer, execute

from dictionary_pipeline.config.resolved import (
    ConnectionSpec,
    DatabaseConfig,
    HumanColumn,
    HumanKnowledge,
    HumanTable,
    PrivacyPolicy,
    SamplingLimits,
)
from dictionary_pipeline.pipeline import RunSummary, run_database
from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.run import RunOptions
from dictionary_pipeline.sampling_age import samples_expire_at
from dictionary_pipeline.stages import samples as samples_stage

# No foreign key is declared, so that the database is asked for them.
SCRIPT = """
CREATE TABLE customer (id int PRIMARY KEY, email text, city text, password_hash text);
CREATE TABLE orders (id int PRIMARY KEY, customer_id int, channel text);
CREATE TABLE product (id int PRIMARY KEY, label text);
CREATE VIEW open_orders AS SELECT id, channel FROM orders;
INSERT INTO customer SELECT g, 'cust' || g || '@shop.example', 'City ' || g % 3, 'x' FROM generate_series(1, 40) g;
INSERT INTO orders SELECT g, 1 + g % 40, (array['web', 'shop'])[1 + g % 2] FROM generate_series(1, 200) g;
INSERT INTO product SELECT g, 'Label ' || g FROM generate_series(1, 30) g;
"""
ALL = 4
LIMITS = SamplingLimits(row_limit=25)
"""Too few rows to tell from samples alone which column refers to which."""
CHANGED = RunOptions(changed_only=True)
NUMBERS = count()
"""Every test has a database of its own."""


@dataclass
class Shop:
    """A database and its bundle."""

    url: str
    out: Path
    config: DatabaseConfig

    def run(self, options: RunOptions = CHANGED) -> RunSummary:
        summary = run_database(self.config, LocalStore(self.out), options=options)
        assert summary.error is None, summary.error
        return summary

    def execute(self, script: str) -> None:
        execute(self.url, script)


@pytest.fixture
def shop(postgres: PostgresServer, tmp_path: Path) -> Shop:
    url = postgres.create_database(f"changed_{next(NUMBERS)}", SCRIPT)
    execute(url, "VACUUM ANALYZE")  # otherwise the server would do so at some time, and its estimates move
    config = DatabaseConfig("shop", ConnectionSpec("postgres", {"url": url}), sampling=LIMITS)
    shop = Shop(url, tmp_path / "out", config)
    shop.run(RunOptions())
    return shop


def metric(summary: RunSummary, stage: str, name: str) -> Any:
    return next(report.metrics[name] for report in summary.reports if report.stage == stage)


def tables_read(summary: RunSummary) -> int:
    return int(metric(summary, "column_samples", "tables_read"))


def probes(summary: RunSummary) -> int:
    return int(metric(summary, "relationship_graph", "probe_statements"))


def written(summary: RunSummary) -> int:
    return int(metric(summary, "published_dictionary", "objects_written"))


def published(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.relative_to(folder).parts[0].startswith(".")
    }


def test_an_unchanged_database_is_neither_sampled_nor_asked_nor_written(shop: Shop) -> None:
    before = published(shop.out)
    summary = shop.run()
    assert metric(summary, "column_samples", "statements") == 0
    assert (tables_read(summary), probes(summary), written(summary)) == (0, 0, 0)
    assert published(shop.out) == before


def test_without_the_option_everything_is_read_and_asked_again(shop: Shop) -> None:
    summary = shop.run(RunOptions())
    assert (tables_read(summary), written(summary)) == (ALL, 0)
    assert probes(summary) > 0


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE product ADD COLUMN colour text",
        "INSERT INTO product VALUES (31, 'New')",
    ],
)
def test_only_the_changed_table_is_read_and_the_bundle_is_that_of_a_whole_run(shop: Shop, change: str) -> None:
    shop.execute(change)
    assert tables_read(shop.run()) == 1
    assert written(shop.run(RunOptions())) == 0


def test_a_view_is_read_again_with_what_it_reads_through_other_views_too(shop: Shop) -> None:
    shop.execute("CREATE VIEW web_orders AS SELECT id, channel FROM open_orders WHERE channel = 'web'")
    shop.run(RunOptions())
    for change, read in (
        ("CREATE OR REPLACE VIEW open_orders AS SELECT id, channel || '!' AS channel FROM orders", 2),
        ("DELETE FROM orders WHERE id > 20", 3),
    ):
        shop.execute(change)
        assert tables_read(shop.run()) == read
        assert written(shop.run(RunOptions())) == 0


def test_counts_of_a_changed_table_are_asked_anew_and_others_are_kept(shop: Shop) -> None:
    shop.execute("INSERT INTO product VALUES (31, 'New')")
    assert probes(shop.run()) == 0
    shop.execute("INSERT INTO orders VALUES (201, 999, 'web')")
    assert probes(shop.run()) == 1
    assert probes(shop.run()) == 0


def test_samples_that_are_too_old_are_read_again(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    def at(hours: float) -> Callable[[], datetime]:
        return lambda: datetime.now(UTC) + timedelta(hours=hours)

    store = LocalStore(shop.out)
    expiry = samples_expire_at(store)
    assert expiry is not None
    assert timedelta(hours=167) < expiry - datetime.now(UTC) < timedelta(hours=168)
    monkeypatch.setattr(samples_stage, "now", at(167.9))
    assert tables_read(shop.run()) == 0
    monkeypatch.setattr(samples_stage, "now", at(168.1))
    assert tables_read(shop.run()) == ALL
    assert (samples_expire_at(store) or expiry) > expiry + timedelta(hours=168)


def test_the_oldest_samples_tell_when_the_next_ones_are_due(shop: Shop) -> None:
    first = samples_expire_at(LocalStore(shop.out))
    shop.execute("INSERT INTO product VALUES (31, 'New')")
    shop.run()
    assert samples_expire_at(LocalStore(shop.out)) == first


@pytest.mark.parametrize(
    "changes",
    [
        {"privacy": PrivacyPolicy(default="mask")},
        {"withhold": ("city",)},
    ],
)
def test_another_configuration_of_sampling_or_privacy_has_everything_read_again(
    shop: Shop, changes: dict[str, Any]
) -> None:
    shop.config = replace(shop.config, **changes)
    assert tables_read(shop.run()) == ALL
    assert tables_read(shop.run()) == 0


def test_limits_that_find_nothing_else_have_nothing_read_again(shop: Shop) -> None:
    shop.config = replace(shop.config, sampling=replace(LIMITS, max_connections=1, max_age_hours=24))
    assert tables_read(shop.run()) == 0


def test_values_that_people_list_have_their_table_read_again_now_and_when_they_stop(shop: Shop) -> None:
    listed = HumanTable("public", "orders", columns=(HumanColumn("channel", allowed_values=("web", "shop", "phone")),))
    for human in (HumanKnowledge((listed,)), HumanKnowledge()):
        shop.config = replace(shop.config, human=human)
        assert tables_read(shop.run()) == 1
        assert written(shop.run(RunOptions())) == 0


def test_a_table_that_could_not_be_read_is_tried_again(shop: Shop) -> None:
    shop.execute("CREATE VIEW broken AS SELECT 1 / (id - 1) AS x FROM product")
    for _ in range(2):
        summary = shop.run()
        assert summary.exit_code == 3
        assert metric(summary, "column_samples", "tables_read") == 0
        assert metric(summary, "column_samples", "statements") == 1
    shop.execute("CREATE OR REPLACE VIEW broken AS SELECT 1 / (id + 1) AS x FROM product")
    assert (tables_read(shop.run()), tables_read(shop.run())) == (1, 0)


@pytest.mark.parametrize("lost", ["sampled.json", "withheld_values.json", "stages/column_samples.json"])
def test_lost_or_damaged_state_costs_a_sampling_and_nothing_else(shop: Shop, lost: str) -> None:
    before = published(shop.out)
    file = shop.out / ".state" / lost
    file.unlink()
    assert tables_read(shop.run()) == ALL
    file.write_bytes(b'{"format": 1}')
    assert tables_read(shop.run()) == ALL
    assert published(shop.out) == before


def test_damaged_answers_are_asked_for_again(shop: Shop) -> None:
    (shop.out / ".state" / "key_probes.json").write_bytes(b'{"format": 1, "included": [[1]]}')
    assert (probes(shop.run()), probes(shop.run())) == (1, 0)


def test_a_dry_run_keeps_nothing(shop: Shop) -> None:
    shop.execute("INSERT INTO product VALUES (31, 'New')")
    kept = (shop.out / ".state" / "sampled.json").read_bytes()
    assert tables_read(shop.run(RunOptions(dry_run=True, changed_only=True))) == 1
    assert (shop.out / ".state" / "sampled.json").read_bytes() == kept
    assert tables_read(shop.run()) == 1


def test_forced_samples_are_all_read(shop: Shop) -> None:
    assert tables_read(shop.run(RunOptions(force=frozenset({"samples"}), changed_only=True))) == ALL


def test_values_of_tables_that_are_not_read_are_still_recognised(shop: Shop) -> None:
    shop.run()
    shop.execute("COMMENT ON TABLE product IS 'Ask cust7@shop.example about it.'")
    shop.run()
    entry = (shop.out / "schema_store" / f"{shop.url.rsplit('/', 1)[1]}.public.product.json").read_text()
    assert "cust7@shop.example" not in entry
    assert "Ask *** about it." in entry
