"""Pushing to Azure AI Search: the real client library over TLS against a double that records the calls."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from servers.embedding_stub import TOKENS, EmbeddingStub, running_embeddings
from servers.search_stub import KEY, KEY_VARIABLE, TOKEN, Answer, Call, SearchStub, running_search
from system.projects import write_project

from dictionary_pipeline import open_bundle
from dictionary_pipeline.cli import main
from dictionary_pipeline.config.search_settings import QUERY_CACHE, SCHEMA_STORE, VALUE_STORE
from dictionary_pipeline.publishing.search import service

ENTITIES, VALUES, CACHE = (f"{kind}-index" for kind in (SCHEMA_STORE, VALUE_STORE, QUERY_CACHE))
SCRIPT = """
CREATE TABLE customer (id INTEGER PRIMARY KEY, city TEXT, segment TEXT);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customer (id), total NUMERIC);
CREATE TABLE region (id INTEGER PRIMARY KEY, name TEXT);
INSERT INTO customer VALUES (1, 'Zurich', 'retail'), (2, 'Basel', 'retail'), (3, 'Canary-on-Sea', 'trade');
INSERT INTO orders VALUES (1, 1, 9.5), (2, 2, 20);
INSERT INTO region VALUES (1, 'North'), (2, 'South');
"""
Output = pytest.CaptureFixture[str]


@dataclass
class Shop:
    """A project folder with databases that are pushed to the double."""

    folder: Path
    search: SearchStub | None

    @property
    def stub(self) -> SearchStub:
        """The double."""
        assert self.search is not None
        return self.search

    def configure(self, more: str = "", *, login: str = f"api_key_env: {KEY_VARIABLE}") -> None:
        """Write `project.yml`; `more` continues the `search:` section."""
        text = f"search:\n  endpoint: {self.stub.endpoint}\n  automatic: false\n  {login}\n{more}"
        (self.folder / "dbt_like_configs/project.yml").write_text(text)

    def add(self, name: str, script: str = SCRIPT, yaml: str = "") -> None:
        """Make or replace a database and its file."""
        path = self.folder / f"{name}.db"
        path.unlink(missing_ok=True)
        self.sql(name, script)
        file = self.folder / f"dbt_like_configs/databases/{name}.yml"
        file.write_text(f"connection:\n  type: sqlite\n  path: {name}.db\n{yaml}")

    def sql(self, name: str, script: str) -> None:
        """Change a database."""
        with sqlite3.connect(self.folder / f"{name}.db") as connection:
            connection.executescript(script)
        connection.close()

    def call(self, *words: str) -> int:
        """Run the command line; the exit code."""
        with pytest.raises(SystemExit) as left:
            main([*words, "--project", str(self.folder)])
        return int(left.value.code or 0)

    def refresh(self, *names: str) -> None:
        """Run the pipeline and forget what was pushed so far."""
        assert self.call("run", *names) == 0
        self.stub.forget_calls()

    def push(self, *words: str) -> int:
        """Push and record only that."""
        self.stub.forget_calls()
        return self.call("push-search", *words)

    def state(self, name: str) -> Path:
        """Where the state of pushes is."""
        return self.folder / f"published/{name}/.state/search.json"

    def tables(self, index: str = ENTITIES) -> list[tuple[str, str]]:
        """(database, FQN) of all documents."""
        return sorted((item.get("Dictionary", ""), item["FQN"]) for item in self.stub.documents[index].values())


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose database `shop` is published, to be copied."""
    folder = tmp_path_factory.mktemp("published") / "project"
    write_project(folder)
    project = Shop(folder, None)
    (folder / "dbt_like_configs/project.yml").write_text("search: {endpoint: 'https://no.one', automatic: false}\n")
    project.add("shop")
    assert project.call("run") == 0
    return folder


@pytest.fixture
def shop(published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    with running_search(tmp_path) as stub:
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(stub.certificate))
        monkeypatch.setenv(KEY_VARIABLE, KEY)
        monkeypatch.setattr(service, "_PATIENCE", (0.0,) * 5)
        project = Shop(shutil.copytree(published, tmp_path / "project"), stub)
        project.configure()
        yield project


def cached(question: str, sql: str, *entities: str) -> dict[str, Any]:
    """A document as agents write it to the query cache."""
    schemas = [{"Entity": entity, "Columns": []} for entity in entities]
    parts = [{"SqlQuery": sql, "Schemas": schemas}]
    return {"Id": question, "Question": question, "SqlQueryDecomposition": parts}


def test_a_first_push_makes_the_indexes_and_sends_all_and_a_second_sends_no_document(
    shop: Shop, capsys: Output
) -> None:
    capsys.readouterr()
    assert shop.push() == 0
    # 3 tables; customer.city has 3 values, customer.segment 2, region.name 2
    assert "shop: 10 documents pushed, 0 deleted, 0 unchanged" in capsys.readouterr().out
    assert set(shop.stub.indexes) == {ENTITIES, VALUES, CACHE}
    assert shop.tables() == [("shop", f"main.{table}") for table in ("customer", "orders", "region")]
    values = {(item["FQN"], item["Value"]) for item in shop.stub.documents[VALUES].values()}
    assert ("main.customer.city", "Zurich") in values and len(values) == len(shop.stub.documents[VALUES]) == 7
    assert {action["@search.action"] for action in shop.stub.sent} == {"mergeOrUpload"}
    state = shop.state("shop").read_bytes()

    assert shop.push() == 0
    assert [(call.method, call.index) for call in shop.stub.calls] == [
        ("GET", ENTITIES),
        ("GET", VALUES),
        ("GET", CACHE),
    ]
    assert "shop: 0 documents pushed, 0 deleted, 10 unchanged" in capsys.readouterr().out
    assert shop.state("shop").read_bytes() == state


def test_a_run_pushes_what_it_published_unless_told_otherwise(shop: Shop, capsys: Output) -> None:
    assert shop.call("run") == 0
    assert shop.stub.calls == []
    project = shop.folder / "dbt_like_configs/project.yml"
    project.write_text(project.read_text().replace("automatic: false", "automatic: true"))
    assert shop.call("run", "--dry-run") == 0
    assert shop.stub.calls == []
    capsys.readouterr()
    assert shop.call("run", "--json") == 0
    assert json.loads(capsys.readouterr().out)["database"] == "shop"
    assert len(shop.tables()) == 3
    shop.stub.script = lambda call: Answer(403)
    assert shop.call("run") == 3
    said = capsys.readouterr()
    assert "published" in said.out or "unchanged" in said.out
    assert f"error: shop is published, but not pushed: {shop.stub.endpoint}: the key in" in said.err


def test_a_rerun_that_publishes_the_same_sends_no_document(shop: Shop) -> None:
    assert shop.push() == 0
    assert shop.call("run", "--force", "all") == 0
    assert shop.push("shop") == 0
    assert shop.stub.sent == []


def test_only_what_changed_is_sent_and_only_what_is_gone_is_deleted(shop: Shop, capsys: Output) -> None:
    shop.push()
    shop.sql("shop", "DROP TABLE region; ALTER TABLE orders ADD note INTEGER; DELETE FROM customer WHERE id = 3;")
    shop.refresh()
    capsys.readouterr()
    assert shop.push() == 0
    found = {(item["@search.action"], item.get("FQN")) for item in shop.stub.sent}
    assert ("mergeOrUpload", "main.orders") in found
    assert {fqn for kind, fqn in found if kind == "mergeOrUpload"} <= {"main.orders", "main.customer"}
    # region itself, its 2 values, the city and the segment that no row has any more
    assert "5 deleted" in capsys.readouterr().out
    assert shop.tables() == [("shop", "main.customer"), ("shop", "main.orders")]
    left = {item["Value"] for item in shop.stub.documents[VALUES].values()}
    assert left == {"Zurich", "Basel", "retail"}


def test_databases_share_an_index_and_only_their_own_documents_are_deleted(shop: Shop) -> None:
    shop.add("shop-eu")  # the same names, and a name that begins with the other's
    shop.refresh()
    assert shop.push() == 0
    assert len(shop.tables()) == 6
    foreign = {"Id": "bWFpbi5vdGhlcg", "FQN": "main.other"}
    shop.stub.documents[ENTITIES]["bWFpbi5vdGhlcg"] = foreign  # another program's
    shop.sql("shop", "DROP TABLE region")
    shop.refresh("shop")
    for words in (("shop",), ("shop", "--full")):
        assert shop.push(*words) == 0
        assert shop.tables() == sorted(
            [
                ("", "main.other"),
                *(("shop", f"main.{table}") for table in ("customer", "orders")),
                *(("shop-eu", f"main.{table}") for table in ("customer", "orders", "region")),
            ]
        )


@pytest.mark.parametrize("damage", ["lost", "damaged", "killed"])
def test_without_its_state_a_push_asks_the_index_and_leaves_nothing_that_is_gone(shop: Shop, damage: str) -> None:
    shop.push()
    shop.sql("shop", "DROP TABLE region")
    shop.refresh()
    if damage == "lost":
        shop.state("shop").unlink()
    else:
        text = '{"format": 1, "at_work": true}' if damage == "killed" else '{"format": 1, "indexes": ['
        shop.state("shop").write_text(text)
    assert shop.push() == 0
    assert shop.tables() == [("shop", "main.customer"), ("shop", "main.orders")]
    assert {item["FQN"] for item in shop.stub.documents[VALUES].values()} == {
        "main.customer.city",
        "main.customer.segment",
    }
    shop.push()
    assert shop.stub.sent == []


def test_an_index_that_was_deleted_is_filled_again(shop: Shop) -> None:
    shop.push()
    del shop.stub.indexes[VALUES], shop.stub.documents[VALUES]
    assert shop.push() == 0
    assert len(shop.stub.documents[VALUES]) == 7
    assert {call.index for call in shop.stub.calls if call.documents} == {VALUES}


def test_requests_hold_a_thousand_documents_at_most(shop: Shop) -> None:
    rows = ", ".join(f"({number}, 'place {number % 1300}')" for number in range(2600))
    shop.add("big", f"CREATE TABLE place (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO place VALUES {rows};")
    file = shop.folder / "dbt_like_configs/databases/big.yml"
    file.write_text(file.read_text() + "limits: {max_values: 5000}\nvalue_store: {include: [name]}\n")
    shop.refresh("big")
    assert shop.push("big") == 0
    assert [len(call.documents) for call in shop.stub.calls if call.documents] == [1, 1000, 300]


def first_key(shop: Shop, fqn: str) -> str:
    return next(key for key, item in shop.stub.documents[ENTITIES].items() if item["FQN"] == fqn)


def test_of_a_batch_that_failed_in_part_only_that_part_is_sent_again(shop: Shop) -> None:
    shop.push()
    key = first_key(shop, "main.orders")
    shop.stub.document_faults[key] = [503, 409]
    assert shop.push("--full") == 0
    sizes = [len(call.documents) for call in shop.stub.calls if call.documents and call.index == ENTITIES]
    assert sizes == [3, 1, 1]


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_service_is_asked_again(shop: Shop, status: int) -> None:
    busy = [Answer(status, headers={"Retry-After": "0"})] * 3
    shop.stub.script = lambda call: busy.pop() if call.documents and busy else None
    assert shop.push() == 0
    assert len(shop.tables()) == 3


def test_a_document_that_is_refused_is_named_and_tried_again_by_the_next_push(shop: Shop, capsys: Output) -> None:
    shop.push()
    value = next(key for key, item in shop.stub.documents[VALUES].items() if item["Value"] == "Canary-on-Sea")
    shop.stub.document_faults[value] = [400]
    capsys.readouterr()
    assert shop.push("--full") == 3
    said = capsys.readouterr()
    assert "main.customer.city: the search service does not take a document about it" in said.err
    assert "Canary" not in said.err + said.out
    assert shop.push() == 0
    assert [item["Id"] for item in shop.stub.sent] == [value]


def test_a_push_that_fails_half_way_goes_on_where_it_stopped(shop: Shop, capsys: Output) -> None:
    shop.stub.script = lambda call: Answer(503) if call.documents and call.index == VALUES else None
    capsys.readouterr()
    assert shop.push() == 1
    assert "the search service cannot answer at the moment" in capsys.readouterr().err
    shop.stub.script = lambda call: None
    shop.sql("shop", "DROP TABLE region")  # some of its documents may have arrived
    shop.refresh()
    assert shop.push() == 0
    kinds = [(item["@search.action"], item.get("FQN")) for item in shop.stub.sent]
    assert kinds.count(("delete", None)) == 3
    assert ("mergeOrUpload", "main.customer") not in kinds and ("mergeOrUpload", "main.customer.city") in kinds


def test_an_answer_that_was_lost_does_no_harm(shop: Shop) -> None:

    def lose(call: Call) -> Answer | None:
        if call.documents and not lost:
            lost.append(call)
            shop.stub._answer(call)  # it took effect
            return Answer(500)
        return None

    lost: list[Call] = []
    shop.stub.script = lose
    assert shop.push() == 0
    assert lost and len(shop.tables()) == 3


def test_a_change_that_was_taken_unnoticed_is_taken_back_with_the_text(shop: Shop) -> None:
    file = shop.folder / "dbt_like_configs/databases/shop.yml"
    before = file.read_text()
    shop.push()
    original = dict(shop.stub.documents[ENTITIES])

    def take_and_fail(call: Call) -> Answer | None:
        if call.documents:
            shop.stub._answer(call)
            return Answer(500)
        return None

    file.write_text(before + "sources: [{name: main, tables: [{name: orders, description: Else.}]}]\n")
    shop.refresh()
    shop.stub.script = take_and_fail
    assert shop.push() == 1
    assert "Else." in json.dumps(shop.stub.documents[ENTITIES])
    shop.stub.script = lambda call: None
    file.write_text(before)
    shop.refresh()
    assert shop.push() == 0
    found = shop.stub.documents[ENTITIES]
    assert {key: item["Definition"] for key, item in found.items()} == {
        key: item["Definition"] for key, item in original.items()
    }


def test_drift_drops_the_cached_queries_that_touch_what_changed(shop: Shop, capsys: Output) -> None:
    shop.push()
    queries = [
        cached("q1", "SELECT city FROM main.customer", "main.customer"),
        cached("q2", "SELECT total FROM orders", "orders"),
        cached("q3", "SELECT o.total FROM main.orders o JOIN main.customer c", "main.orders", "main.customer"),
        cached("q4", "SELECT name FROM region"),
        cached("q5", "SELECT x FROM other.customer", "other.customer"),
        cached("q6", 'SELECT 1 FROM "CUSTOMER"'),
    ]
    shop.stub.documents[CACHE] = {query["Id"]: query for query in queries}
    shop.sql("shop", "ALTER TABLE customer DROP COLUMN segment; ALTER TABLE region ADD COLUMN note INTEGER")
    shop.refresh()
    capsys.readouterr()
    assert shop.push() == 0
    assert set(shop.stub.documents[CACHE]) == {"q2", "q4", "q5"}  # a new column is harmless
    assert "3 cached queries dropped" in capsys.readouterr().out
    shop.stub.documents[CACHE]["q1"] = queries[0]  # asked and answered anew
    assert shop.push() == 0
    assert "q1" in shop.stub.documents[CACHE] and shop.stub.sent == []


def test_a_cached_query_that_cannot_be_deleted_is_named_and_tried_again(shop: Shop, capsys: Output) -> None:
    shop.push()
    query = cached("q1", "SELECT city FROM main.customer", "main.customer")
    shop.stub.documents[CACHE] = {query["Id"]: query}
    shop.sql("shop", "ALTER TABLE customer DROP COLUMN segment")
    shop.refresh()
    shop.stub.document_faults[query["Id"]] = [400]
    capsys.readouterr()
    assert shop.push() == 3
    assert "does not delete 1 cached queries that may be wrong by now" in " ".join(capsys.readouterr().err.split())
    assert shop.push() == 0
    assert shop.stub.documents[CACHE] == {}


def test_a_cache_that_was_filled_after_a_push_had_failed_is_looked_through(shop: Shop) -> None:
    shop.stub.script = lambda call: Answer(503) if call.documents and call.index == VALUES else None
    assert shop.push() == 1
    shop.stub.script = lambda call: None
    query = cached("q1", "SELECT city FROM main.customer", "main.customer")
    shop.stub.documents[CACHE] = {query["Id"]: query}
    shop.sql("shop", "ALTER TABLE customer DROP COLUMN segment")
    shop.refresh()
    assert shop.push() == 0
    assert shop.stub.documents[CACHE] == {}


def test_a_newly_withheld_column_disappears_from_index_and_cached_samples(shop: Shop) -> None:
    shop.push()
    shop.stub.documents[CACHE] = {
        query["Id"]: query
        for query in (cached("q1", "SELECT 1", "main.customer"), cached("q2", "SELECT 1", "main.region"))
    }
    shop.add("shop", yaml="privacy: {withhold: [customer.city]}\n")
    shop.refresh()
    assert shop.push() == 0
    assert "Canary-on-Sea" not in json.dumps([shop.stub.documents[ENTITIES], shop.stub.documents[VALUES]])
    assert len(shop.stub.documents[VALUES]) == 4
    assert set(shop.stub.documents[CACHE]) == {"q2"}
    assert "Canary-on-Sea" not in json.dumps([call.body for call in shop.stub.calls])


def predecessor_index(fields: list[dict[str, Any]]) -> dict[str, Any]:
    """The schema index as the accelerator's own deployment made it, without what does not matter here."""
    return {
        "name": ENTITIES,
        "fields": [{"name": "Id", "type": "Edm.String", "key": True, "retrievable": True}, *fields],
        "scoringProfiles": [{"name": "theirs"}],
    }


def text_field(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "Edm.String", "searchable": True, "filterable": False, **more}


def test_an_index_of_the_predecessor_is_extended_and_keeps_what_it_has(shop: Shop) -> None:
    columns = {"name": "Columns", "type": "Collection(Edm.ComplexType)", "fields": [text_field("Name")]}
    theirs = [text_field("FQN", analyzer="keyword"), text_field("EntityName", filterable=True), columns]
    shop.stub.indexes[ENTITIES] = predecessor_index([*theirs, text_field("TheirOwn")])
    shop.stub.documents[ENTITIES] = {"b2xk": {"Id": "b2xk", "FQN": "theirs"}}
    shop.stub.indexes[CACHE] = {
        "name": CACHE,
        "fields": [{"name": "Id", "type": "Edm.String", "key": True, "retrievable": False}],
    }
    shop.stub.documents[CACHE] = {}
    assert shop.push() == 0
    index = shop.stub.indexes[ENTITIES]
    fields = {item["name"]: item for item in index["fields"]}
    assert fields["FQN"] == theirs[0] and "TheirOwn" in fields and index["scoringProfiles"] == [{"name": "theirs"}]
    inner = {item["name"] for item in fields["Columns"]["fields"]}
    assert inner == {"Name", "Definition", "DataType", "AllowedValues", "SampleValues"}
    assert "b2xk" in shop.stub.documents[ENTITIES]
    assert shop.stub.indexes[CACHE]["fields"][0]["retrievable"] is True
    shop.push()
    assert {call.method for call in shop.stub.calls} == {"GET"}


@pytest.mark.parametrize(
    ("field", "what"),
    [
        ({"name": "FQN", "type": "Edm.Int32"}, "FQN is of type Edm.Int32, not Edm.String"),
        (text_field("Dictionary"), "Dictionary is not filterable"),
    ],
)
def test_an_index_whose_fields_do_not_fit_is_a_clear_error(
    shop: Shop, capsys: Output, field: dict[str, Any], what: str
) -> None:
    shop.stub.indexes[ENTITIES] = predecessor_index([field])
    capsys.readouterr()
    assert shop.push() == 1
    said = capsys.readouterr().err
    assert f"/indexes/{ENTITIES}: the index exists, and its field {what}. Delete the index" in said
    assert len(said.strip().splitlines()) == 1


def test_what_cannot_work_is_one_line_that_says_what_to_do(
    shop: Shop, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    def error(*words: str) -> tuple[int, str]:
        capsys.readouterr()
        code = shop.push(*words)
        said = capsys.readouterr().err.strip()
        assert KEY not in said and len(said.splitlines()) == 1, said
        return code, said

    shop.add("later")
    assert error("later") == (
        2,
        f"error: later: {shop.folder}/published/later: nothing is published yet that could be pushed. "
        "Run `data_dictionary run later` first. (DD-CONFIG)",
    )
    assert error("nope")[0] == 2
    monkeypatch.setenv(KEY_VARIABLE, "wrong")
    code, said = error("shop")
    assert code == 1 and f"the key in {KEY_VARIABLE} was refused. Copy an admin key" in said
    monkeypatch.delenv(KEY_VARIABLE)
    code, said = error("shop")
    assert code == 2 and f"the environment variable {KEY_VARIABLE} is not set" in said
    monkeypatch.setenv(KEY_VARIABLE, "")
    assert error("shop")[0] == 2
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    (shop.folder / "dbt_like_configs/project.yml").write_text(
        f"search: {{endpoint: 'https://127.0.0.1:1', api_key_env: {KEY_VARIABLE}}}\n"
    )
    code, said = error("shop")
    assert code == 1 and "the search service cannot be reached. Check 'endpoint'" in said
    (shop.folder / "dbt_like_configs/project.yml").write_text("{}\n")
    monkeypatch.delenv("AIService__AzureSearchOptions__Endpoint", raising=False)
    code, said = error("shop")
    assert code == 2 and "no search service is configured. Add 'search:" in said


def test_one_database_that_cannot_be_pushed_costs_no_other(shop: Shop, capsys: Output) -> None:
    shop.add("later")  # never run
    shop.add("private", yaml="search: {enabled: false}\n")
    assert shop.push() == 2
    said = capsys.readouterr()
    assert "shop: 10 documents pushed" in said.out and "nothing is published yet" in said.err
    assert "private" not in said.err
    assert shop.push("private") == 2
    assert "this database is not to be pushed" in capsys.readouterr().err


def test_the_variables_of_the_predecessor_are_enough(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    (shop.folder / "dbt_like_configs/project.yml").write_text("{}\n")
    monkeypatch.setenv("AIService__AzureSearchOptions__Endpoint", shop.stub.endpoint + "/")
    monkeypatch.setenv("AIService__AzureSearchOptions__Key", KEY)
    monkeypatch.setenv("AIService__AzureSearchOptions__Text2SqlSchemaStore__Index", "their-schemas")
    shop.refresh()
    paths = open_bundle(shop.folder / "published/shop").paths
    assert not any(path.startswith("exports/azure") for path in paths)  # an unconfigured bundle stays as it was
    assert shop.push() == 0
    assert set(shop.stub.indexes) == {"their-schemas", VALUES, CACHE}


def test_values_can_be_left_out_and_go_when_they_are(shop: Shop) -> None:
    shop.push()
    shop.configure("  column_values: false\n")
    assert shop.push() == 0
    assert shop.stub.documents[VALUES] == {} and len(shop.tables()) == 3


def test_a_managed_identity_logs_in_without_a_key(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    from azure.core.credentials import AccessToken

    class Identity:
        def __init__(self, **options: str) -> None:
            asked.append(options)

        def get_token(self, *scopes: str, **_: object) -> AccessToken:
            asked.append({"scope": scopes[0]})
            return AccessToken(TOKEN, 9_999_999_999)

    asked: list[dict[str, str]] = []
    monkeypatch.setattr("azure.identity.DefaultAzureCredential", Identity)
    shop.configure(login="client_id: me")
    shop.refresh()
    assert shop.push() == 0
    assert asked[:2] == [{"managed_identity_client_id": "me"}, {"scope": "https://search.azure.com/.default"}]
    assert all("api-key" not in call.headers for call in shop.stub.calls)


def test_a_machine_without_any_identity_is_told_what_to_do(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    for name in ("AZURE_CLIENT_ID", "IDENTITY_ENDPOINT", "MSI_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(shop.folder))
    shop.configure(login="column_values: true")
    shop.refresh()
    capsys.readouterr()
    assert shop.push() == 1
    said = capsys.readouterr().err
    assert "Entra ID gave no usable login. Log in with `az login`" in said and len(said.strip().splitlines()) == 1


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingStub]:
    monkeypatch.setenv("DD_TEST_EMBEDDING_KEY", "canary-model-key")
    with running_embeddings() as stub:
        yield stub


def with_vectors(shop: Shop, model: EmbeddingStub, more: str = "", dimensions: int = 3) -> None:
    """Let definitions have vectors from now on; only pushes ask the model."""
    shop.configure(
        f"  embedding: {{model: text-embedding-3-small, dimensions: {dimensions}, price: 1000}}\n"
        f"model:\n  provider: compatible\n  model: writer\n  base_url: {model.url}\n  max_retries: 0\n"
        f"  api_key_env: DD_TEST_EMBEDDING_KEY\n  prices: {{writer: {{input: 0, output: 0}}}}\n{more}"
    )


DESCRIBED = """sources:
  - name: main
    tables:
      - {name: customer, description: Who buys.}
      - {name: orders, description: What was bought when.}
      - {name: region, description: A part of the country.}
"""


def test_vectors_are_made_for_changed_definitions_only_and_kept(shop: Shop, model: EmbeddingStub) -> None:
    shop.add("shop", yaml=DESCRIBED)
    shop.refresh()
    with_vectors(shop, model)
    assert shop.push() == 0
    assert sorted(model.texts) == ["A part of the country.", "What was bought when.", "Who buys."]
    field = next(item for item in shop.stub.indexes[ENTITIES]["fields"] if item["name"] == "DefinitionEmbedding")
    assert (field["dimensions"], field["stored"], field["retrievable"]) == (3, True, False)
    assert shop.stub.documents[ENTITIES][first_key(shop, "main.customer")]["DefinitionEmbedding"] == [9.0, 1.0, 0.5]

    model.texts.clear()
    shop.configure()
    shop.sql("shop", "ALTER TABLE customer ADD COLUMN age INTEGER")
    file = shop.folder / "dbt_like_configs/databases/shop.yml"
    file.write_text(file.read_text().replace("A part of the country.", "A part of the world."))
    shop.refresh()
    with_vectors(shop, model)
    assert shop.push() == 0
    assert model.texts == ["A part of the world."]
    sent = {item["FQN"]: item for item in shop.stub.sent}
    assert set(sent) == {"main.customer", "main.region"}
    assert "DefinitionEmbedding" not in sent["main.customer"]  # a merge keeps the one that is there
    assert sent["main.region"]["DefinitionEmbedding"] == [20.0, 1.0, 0.5]

    model.texts.clear()
    assert shop.push("--full") == 0
    assert model.texts == [] and all("DefinitionEmbedding" in item for item in shop.stub.sent if "Columns" in item)

    shop.configure()  # no vectors any more: none may stay that a later definition would not fit
    file.write_text(file.read_text().replace("Who buys.", "Who bought."))
    assert shop.call("run") == 0
    assert shop.push() == 0
    assert shop.stub.documents[ENTITIES][first_key(shop, "main.customer")]["DefinitionEmbedding"] is None


def test_a_limit_of_the_model_holds_vectors_back_until_it_allows_them(
    shop: Shop, model: EmbeddingStub, capsys: Output
) -> None:
    shop.add("shop", yaml=DESCRIBED)
    shop.refresh()
    with_vectors(shop, model, "  max_cost_per_day: 0.000001\n")
    capsys.readouterr()
    assert shop.push() == 3
    assert "not every definition has its vector: the limit max_cost_per_day of 'model:'" in capsys.readouterr().err
    assert model.texts == [] and len(shop.tables()) == 3
    with_vectors(shop, model, "  max_cost_per_day: 1\n")
    assert shop.push() == 0
    assert len(model.texts) == 3
    assert {len(item["DefinitionEmbedding"]) for item in shop.stub.documents[ENTITIES].values()} == {3}
    ledger = json.loads((shop.folder / "published/.state/model_budget.json").read_text())
    assert sum(ledger["days"].values()) == TOKENS * 1000  # in millionths


def test_a_model_that_fails_costs_the_vectors_only(shop: Shop, model: EmbeddingStub, capsys: Output) -> None:
    shop.add("shop", yaml=DESCRIBED)
    shop.refresh()
    with_vectors(shop, model)
    model.failing_status = 503
    capsys.readouterr()
    assert shop.push() == 3
    said = capsys.readouterr().err
    assert "not every definition has its vector: the server is overloaded or failing" in said and "Who buys" not in said
    assert len(shop.tables()) == 3
    model.failing_status = 0
    assert shop.push() == 0
    assert len(model.texts) == len(shop.stub.sent) == 3


def test_a_model_that_knows_no_dimensions_is_asked_without(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DD_TEST_EMBEDDING_KEY", "canary-model-key")
    shop.add("shop", yaml=DESCRIBED)
    shop.refresh()
    with running_embeddings(knows_dimensions=False) as old:
        with_vectors(shop, old)
        assert shop.push() == 0
        assert len(old.texts) == 3


def test_vectors_of_another_length_than_configured_are_refused(
    shop: Shop, model: EmbeddingStub, capsys: Output
) -> None:
    shop.add("shop", yaml=DESCRIBED)
    shop.refresh()
    with_vectors(shop, model, dimensions=4)
    assert shop.push() == 2
    assert "text-embedding-3-small gives vectors of 3 numbers, not 4. Correct 'dimensions'" in capsys.readouterr().err
