"""PostgreSQL connections: read-only, bounded in time, and silent about what the driver says."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from servers.postgres import PASSWORD, PASSWORD_ROLE, PostgresServer

from dictionary_pipeline.config.resolved import ConnectionSpec, Secret
from dictionary_pipeline.engines import postgres as engine_module
from dictionary_pipeline.engines.postgres import PostgresEngine, PostgresSession
from dictionary_pipeline.errors import (
    AuthenticationFailed,
    ConfigurationError,
    ConnectionFailed,
    DictionaryError,
    NotADatabase,
    PermissionDenied,
    QueryFailed,
    QueryTimeout,
)

CANARY = "c4nary-s3cret"


@pytest.fixture(scope="module")
def url(postgres: PostgresServer) -> str:
    return postgres.create_database(
        "dd_session",
        f"""
        CREATE TABLE t (id int, secret text); INSERT INTO t VALUES (1, '{CANARY}');
        CREATE TABLE closed (id int);
        CREATE VIEW by_zero AS SELECT 1 / (id - 1) AS n FROM t;
        CREATE VIEW bad_cast AS SELECT secret::int AS n FROM t;
        CREATE MATERIALIZED VIEW unfilled AS SELECT id FROM t WITH NO DATA;
        CREATE TABLE policed (id int); ALTER TABLE policed ENABLE ROW LEVEL SECURITY;
        CREATE POLICY own ON policed USING (id = 1); INSERT INTO policed VALUES (1), (2);
        GRANT SELECT ON t, policed TO {PASSWORD_ROLE};
        """,
    )


@contextmanager
def opened(url: str, **options: Any) -> Iterator[PostgresSession]:
    session = PostgresEngine(ConnectionSpec("postgres", {"url": url, **options})).connect()
    try:
        yield session
    finally:
        session.close()


@pytest.fixture
def session(url: str) -> Iterator[PostgresSession]:
    with opened(url) as session:
        yield session


def refused(url: str, password: str | None = None, **options: Any) -> DictionaryError:
    secrets = {"password": Secret.literal(password)} if password else {}
    spec = ConnectionSpec("postgres", {"url": url, **options}, secrets, "profiles.yml:7")
    with pytest.raises(DictionaryError) as raised:
        PostgresEngine(spec).connect()
    error = raised.value
    assert error.fix
    assert "profiles.yml:7" in str(error)
    assert "\n" not in str(error)
    # Neither the driver's error nor its connection, which holds the password, may travel along.
    assert error.__cause__ is None
    assert error.__suppress_context__
    return error


class TestConnecting:
    @pytest.fixture(autouse=True)
    def known_logins(self, postgres: PostgresServer) -> None:
        if not postgres.is_own:
            pytest.skip("logins of a given server are unknown")

    def test_a_wrong_password_is_named_and_not_retried(self, postgres: PostgresServer, url: str) -> None:
        error = refused(postgres.url("dd_session", user=PASSWORD_ROLE), CANARY)
        assert type(error) is AuthenticationFailed
        assert error.code == "28P01"
        assert not error.retryable
        assert CANARY not in str(error)

    def test_a_missing_password_and_an_unknown_role_are_authentication(
        self, postgres: PostgresServer, url: str
    ) -> None:
        assert refused(postgres.url("dd_session", user=PASSWORD_ROLE)).code == "28P01"
        unknown = refused(postgres.url("dd_session", user="nobody_here"))
        assert (type(unknown), unknown.code) == (AuthenticationFailed, "28000")

    def test_a_role_to_take_on_is_set_or_refused(self, postgres: PostgresServer, url: str) -> None:
        with opened(url, role=PASSWORD_ROLE) as session:
            assert session.rows("SELECT current_user::text") == [(PASSWORD_ROLE,)]
        assert type(refused(url, role="nobody_here")) is AuthenticationFailed

    def test_an_unknown_database_is_no_database(self, postgres: PostgresServer) -> None:
        error = refused(postgres.url("dd_nowhere"))
        assert (type(error), error.code, error.retryable) == (NotADatabase, "3D000", False)

    def test_a_missing_connect_privilege_is_named(self, postgres: PostgresServer) -> None:
        postgres.create_database("dd_private", "REVOKE CONNECT ON DATABASE dd_private FROM PUBLIC")
        error = refused(postgres.url("dd_private", user=PASSWORD_ROLE), PASSWORD)
        assert (type(error), error.code) == (AuthenticationFailed, "42501")

    def test_a_full_server_may_be_tried_again(self, postgres: PostgresServer) -> None:
        postgres.create_database("dd_full", "ALTER DATABASE dd_full CONNECTION LIMIT 0")
        error = refused(postgres.url("dd_full", user=PASSWORD_ROLE), PASSWORD)
        assert (type(error), error.code, error.retryable) == (ConnectionFailed, "53300", True)

    def test_encryption_that_the_server_lacks_is_named(self, url: str) -> None:
        error = refused(url + "?sslmode=require")
        assert type(error) is ConnectionFailed
        assert "encrypted" in str(error)

    def test_a_login_refused_in_an_unknown_language_is_not_retried(self) -> None:
        error = engine_module.connect_error(psycopg.OperationalError("ВАЖНО: пользователь не прошёл"), "db")
        assert not error.retryable


def test_a_catalog_without_the_types_of_columns_is_refused_for_its_cause(postgres: PostgresServer) -> None:
    postgres.create_database(
        "dd_typeless", "CREATE TABLE a (x int); REVOKE SELECT ON pg_catalog.pg_constraint FROM PUBLIC"
    )
    address = postgres.url("dd_typeless", user=PASSWORD_ROLE, password=PASSWORD)
    engine = PostgresEngine(ConnectionSpec("postgres", {"url": address}))
    with engine.open() as session, pytest.raises(PermissionDenied):
        engine.read_catalog(session)


def test_a_server_of_another_kind_is_a_configuration_error(
    postgres: PostgresServer, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(engine_module._SETTINGS, "no_such_setting", "on")
    assert type(refused(url)) is ConfigurationError


def test_names_in_a_message_are_not_taken_for_its_reason() -> None:
    text = 'connection to server at "ssl.too many clients", port 1 failed: FATAL:  database "role" does not exist'
    assert engine_module.connect_error(psycopg.OperationalError(text), "db").code == "3D000"


def test_a_refused_port_an_unknown_host_and_a_missing_socket_may_be_tried_again() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        for address in (f"127.0.0.1:{unused.getsockname()[1]}", "host.invalid"):
            error = refused(f"postgresql://someone@{address}/db")
            assert type(error) is ConnectionFailed
            assert error.retryable
            assert "someone@" in str(error)
    assert type(refused("postgresql://someone@/db?host=/nowhere")) is ConnectionFailed


def test_a_host_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        error = refused(f"postgresql://someone@127.0.0.1:{silent.getsockname()[1]}/db?connect_timeout=1")
    assert type(error) is ConnectionFailed
    assert "in time" in str(error)


def test_an_unusable_url_is_a_configuration_error_that_does_not_quote_it() -> None:
    with pytest.raises(ConfigurationError) as raised:
        PostgresEngine(ConnectionSpec("postgres", {"url": f"postgresql://u:{CANARY}@h:notaport/db?nonsense=1"}))
    assert CANARY not in str(raised.value)


def test_sqlalchemy_driver_names_in_the_url_are_understood(url: str) -> None:
    with opened(url.replace("postgresql://", "postgresql+psycopg://")) as session:
        assert session.rows("SELECT 1") == [(1,)]


def test_writing_is_refused_even_in_a_snapshot(session: PostgresSession) -> None:
    for statement in ("INSERT INTO public.t VALUES (2) RETURNING id", "CREATE TABLE public.x (id int)"):
        with pytest.raises(QueryFailed) as raised:
            session.rows(statement)
        assert raised.value.code == "25006"
    with session.snapshot(), pytest.raises(QueryFailed):
        session.rows("DELETE FROM public.t RETURNING id")
    assert session.rows("SELECT count(*) FROM public.t") == [(1,)]


@pytest.mark.parametrize(
    ("statement", "error", "code", "text"),
    [
        ("SELECT * FROM public.by_zero", QueryFailed, "22012", "divides by zero"),
        ("SELECT * FROM public.bad_cast", QueryFailed, "22P02", "value of its data"),
        ("SELECT * FROM public.unfilled", QueryFailed, "55000", "never filled"),
        ("SELECT * FROM public.nothing", QueryFailed, "42P01", "no longer exists or is named without its schema"),
        ("SELEC", QueryFailed, "42601", "did not accept"),
    ],
)
def test_failed_statements_say_what_happened_without_the_drivers_text(
    session: PostgresSession,
    caplog: pytest.LogCaptureFixture,
    statement: str,
    error: type[DictionaryError],
    code: str,
    text: str,
) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(error) as raised:
        session.rows(statement)
    assert raised.value.code == code
    assert text in str(raised.value)
    assert CANARY not in str(raised.value) + caplog.text
    assert raised.value.__cause__ is None
    assert session.rows("SELECT 1") == [(1,)]


def test_a_slow_statement_ends_at_its_own_limit_and_the_session_lives_on(session: PostgresSession) -> None:
    with pytest.raises(QueryTimeout) as raised:
        session.rows("SELECT pg_sleep(5)", timeout_s=0.05)
    assert raised.value.code == "57014"
    assert session.rows("SELECT pg_sleep(0.1)::text") == [("",)]


def test_the_time_limit_is_sent_only_when_it_changes(session: PostgresSession) -> None:
    def limit() -> str:
        return str(session.rows("SHOW statement_timeout", timeout_s=7)[0][0])

    sent: list[bytes] = []
    execute = session._connection.execute
    session._connection.execute = lambda query, *rest: (sent.append(query), execute(query, *rest))[1]  # type: ignore
    assert [limit(), limit(), limit()] == ["7s", "7s", "7s"]
    assert sent.count(b"SET statement_timeout = 7000") == 1
    with session.snapshot():
        session.rows("SELECT 1")
    assert session.rows("SHOW statement_timeout") == [("2min",)]


def test_a_limit_set_in_an_abandoned_snapshot_is_sent_again(session: PostgresSession) -> None:
    with pytest.raises(RuntimeError), session.snapshot():
        session.rows("SELECT 1", timeout_s=3)
        raise RuntimeError
    assert session.rows("SHOW statement_timeout", timeout_s=3) == [("3s",)]


def test_a_lock_held_elsewhere_is_a_timeout(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(engine_module._SETTINGS, "lock_timeout", "50")
    with psycopg.connect(url) as other, opened(url) as session:
        other.execute("LOCK TABLE t IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(QueryTimeout) as raised:
            session.rows("SELECT * FROM public.t")
    assert raised.value.code == "55P03"


def test_a_missing_grant_and_row_level_security_are_permission_errors(postgres: PostgresServer, url: str) -> None:
    with opened(url, role=PASSWORD_ROLE) as session:
        for table in ("closed", "policed"):
            with pytest.raises(PermissionDenied) as raised:
                session.rows(f"SELECT * FROM public.{table}")
            assert raised.value.code == "42501"
        assert session.rows("SELECT id FROM public.t") == [(1,)]


def test_a_killed_connection_is_lost_and_closing_it_raises_nothing(url: str) -> None:
    with opened(url) as session, psycopg.connect(url, autocommit=True) as other:
        ((pid,),) = session.rows("SELECT pg_backend_pid()")
        other.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))
        for _ in range(2):
            with pytest.raises(ConnectionFailed) as raised:
                session.rows("SELECT 1")
            assert raised.value.retryable
        session.close()


def test_a_snapshot_does_not_see_later_commits_and_survives_failures(url: str) -> None:
    count = "SELECT count(*) FROM public.t"
    with opened(url) as session, psycopg.connect(url, autocommit=True) as other:
        with session.snapshot():
            before = session.rows(count)
            other.execute("INSERT INTO t VALUES (3)")
            with pytest.raises(QueryFailed):
                session.rows("SELECT * FROM public.by_zero")
            with session.snapshot():
                assert session.rows(count) == before
        assert session.rows(count) != before
        other.execute("DELETE FROM t WHERE id = 3")


def test_values_that_python_cannot_hold_arrive_as_text(session: PostgresSession) -> None:
    query = """
        SELECT 9007199254740993::int8, true, 'infinity'::date, '0044-03-15 BC'::timestamptz, 'NaN'::numeric,
               '{"a": 1}'::jsonb, interval '1 day', ARRAY[date '2024-01-01'], '\\x00ff'::bytea
    """
    assert session.rows(query) == [
        (
            9007199254740993,
            True,
            "infinity",
            "0044-03-15 00:00:00+00 BC",
            "NaN",
            '{"a": 1}',
            "1 day",
            ["2024-01-01"],
            b"\x00\xff",
        )
    ]


def test_text_in_another_encoding_is_a_named_failure(postgres: PostgresServer) -> None:
    with psycopg.connect(postgres.admin_url, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS dd_ascii")
        connection.execute(
            "CREATE DATABASE dd_ascii TEMPLATE template0 ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'"
        )
        with opened(postgres.url("dd_ascii")) as session:
            with pytest.raises(QueryFailed) as raised:
                session.rows(r"SELECT E'caf\351'::text")
            assert raised.value.code == "22021"
            assert session.rows("SELECT 1") == [(1,)]
        connection.execute("DROP DATABASE dd_ascii")
