"""What a run says when it may suddenly see less of a real PostgreSQL: a problem, never deletions."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from servers.postgres import PostgresServer, execute

from dictionary_pipeline.config.resolved import DatabaseConfig
from dictionary_pipeline.config.targets import resolve_target
from dictionary_pipeline.drift.reading import published_entries
from dictionary_pipeline.pipeline import RunSummary, run_database
from dictionary_pipeline.publishing.local import LocalStore

TABLES = [f"t{number}" for number in range(8)]
SCRIPT = "".join(
    f"CREATE TABLE {table} (id int PRIMARY KEY, note text); INSERT INTO {table} VALUES (1, 'x');" for table in TABLES
)


class Reader:
    """A role that may read everything at first, and the dictionary that it publishes."""

    def __init__(self, url: str, role: str, out: Path) -> None:
        self.url, self.role, self.out = url, role, out
        self.store = LocalStore(out)

    def run(self) -> RunSummary:
        info = psycopg.conninfo.conninfo_to_dict(self.url)
        target = f"postgresql://{self.role}@{info['host']}:{info.get('port', 5432)}/{info['dbname']}"
        connection, _ = resolve_target(target, folder=None)
        summary = run_database(DatabaseConfig("trust", connection), self.store)
        assert summary.error is None
        return summary

    def kinds(self) -> list[str]:
        return [f"{entry.kind} {entry.table}" for entry in published_entries(self.store)]


@pytest.fixture
def reader(postgres: PostgresServer, tmp_path: Path) -> Iterator[Reader]:
    name = f"trust_{uuid.uuid4().hex[:8]}"
    url = postgres.create_database(name, SCRIPT)
    role = f"{name}_reader"
    execute(url, f"CREATE ROLE {role} LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}")
    yield Reader(url, role, tmp_path / "out")
    execute(url, f"DROP OWNED BY {role}; DROP ROLE {role}")


def test_revoking_half_the_tables_is_a_problem_and_no_deletion(reader: Reader) -> None:
    assert reader.run().exit_code == 0
    half = ", ".join(TABLES[:4])
    execute(reader.url, f"REVOKE SELECT ON {half} FROM {reader.role}")
    summary = reader.run()
    assert summary.exit_code == 3
    assert {problem.object for problem in summary.problems} == {f"public.{table}" for table in TABLES[:4]}
    assert reader.kinds() == []
    assert summary.reports[-1].metrics["drift_breaking"] == 0
    for table in TABLES:
        assert (reader.out / "schema_store" / f"{_database(reader)}.public.{table}.json").exists()
    execute(reader.url, f"GRANT SELECT ON {half} TO {reader.role}")
    assert reader.run().exit_code == 0
    assert reader.kinds() == []


def test_a_table_dropped_while_others_are_revoked_is_found_once_they_are_granted_again(reader: Reader) -> None:
    reader.run()
    execute(reader.url, f"REVOKE SELECT ON {', '.join(TABLES[:4])} FROM {reader.role}; DROP TABLE t7")
    summary = reader.run()
    assert reader.kinds() == []
    assert any("lost privileges" in warning for warning in summary.warnings)
    execute(reader.url, f"GRANT SELECT ON {', '.join(TABLES[:4])} TO {reader.role}")
    reader.run()
    assert reader.kinds() == ["table_removed t7"]
    assert reader.run().reports[-1].metrics["status"] == "unchanged"
    assert reader.kinds() == ["table_removed t7"]


def _database(reader: Reader) -> str:
    return str(psycopg.conninfo.conninfo_to_dict(reader.url)["dbname"])
