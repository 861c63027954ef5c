"""Azure by configuration alone: the whole Dagster run, the command line, and Entra ID over TLS."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import dagster as dg
import pytest
from integration.azure_stores import KEY_VARIABLE, open_on, plain_paths, read_back
from servers.azurite import AzuriteServer, running_azurite
from servers.certificates import server_context
from system.projects import add_sqlite_database, write_project

from dictionary_pipeline import open_bundle
from dictionary_pipeline.cli import main
from dictionary_pipeline.definitions import defs
from dictionary_pipeline.demo.build import build_demo
from dictionary_pipeline.errors import ConfigurationError, StoreError
from dictionary_pipeline.orchestration.assets import asset_key
from dictionary_pipeline.orchestration.project import FOLDER_VARIABLE
from dictionary_pipeline.stages import STAGES

CONFIGURATION = Path(__file__).parents[2] / "dbt_like_configs"


@pytest.fixture(scope="module")
def azurite() -> Iterator[AzuriteServer]:
    with running_azurite() as server:
        yield server


def configure(folder: Path, container: str) -> None:
    """A project with one SQLite database that publishes to a container."""
    write_project(folder)
    add_sqlite_database(folder, "x", 3)
    (folder / "dbt_like_configs/project.yml").write_text(
        f"publish:\n  azure:\n    connection_string_env: {KEY_VARIABLE}\n    container: {container}\n    prefix: dd\n"
    )


def refresh(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str = "x") -> dg.ExecuteInProcessResult:
    monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("databases", [name])
        return defs.resolve_job_def("refresh_dictionary").execute_in_process(
            instance=instance,
            partition_key=name,
            raise_on_error=False,
            run_config={"loggers": {"console": {"config": {"log_level": "ERROR"}}}},
        )


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    return int(left.value.code or 0)


def test_the_whole_dagster_run_publishes_to_azure_what_a_local_run_publishes(
    azurite: AzuriteServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    container = azurite.create_container()
    monkeypatch.setenv(KEY_VARIABLE, azurite.connection_string)
    local, remote = tmp_path / "local", tmp_path / "remote"
    write_project(local)
    add_sqlite_database(local, "x", 3)
    configure(remote, container)
    assert refresh(local, monkeypatch).success
    result = refresh(remote, monkeypatch)
    assert result.success
    assert not (remote / "published").exists()
    there, here = open_on(azurite, container, "dd/x"), open_bundle(local / "published/x")
    found = read_back(there)
    assert found == {path: here.read(path) for path in here.paths}
    assert all((local / "published/x" / path).read_bytes() == content for path, content in found.items())
    assert {path.partition("/")[0] for path in plain_paths(there)} == {"schema_store", "column_value_store"}

    address = f"{azurite.account_url}/{container}/dd/x"
    bundle = open_bundle(f"{address}?{azurite.sas(permission='rl')}")
    assert bundle.frame("catalog/tables").equals(here.frame("catalog/tables.parquet"))
    assert list(bundle.entries()) == list(here.entries())
    index = json.loads(open_on(azurite, container, "dd").read("index.json") or b"")
    assert index == {"databases": [{"name": "x", "manifest": "x/manifest.json"}]}
    before = there.read("manifest.json")
    assert refresh(remote, monkeypatch).success and there.read("manifest.json") == before

    capsys.readouterr()
    assert call("show", "x", "--project", str(remote), "--json") == 0
    assert json.loads(capsys.readouterr().out)["location"] == address
    assert call("show", str(local / "published/x"), "T1", "--json") == 0
    assert json.loads(capsys.readouterr().out)["Entity"] == "t1"
    assert call("show", "x", "main.t1", "--project", str(remote)) == 0
    assert "main.t1: T1" in capsys.readouterr().out
    assert call("gc", "x", "--project", str(remote)) == 0
    assert "x: 0 objects deleted" in capsys.readouterr().out


def test_the_demo_published_to_azure_by_dagster_equals_the_local_one_byte_for_byte(
    azurite: AzuriteServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    container = azurite.create_container()
    monkeypatch.setenv(KEY_VARIABLE, azurite.connection_string)
    local, remote = tmp_path / "local", tmp_path / "remote"
    shutil.copytree(CONFIGURATION, local / CONFIGURATION.name)
    build_demo(local / "demo.duckdb")
    shutil.copytree(local, remote)
    file = remote / CONFIGURATION.name / "project.yml"
    azure = f"publish:\n  azure: {{connection_string_env: {KEY_VARIABLE}, container: {container}}}\n"
    file.write_text(file.read_text().replace("publish:\n  root: published\n", azure))

    for folder in (local, remote):
        result = refresh(folder, monkeypatch, "demo")
        assert result.success
        made = [event.asset_key for event in result.get_asset_materialization_events() if event.asset_key]
        assert made == [asset_key(stage.name) for stage in STAGES]
    assert not (remote / "published").exists()

    here = open_bundle(local / "published/demo")
    there = open_bundle(f"{azurite.account_url}/{container}/demo?{azurite.sas(permission='rl')}")
    assert here.manifest.counts["tables"] == 26
    assert there.manifest.files == here.manifest.files  # sha256 and size of every file
    for path in here.paths:
        content = there.read(path)
        assert content == here.read(path), path
        assert hashlib.sha256(content).hexdigest() == here.manifest.files[path].sha256
    told = {"run_id", "published_at"}
    mine, theirs = (json.loads(bundle.manifest.to_bytes()) for bundle in (here, there))
    assert {key for key in mine if mine[key] != theirs[key]} <= told


def test_restore_brings_an_archived_bundle_back(
    azurite: AzuriteServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    container = azurite.create_container()
    monkeypatch.setenv(KEY_VARIABLE, azurite.connection_string)
    configure(tmp_path, container)
    assert call("run", "x", "--project", str(tmp_path)) == 0
    store = open_on(azurite, container, "dd/x")
    first = read_back(store)
    file = tmp_path / "dbt_like_configs/databases/x.yml"
    file.write_text(f"{file.read_text()}entities:\n  exclude: t2\n")
    assert call("run", "x", "--project", str(tmp_path)) == 0
    assert "schema_store/main.t2.json" not in plain_paths(store)
    archived = next(item.key for item in store.list(".manifests/")).removeprefix(".manifests/")
    assert call("restore", "x", archived, "--project", str(tmp_path)) == 0
    assert "is back" in capsys.readouterr().out
    assert read_back(store) == first and "schema_store/main.t2.json" in plain_paths(store)


def test_a_failing_login_ends_a_run_with_one_line(
    azurite: AzuriteServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, azurite.connection_string.replace("Eby8", "AAAA"))
    configure(tmp_path, azurite.create_container())
    assert call("run", "x", "--project", str(tmp_path)) == 1
    said = capsys.readouterr().err
    assert f"the connection string in {KEY_VARIABLE} was refused" in said and "vdM02xNOcq" not in said
    assert len(said.strip().splitlines()) == 1


def test_a_credential_that_is_not_set_costs_its_own_database_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_project(tmp_path)
    add_sqlite_database(tmp_path, "here", 1)
    file = add_sqlite_database(tmp_path, "azure", 1)
    file.write_text(f"{file.read_text()}publish: {{azure: {{connection_string_env: NOT_SET, container: all}}}}\n")
    assert call("run", "--project", str(tmp_path)) == 2
    assert (tmp_path / "published/here/manifest.json").exists()
    assert "the environment variable NOT_SET is not set" in capsys.readouterr().err


def token(audience: str, lasts: float = 3600.0) -> str:
    """An access token as Entra ID issues it, but for the signature, which the emulator does not check."""
    now = int(time.time())
    claims = {
        "aud": audience,
        "iss": "https://sts.windows.net/ab1f708d-50f6-404c-a006-d71b2ac7a606/",
        "iat": now - 60,
        "nbf": now - 60,
        "exp": int(now + lasts),
    }
    parts = ({"alg": "RS256", "typ": "JWT"}, claims)
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts]
    return ".".join([*encoded, "c2lnbmF0dXJl"])


class Identity(ThreadingHTTPServer):
    """Where a managed identity of App Service asks for its tokens."""

    audience = "https://storage.azure.com"

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.asked: list[dict[str, list[str]]] = []


class _Answer(BaseHTTPRequestHandler):
    server: Identity

    def do_GET(self) -> None:
        self.server.asked.append(parse_qs(urlsplit(self.path).query))
        end = int(datetime.now(UTC).timestamp()) + 3600
        answer = {
            "access_token": token(self.server.audience),
            "expires_on": str(end),
            "resource": "https://storage.azure.com",
            "token_type": "Bearer",
        }
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def identity(monkeypatch: pytest.MonkeyPatch) -> Iterator[Identity]:
    with Identity() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("IDENTITY_ENDPOINT", f"http://127.0.0.1:{server.server_address[1]}/token")
        monkeypatch.setenv("IDENTITY_HEADER", "header")
        yield server
        server.shutdown()


def test_a_managed_identity_publishes_over_tls(
    identity: Identity, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server_context(tmp_path)
    certificate = tmp_path / "cert.pem"
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    with running_azurite(tls=(certificate, tmp_path / "key.pem")) as server:
        container = server.create_container()
        configure(tmp_path / "project", container)
        (tmp_path / "project/dbt_like_configs/project.yml").write_text(
            f"publish:\n  azure: {{account_url: '{server.account_url}', container: {container}, client_id: me}}\n"
        )
        assert call("run", "x", "--project", str(tmp_path / "project")) == 0, capsys.readouterr().err
        assert identity.asked[0]["resource"] == ["https://storage.azure.com"]
        assert identity.asked[0]["client_id"] == ["me"]
        bundle = open_bundle(f"{server.account_url}/{container}/x")
        assert [entry["Entity"] for entry in bundle.entries()] == ["t0", "t1", "t2"]
        identity.audience = "https://wrong.example"
        with pytest.raises(StoreError, match=r"the login by Entra ID was refused\. Log in with"):
            open_bundle(f"{server.account_url}/{container}/x")


def test_a_machine_without_any_identity_is_told_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "AZURE_CLIENT_ID",
        "IDENTITY_ENDPOINT",
        "MSI_ENDPOINT",
        "AZURE_STORAGE_KEY",
        "AZURE_STORAGE_SAS_TOKEN",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StoreError, match=r"Entra ID gave no usable login\. Log in with `az login`") as raised:
        open_bundle("https://127.0.0.1:1/account/container/x")
    assert "\n" not in str(raised.value)


def test_an_address_without_container_and_a_folder_without_manifest_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="the address names no container"):
        open_bundle("https://account.blob.core.windows.net/")
    with pytest.raises(ConfigurationError, match=r"no published dictionary here \(manifest.json is missing\)"):
        open_bundle(tmp_path)
