"""What PostgreSQL's catalog says arrives complete and exact."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import psycopg
import pytest
from servers.postgres import PASSWORD, PASSWORD_ROLE, PostgresServer, execute

from dictionary_pipeline.catalog import FRAME_SCHEMAS, Catalog, Identity
from dictionary_pipeline.config.resolved import ConnectionSpec, Secret
from dictionary_pipeline.engines import postgres as engine_module
from dictionary_pipeline.engines.postgres import PostgresEngine

SCRIPT = Path(__file__).with_name("postgres_messy.sql")
ODD = """o'brien "x".ü/%s"""


def read(url: str) -> Catalog:
    engine = PostgresEngine(ConnectionSpec("postgres", {"url": url}))
    with engine.open() as session:
        return engine.read_catalog(session)


@pytest.fixture(scope="module")
def url(postgres: PostgresServer) -> str:
    address = postgres.create_database("dd_messy", SCRIPT.read_text(encoding="utf-8"))
    host = psycopg.conninfo.conninfo_to_dict(address)
    execute(
        address,
        f"""
        CREATE EXTENSION postgres_fdw;
        CREATE SERVER here FOREIGN DATA WRAPPER postgres_fdw
            OPTIONS (host '{host["host"]}', port '{host["port"]}', dbname 'dd_messy');
        CREATE USER MAPPING FOR CURRENT_USER SERVER here
            OPTIONS (user '{host["user"]}', password '{host.get("password", "")}');
        CREATE FOREIGN TABLE shop.far (id int OPTIONS (column_name 'id'), boss int) SERVER here
            OPTIONS (schema_name 'hr', table_name 'person');
        COMMENT ON FOREIGN TABLE shop.far IS 'Elsewhere';
        """,
    )
    execute(address, "ANALYZE")
    execute(address, "ANALYZE shop.far")
    return address


@pytest.fixture(scope="module")
def catalog(url: str) -> Catalog:
    return read(url)


def some(frame: pl.DataFrame, **equal: Any) -> pl.DataFrame:
    return frame.filter(*[pl.col(name) == value for name, value in equal.items()])


def test_every_frame_has_its_schema_and_order(catalog: Catalog) -> None:
    for name, (schema, order) in FRAME_SCHEMAS.items():
        frame: pl.DataFrame = getattr(catalog, name)
        assert dict(frame.schema) == dict(schema), name
        assert frame.equals(frame.sort(list(order), maintain_order=True)), name
    assert catalog.complete
    assert catalog.problems == ()
    assert catalog.identity == Identity("postgres", database="dd_messy")


def test_partitions_extension_objects_and_system_schemas_are_left_out(catalog: Catalog) -> None:
    assert catalog.tables.select("schema", "table", "kind").rows() == [
        ("Odd Names", "nothing", "table"),
        ("Odd Names", ODD, "table"),
        ("hr", "facts", "table"),
        ("hr", "on_view", "view"),
        ("hr", "person", "table"),
        ("hr", "types", "table"),
        ("shop", "car", "table"),
        ("shop", "chicken", "table"),
        ("shop", "daily", "materialized_view"),
        ("shop", "egg", "table"),
        ("shop", "far", "foreign_table"),
        ("shop", "lines", "table"),
        ("shop", "metric", "table"),
        ("shop", "note", "table"),
        ("shop", "orders", "table"),
        ("shop", "recent", "view"),
        ("shop", "remark", "table"),
        ("shop", "transfer", "table"),
        ("shop", "vehicle", "table"),
    ]


def test_comments_of_tables_views_and_columns(catalog: Catalog) -> None:
    comments = catalog.tables.filter(pl.col("comment").is_not_null()).select("table", "comment").rows()
    assert comments == [
        ("daily", "Per day"),
        ("far", "Elsewhere"),
        ("orders", "Orders – 注文"),
        ("recent", "Recent metrics"),
    ]
    commented = catalog.columns.filter(pl.col("comment").is_not_null()).select("table", "column", "comment").rows()
    assert commented == [("orders", "no", "Number within the tenant")]


def test_rows_and_sizes_add_up_over_partitions_and_inheriting_tables(catalog: Catalog) -> None:
    sized = {row[0]: row[1:] for row in catalog.tables.select("table", "row_estimate", "size_bytes").rows()}
    assert sized["metric"] == (700, 2 * 8192 * 2)
    assert sized["vehicle"] == (10, 2 * 8192)
    assert sized["car"] == (9, 8192)
    assert sized["daily"] == (365, 2 * 8192)
    assert sized["far"] == (30, None)
    assert sized["recent"] == (None, None)
    assert sized["orders"][1] == 0


def test_a_table_never_analysed_has_no_row_estimate(postgres: PostgresServer) -> None:
    url = postgres.create_database("dd_unknown", "CREATE TABLE fresh (id int); INSERT INTO fresh VALUES (1)")
    assert read(url).tables.select("row_estimate", "size_bytes").rows() == [(None, 8192)]


def test_view_text_is_qualified_and_bare(catalog: Catalog) -> None:
    texts = dict(catalog.tables.filter(pl.col("view_sql").is_not_null()).select("table", "view_sql").rows())
    assert sorted(texts) == ["daily", "on_view", "recent"]
    assert texts["on_view"].replace("r.day", "day").split() == ["SELECT", "day", "FROM", "shop.recent", "r"]
    assert "hr.person" in texts["recent"]


def test_view_dependencies_are_table_level_with_partitions_folded(catalog: Catalog) -> None:
    assert catalog.lineage.drop("origin").rows() == [
        ("hr", "on_view", None, "shop", "recent", None),
        ("shop", "daily", None, "shop", "metric", None),
        ("shop", "recent", None, "hr", "person", None),
        ("shop", "recent", None, "shop", "metric", None),
    ]
    assert set(catalog.lineage["origin"]) == {"catalog"}


def test_foreign_keys_keep_order_direction_and_rules_and_are_listed_once(catalog: Catalog) -> None:
    keys = catalog.foreign_keys.drop("from_schema", "to_database").rows()
    none = "NO ACTION"
    assert keys == [
        ("person", ["boss"], "hr", "person", ["id"], "person_boss", True, none, "CASCADE"),
        ("chicken", ["egg"], "shop", "egg", ["id"], "chicken_egg", True, none, "RESTRICT"),
        ("egg", ["chicken"], "shop", "chicken", ["id"], "egg_chicken", True, none, none),
        (
            "lines",
            ["order_tenant", "order_no", "order_region"],
            "shop",
            "orders",
            ["tenant", "no", "region"],
            "lines_order",
            True,
            "CASCADE",
            "SET NULL",
        ),
        ("metric", ["person"], "hr", "person", ["id"], "metric_person_fkey", True, none, none),
        ("note", ["day", "metric"], "shop", "metric", ["day", "id"], "note_metric", True, none, none),
        ("remark", ["day", "metric"], "shop", "metric", ["day", "id"], "remark_part", True, none, none),
        ("transfer", ["payee"], "hr", "person", ["id"], "transfer_payee", True, "SET DEFAULT", none),
        ("transfer", ["payer"], "hr", "person", ["id"], "transfer_payer", True, none, none),
        ("transfer", ["witness"], "hr", "person", ["id"], "transfer_witness", False, none, none),
    ]
    assert catalog.foreign_keys["to_database"].null_count() == len(keys)


def test_keys_keep_the_order_of_their_columns(catalog: Catalog) -> None:
    keys = {row[:2]: row[2] for row in catalog.keys.select("table", "kind", "columns").rows()}
    assert keys[("orders", "primary")] == ["tenant", "no", "region"]
    assert keys[("lines", "unique")] == ["order_no", "line"]
    assert keys[("metric", "primary")] == ["day", "id"]
    assert keys[(ODD, "unique")] == ["{a,b}"]
    assert catalog.keys.height == 8
    assert catalog.keys.select("origin", "confidence").unique().rows() == [("declared", 1.0)]


def test_only_complete_plain_indexes_are_unique(catalog: Catalog) -> None:
    assert catalog.indexes.drop("schema").rows() == [
        ("facts", "facts_expression", ["hits"], False),
        ("facts", "facts_partial", ["hits"], False),
        ("facts", "facts_plain", ["hits", "label"], True),
        ("facts", "facts_price", ["price"], False),
        ("daily", "daily_day", ["day"], True),
    ]


def test_check_expressions_come_without_their_wrapper(catalog: Catalog) -> None:
    checks = {row[0]: row[1:] for row in catalog.checks.select("name", "expression", "is_validated").rows()}
    assert checks == {
        "both_set": ("((price IS NULL) OR (hits IS NOT NULL))", True),
        "facts_label_check": ("(label = ANY (ARRAY['new'::text, 'old'::text]))", True),
        "hits_later": ("(hits >= 0)", False),
        "metric_id_check": ("(id > 0)", True),
    }


def test_identity_generated_default_and_dropped_columns(catalog: Catalog) -> None:
    facts = some(catalog.columns, table="facts").select(
        "column", "ordinal", "is_nullable", "default", "is_identity", "is_generated"
    )
    assert facts.rows() == [
        ("id", 1, False, None, True, False),
        ("label", 2, False, "'new'::text", False, False),
        ("price", 3, True, None, False, False),
        ("gross", 4, True, "(price * 1.2)", False, True),
        ("hits", 5, True, None, False, False),
    ]


def test_virtual_generated_columns(postgres: PostgresServer) -> None:
    with psycopg.connect(postgres.admin_url) as connection:
        if connection.info.server_version < 180_000:
            pytest.skip("virtual generated columns came with PostgreSQL 18")
    url = postgres.create_database(
        "dd_virtual", "CREATE TABLE v (a int, b int GENERATED ALWAYS AS (a + 1) VIRTUAL, CHECK (a > 0) NOT ENFORCED)"
    )
    catalog = read(url)
    assert catalog.columns.select("column", "default", "is_generated").rows() == [
        ("a", None, False),
        ("b", "(a + 1)", True),
    ]
    assert catalog.checks.select("expression", "is_validated").rows() == [("(a > 0)", False)]


def test_types_keep_their_native_text_and_get_a_class(catalog: Catalog) -> None:
    types = some(catalog.columns, table="types")
    assert types.select("column", "data_type", "type_class").rows() == [
        ("c_char", "character(5)", "string"),
        ("c_varchar", "character varying(20)", "string"),
        ("c_text", "text", "string"),
        ("c_name", "name", "string"),
        ("c_quoted_char", '"char"', "string"),
        ("c_citext", "hr.citext", "string"),
        ("c_mood", "hr.mood", "string"),
        ("c_code", "hr.code", "string"),
        ("c_grade", "hr.grade", "string"),
        ("c_int2", "smallint", "integer"),
        ("c_int8", "bigint", "integer"),
        ("c_oid", "oid", "integer"),
        ("c_real", "real", "float"),
        ("c_double", "double precision", "float"),
        ("c_numeric", "numeric(12,2)", "decimal"),
        ("c_money", "money", "other"),
        ("c_bool", "boolean", "boolean"),
        ("c_date", "date", "date"),
        ("c_time", "time without time zone", "time"),
        ("c_timetz", "time(3) with time zone", "time"),
        ("c_ts", "timestamp without time zone", "timestamp"),
        ("c_tstz", "timestamp with time zone", "timestamp"),
        ("c_interval", "interval day to second", "interval"),
        ("c_uuid", "uuid", "uuid"),
        ("c_json", "json", "json"),
        ("c_jsonb", "jsonb", "json"),
        ("c_array", "text[]", "array"),
        ("c_moods", "hr.mood[]", "array"),
        ("c_pair", "hr.pair", "array"),
        ("c_bytea", "bytea", "binary"),
        ("c_inet", "inet", "other"),
        ("c_range", "int4range", "other"),
        ("c_span", "hr.span", "other"),
        ("c_point", "point", "other"),
        ("c_bit", "bit(3)", "other"),
    ]


def test_enum_labels_in_sort_order_and_validated_checks_of_nested_domains(catalog: Catalog) -> None:
    types = some(catalog.columns, schema="hr", table="types")
    assert some(types, column="c_mood")["enum_values"].to_list() == [["sad", "fine", "ok"]]
    assert types["enum_values"].null_count() == types.height - 1
    (checks,) = some(types, column="c_grade")["domain_checks"].to_list()
    assert len(checks) == 2
    assert any("<> ''" in check for check in checks)
    assert any("'A'" in check and "'B'" in check for check in checks)
    assert len(some(types, column="c_code")["domain_checks"].to_list()[0]) == 1
    nullable = dict(types.select("column", "is_nullable").rows())
    assert nullable["c_grade"] is False
    assert nullable["c_code"] is True


def test_quoted_names_are_exact_and_sql_names_work(url: str, catalog: Catalog) -> None:
    columns = some(catalog.columns, schema="Odd Names").select("table", "column").rows()
    assert columns == [(ODD, "select"), (ODD, 'Weird "col".%'), (ODD, "{a,b}")]
    engine = PostgresEngine(ConnectionSpec("postgres", {"url": url}))
    with engine.open() as session:
        assert session.rows(f"SELECT * FROM {engine.sql_name('Odd Names', ODD)}") == [(1, "one", "two")]


def test_readable_says_what_the_account_may_select(postgres: PostgresServer) -> None:
    url = postgres.create_database(
        "dd_grants",
        f"""
        CREATE SCHEMA open; CREATE SCHEMA shut;
        CREATE TABLE open.granted (id int); CREATE TABLE open.revoked (id int);
        CREATE TABLE open.partly (id int, secret text, name text); CREATE TABLE shut.unreachable (id int);
        GRANT USAGE ON SCHEMA open TO {PASSWORD_ROLE};
        GRANT SELECT ON open.granted, shut.unreachable TO {PASSWORD_ROLE};
        GRANT SELECT (id, name) ON open.partly TO {PASSWORD_ROLE};
        """,
    )
    catalog = read(postgres.url("dd_grants", user=PASSWORD_ROLE, password=PASSWORD) if postgres.is_own else url)
    if not postgres.is_own:
        pytest.skip("logins of a given server are unknown")
    assert catalog.tables.select("table", "readable").rows() == [
        ("granted", True),
        ("partly", True),
        ("revoked", False),
        ("unreachable", False),
    ]
    (problem,) = catalog.problems
    assert (problem.object, problem.code) == ("open.partly", "42501")
    assert problem.message == "the account may not read the columns secret"
    assert catalog.complete


@pytest.fixture
def broken_url(postgres: PostgresServer) -> str:
    """A database where a function vanished below a default and a view."""
    return postgres.create_database(
        "dd_broken",
        """
        CREATE FUNCTION gone() RETURNS int LANGUAGE sql AS 'SELECT 1';
        CREATE TABLE sound (id int DEFAULT 7 CHECK (id > 0));
        CREATE TABLE broken (id int DEFAULT gone(), name text);
        CREATE VIEW dangling AS SELECT gone() AS n;
        CREATE VIEW fine AS SELECT id FROM sound;
        DELETE FROM pg_proc WHERE proname = 'gone';
        """,
    )


def test_a_broken_object_costs_only_its_own_details(broken_url: str) -> None:
    catalog = read(broken_url)
    assert not catalog.complete
    assert [(problem.object, problem.code) for problem in catalog.problems] == [
        ("public.broken", "XX000"),
        ("public.dangling", "XX000"),
    ]
    assert catalog.tables["table"].to_list() == ["broken", "dangling", "fine", "sound"]
    assert some(catalog.columns, table="sound")["default"].to_list() == ["7"]
    assert some(catalog.columns, table="broken")["column"].to_list() == ["id", "name"]
    assert some(catalog.tables, table="fine")["view_sql"].null_count() == 0
    assert catalog.checks.height == 1


@pytest.fixture
def locked_url(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A database in which another session holds a table exclusively."""
    url = postgres.create_database(
        "dd_locked",
        """
        CREATE TABLE held (id int DEFAULT 1); CREATE TABLE free (id int DEFAULT 2);
        CREATE VIEW on_held AS SELECT id FROM held; CREATE VIEW on_free AS SELECT id FROM free;
        """,
    )
    monkeypatch.setitem(engine_module._SETTINGS, "lock_timeout", "100")
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE held IN ACCESS EXCLUSIVE MODE")
        yield url


def test_a_locked_table_costs_only_its_own_details(locked_url: str) -> None:
    catalog = read(locked_url)
    assert not catalog.complete
    assert [(problem.object, problem.code) for problem in catalog.problems] == [
        ("public.held", "55P03"),
        ("public.on_held", "55P03"),
    ]
    assert catalog.tables.select("table", pl.col("view_sql").is_not_null()).rows() == [
        ("free", False),
        ("held", False),
        ("on_free", True),
        ("on_held", False),
    ]
    assert some(catalog.columns, table="free")["default"].to_list() == ["2"]
    assert some(catalog.columns, table="held").height == 1


def test_an_empty_database_has_empty_frames(postgres: PostgresServer) -> None:
    catalog = read(postgres.create_database("dd_empty"))
    assert catalog.complete
    for name, (schema, _) in FRAME_SCHEMAS.items():
        frame: pl.DataFrame = getattr(catalog, name)
        assert frame.is_empty()
        assert dict(frame.schema) == dict(schema)


def test_reading_takes_a_constant_number_of_statements(postgres: PostgresServer, url: str) -> None:
    if not postgres.is_own:
        pytest.skip("a given server may not count statements")
    engine = PostgresEngine(ConnectionSpec("postgres", {"url": url}))
    with psycopg.connect(url, autocommit=True) as other:
        other.execute("SELECT pg_stat_statements_reset()")
        with engine.open() as session, session.snapshot():
            probe = engine.probe(session)
            assert engine.read_catalog(session).complete
        counted = other.execute(
            """
            SELECT sum(calls) FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid
            WHERE datname = current_database() AND toplevel
              AND query !~* '^(begin|commit|rollback|savepoint|release|set|show|SELECT pg_stat_statements)'
            """
        ).fetchone()
    assert probe
    assert counted == (8,)


def test_the_probe_moves_with_structure_and_not_with_statistics(postgres: PostgresServer) -> None:
    url = postgres.create_database(
        "dd_probe",
        """
        CREATE SCHEMA app; CREATE TYPE app.mood AS ENUM ('sad'); CREATE DOMAIN app.code AS text;
        CREATE TABLE app.t (id int PRIMARY KEY, a text, d app.code, m app.mood);
        CREATE TABLE app.u (id int, t int); CREATE VIEW app.v AS SELECT id FROM app.t;
        CREATE TABLE app.p (id int) PARTITION BY LIST (id);
        INSERT INTO app.u SELECT g, g FROM generate_series(1, 2000) g;
        """,
    )
    engine = PostgresEngine(ConnectionSpec("postgres", {"url": url}))
    with engine.open() as session, psycopg.connect(url, autocommit=True) as other:
        seen = [engine.probe(session)]
        other.execute("CREATE TEMP TABLE passing (id int PRIMARY KEY, CHECK (id > 0))")
        other.execute("INSERT INTO app.u VALUES (0, 0)")
        other.execute("VACUUM ANALYZE")
        other.execute("CREATE TABLE app.p1 PARTITION OF app.p FOR VALUES IN (1)")
        assert engine.probe(session) == seen[0]
        for change in (
            "ALTER TABLE app.t ADD COLUMN b int",
            "ALTER TABLE app.t RENAME COLUMN b TO c",
            "ALTER TABLE app.t ALTER COLUMN a SET NOT NULL",
            "ALTER TABLE app.t ALTER COLUMN a SET DEFAULT 'x'",
            "ALTER TABLE app.t ALTER COLUMN a SET DEFAULT 'y'",
            "ALTER TABLE app.u ADD FOREIGN KEY (t) REFERENCES app.t NOT VALID",
            "ALTER TABLE app.t ADD CHECK (c > 0)",
            "COMMENT ON TABLE app.t IS 'one'",
            "COMMENT ON TABLE app.t IS 'two'",
            "CREATE INDEX ON app.u (t)",
            "CREATE OR REPLACE VIEW app.v AS SELECT id FROM app.t WHERE id > 1",
            "ALTER TYPE app.mood ADD VALUE 'ok'",
            "ALTER DOMAIN app.code ADD CHECK (VALUE <> '')",
            "ALTER TABLE app.u RENAME TO w",
            "ALTER SCHEMA app RENAME TO application",
            "DROP TABLE application.w",
        ):
            other.execute(change)
            seen.append(engine.probe(session))
            assert len(set(seen)) == len(seen), change


def test_the_configured_name_replaces_the_database_in_names(url: str) -> None:
    engine = PostgresEngine(ConnectionSpec("postgres", {"url": url, "fqn_database": "Sales"}))
    with engine.open():
        assert engine.identity.fqn("hr", "person") == "Sales.hr.person"


def test_a_profile_with_separate_keys_reaches_the_same_database(postgres: PostgresServer, url: str) -> None:
    if not postgres.is_own:
        pytest.skip("logins of a given server are unknown")
    parts = psycopg.conninfo.conninfo_to_dict(url)
    spec = ConnectionSpec(
        "postgres",
        {"host": parts["host"], "port": int(str(parts["port"])), "user": PASSWORD_ROLE, "dbname": "dd_messy"},
        {"password": Secret.literal(PASSWORD)},
        "profiles.yml:3",
    )
    engine = PostgresEngine(spec)
    assert engine.identity == Identity("postgres", database="dd_messy")
    assert engine.server == "127.0.0.1"
    with engine.open() as session:
        assert session.rows("SELECT current_user::text") == [(PASSWORD_ROLE,)]
