"""From a MySQL URL to a bundle over a real MariaDB; refused logins, missing rights, writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from servers.mariadb import MariaDBServer
from servers.probing import engine_for

from dictionary_pipeline.config.resolved import DatabaseConfig
from dictionary_pipeline.config.targets import resolve_target
from dictionary_pipeline.errors import (
    AuthenticationFailed,
    ConfigurationError,
    ConnectionFailed,
    DictionaryError,
    NotADatabase,
    QueryFailed,
)
from dictionary_pipeline.pipeline import RunSummary, run_database
from dictionary_pipeline.publishing.local import LocalStore

KEY_ORDER = [
    *("Entity", "Definition", "Schema", "EntityName", "Database", "EntityRelationships"),
    *("CompleteEntityRelationshipsGraph", "Columns", "FQN"),
]
STATEMENTS = (
    "CREATE TABLE customer (id int PRIMARY KEY, name varchar(20)) COMMENT 'Who buys'",
    "CREATE TABLE orders (id int PRIMARY KEY, customer_id int, FOREIGN KEY (customer_id) REFERENCES customer (id))",
    "CREATE VIEW names AS SELECT name FROM customer",
    "INSERT INTO customer VALUES (1, 'naïve 日本')",
    "INSERT INTO orders VALUES (1, 1)",
)


@pytest.fixture(scope="module")
def url(mariadb: MariaDBServer) -> str:
    return mariadb.create_database("dd_shop", *STATEMENTS)


def run(url: str, out: Path) -> RunSummary:
    connection, name = resolve_target(url, folder=None)
    return run_database(DatabaseConfig(name, connection), LocalStore(out))


def entries(out: Path) -> dict[str, dict[str, Any]]:
    read = [json.loads(path.read_text(encoding="utf-8")) for path in (out / "schema_store").iterdir()]
    return {entry["FQN"]: entry for entry in read}


def test_a_bundle_has_the_keys_of_the_contract(url: str, tmp_path: Path) -> None:
    summary = run(url, tmp_path)
    assert summary.exit_code == 0, (summary.error, summary.problems)
    found = entries(tmp_path)
    assert set(found) == {"dd_shop.dd_shop.customer", "dd_shop.dd_shop.orders", "dd_shop.dd_shop.names"}
    order = found["dd_shop.dd_shop.orders"]
    assert list(order) == KEY_ORDER
    assert order["Database"] == order["Schema"] == "dd_shop"
    [relationship] = order["EntityRelationships"]
    assert relationship["ForeignFQN"] == "dd_shop.dd_shop.customer"
    assert relationship["ForeignDatabase"] == "dd_shop"
    customer = found["dd_shop.dd_shop.customer"]
    assert customer["Definition"] == "Who buys"
    assert customer["Columns"][1]["SampleValues"] == ["naïve 日本"]


def test_a_second_run_changes_no_byte(url: str, tmp_path: Path) -> None:
    def published() -> dict[Path, bytes]:
        return {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file() and ".state" not in p.parts}

    run(url, tmp_path)
    before = published()
    run(url, tmp_path)
    assert published() == before


def test_a_table_without_select_is_named_and_the_rest_published(
    mariadb: MariaDBServer, url: str, tmp_path: Path
) -> None:
    mariadb.execute(
        "CREATE OR REPLACE USER dd_limited IDENTIFIED BY 'secret'",
        "GRANT SELECT ON dd_shop.customer TO dd_limited",
        "GRANT INSERT ON dd_shop.orders TO dd_limited",
    )
    summary = run(mariadb.url("dd_shop", user="dd_limited", password="secret"), tmp_path)
    assert summary.exit_code == 3
    assert [(problem.object, problem.code) for problem in summary.problems] == [("dd_shop.orders", "1142")]
    assert set(entries(tmp_path)) == {"dd_shop.dd_shop.customer", "dd_shop.dd_shop.orders"}


@pytest.mark.parametrize(
    ("user", "password", "database", "error", "code"),
    [
        ("nobody", "wrong", "dd_shop", AuthenticationFailed, "1045"),
        (None, None, "dd_nowhere", NotADatabase, "1049"),
    ],
)
def test_a_refusal_is_told_apart_and_not_retried(
    mariadb: MariaDBServer,
    user: str | None,
    password: str | None,
    database: str,
    error: type[DictionaryError],
    code: str,
) -> None:
    with pytest.raises(error) as raised:
        engine_for(mariadb.url(database, user=user, password=password)).connect()
    assert raised.value.code == code
    assert not raised.value.retryable
    assert "wrong" not in str(raised.value)


def test_nobody_listening_is_a_connection_error(tmp_path: Path) -> None:
    with pytest.raises(ConnectionFailed) as raised:
        engine_for("mysql+pymysql://root@127.0.0.1:1/shop").connect()
    assert raised.value.retryable
    assert run("mysql+pymysql://root@127.0.0.1:1/shop", tmp_path).exit_code == 1
    assert not (tmp_path / "manifest.json").exists()


def test_the_session_cannot_write(url: str) -> None:
    with engine_for(url).open() as session, pytest.raises(QueryFailed) as raised:
        session.rows("INSERT INTO customer VALUES (2, 'x')")
    assert raised.value.code == "1792"


def test_a_lost_connection_is_a_connection_error(mariadb: MariaDBServer, url: str) -> None:
    with engine_for(url).open() as session:
        [[number]] = session.rows("SELECT CONNECTION_ID()")
        mariadb.execute(f"KILL {number}")
        with pytest.raises(ConnectionFailed):
            session.rows("SELECT 1")


def test_an_unknown_parameter_of_the_url_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(ConfigurationError, match="Did you mean `ssl_disabled`"):
        engine_for("mysql://root@host/shop?ssl_disable=true")
