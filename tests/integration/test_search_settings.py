"""What `push-search` is told: indexes that exist, logins, settings, and what cannot work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from search_shop import CACHE, ENTITIES, VALUES, Output, Shop, opened_shop, published_project
from servers.search_stub import KEY, KEY_VARIABLE, TOKEN

from dictionary_pipeline import open_bundle


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return published_project(tmp_path_factory.mktemp("published") / "project")


@pytest.fixture
def shop(published: Path, tmp_path: Path) -> Iterator[Shop]:
    with opened_shop(published, tmp_path) as project:
        yield project


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
