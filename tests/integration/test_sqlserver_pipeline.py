"""From a SQL Server URL to a bundle over the test double, with both real clients, and what faults lead to."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from conformance.shop import SHOP, many_tables
from servers.certificates import server_context
from servers.probing import engine_for
from servers.tds import PASSWORD, TOKEN, USER, TdsServer, running_tds
from servers.tds_backend import Backend

from dictionary_pipeline.config.resolved import DatabaseConfig, SamplingLimits
from dictionary_pipeline.config.targets import resolve_target
from dictionary_pipeline.errors import (
    AuthenticationFailed,
    ConfigurationError,
    ConnectionFailed,
    NotADatabase,
    QueryTimeout,
)
from dictionary_pipeline.pipeline import RunSummary, run_database
from dictionary_pipeline.publishing.local import LocalStore

KEY_ORDER = [
    *("Entity", "Definition", "Schema", "EntityName", "Database", "EntityRelationships"),
    *("CompleteEntityRelationshipsGraph", "Columns", "FQN"),
]
_LEFT_OUT = dict.fromkeys(("enums", "type:interval", "type:json", "type:array"), "not in SQL Server")
_SECRET = quote(PASSWORD, safe="")


@pytest.fixture(scope="module")
def running() -> Iterator[TdsServer]:
    with running_tds() as server:
        yield server


@pytest.fixture
def server(running: TdsServer) -> Iterator[TdsServer]:
    """The server with a fresh database `few` of three tables, and with no faults."""
    running.declare("few", many_tables(3))
    running.logins.clear()
    running.statements.clear()
    yield running
    running.faults = type(running.faults)()


@pytest.fixture
def few(server: TdsServer) -> Backend:
    return server.databases["few"]


def url(server: TdsServer, database: str = "few", *, password: str = _SECRET) -> str:
    return f"mssql+pymssql://{USER}:{password}@127.0.0.1:{server.port}/{database}"


def run(target: str, out: Path, *, table_seconds: float = 10.0) -> RunSummary:
    connection, name = resolve_target(target, folder=None)
    config = DatabaseConfig(name, connection, sampling=SamplingLimits(table_seconds=table_seconds))
    return run_database(config, LocalStore(out))


def entries(out: Path) -> dict[str, dict[str, Any]]:
    read = [json.loads(path.read_text(encoding="utf-8")) for path in (out / "schema_store").iterdir()]
    return {entry["FQN"]: entry for entry in read}


def command_line(arguments: list[str], variables: Mapping[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own: Microsoft's driver keeps other threads from running at times."""
    return subprocess.run(
        [sys.executable, "-m", "dictionary_pipeline", *arguments],
        env={**os.environ, **variables},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_bundle_has_the_keys_of_the_contract(server: TdsServer, tmp_path: Path) -> None:
    server.declare("shop", SHOP.adapted(_LEFT_OUT))
    summary = run(url(server, "shop"), tmp_path)
    assert summary.exit_code == 0, (summary.error, summary.problems)
    found = entries(tmp_path)
    line = found["shop.sales.order_line"]
    assert list(line) == KEY_ORDER
    assert line["Database"] == "shop"
    [relationship] = line["EntityRelationships"]
    assert relationship["ForeignKeys"] == [
        {"Column": "tenant", "ForeignColumn": "tenant"},
        {"Column": "no", "ForeignColumn": "no"},
    ]
    assert relationship["ForeignDatabase"] == "shop"
    customer = {column["Name"]: column for column in found["shop.sales.customer"]["Columns"]}
    assert customer["status"]["AllowedValues"] == ["active", "blocked", "new"]
    assert customer["status"]["DataType"] == "nvarchar(20)"


def test_the_predecessors_variables_lead_through_microsofts_driver(server: TdsServer, tmp_path: Path) -> None:
    text = (
        f"Driver={{ODBC Driver 18 for SQL Server}};Server=tcp:127.0.0.1,{server.port};Database=few;Uid={USER};"
        f"Pwd={{{PASSWORD.replace('}', '}}')}}};Encrypt=no"
    )
    done = command_line(["tsql", "-o", "out"], {"Text2Sql__Tsql__ConnectionString": text}, tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
    assert set(entries(tmp_path / "out")) == {f"few.sales.t_000{n}" for n in range(3)}


def test_a_token_opens_an_encrypted_connection_and_an_expired_one_does_not(tmp_path: Path) -> None:
    with running_tds(context=server_context(tmp_path, highest=ssl.TLSVersion.TLSv1_2)) as server:
        server.declare("few", many_tables(3))
        target = (
            f"mssql+mssqlpython://127.0.0.1:{server.port}/few?access_token={TOKEN}"
            "&Encrypt=yes&TrustServerCertificate=yes"
        )
        done = command_line(["build", "env:SHOP_URL", "-o", "out"], {"SHOP_URL": target}, tmp_path)
        assert done.returncode == 0, done.stderr + done.stdout
        assert {login.token for login in server.logins} == {TOKEN}
        server.faults.token_expired = True
        server.logins.clear()
        done = command_line(["build", "env:SHOP_URL", "-o", "other"], {"SHOP_URL": target}, tmp_path)
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
        assert TOKEN not in done.stdout + done.stderr
        assert not (tmp_path / "other" / "manifest.json").exists()
        assert len(server.logins) == 1


def test_a_refused_login_is_tried_once_and_publishes_nothing(server: TdsServer, tmp_path: Path) -> None:
    summary = run(url(server, password="wrong"), tmp_path)
    assert summary.exit_code == 1
    assert isinstance(summary.error, AuthenticationFailed)
    assert summary.error.code == "18456"
    assert "wrong" not in str(summary.error)
    assert len(server.logins) == 1
    assert not (tmp_path / "manifest.json").exists()


def test_an_unknown_database_is_not_tried_again_and_a_silent_port_is(server: TdsServer) -> None:
    with pytest.raises((NotADatabase, AuthenticationFailed), match="database"):
        engine_for(url(server, "nowhere")).connect()
    with pytest.raises(ConnectionFailed) as raised:
        engine_for(f"mssql+pymssql://{USER}:x@127.0.0.1:1/few").connect()
    assert raised.value.retryable


def test_a_table_that_may_not_be_read_is_named_and_keeps_its_entry(
    server: TdsServer, few: Backend, tmp_path: Path
) -> None:
    few.deny_select("sales", "t_0001")
    summary = run(url(server), tmp_path)
    assert summary.exit_code == 3
    assert [problem.object for problem in summary.problems] == ["sales.t_0001"]
    assert len(entries(tmp_path)) == 3


def test_a_table_dropped_between_listing_and_sampling_is_named(server: TdsServer, few: Backend, tmp_path: Path) -> None:
    server.faults.errors = {"[t_0002]": (208, "Invalid object name 'sales.t_0002'.")}
    summary = run(url(server), tmp_path)
    assert summary.exit_code == 3
    assert [(problem.object, problem.code) for problem in summary.problems] == [("sales.t_0002", "208")]
    assert len(entries(tmp_path)) == 3


def test_a_table_without_any_permission_is_absent_like_in_the_catalog(
    server: TdsServer, few: Backend, tmp_path: Path
) -> None:
    few.revoke("sales", "t_0002")
    assert run(url(server), tmp_path).exit_code == 0
    assert set(entries(tmp_path)) == {"few.sales.t_0000", "few.sales.t_0001"}


def test_a_connection_lost_in_the_middle_of_an_answer_is_opened_again(server: TdsServer, tmp_path: Path) -> None:
    server.faults.torn = {"[t_0001]": 1}
    summary = run(url(server), tmp_path)
    assert summary.exit_code == 0, (summary.error, summary.problems)
    assert sum("[t_0001]" in statement for statement in server.statements) == 2


def test_a_connection_lost_while_the_catalog_is_read_publishes_nothing(server: TdsServer, tmp_path: Path) -> None:
    server.faults.torn = {"sys.columns": 1}
    summary = run(url(server), tmp_path)
    assert isinstance(summary.error, ConnectionFailed)
    assert summary.error.retryable
    assert not (tmp_path / "manifest.json").exists()


def test_a_slow_table_costs_its_budget_and_is_named(server: TdsServer, tmp_path: Path) -> None:
    server.faults.slow = {"[t_0001]": 60.0}
    start = time.monotonic()
    summary = run(url(server), tmp_path, table_seconds=2.0)
    assert time.monotonic() - start < 30
    assert summary.exit_code == 3
    assert [problem.object for problem in summary.problems] == ["sales.t_0001"]
    samples = {fqn: entry["Columns"][0]["SampleValues"] for fqn, entry in entries(tmp_path).items()}
    assert samples == {"few.sales.t_0000": [], "few.sales.t_0001": None, "few.sales.t_0002": []}


def test_the_time_limit_of_one_session_is_not_moved_by_another(server: TdsServer) -> None:
    server.faults.slow = {"slow": 10.0}
    engine = engine_for(url(server))
    with engine.open() as one, engine.open() as other:
        one.rows("SELECT 1 AS x", timeout_s=1.0)
        other.rows("SELECT 1 AS x", timeout_s=60.0)
        with pytest.raises(QueryTimeout):
            one.rows("SELECT 1 AS slow", timeout_s=1.0)
        assert one.rows("SELECT 1 AS x", timeout_s=1.0), "it connects again"


def test_a_url_may_name_only_a_client_and_parameters_that_exist() -> None:
    with pytest.raises(ConfigurationError, match=r"mssql\+pymssql"):
        engine_for("mssql+pytds://reader@host/shop")
    with pytest.raises(ConfigurationError, match="Did you mean `Encrypt`"):
        engine_for("mssql+mssqlpython://reader@host/shop?Encrpt=yes")
