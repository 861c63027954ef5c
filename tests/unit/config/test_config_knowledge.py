"""dbt sources blocks become human knowledge."""

from __future__ import annotations

import pytest
from config_project import ProjectFolder

from dictionary_pipeline.config.resolved import HumanColumn, HumanKey, HumanKnowledge, HumanRelationship, HumanTable


def know(project: ProjectFolder, text: str) -> HumanKnowledge:
    return project.config("profile: shop\n" + text).human


def test_descriptions_names_values_and_synonyms_are_read(project: ProjectFolder) -> None:
    human = know(
        project,
        """\
sources:
  - name: shop
    schema: sales
    loader: airbyte
    freshness: {warn_after: {count: 1, period: day}}
    tables:
      - name: orders
        identifier: ORDERS
        description: >
          One row per order.
        config: {meta: {entity_name: Sales Order, owner: me}}
        columns:
          - name: status
            description: Where it stands.
            data_type: text
            meta:
              value_synonyms: {open: [new, placed], 1: one, no: nope}
              allowed_values: [open, done, null, done]
            tests: [not_null, {accepted_values: {values: [a, b]}}]
          - {name: empty, description: ""}
""",
    )
    assert human.tables == (
        HumanTable(
            schema="sales",
            table="ORDERS",
            description="One row per order.",
            entity_name="Sales Order",
            columns=(
                HumanColumn(
                    "status",
                    "Where it stands.",
                    ("open", "done"),
                    "human",
                    {"open": ("new", "placed"), "1": ("one",), "no": ("nope",)},
                ),
                HumanColumn("empty"),
            ),
            origin="dbt_like_configs/databases/x.yml:8",
        ),
    )


COLUMN = """\
sources:
  - name: s
    tables:
      - name: t
        columns:
          - name: c
            data_tests:
"""


@pytest.mark.parametrize(
    ("test", "values"),
    [
        ("accepted_values: {values: [a, b]}", ("a", "b")),
        ("accepted_values: {arguments: {values: [a, b]}, config: {severity: warn}}", ("a", "b")),
        ("{test_name: accepted_values, name: n, values: [2024-01-01]}", ("2024-01-01",)),
        ("accepted_values: {values: [1, 2.5, true, 1.0]}", (1, 2.5, True, 1.0)),
        ("accepted_values: {values: ['1', '-2', \"'x''y'\", 'z', '007'], quote: false}", (1, -2, "x'y", "z", "007")),
        ("accepted_values: {values: ['1'], quote: true}", ("1",)),
        ("accepted_values: {values: [a], where: x > 1}", None),
        ("accepted_values: {values: [a], config: {where: x > 1}}", None),
        ("accepted_values: {values: [a], config: {enabled: false}}", None),
        ("dbt_utils.not_empty_string", None),
        ("dbt_expectations.expect_x: {min_value: 1}", None),
    ],
)
def test_accepted_values_in_every_form_of_dbt(
    project: ProjectFolder, test: str, values: tuple[object, ...] | None
) -> None:
    ((column,),) = [table.columns for table in know(project, COLUMN + f"              - {test}\n").tables]
    assert column.allowed_values == values
    assert [type(value) for value in column.allowed_values or ()] == [type(value) for value in values or ()]
    assert column.allowed_values_origin == ("dbt" if values else None)


SHOP = """\
sources:
  - name: shop
    schema: sales
    tables:
      - name: customers
        identifier: cust
      - name: orders
        data_tests:
          - dbt_utils.unique_combination_of_columns:
              arguments: {combination_of_columns: [order_no, "shop_no"]}
        columns:
          - name: order_id
            data_tests: [unique]
          - name: customer_id
            data_tests:
              - relationships:
                  to: TO
                  field: id
"""


@pytest.mark.parametrize(
    ("to", "place"),
    [
        ("source('shop', 'customers')", ("sales", "cust")),
        ("\"{{ source('shop', 'customers') }}\"", ("sales", "cust")),
        ("source('shop', 'not_listed')", ("sales", "not_listed")),
        ("ref('customers')", ("sales", "cust")),
        ("ref('pkg', 'elsewhere', v=2)", ("sales", "elsewhere")),
        ("hr.people", ("hr", "people")),
        ("warehouse.hr.people", ("hr", "people")),
        ('\'"my.schema"."a b"\'', ("my.schema", "a b")),
        ("cust", ("sales", "cust")),
    ],
)
def test_keys_and_relationships_come_from_tests(project: ProjectFolder, to: str, place: tuple[str, str]) -> None:
    human = know(project, SHOP.replace("TO", to))
    assert human.keys == (
        HumanKey("sales", "orders", ("order_no", "shop_no")),
        HumanKey("sales", "orders", ("order_id",)),
    )
    assert human.relationships == (
        HumanRelationship("sales", "orders", ("customer_id",), *place, ("id",), "dbt_like_configs/databases/x.yml:17"),
    )


def test_composite_and_cross_schema_relationships_have_their_own_list(project: ProjectFolder) -> None:
    human = know(
        project,
        "relationships:\n  - {from: a.lines, columns: [x, y], to: b.heads, to_columns: [p, q]}\n"
        "  - {from: a.lines, columns: z, to: a.lines, to_columns: id}\n",
    )
    assert [(r.from_columns, r.to_schema, r.to_table, r.to_columns) for r in human.relationships] == [
        (("x", "y"), "b", "heads", ("p", "q")),
        (("z",), "a", "lines", ("id",)),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            SHOP.replace("TO", "source('shpo', 'x')"),
            "17: sources[0].tables[1].columns[1].data_tests[0]: this file has no",
        ),
        (SHOP.replace("TO", "source('shpo', 'x')"), "Did you mean 'shop'?"),
        (SHOP.replace("TO", "\"{{ var('x') }}\""), "does not name a table"),
        (SHOP.replace("TO", "a.b").replace("field: id", "severity: warn"), "needs 'field'"),
        (COLUMN + "              - accepted_values:\n", "needs 'values'"),
        (COLUMN + "              - accepted_values:\n                values: [a]\n", "are not indented"),
        (COLUMN + "              - accepted_values: {values: [[a]]}\n", "neither text, number nor true/false"),
        (COLUMN + "              - 5\n", "a test must be a name"),
        (
            "sources:\n  - name: s\n    tables: [{name: t}, {name: t}]\n",
            "the table 's.t' is already described in line 4",
        ),
        (
            "sources:\n  - name: s\n    tables:\n      - name: t\n        columns: [{name: c}, {name: c}]\n",
            "the column 'c' is already described in line 6",
        ),
        (
            "relationships: [{from: lines, columns: a, to: b.c, to_columns: d}]\n",
            "the schema of the table 'lines' is missing",
        ),
        (COLUMN.replace("data_tests:", "meta: {allowed_values: open}"), "'allowed_values' must be a list"),
        (COLUMN.replace("data_tests:", "meta: {value_synonyms: [a]}"), "'value_synonyms' must map values"),
    ],
)
def test_a_mistake_in_what_people_know_is_told_with_its_place(project: ProjectFolder, text: str, expected: str) -> None:
    error = project.error("profile: shop\n" + text)
    assert error.startswith("dbt_like_configs/databases/x.yml:")
    assert expected in error


def test_all_mistakes_of_a_file_are_told_together(project: ProjectFolder) -> None:
    text = COLUMN + "              - accepted_values:\n              - relationships:\n"
    assert len(project.error("profile: shop\n" + text).splitlines()) == 2


def test_a_near_miss_in_meta_is_a_warning_because_meta_is_free(project: ProjectFolder) -> None:
    config = project.config(
        "profile: shop\nsources:\n  - name: s\n    tables:\n      - name: t\n        meta: {entity_nam: X, owner: me}\n"
    )
    assert config.warnings == (
        "dbt_like_configs/databases/x.yml:6: meta.entity_nam is not used. Did you mean 'entity_name'?",
    )


def test_a_source_of_another_database_is_skipped_with_a_warning(project: ProjectFolder) -> None:
    config = project.config(
        "connection: {type: postgres, host: h, user: u, dbname: shop}\n"
        "sources:\n"
        "  - {name: here, database: SHOP, tables: [{name: t}]}\n"
        "  - {name: there, database: crm, tables: [{name: u}]}\n"
    )
    assert [table.table for table in config.human.tables] == ["t"]
    assert "'there' is of another database, 'crm'" in config.warnings[0]


def test_a_doc_block_is_never_taken_for_a_description(project: ProjectFolder) -> None:
    config = project.config(
        "profile: shop\nsources:\n  - {name: s, tables: [{name: t, description: \"{{ doc('t') }}\"}]}\n"
    )
    assert config.human.tables[0].description is None
    assert "dbt_manifest" in config.warnings[0]


def test_braces_in_prose_stay_prose(project: ProjectFolder) -> None:
    human = know(project, "sources:\n  - {name: s, tables: [{name: t, description: 'Holds {{ x }} and {a}.'}]}\n")
    assert human.tables[0].description == "Holds {{ x }} and {a}."


def test_source_schemas_may_come_from_the_environment(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHEMA", "prod")
    human = know(project, "sources:\n  - {name: s, schema: \"{{ env_var('SCHEMA') }}\", tables: [{name: t}]}\n")
    assert human.tables[0].schema == "prod"
