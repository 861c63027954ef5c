"""Logging in to Snowflake and running statements when things go wrong, with the real connector."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from servers.snowflake import PASSWORD, TOKEN, USER, SnowflakeServer, running_snowflake
from servers.warehouse_model import Column, Database, Fault, Relation

from dictionary_pipeline.config.resolved import ConnectionSpec, Secret
from dictionary_pipeline.engines.snowflake import SnowflakeEngine
from dictionary_pipeline.engines.snowflake_login import connect_arguments
from dictionary_pipeline.errors import (
    AuthenticationFailed,
    ConfigurationError,
    ConnectionFailed,
    DictionaryError,
    PermissionDenied,
    QueryFailed,
    QueryTimeout,
)

READ = 'SELECT "A" FROM "S"."T"'
FAST = {"retry_max_attempts": 2, "retry_backoff_base_ms": 10, "retry_backoff_cap_ms": 20}


@pytest.fixture(scope="module")
def running() -> Iterator[SnowflakeServer]:
    declared = Database("SHOP", (Relation("S", "T", (Column("A", "NUMBER(38,0)"),), rows=((1,),)),))
    with running_snowflake([declared]) as server:
        yield server


@pytest.fixture
def server(running: SnowflakeServer) -> SnowflakeServer:
    running.faults.clear()
    return running


def spec(server: SnowflakeServer, secrets: dict[str, str] | None = None, **options: Any) -> ConnectionSpec:
    own = {"account": "acc", "user": USER, "database": "SHOP", "warehouse": "WH", "connect_args": FAST}
    place = {"host": "127.0.0.1", "port": server.port, "protocol": "http"}
    held = {"password": PASSWORD} if secrets is None else secrets
    return ConnectionSpec(
        "snowflake",
        {**own, **place, **options},
        {key: Secret.literal(value) for key, value in held.items()},
        "profiles.yml:3",
    )


def failure(kind: type[DictionaryError], server: SnowflakeServer, sql: str = READ, **limits: float) -> DictionaryError:
    with SnowflakeEngine(spec(server)).open() as session:
        server.faults.statements.clear()
        with pytest.raises(kind) as caught:
            session.rows(sql, **limits)
    assert type(caught.value) is kind
    assert "hunter2" not in f"{caught.value}{caught.value.__cause__}{caught.value.__context__}"
    return caught.value


def test_a_wrong_password_is_sent_once_and_never_shown(server: SnowflakeServer) -> None:
    engine = SnowflakeEngine(spec(server, {"password": "s3cr3t-but-wrong"}))
    with pytest.raises(AuthenticationFailed) as caught:
        engine.connect()
    assert server.faults.logins == 1
    assert caught.value.code == "390100" and not caught.value.retryable
    assert "s3cr3t" not in f"{caught.value!r}{caught.value}{caught.value.__context__}"


def test_a_programmatic_access_token_logs_in(server: SnowflakeServer) -> None:
    with SnowflakeEngine(spec(server, {"token": TOKEN})).open() as session:
        assert session.rows(READ) == [(1,)]


@pytest.mark.parametrize(
    ("secrets", "options", "method"),
    [
        ({"private_key": "PEM", "private_key_passphrase": "p"}, {}, "SNOWFLAKE_JWT"),
        ({"private_key_passphrase": "p"}, {"private_key_path": "/keys/rsa.p8"}, "SNOWFLAKE_JWT"),
        ({"oauth_client_secret": "s"}, {"oauth_client_id": "id"}, "OAUTH_CLIENT_CREDENTIALS"),
        ({"token": "t"}, {}, "PROGRAMMATIC_ACCESS_TOKEN"),
        ({"token": "t"}, {"authenticator": "oauth"}, "oauth"),
        ({}, {"connect_args": {"workload_identity_provider": "AWS"}}, "WORKLOAD_IDENTITY"),
    ],
)
def test_secrets_imply_the_way_to_log_in(
    server: SnowflakeServer, secrets: dict[str, str], options: dict[str, Any], method: str
) -> None:
    arguments = connect_arguments(spec(server, secrets, **options))
    assert arguments["authenticator"] == method
    assert ("private_key_password" in arguments) == ("private_key_passphrase" in secrets)


def test_the_session_has_tag_timeout_and_utc_and_arguments_of_the_configuration_win(server: SnowflakeServer) -> None:
    more = {"connect_args": {**FAST, "session_parameters": {"QUERY_TAG": "mine"}}}
    with SnowflakeEngine(spec(server, **more)).open():
        (parameters,) = [session["parameters"] for session in list(server.sessions.values())[-1:]]
    assert parameters["QUERY_TAG"] == "mine"
    assert (parameters["STATEMENT_TIMEOUT_IN_SECONDS"], parameters["TIMEZONE"]) == ("120", "UTC")


def test_names_come_back_as_the_account_spells_them(server: SnowflakeServer) -> None:
    engine = SnowflakeEngine(spec(server, database="shop", warehouse="wh"))
    with engine.open():
        assert engine.identity.fields() == {"Warehouse": "WH", "Database": "SHOP"}


def test_a_url_may_not_name_local_files(server: SnowflakeServer) -> None:
    with pytest.raises(ConfigurationError, match="private_key_file"):
        connect_arguments(spec(server, query={"private_key_file": "/etc/key"}))


def test_a_missing_database_is_a_configuration_error(server: SnowflakeServer) -> None:
    engine = SnowflakeEngine(spec(server, database="NOPE"))
    with engine.open() as session, pytest.raises(ConfigurationError, match="no such database"):
        engine.read_catalog(session)


@pytest.mark.parametrize(
    ("code", "kind"),
    [("390189", ConfigurationError), ("390422", AuthenticationFailed), ("390318", AuthenticationFailed)],
)
def test_refusals_at_login_are_told_apart_and_not_retried(
    server: SnowflakeServer, code: str, kind: type[DictionaryError]
) -> None:
    server.faults.add(Fault("LOGIN", "error", code=code, state="08001", times=-1))
    with pytest.raises(kind):
        SnowflakeEngine(spec(server)).connect()
    assert server.faults.logins == 1


@pytest.mark.parametrize("status", [401, 403])
def test_http_refusals_at_login_are_not_retried(server: SnowflakeServer, status: int) -> None:
    server.faults.add(Fault("LOGIN", "http", status=status, times=-1))
    with pytest.raises(AuthenticationFailed):
        SnowflakeEngine(spec(server)).connect()
    assert server.faults.logins == 1


@pytest.mark.parametrize("status", [429, 503])
def test_an_overloaded_service_is_asked_again_after_the_time_it_names(server: SnowflakeServer, status: int) -> None:
    server.faults.add(Fault("LOGIN", "http", status=status, retry_after=1))
    server.faults.add(Fault("^SELECT", "http", status=status, retry_after=1))
    with SnowflakeEngine(spec(server)).open() as session:
        assert session.rows(READ) == [(1,)]
    assert server.faults.logins == 2 and len(server.faults.statements) == 2


def test_a_service_that_stays_overloaded_is_a_connection_error_worth_retrying(server: SnowflakeServer) -> None:
    server.faults.add(Fault("LOGIN", "http", status=503, times=-1))
    with pytest.raises(ConnectionFailed) as caught:
        SnowflakeEngine(spec(server)).connect()
    assert type(caught.value) is ConnectionFailed and caught.value.retryable


def test_an_answer_cut_off_is_a_lost_connection(server: SnowflakeServer) -> None:
    server.faults.add(Fault("^SELECT", "drop"))
    assert failure(ConnectionFailed, server).retryable


@pytest.mark.parametrize("code", ["390111", "390112", "390114"])
def test_an_expired_session_is_a_connection_error_so_that_the_next_one_logs_in_anew(
    server: SnowflakeServer, code: str
) -> None:
    server.faults.add(Fault("^SELECT", "error", code=code, state="08001", times=2))
    assert failure(ConnectionFailed, server).retryable


def test_a_slow_statement_ends_at_its_time_budget_and_the_session_goes_on(server: SnowflakeServer) -> None:
    server.faults.add(Fault("^SELECT", "slow", seconds=30))
    with SnowflakeEngine(spec(server)).open() as session:
        with pytest.raises(QueryTimeout) as caught:
            session.rows(READ, timeout_s=0.5)
        assert caught.value.code == "000630"
        assert session.rows(READ, timeout_s=0.5) == [(1,)]
    assert sum(statement.startswith("ALTER SESSION") for statement in server.faults.statements) == 1


@pytest.mark.parametrize(
    ("code", "state", "kind"),
    [
        ("003001", "42501", PermissionDenied),
        ("002003", "42S02", QueryFailed),
        ("000606", "57P03", QueryFailed),
        ("090073", "22000", QueryFailed),
        ("000604", "57014", QueryTimeout),
        ("001003", "42000", QueryFailed),
    ],
)
def test_errors_of_statements_keep_the_vendor_number_and_no_text(
    server: SnowflakeServer, code: str, state: str, kind: type[DictionaryError]
) -> None:
    server.faults.add(Fault("^SELECT", "error", code=code, state=state))
    error = failure(kind, server)
    assert error.code == code
    assert ("warehouse" in str(error)) == (code in ("000606", "090073", "000604"))
