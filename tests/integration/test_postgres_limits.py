"""A statement ends in time even when the server or the network does not play along."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from servers.postgres import PostgresServer

import dictionary_pipeline.engines.postgres as engine_module
from dictionary_pipeline.config.resolved import ConnectionSpec
from dictionary_pipeline.engines.postgres import PostgresEngine
from dictionary_pipeline.errors import ConnectionFailed, QueryTimeout

# A function may catch the cancellation that the server's time-out and the client send.
SCRIPT = """
CREATE FUNCTION stubborn(times int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1..times LOOP
        BEGIN PERFORM pg_sleep(0.7); EXCEPTION WHEN query_canceled THEN NULL; END;
    END LOOP;
    PERFORM pg_sleep(1.5);
    RETURN 1;
END $$;
"""


@pytest.fixture(scope="module")
def url(postgres: PostgresServer) -> str:
    return postgres.create_database("dd_limits", SCRIPT)


@pytest.fixture(autouse=True)
def _short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "_GRACE_S", 0.2)
    monkeypatch.setattr(engine_module, "_CANCEL_S", 0.2)


class StallingProxy:
    """Forwards to the server until `stalled` is set, then swallows what the server says."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets = [self._listener]
        self.port = self._listener.getsockname()[1]
        self.stalled = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._target)
                self._sockets += [client, server]
                threading.Thread(target=self._pump, args=(client, server, False), daemon=True).start()
                threading.Thread(target=self._pump, args=(server, client, True), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, stalls: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                if not (stalls and self.stalled.is_set()):
                    sink.sendall(data)


@pytest.fixture
def proxy(url: str) -> Iterator[StallingProxy]:
    parts = urlsplit(url)
    proxy = StallingProxy(parts.hostname or "127.0.0.1", parts.port or 5432)
    yield proxy
    proxy.close()


def engine(url: str, port: int | None = None) -> PostgresEngine:
    parts = urlsplit(url)
    host = f"{parts.username}@{parts.hostname}:{port or parts.port}"
    return PostgresEngine(ConnectionSpec("postgres", {"url": parts._replace(netloc=host).geturl()}))


def seconds(sql: str, session: engine_module.PostgresSession) -> float:
    start = time.monotonic()
    with pytest.raises(QueryTimeout):
        session.rows(sql, timeout_s=0.2)
    return time.monotonic() - start


def test_what_ignores_the_servers_time_out_is_cancelled_by_the_client(url: str) -> None:
    with engine(url).open() as session:
        assert isinstance(session, engine_module.PostgresSession)
        assert seconds("SELECT public.stubborn(1)", session) < 1.0
        assert session.rows("SELECT 1") == [(1,)]


def test_what_ignores_cancellation_too_is_left_behind_with_its_connection(url: str) -> None:
    server = engine(url)
    with server.open() as session:
        assert isinstance(session, engine_module.PostgresSession)
        assert seconds("SELECT public.stubborn(4)", session) < 1.5
        with pytest.raises(ConnectionFailed):
            session.rows("SELECT 1")


def test_an_answer_that_gets_stuck_on_its_way_ends_in_time(url: str, proxy: StallingProxy) -> None:
    with engine(url, proxy.port).open() as session:
        assert isinstance(session, engine_module.PostgresSession)
        assert session.rows("SELECT 1", timeout_s=0.2) == [(1,)]
        proxy.stalled.set()
        assert seconds("SELECT 2", session) < 1.5
