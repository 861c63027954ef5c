"""dbt manifests, old and new shapes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from config_project import ProjectFolder

from dictionary_pipeline.config.resolved import HumanColumn, HumanKey, HumanTable

CONNECTION = "connection: {type: postgres, host: h, user: u, dbname: shop}\ndbt_manifest: target/manifest.json\n"


def dbt_test(name: str, kwargs: dict[str, Any], attached: str, **more: Any) -> dict[str, Any]:
    return {
        "resource_type": "test",
        "test_metadata": {"name": name, "kwargs": kwargs, "namespace": None},
        "attached_node": attached,
        "column_name": kwargs.get("column_name"),
        "depends_on": {"nodes": [attached]},
        "config": {"enabled": True, "where": None},
        **more,
    }


def relation(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {
        "resource_type": kind,
        "database": "shop",
        "schema": "mart",
        "name": name,
        "alias": name,
        "description": "",
        "columns": {},
        "config": {"materialized": "table"},
        **more,
    }


def manifest() -> dict[str, Any]:
    orders, customers = "model.p.orders", "source.p.raw.customers"
    return {
        "metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json"},
        "nodes": {
            orders: relation(
                "model",
                "orders",
                alias="fct_orders",
                description=" Orders, from dbt.\n",
                config={"materialized": "table", "meta": {"entity_name": "Order"}},
                columns={
                    "status": {"name": "status", "description": "Status, from dbt.", "meta": {}},
                    "id": {"name": "id", "description": "Id, from dbt.", "meta": {}},
                },
            ),
            "model.p.helper": relation("model", "helper", config={"materialized": "ephemeral"}),
            "model.p.other": relation("model", "other", database="elsewhere"),
            "seed.p.codes": relation("seed", "codes", description="Codes."),
            "test.p.1": dbt_test("accepted_values", {"column_name": "status", "values": ["a", "b"]}, orders),
            "test.p.2": dbt_test("unique", {"column_name": "id"}, orders),
            "test.p.3": dbt_test("not_null", {"column_name": "id"}, orders),
            "test.p.4": dbt_test(
                "relationships",
                {"column_name": "customer_id", "to": "source('raw', 'customers')", "field": "id"},
                orders,
                depends_on={"nodes": [customers, orders]},
            ),
            "test.p.5": dbt_test(
                "accepted_values",
                {"column_name": "kind", "values": ["x"]},
                orders,
                config={"where": "kind is not null"},
            ),
            "test.p.6": dbt_test(
                "unique_combination_of_columns", {"arguments": {"combination_of_columns": ["a", "b"]}}, orders
            ),
            # v7 names the tested model in an expression instead of `attached_node`.
            "test.p.7": {
                **dbt_test(
                    "relationships",
                    {
                        "column_name": "parent_id",
                        "to": "ref('orders')",
                        "field": "id",
                        "model": "{{ get_where_subquery(ref('orders')) }}",
                    },
                    orders,
                ),
                "attached_node": None,
            },
        },
        "sources": {
            customers: {
                "resource_type": "source",
                "source_name": "raw",
                "database": "shop",
                "schema": "raw",
                "name": "customers",
                "identifier": "CUST",
                "description": "Customers.",
                "columns": {},
                "config": {"enabled": True},
            }
        },
    }


def write(project: ProjectFolder, content: object) -> None:
    path = project.root / "target" / "manifest.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def test_descriptions_and_tests_of_a_manifest_are_read(project: ProjectFolder) -> None:
    write(project, manifest())
    human = project.config(CONNECTION).human
    assert human.tables == (
        HumanTable(
            "mart",
            "fct_orders",
            "Orders, from dbt.",
            "Order",
            (
                HumanColumn("status", "Status, from dbt.", ("a", "b"), "dbt"),
                HumanColumn("id", "Id, from dbt."),
            ),
            "manifest.json",
        ),
        HumanTable("mart", "codes", "Codes.", origin="manifest.json"),
        HumanTable("raw", "CUST", "Customers.", origin="manifest.json"),
    )
    assert human.keys == (HumanKey("mart", "fct_orders", ("id",)), HumanKey("mart", "fct_orders", ("a", "b")))
    assert [(r.from_columns, r.to_schema, r.to_table, r.to_columns) for r in human.relationships] == [
        (("customer_id",), "raw", "CUST", ("id",)),
        (("parent_id",), "mart", "fct_orders", ("id",)),
    ]


def test_the_yaml_of_the_database_wins_field_by_field(project: ProjectFolder) -> None:
    write(project, manifest())
    human = project.config(
        CONNECTION
        + """\
sources:
  - name: mart
    tables:
      - name: fct_orders
        description: Orders, from YAML.
        columns:
          - name: status
            meta: {allowed_values: [c], value_synonyms: {c: [see]}}
          - name: customer_id
            data_tests: [{relationships: {to: crm.people, field: person_id}}]
"""
    ).human
    table = human.tables[0]
    assert (table.description, table.entity_name) == ("Orders, from YAML.", "Order")
    status, customer_id, identifier = table.columns
    assert status == HumanColumn("status", "Status, from dbt.", ("c",), "human", {"c": ("see",)})
    assert (customer_id.name, identifier.description) == ("customer_id", "Id, from dbt.")
    leads_to = {r.from_columns: r.to_table for r in human.relationships}
    assert leads_to == {("customer_id",): "people", ("parent_id",): "fct_orders"}
    assert [(item.schema, item.table) for item in human.tables].count(("mart", "fct_orders")) == 1


def test_a_manifest_built_for_another_database_is_skipped_with_a_warning(project: ProjectFolder) -> None:
    write(project, manifest())
    config = project.config(CONNECTION.replace("dbname: shop", "dbname: dev"))
    assert config.human.tables == ()
    assert (
        "x.yml:2: dbt_manifest: skipped, because its tables are of other databases: elsewhere, shop"
        in config.warnings[0]
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot be read (No such file or directory)"),
        ("{\n  oops", "line 2 is not valid JSON"),
        ("[]", "no dbt manifest"),
        ({"nodes": {}}, "no dbt manifest"),
        ({"nodes": {"model.p.x": {"resource_type": "model"}}, "sources": {}}, "has not the shape"),
        (
            {"nodes": {"m": relation("model", "m", meta={"entity_name": []})}, "sources": {}},
            "m: 'entity_name' must be one text",
        ),
    ],
)
def test_a_manifest_that_cannot_be_used_is_told_at_the_line_that_names_it(
    project: ProjectFolder, content: object, words: str
) -> None:
    if content is not None:
        write(project, content)
    error = project.error(CONNECTION)
    assert error.startswith("dbt_like_configs/databases/x.yml:2: dbt_manifest: ")
    assert words in error


def test_a_rebuilt_manifest_is_read_again(project: ProjectFolder) -> None:
    write(project, manifest())
    assert project.config(CONNECTION).human.tables
    write(project, {"nodes": {}, "sources": {}})
    assert project.config(CONNECTION).human.tables == ()
