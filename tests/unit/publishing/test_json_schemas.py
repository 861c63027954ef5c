from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from referencing import Registry, Resource

from dictionary_pipeline import publishing
from dictionary_pipeline.problems import Problem
from dictionary_pipeline.publishing.bundle import Bundle, build_bundle
from dictionary_pipeline.publishing.lease import hold_lease
from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.publishing.publish import publish
from unit.publishing.bundles import make_config, shop, staged

MASTERS = Path(publishing.__file__).parent / "schemas"
DOCS = Path(__file__).parents[3] / "docs" / "schemas"
SCHEMAS = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in MASTERS.glob("*.json")}


def validator(name: str) -> jsonschema.Draft202012Validator:
    registry: Registry[Any] = Registry().with_resources(
        (key, Resource.from_contents(schema)) for key, schema in SCHEMAS.items()
    )
    return jsonschema.Draft202012Validator(SCHEMAS[f"{name}.schema.json"], registry=registry)


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    problem = Problem("sales.customer", "column_samples", "42501", "not permitted", "Grant SELECT.")
    row = ("sales", "order_line", ["customer_id"], None, "sales", "customer", ["id"], None, "inferred", 0.8)
    return build_bundle(
        tmp_path / "staging",
        shop(relationships=[(*row, "many_to_one", None, True, False)], problems=[problem], complete=False),
    )


def test_docs_hold_the_same_schemas_as_the_package() -> None:
    assert {path.name: path.read_bytes() for path in DOCS.iterdir()} == {
        path.name: path.read_bytes() for path in MASTERS.iterdir()
    }


def test_every_staged_entry_and_line_is_valid(bundle: Bundle, tmp_path: Path) -> None:
    single = build_bundle(tmp_path / "single", shop(config=make_config(single_file=True)))
    validator("schema_store_entities").validate(json.loads(staged(single, "schema_store/entities.json")))
    checked = 0
    for path in bundle.files:
        for name, document in documents(bundle, path):
            validator(name).validate(document)
            checked += 1
    assert checked == 6


def documents(bundle: Bundle, path: str) -> Iterator[tuple[str, Any]]:
    if path.startswith("schema_store/"):
        yield "schema_store_entry", json.loads(staged(bundle, path))
    elif path.startswith("column_value_store/"):
        for line in staged(bundle, path).decode().splitlines():
            yield "value_store_line", json.loads(line)


def test_the_published_manifest_is_valid(bundle: Bundle, tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "out")
    with hold_lease(store, owner="r1") as lease:
        publish(store, bundle, run_id="r1", lease=lease, now=datetime(2026, 1, 2, tzinfo=UTC))
    manifest = json.loads((tmp_path / "out/manifest.json").read_bytes())
    validator("manifest").validate(manifest)
    assert manifest["complete"] is False and manifest["problems"][0]["code"] == "42501"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda entry: entry.pop("Definition"),
        lambda entry: entry.update(Extra=1),
        lambda entry: entry.update(EntityName=None),
        lambda entry: entry.update(Warehouse="wh", Catalog="c"),
        lambda entry: entry["Columns"][0].update(SampleValues=[1, 2, 3, 4, 5, 6]),
        lambda entry: entry["Columns"][0].update(AllowedValues=[None]),
        lambda entry: entry["EntityRelationships"][0].pop("Confidence"),
    ],
)
def test_the_entry_schema_refuses_what_the_contract_forbids(spoil: Any, bundle: Bundle) -> None:
    entry = json.loads(staged(bundle, "schema_store/shop.sales.customer.json"))
    spoil(entry)
    with pytest.raises(jsonschema.ValidationError):
        validator("schema_store_entry").validate(entry)
