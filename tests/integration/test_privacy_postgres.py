"""Personal data in a real PostgreSQL: nowhere in the published folder, in logs or in Dagster's own database."""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path

import dagster as dg
import pytest
from privacy_probes import holders
from servers.postgres import PostgresServer
from system.projects import write_project

from dictionary_pipeline.definitions import defs
from dictionary_pipeline.orchestration.project import FOLDER_VARIABLE
from dictionary_pipeline.sampling import collect

SCRIPT = """
CREATE SCHEMA sales;
CREATE TABLE sales.customer (customer_id int PRIMARY KEY, company_name text, email_address varchar(120),
    phone varchar(25) DEFAULT '555-0100', password_hash varchar(128), password_salt varchar(10),
    CHECK (email_address <> 'cust1@adventure.example'), segment text CHECK (segment IN ('a', 'b')));
CREATE TABLE sales.note (note_id int PRIMARY KEY, customer_id int REFERENCES sales.customer, body text);
COMMENT ON TABLE sales.note IS 'Notes; write to cust3@adventure.example first';
COMMENT ON COLUMN sales.customer.email_address IS 'Mail, e.g. "cust4@adventure.example"';
CREATE VIEW sales.v_vip AS SELECT customer_id FROM sales.customer WHERE email_address = 'cust5@adventure.example';
CREATE VIEW sales.v_mail AS SELECT customer_id, email_address AS reach FROM sales.customer;
INSERT INTO sales.customer SELECT g, 'Company ' || g % 30, 'cust' || g + 1 || '@adventure.example',
    '555-' || lpad(g::text, 4, '0'), md5(g::text) || md5((g + 1)::text), 'salt' || g, (array['a', 'b'])[1 + g % 2]
    FROM generate_series(1, 200) g;
INSERT INTO sales.note SELECT g, g, 'called twice' FROM generate_series(1, 50) g;
"""
RAW = r"cust\d+@adventure\.example|555-\d{4}|\bsalt\d+\b|" + "c4ca4238a0b923820dcc509a6f75849b"


@pytest.fixture(scope="module")
def url(postgres: PostgresServer) -> str:
    return postgres.create_database("privacy", SCRIPT)


@pytest.fixture
def project(tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    write_project(folder)
    monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
    monkeypatch.setenv("SHOP_URL", url)
    file = folder / "dbt_like_configs" / "databases" / "shop.yml"
    file.write_text("connection: {type: postgres, url: \"{{ env_var('SHOP_URL') }}\"}\n")
    return folder


def refresh(home: Path) -> dg.ExecuteInProcessResult:
    home.mkdir(exist_ok=True)
    with dg.DagsterInstance.local_temp(str(home)) as instance:
        instance.add_dynamic_partitions("databases", ["shop"])
        return defs.resolve_job_def("refresh_dictionary").execute_in_process(
            instance=instance, partition_key="shop", raise_on_error=False
        )


def checks(result: dg.ExecuteInProcessResult) -> dict[str, bool]:
    return {check.check_name: check.passed for check in result.get_asset_check_evaluations()}


def test_no_personal_value_is_in_the_output_in_logs_or_in_dagster(
    project: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    for _ in range(2):
        result = refresh(tmp_path / "home")
        assert result.success
    assert checks(result)["no_sensitive_values_published"]
    published = project / "published" / "shop"
    entry = json.loads((published / "schema_store" / "privacy.sales.customer.json").read_text())
    columns = {column["Name"]: column for column in entry["Columns"]}
    assert columns["company_name"]["SampleValues"]
    assert columns["segment"]["AllowedValues"] == ["a", "b"]
    assert columns["email_address"]["SampleValues"] is None
    assert holders(published, RAW) == []
    assert list((tmp_path / "home").rglob("*.db"))
    assert holders(tmp_path / "home", RAW) == []
    captured = capfd.readouterr()
    shown = tmp_path / "shown"
    shown.mkdir()
    (shown / "log").write_text(caplog.text + captured.out + captured.err)
    assert holders(shown, RAW) == []
    samples = next(
        event for event in result.get_asset_materialization_events() if event.asset_key.path[-1] == "column_samples"
    )
    table = samples.materialization.metadata["withheld_columns"]
    assert isinstance(table, dg.TableMetadataValue)
    told = {str(record.data["column"]): record.data for record in table.records}
    assert told["email_address"]["category"] == "EMAIL_ADDRESS"
    assert told["email_address"]["reason"]
    assert told["password_hash"]["treatment"] == "deny"
    assert told["reach"]["category"] == "EMAIL_ADDRESS"


def test_the_gate_turns_red_in_dagster_when_withholding_is_switched_off(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collect, "treat", lambda profile, treatment: profile)
    monkeypatch.setattr("dictionary_pipeline.publishing.bundle.without_withheld", lambda inputs: inputs)
    result = refresh(tmp_path / "home")
    assert not result.success
    assert checks(result)["no_sensitive_values_published"] is False
    assert not (project / "published" / "shop" / "manifest.json").exists()
    shutil.rmtree(project / "published" / "shop" / ".state")
    assert holders(tmp_path / "home", RAW) == []
