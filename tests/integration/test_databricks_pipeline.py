"""The whole pipeline over Databricks' real connector: bundles, faults while sampling, the limit on cost."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest
from integration.warehouses import entries, run, shop
from servers.databricks import HTTP_PATH, TOKEN, DatabricksServer, running_databricks
from servers.warehouse_model import Fault

from dictionary_pipeline.cli import main
from dictionary_pipeline.config.predecessor import predecessor_connection
from dictionary_pipeline.config.resolved import ConnectionSpec, Secret
from dictionary_pipeline.config.targets import resolve_target


@pytest.fixture
def server() -> Iterator[DatabricksServer]:
    with running_databricks([shop("shop", integer="BIGINT", text="STRING", upper=False)]) as server:
        yield server


def uri(server: DatabricksServer) -> str:
    return f"http://127.0.0.1:{server.port}{HTTP_PATH}"


def url(server: DatabricksServer) -> str:
    query = f"http_path={quote(HTTP_PATH, safe='')}&catalog=shop&_connection_uri={quote(uri(server), safe='')}"
    return f"databricks://token:{TOKEN}@127.0.0.1?{query}"


def spec(server: DatabricksServer) -> ConnectionSpec:
    return resolve_target(url(server), folder=None)[0]


def test_build_by_url_publishes_keys_of_the_contract(
    server: DatabricksServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["build", url(server), "-o", str(tmp_path)])
    assert ended.value.code == 0, capsys.readouterr().err
    line = entries(tmp_path)["line"]
    assert list(line) == [
        *("Entity", "Definition", "Schema", "EntityName", "Catalog", "EntityRelationships"),
        *("CompleteEntityRelationshipsGraph", "Columns", "FQN"),
    ]
    assert (line["FQN"], line["Catalog"]) == ("shop.sales.line", "shop")
    (key,) = [item for item in line["EntityRelationships"] if item["ForeignEntity"] == "orders"]
    assert key["ForeignKeys"] == [
        {"Column": "order_no", "ForeignColumn": "no"},
        {"Column": "order_tenant", "ForeignColumn": "tenant"},
    ]
    assert key["ForeignCatalog"] == "shop"
    assert line["Columns"][2]["SampleValues"] == [5, 7]
    assert TOKEN not in capsys.readouterr().out


def test_the_predecessors_variables_lead_to_the_same_bundle(
    server: DatabricksServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for part, value in {
        "ServerHostname": "127.0.0.1",
        "HttpPath": HTTP_PATH,
        "Catalog": "shop",
        "AccessToken": TOKEN,
    }.items():
        monkeypatch.setenv(f"Text2Sql__Databricks__{part}", value)
    given = predecessor_connection("databricks", folder=tmp_path)
    # The variables cannot say that the double speaks plain HTTP, so only that is added.
    with_uri = replace(given, options={**given.options, "connect_args": {"_connection_uri": uri(server)}})
    assert run(with_uri, tmp_path / "a").exit_code == 0
    assert run(spec(server), tmp_path / "b").exit_code == 0
    assert entries(tmp_path / "a") == entries(tmp_path / "b")


def test_a_wrong_token_fails_at_once_and_publishes_nothing(server: DatabricksServer, tmp_path: Path) -> None:
    summary = run(replace(spec(server), secrets={"token": Secret.literal("wrong")}), tmp_path / "out")
    assert summary.exit_code == 1 and not (tmp_path / "out" / "manifest.json").exists()


def test_a_table_dropped_between_listing_and_sampling_is_named(server: DatabricksServer, tmp_path: Path) -> None:
    server.backend.databases["shop"].dropped.add(("sales", "orders"))
    summary = run(spec(server), tmp_path)
    assert summary.exit_code == 3
    assert [(problem.object, problem.code) for problem in summary.problems] == [("sales.orders", "42P01")]
    assert entries(tmp_path)["customer"]["Columns"][0]["SampleValues"] == [1, 2]


def test_a_table_that_may_not_be_read_is_named(server: DatabricksServer, tmp_path: Path) -> None:
    server.backend.databases["shop"].unreadable.add(("sales", "line"))
    summary = run(spec(server), tmp_path)
    assert [(problem.object, problem.code) for problem in summary.problems] == [("sales.line", "42501")]


def test_a_parent_whose_privilege_was_revoked_is_a_named_problem(server: DatabricksServer, tmp_path: Path) -> None:
    server.backend.databases["shop"].hidden.add(("sales", "customer"))
    summary = run(spec(server), tmp_path)
    assert [problem.object for problem in summary.problems if "foreign key" in problem.message] == ["sales.orders"]
    assert "customer" not in entries(tmp_path)


def test_a_connection_lost_while_sampling_is_replaced(server: DatabricksServer, tmp_path: Path) -> None:
    server.faults.add(Fault("`sales`.`orders`", "drop"))
    summary = run(spec(server), tmp_path)
    assert summary.exit_code == 0, summary.problems
    assert server.faults.logins == 3  # the catalog's session, the lost one, its replacement


def test_a_connection_lost_while_reading_the_catalog_publishes_nothing(
    server: DatabricksServer, tmp_path: Path
) -> None:
    server.faults.add(Fault("information_schema.columns", "drop", times=-1))
    summary = run(spec(server), tmp_path)
    assert summary.exit_code == 1 and summary.error is not None and summary.error.retryable
    assert not (tmp_path / "manifest.json").exists()


def test_a_slow_table_is_named_and_the_others_are_sampled(server: DatabricksServer, tmp_path: Path) -> None:
    server.faults.add(Fault("FROM `shop`.`sales`.`line`", "slow", seconds=30))
    summary = run(spec(server), tmp_path, table_seconds=1)
    assert [problem.object for problem in summary.problems] == ["sales.line"]


def test_the_warehouse_budget_stops_sampling_and_keeps_the_catalog(server: DatabricksServer, tmp_path: Path) -> None:
    server.faults.add(Fault("FROM `shop`.`sales`.`customer`", "slow", seconds=1.5))
    summary = run(spec(server), tmp_path, max_warehouse_seconds=1.5)
    (problem,) = summary.problems
    assert summary.exit_code == 3 and problem.message.startswith("3 tables were not sampled")
    assert len(entries(tmp_path)) == 4


def test_statements_do_not_grow_but_for_one_sample_per_table(server: DatabricksServer, tmp_path: Path) -> None:
    run(spec(server), tmp_path)
    samples = [statement for statement in server.faults.statements if "FROM `shop`.`sales`." in statement]
    assert len(samples) == 4 and len(server.faults.statements) - len(samples) <= 12


def test_a_certificate_that_nobody_trusts_is_refused(tmp_path: Path) -> None:
    context = _self_signed(tmp_path)
    with running_databricks([], context) as server:
        options = {
            **{"host": "localhost", "port": server.port, "http_path": HTTP_PATH, "catalog": "shop"},
            "connect_args": {"_retry_stop_after_attempts_count": 1},
        }
        spec = ConnectionSpec("databricks", options, {"token": Secret.literal(TOKEN)})
        summary = run(spec, tmp_path / "out")
        assert summary.exit_code == 1 and server.faults.logins == 0
        trusted = {**options, "connect_args": {"_tls_trusted_ca_file": str(tmp_path / "cert.pem")}}
        server.backend.add(shop("shop", integer="BIGINT", text="STRING", upper=False))
        assert run(replace(spec, options=trusted), tmp_path / "out").exit_code == 0


def _self_signed(folder: Path) -> ssl.SSLContext:
    import datetime as dt

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    start = dt.datetime.now(dt.UTC) - dt.timedelta(hours=1)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(start)
        .not_valid_after(start + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context
