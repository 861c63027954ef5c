"""Something that is not PostgreSQL answers at the configured host and port."""

from __future__ import annotations

import socket
import threading

import pytest

from dictionary_pipeline.config.resolved import ConnectionSpec
from dictionary_pipeline.engines.registry import create_engine
from dictionary_pipeline.errors import ConnectionFailed


@pytest.mark.parametrize("sslmode", ["prefer", "disable"])
def test_an_http_server_is_told_from_a_problem_of_encryption(sslmode: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def answer() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                with client:
                    client.recv(100)
                    client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        threading.Thread(target=answer, daemon=True).start()
        options = {"host": "127.0.0.1", "port": port, "user": "u", "dbname": "d", "sslmode": sslmode}
        with pytest.raises(ConnectionFailed, match="not a PostgreSQL server"):
            create_engine(ConnectionSpec("postgres", options)).connect()
