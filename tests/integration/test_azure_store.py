"""The publish protocol against a real Azurite."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from azure.storage.blob import RetentionPolicy, generate_container_sas
from integration.azure_stores import KEY_VARIABLE, Wire, open_on, plain_paths, read_back
from servers.azurite import ACCOUNT, KEY, AzuriteServer, running_azurite
from test_privacy_purge import SECRET
from test_privacy_purge import bundle as private_bundle
from test_publish_protocol import NOW, PowerCut, hashes, make_bundle

from dictionary_pipeline.config.resolved import AZURE_PLAIN, AzurePlace, AzureTarget
from dictionary_pipeline.errors import ConfigurationError, LeaseHeld, StoreConflict, StoreError
from dictionary_pipeline.publishing.azure import AzureStore
from dictionary_pipeline.publishing.azure_client import connect
from dictionary_pipeline.publishing.bundle import Bundle
from dictionary_pipeline.publishing.gc import gc
from dictionary_pipeline.publishing.index import list_database
from dictionary_pipeline.publishing.lease import hold_lease
from dictionary_pipeline.publishing.open_store import open_azure, open_location
from dictionary_pipeline.publishing.publish import PublishReport, publish
from dictionary_pipeline.publishing.reading import bundle_in
from dictionary_pipeline.publishing.restore import restore
from dictionary_pipeline.store import Store


@pytest.fixture(scope="module")
def azurite() -> Iterator[AzuriteServer]:
    with running_azurite() as server:
        yield server


@pytest.fixture(autouse=True)
def _credential(azurite: AzuriteServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, azurite.connection_string)


@pytest.fixture
def container(azurite: AzuriteServer) -> str:
    return azurite.create_container()


@pytest.fixture
def store(azurite: AzuriteServer, container: str) -> AzureStore:
    return open_on(azurite, container, "dictionaries/shop")


def put(
    store: Store,
    bundle: Bundle,
    *,
    run: str = "r1",
    at: float = 0,
    lease_store: Store | None = None,
    thorough: bool = False,
) -> PublishReport:
    now = NOW + timedelta(seconds=at)
    with hold_lease(lease_store or store, owner=run) as lease:
        return publish(store, bundle, run_id=run, lease=lease, now=now, plain=AZURE_PLAIN, thorough=thorough)


def plain_sizes(bundle: Bundle) -> dict[str, int]:
    return {path: info.bytes for path, info in bundle.files.items() if path.partition("/")[0] in AZURE_PLAIN}


def assert_shows(store: AzureStore, bundle: Bundle) -> None:
    found = {path: hashlib.sha256(content).hexdigest() for path, content in read_back(store).items()}
    assert found == hashes(bundle)
    assert plain_paths(store) == plain_sizes(bundle)
    for path in plain_sizes(bundle):
        assert hashlib.sha256(store.read(path) or b"").hexdigest() == bundle.files[path].sha256


def test_objects_are_created_replaced_swapped_listed_and_deleted(store: AzureStore, tmp_path: Path) -> None:
    file = tmp_path / "large"
    file.write_bytes(b"x" * 300_000)
    assert store.create("a/b.json", b"1") and not store.create("a/b.json", b"2")
    assert (store.read("a/b.json"), store.read("a/none"), store.exists("a/none")) == (b"1", None, False)
    assert store.create("a/large", file) and store.read("a/large") == file.read_bytes()
    store.write("a/odd [x] ü %2F'.json", b"")
    assert [item.key for item in store.list("a/")] == ["a/b.json", "a/large", "a/odd [x] ü %2F'.json"]
    assert store.read("a/odd [x] ü %2F'.json") == b""
    etag = store.swap("a/pointer", b"1", None)
    assert store.swap("a/pointer", b"2", etag) != etag
    for stale in (etag, None):
        with pytest.raises(StoreConflict, match="another writer changed it"):
            store.swap("a/pointer", b"3", stale)
    with pytest.raises(StoreConflict):
        store.swap("a/none", b"3", etag)
    store.write_many((f"many/{number}", b"x") for number in range(300))
    store.delete([f"many/{number}" for number in range(310)])
    store.delete(["a/b.json", "a/none"])
    store.delete(["a/none"])
    assert [item.key for item in store.list("")] == ["a/large", "a/odd [x] ü %2F'.json", "a/pointer"]


def test_a_first_publish_writes_everything_and_an_unchanged_one_nothing(
    azurite: AzuriteServer, container: str, tmp_path: Path
) -> None:
    bundle = make_bundle(tmp_path, ["a", "b"])
    first = put(open_on(azurite, container), bundle)
    assert (first.status, first.objects_written) == ("published", len(set(bundle.files.values())))
    assert_shows(open_on(azurite, container), bundle)
    wire = Wire()
    report = put(open_on(azurite, container, transport=wire), bundle, run="r2", at=9)
    assert (report.status, report.objects_written, report.plain_written) == ("unchanged", 0, 0)
    assert wire.requests <= 3 and set(wire.seen) == {"GET", "HEAD", "lease"}


def test_a_changed_table_costs_two_requests_a_file_and_a_removed_one_loses_its_plain_files(
    azurite: AzuriteServer, container: str, tmp_path: Path
) -> None:
    put(open_on(azurite, container), make_bundle(tmp_path, ["a", "b", "c"]))
    wire = Wire()
    smaller = make_bundle(tmp_path, ["a", "c"])
    report = put(open_on(azurite, container, transport=wire), smaller, at=1)
    changed = len(report.changes.added) + len(report.changes.changed) + len(report.changes.removed)
    assert wire.requests <= 2 * changed + 8
    assert report.changes.removed == ("column_value_store/shop.s.b.name.jsonl", "schema_store/shop.s.b.json")
    assert_shows(open_on(azurite, container), smaller)


def test_a_thorough_publish_puts_back_what_was_deleted_by_hand(store: AzureStore, tmp_path: Path) -> None:
    bundle = make_bundle(tmp_path, ["a"])
    put(store, bundle)
    lost = "schema_store/shop.s.a.json"
    store.delete([lost, bundle.files[lost].object_key])
    report = put(store, bundle, at=1, thorough=True)
    assert (report.status, report.objects_written, report.plain_written) == ("unchanged", 1, 1)
    assert_shows(store, bundle)


def test_plain_blobs_carry_the_hash_that_the_manifest_names_for_them(
    azurite: AzuriteServer, container: str, tmp_path: Path
) -> None:
    bundle = make_bundle(tmp_path, ["a"])
    put(open_on(azurite, container, "shop"), bundle)
    blobs = azurite.service().get_container_client(container).list_blobs("shop/", include=["metadata"])
    found = {blob.name.removeprefix("shop/"): blob.metadata for blob in blobs}
    assert {path: found[path] for path in plain_sizes(bundle)} == {
        path: {"sha256": bundle.files[path].sha256} for path in plain_sizes(bundle)
    }


def test_blobs_have_content_types_and_files_of_others_are_left_alone(
    azurite: AzuriteServer, container: str, tmp_path: Path
) -> None:
    service = azurite.service().get_container_client(container)
    foreign = ["shop/schema_store/notes.txt", "shop/schema_store/shop.s.z.json", "other/manifest.json", "shop2/x"]
    for name in foreign:
        service.upload_blob(name, b"mine")
    store = open_on(azurite, container, "shop")
    put(store, make_bundle(tmp_path, ["a", "b"]))
    for item in list(store.list(".state/")):
        store.delete([item.key])
    put(store, make_bundle(tmp_path, ["a"]), at=1)
    kinds = {blob.name: blob.content_settings.content_type for blob in service.list_blobs()}
    assert kinds["shop/schema_store/shop.s.a.json"] == "application/json; charset=utf-8"
    assert kinds["shop/manifest.json"] == "application/json; charset=utf-8"
    assert kinds["shop/column_value_store/shop.s.a.name.jsonl"].startswith("application/x-ndjson")
    assert set(foreign) <= set(kinds) and "shop/schema_store/shop.s.b.json" not in kinds


@pytest.mark.parametrize("after", [False, True], ids=["before_it_arrives", "after_it_arrived"])
def test_death_at_any_request_leaves_a_whole_set_and_the_next_publish_completes(
    after: bool, azurite: AzuriteServer, tmp_path: Path
) -> None:
    old, dying = make_bundle(tmp_path, ["a"], "old"), make_bundle(tmp_path, ["b"], "dying")
    new = make_bundle(tmp_path, ["c"], "new")
    container = azurite.create_container()
    deaths = 0
    for step in range(1, 200):
        whole = open_on(azurite, container, f"step{step}")
        put(whole, old)
        try:
            wire = Wire(step, after=after)
            put(open_on(azurite, container, f"step{step}", transport=wire), dying, at=1, lease_store=whole)
        except PowerCut:
            deaths += 1
        else:
            assert_shows(whole, dying)
            break
        seen = {path: hashlib.sha256(content).hexdigest() for path, content in read_back(whole).items()}
        assert seen in (hashes(old), hashes(dying)), step
        final = new if step % 3 else dying
        put(whole, final, at=2)
        assert_shows(whole, final)
    assert deaths >= 12


def test_a_purge_that_died_at_any_request_is_finished_by_the_next_publish(
    azurite: AzuriteServer, tmp_path: Path
) -> None:
    shown, hidden = private_bundle(tmp_path), private_bundle(tmp_path, treat="withhold")
    container = azurite.create_container()
    service = azurite.service().get_container_client(container)
    purged = 0
    for step in (*range(1, 40, 5), 1_000):
        whole = open_on(azurite, container, f"step{step}")
        put(whole, shown)
        assert any(SECRET.encode() in service.download_blob(blob.name).readall() for blob in service.list_blobs())
        try:
            put(open_on(azurite, container, f"step{step}", transport=Wire(step)), hidden, at=1, lease_store=whole)
        except PowerCut:
            put(whole, hidden, at=2)
        purged += 1
        for blob in service.list_blobs():
            assert SECRET.encode() not in service.download_blob(blob.name).readall(), (step, blob.name)
        assert not list(whole.list(".manifests/"))
        assert read_back(whole)
    assert purged == 9


def test_an_answer_lost_after_the_swap_is_no_loss(azurite: AzuriteServer, container: str, tmp_path: Path) -> None:
    bundle, wire = make_bundle(tmp_path, ["a"]), Wire()
    wire.lose_answer_of = "manifest.json"
    report = put(open_on(azurite, container, transport=wire), bundle)
    assert (report.status, wire.lose_answer_of) == ("published", "")
    assert_shows(open_on(azurite, container), bundle)


def test_of_four_racing_publishers_each_wins_alone_or_is_refused_clearly(
    azurite: AzuriteServer, container: str, tmp_path: Path
) -> None:
    bundles = [make_bundle(tmp_path, ["a", "b"], f"text {number}") for number in range(4)]
    refused: list[StoreError] = []
    won: list[int] = []
    start = threading.Barrier(4)

    def race(number: int) -> None:
        own = open_on(azurite, container)
        start.wait()
        for attempt in range(3):
            try:
                put(own, bundles[number], run=f"run{number}", at=number * 10 + attempt)
                won.append(number)
            except (LeaseHeld, StoreConflict) as error:
                refused.append(error)

    racers = [threading.Thread(target=race, args=(number,)) for number in range(4)]
    for racer in racers:
        racer.start()
    while any(racer.is_alive() for racer in racers):
        if open_on(azurite, container).exists("manifest.json"):
            found = {p: hashlib.sha256(c).hexdigest() for p, c in read_back(open_on(azurite, container)).items()}
            assert found in [hashes(bundle) for bundle in bundles]
    for racer in racers:
        racer.join()
    assert won and refused and len(won) + len(refused) == 12
    assert all("run" in str(error) or "lease" in str(error) for error in refused)
    assert_shows(open_on(azurite, container), bundles[won[-1]])


def test_gc_and_restore_work_on_a_container(store: AzureStore, tmp_path: Path) -> None:
    first, second = make_bundle(tmp_path, ["a"], "one"), make_bundle(tmp_path, ["a", "b"], "two")
    put(store, first)
    put(store, second, at=1)
    archived = [item.key for item in store.list(".manifests/")]
    with hold_lease(store, owner="admin") as lease:
        assert gc(store, lease, datetime.now(UTC) + timedelta(days=2)).objects_deleted == 0
        restored, plain = restore(store, archived[0].removeprefix(".manifests/"), lease, plain=AZURE_PLAIN)
        assert restored.manifest.files == bundle_in(store).manifest.files
        assert plain.deleted == 2
        with pytest.raises(ConfigurationError, match="0 archived manifests are called 'none'"):
            restore(store, "none", lease)
    assert_shows(store, first)


def test_folders_may_lie_in_containers_of_their_own(azurite: AzuriteServer, container: str, tmp_path: Path) -> None:
    search, private = azurite.create_container(), azurite.create_container()
    target = AzureTarget(
        container,
        "bundles",
        connection_string_env=KEY_VARIABLE,
        schema_store=AzurePlace(search, "entries"),
        state=AzurePlace(private),
    )
    store = open_azure(target, "shop")
    put(store, make_bundle(tmp_path, ["a", "b"]))
    put(store, make_bundle(tmp_path, ["a"]), at=1)
    names = {
        place: [b.name for b in azurite.service().get_container_client(place).list_blobs()]
        for place in (search, private)
    }
    assert names[search] == ["entries/shop/shop.s.a.json"]
    assert set(names[private]) == {"shop/lease.json", "shop/mirrored"}
    assert bundle_in(store).entry("s.a")["Entity"] == "a"
    assert not any(".state" in b.name for b in azurite.service().get_container_client(container).list_blobs())


def test_a_sas_address_opens_a_bundle_for_reading(azurite: AzuriteServer, container: str, tmp_path: Path) -> None:
    put(open_on(azurite, container, "x/shop"), make_bundle(tmp_path, ["a"]))
    address = f"{azurite.account_url}/{container}/x/shop?{azurite.sas(permission='rl')}"
    store = open_location(address)
    assert [entry["Entity"] for entry in bundle_in(store).entries()] == ["a"]
    assert "sig=" not in store.location
    with pytest.raises(StoreError, match="may not do that") as refused:
        store.write("x", b"")
    assert "sig=" not in str(refused.value)


def test_a_sas_of_the_container_alone_is_enough_to_publish(
    azurite: AzuriteServer, container: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = datetime.now(UTC) + timedelta(hours=1)
    sas = generate_container_sas(ACCOUNT, container, account_key=KEY, permission="racwdl", expiry=end)
    monkeypatch.setenv("CONTAINER_SAS", f"{azurite.account_url}/{container}?{sas}")
    store = open_azure(AzureTarget(container, account_url=azurite.account_url, sas_env="CONTAINER_SAS"), "shop")
    put(store, make_bundle(tmp_path, ["a", "b"]))
    report = put(store, make_bundle(tmp_path, ["b"]), at=1)
    assert report.plain_deleted == 2
    assert isinstance(store, AzureStore)
    assert_shows(store, make_bundle(tmp_path, ["b"]))
    assert store.kept_after_deletion() is None and "sig=" not in store.location


@pytest.mark.parametrize("host", ["localhost:10000", "azurite:10000", "[::1]:10000", "127.0.0.1:10000"])
def test_the_address_of_an_emulator_begins_with_the_account(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_KEY", KEY)
    address = f"http://{host}/{ACCOUNT}/container/prod/shop"
    assert open_location(address).location == address
    monkeypatch.delenv("AZURE_STORAGE_KEY")
    with pytest.raises(ConfigurationError, match="the address names no container"):
        open_location(f"http://{host}/{ACCOUNT}")


def test_several_blobs_are_deleted_where_a_batch_is_refused(
    azurite: AzuriteServer, container: str, store: AzureStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACCOUNT_SAS", azurite.sas())
    target = AzureTarget(container, "dictionaries/shop", azurite.account_url, sas_env="ACCOUNT_SAS")
    with_sas = open_azure(target)  # the emulator answers a batch of such a login with 500
    for key in ("a", "b", "c"):
        store.write(key, b"")
    with_sas.delete(["a", "b", "never there"])
    assert [item.key for item in store.list("")] == ["c"]
    store.write("a", b"")
    monkeypatch.setenv("ACCOUNT_SAS", azurite.sas(permission="racwl"))
    with pytest.raises(StoreError, match="this login may not do that"):
        open_azure(target).delete(["a", "c"])


def _error(target: AzureTarget) -> str:
    service, login = connect(target)
    with pytest.raises(StoreError) as raised:
        AzureStore(service, target.container, "", login).read("manifest.json")
    assert raised.value.__cause__ is None and "\n" not in str(raised.value)
    return str(raised.value)


def test_a_wrong_key_an_expired_sas_and_a_missing_container_are_one_clear_line(
    azurite: AzuriteServer, container: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = azurite.account_url
    monkeypatch.setenv("WRONG_KEY", "d3Jvbmcga2V5")
    wrong = _error(AzureTarget(container, account_url=url, account_key_env="WRONG_KEY"))
    assert "the account key in WRONG_KEY was refused" in wrong and "d3Jvbmcga2V5" not in wrong
    monkeypatch.setenv("OLD_SAS", azurite.sas(lasts=timedelta(hours=-1)))
    expired = _error(AzureTarget(container, account_url=url, sas_env="OLD_SAS"))
    assert "the SAS in OLD_SAS expired at 2" in expired and "sig" not in expired
    missing = _error(AzureTarget("not-there", connection_string_env=KEY_VARIABLE))
    assert (
        missing
        == f"{url}/not-there: the container does not exist. Create it, or correct 'container' under 'publish: azure:'."
    )


def test_an_unset_or_broken_variable_and_http_with_entra_are_configuration_errors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(ConfigurationError, match="NOT_SET is not set"):
        connect(AzureTarget("c", connection_string_env="NOT_SET"))
    monkeypatch.setenv("BROKEN", "AccountKey=secret;nonsense")
    with pytest.raises(ConfigurationError, match="the content of BROKEN cannot be used") as raised:
        connect(AzureTarget("c", connection_string_env="BROKEN"))
    assert "secret" not in str(raised.value) and raised.value.__context__ is None
    with pytest.raises(ConfigurationError, match="Entra ID needs an https address"):
        connect(AzureTarget("c", account_url="http://127.0.0.1/a"))


def test_a_sas_crosses_no_network_in_the_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "http://store.example/a"
    monkeypatch.setenv("SOME_SAS", "sv=2026-10-06&sig=canary")
    monkeypatch.setenv("SAS_STRING", f"BlobEndpoint={url};SharedAccessSignature=sv=2026-10-06&sig=canary")
    by_token = AzureTarget("c", account_url=url, sas_env="SOME_SAS")
    for target in (by_token, AzureTarget("c", connection_string_env="SAS_STRING")):
        with pytest.raises(ConfigurationError, match="a SAS needs an https address") as raised:
            connect(target)
        assert "canary" not in str(raised.value)
    with pytest.raises(ConfigurationError, match="a SAS needs an https address"):
        open_location(f"{url}/c?sig=canary")
    connect(AzureTarget("c", account_url="http://127.0.0.1:1/a", sas_env="SOME_SAS"))


class Busy(Wire):
    """The first requests of a kind are too many, and the service asks to wait."""

    def __init__(self, method: str, times: int) -> None:
        super().__init__()
        self.method, self.left = method, times

    def send(self, request: Any, **options: Any) -> Any:
        answer = super().send(request, **options)
        if request.method == self.method and self.left:
            self.left -= 1
            answer.status_code = 429
            answer.headers["Retry-After"] = "7"
        return answer


def test_too_many_requests_are_sent_again_when_the_service_asks_for_it(
    azurite: AzuriteServer, container: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr("azure.core.pipeline.transport._base.time.sleep", waited.append)
    file = tmp_path / "content"
    file.write_bytes(b"of a file")
    store = open_on(azurite, container, transport=Busy("PUT", 2))
    store.write("x", file)
    assert store.read("x") == b"of a file" and waited == [7.0, 7.0]
    with pytest.raises(StoreError, match="Azure limits the requests to this account at the moment"):
        open_on(azurite, container, transport=Busy("GET", 99)).read("x")


def test_an_account_that_cannot_be_reached_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "a2V5")
    service, login = connect(
        AzureTarget("c", account_url="http://127.0.0.1:1/a", account_key_env="SOME_KEY"),
        retry_total=0,
        retry_policy=None,
    )
    with pytest.raises(StoreError, match="the storage account cannot be reached"):
        AzureStore(service, "c", "", login).read("x")


def test_what_soft_delete_keeps_is_known(azurite: AzuriteServer, container: str) -> None:
    store, service = open_on(azurite, container), azurite.service()
    assert store.kept_after_deletion() is None
    service.set_service_properties(delete_retention_policy=RetentionPolicy(enabled=True, days=7))
    try:
        kept = store.kept_after_deletion()
    finally:
        service.set_service_properties(delete_retention_policy=RetentionPolicy(enabled=False))
    assert kept == "On this storage account soft delete keeps deleted blobs for 7 days"


def test_databases_that_are_listed_at_once_are_all_listed(azurite: AzuriteServer, container: str) -> None:
    names = [f"db{number}" for number in range(6)]
    threads = [threading.Thread(target=list_database, args=(open_on(azurite, container, "dd"), name)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    root = open_on(azurite, container, "dd")
    assert [item["name"] for item in json.loads(root.read("index.json") or b"")["databases"]] == names
    etag = root.read_versioned("index.json")
    list_database(root, "db3")
    assert root.read_versioned("index.json") == etag
