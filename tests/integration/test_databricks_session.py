"""Logging in to Databricks and running statements when things go wrong, with the real connector."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from servers.databricks import CLIENT_ID, CLIENT_SECRET, HTTP_PATH, TOKEN, DatabricksServer, running_databricks
from servers.warehouse_model import Column, Database, Fault, Relation

from dictionary_pipeline.config.resolved import ConnectionSpec, Secret
from dictionary_pipeline.engines.databricks import DatabricksEngine
from dictionary_pipeline.engines.databricks_login import connect_arguments
from dictionary_pipeline.errors import (
    AuthenticationFailed,
    ConfigurationError,
    ConnectionFailed,
    DictionaryError,
    PermissionDenied,
    QueryFailed,
    QueryTimeout,
)

READ = "SELECT `a` FROM `shop`.`s`.`t`"
ROWS = 250


@pytest.fixture(scope="module")
def running() -> Iterator[DatabricksServer]:
    values = tuple((number,) for number in range(ROWS))
    declared = Database("shop", (Relation("s", "t", (Column("a", "BIGINT"),), rows=values),))
    with running_databricks([declared]) as server:
        yield server


@pytest.fixture
def server(running: DatabricksServer) -> DatabricksServer:
    running.faults.clear()
    return running


def spec(
    server: DatabricksServer,
    secrets: dict[str, str] | None = None,
    connect_args: dict[str, Any] | None = None,
    **more: Any,
) -> ConnectionSpec:
    uri = f"http://127.0.0.1:{server.port}{HTTP_PATH}"
    own = {"host": "127.0.0.1", "http_path": HTTP_PATH, "catalog": "shop"}
    held = {"token": TOKEN} if secrets is None else secrets
    return ConnectionSpec(
        "databricks",
        {**own, "connect_args": {"_connection_uri": uri, **(connect_args or {})}, **more},
        {key: Secret.literal(value) for key, value in held.items()},
        "profiles.yml:3",
    )


def failure(kind: type[DictionaryError], server: DatabricksServer, **limits: float) -> DictionaryError:
    with DatabricksEngine(spec(server)).open() as session, pytest.raises(kind) as caught:
        session.rows(READ, **limits)
    assert type(caught.value) is kind
    assert "hunter2" not in f"{caught.value}{caught.value.__cause__}{caught.value.__context__}"
    return caught.value


def test_large_results_arrive_in_parts_and_in_order(server: DatabricksServer) -> None:
    with DatabricksEngine(spec(server)).open() as session:
        assert session.rows(READ) == [(number,) for number in range(ROWS)]


def test_a_wrong_token_is_sent_once_and_never_shown(server: DatabricksServer) -> None:
    with pytest.raises(AuthenticationFailed) as caught:
        DatabricksEngine(spec(server, {"token": "dapi-s3cr3t"})).connect()
    assert caught.value.code == "403" and not caught.value.retryable
    assert "s3cr3t" not in f"{caught.value!r}{caught.value}{caught.value.__context__}"


def test_a_service_principal_logs_in_by_oauth(server: DatabricksServer) -> None:
    secrets = {"client_secret": CLIENT_SECRET}
    with DatabricksEngine(spec(server, secrets, client_id=CLIENT_ID, auth_type="oauth")).open() as session:
        assert session.rows("SELECT 1") == [(1,)]


def test_a_wrong_client_secret_is_refused_credentials(server: DatabricksServer) -> None:
    with pytest.raises(AuthenticationFailed, match="service principal"):
        DatabricksEngine(spec(server, {"client_secret": "nope"}, client_id=CLIENT_ID)).connect()


def test_other_ways_to_log_in_reach_the_connector(server: DatabricksServer) -> None:
    azure = connect_arguments(spec(server, {"client_secret": "s"}, client_id="id", auth_type="azure-sp-m2m"))
    assert (azure["auth_type"], azure["azure_client_id"], azure["azure_client_secret"]) == ("azure-sp-m2m", "id", "s")
    assert connect_arguments(spec(server, {}, auth_type="oauth"))["auth_type"] == "databricks-oauth"
    with pytest.raises(ConfigurationError, match="no credentials"):
        connect_arguments(spec(server, {}))


def test_telemetry_is_off_and_arguments_of_the_configuration_win(server: DatabricksServer) -> None:
    arguments = connect_arguments(spec(server, connect_args={"_socket_timeout": 7, "use_cloud_fetch": False}))
    assert arguments["enable_telemetry"] is False
    assert (arguments["_socket_timeout"], arguments["use_cloud_fetch"]) == (7, False)
    with pytest.raises(ConfigurationError, match="_tls_no_verify"):
        connect_arguments(spec(server, query={"_tls_no_verify": "true"}))


@pytest.mark.parametrize(
    ("path", "settings"),
    [
        (HTTP_PATH, {"TIMEZONE": "UTC", "STATEMENT_TIMEOUT": "120"}),
        ("/sql/protocolv1/o/1/0101-abc", {"spark.sql.session.timeZone": "UTC"}),
    ],
)
def test_warehouses_and_clusters_get_the_settings_they_know(
    server: DatabricksServer, path: str, settings: dict[str, str]
) -> None:
    assert connect_arguments(spec(server, http_path=path))["session_configuration"] == settings


@pytest.mark.parametrize("status", [401, 403])
def test_http_refusals_are_not_retried(server: DatabricksServer, status: int) -> None:
    server.faults.add(Fault("LOGIN", "http", status=status, times=-1))
    with pytest.raises(AuthenticationFailed):
        DatabricksEngine(spec(server)).connect()
    assert server.faults.logins == 1


def test_an_unknown_warehouse_is_named(server: DatabricksServer) -> None:
    server.faults.add(Fault("LOGIN", "http", status=404))
    with pytest.raises(ConnectionFailed, match="HTTP path"):
        DatabricksEngine(spec(server)).connect()


def test_an_overloaded_service_is_asked_again(server: DatabricksServer) -> None:
    server.faults.add(Fault("LOGIN", "http", status=429, retry_after=1))
    with DatabricksEngine(spec(server)).open() as session:
        assert session.rows("SELECT 1") == [(1,)]
    assert server.faults.logins == 2


def test_a_service_that_stays_overloaded_is_a_connection_error_worth_retrying(server: DatabricksServer) -> None:
    server.faults.add(Fault("LOGIN", "http", status=503, retry_after=1, times=-1))
    limits = {"_retry_stop_after_attempts_duration": 1}
    with pytest.raises(ConnectionFailed) as caught:
        DatabricksEngine(spec(server, connect_args=limits)).connect()
    assert type(caught.value) is ConnectionFailed and caught.value.retryable


@pytest.mark.parametrize("match", [r"^SELECT `a`", "^FETCH"])
def test_an_answer_cut_off_is_a_lost_connection(server: DatabricksServer, match: str) -> None:
    server.faults.add(Fault(match, "drop"))
    assert failure(ConnectionFailed, server).retryable


def test_a_token_that_expires_ends_the_run(server: DatabricksServer) -> None:
    server.faults.add(Fault("^SELECT `a`", "http", status=403, times=-1))
    assert failure(AuthenticationFailed, server).code == "403"


def test_a_session_that_the_server_closed_is_a_connection_error(server: DatabricksServer) -> None:
    with DatabricksEngine(spec(server)).open() as session:
        server.sessions.clear()
        with pytest.raises(ConnectionFailed):
            session.rows(READ)


def test_a_slow_statement_is_cancelled_at_its_time_budget_and_the_session_goes_on(server: DatabricksServer) -> None:
    server.faults.add(Fault("^SELECT `a`", "slow", seconds=30))
    with DatabricksEngine(spec(server)).open() as session:
        with pytest.raises(QueryTimeout):
            session.rows(READ, timeout_s=0.5)
        assert [operation for operation in server.running.values() if operation.cancelled.is_set()]
        assert len(session.rows(READ, timeout_s=5)) == ROWS


def test_a_stopped_warehouse_may_take_its_time_to_start(server: DatabricksServer) -> None:
    server.faults.add(Fault("^SELECT 1$", "slow", seconds=0.8))
    engine = DatabricksEngine(spec(server))
    for _ in range(2):
        with engine.open() as session:
            assert len(session.rows(READ, timeout_s=0.5)) == ROWS
    assert server.faults.statements.count("SELECT 1") == 1


@pytest.mark.parametrize(
    ("code", "state", "kind"),
    [
        ("INSUFFICIENT_PERMISSIONS", "42501", PermissionDenied),
        ("TABLE_OR_VIEW_NOT_FOUND", "42P01", QueryFailed),
        ("QUERY_EXECUTION_TIMEOUT_EXCEEDED", "57KD0", QueryTimeout),
        ("DIVIDE_BY_ZERO", "22012", QueryFailed),
    ],
)
def test_errors_of_statements_keep_the_sqlstate_and_no_text(
    server: DatabricksServer, code: str, state: str, kind: type[DictionaryError]
) -> None:
    server.faults.add(Fault("^SELECT `a`", "error", code=code, state=state))
    assert failure(kind, server).code == state
