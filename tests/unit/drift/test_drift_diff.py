"""Changes, their severity, what they touch and what they propose."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from dictionary_pipeline.catalog import FRAME_SCHEMAS, Catalog
from dictionary_pipeline.config.resolved import HumanColumn, HumanKnowledge, HumanTable
from dictionary_pipeline.drift.diff import Profiles, diff_catalogs
from dictionary_pipeline.drift.model import KINDS, SEVERITIES, Change
from dictionary_pipeline.drift.severity import DEFAULT_SEVERITIES
from dictionary_pipeline.errors import ConfigurationError
from dictionary_pipeline.introspection.fingerprint import with_fingerprints
from unit.builders import make_catalog

CUSTOMER = ("customer_id int not null", "name varchar(60) not null", "email varchar(120)", "region_id int")


def customer(*columns: str, **more: object) -> Catalog:
    return make_catalog(tables={"s.customer": columns or CUSTOMER}, **more)  # type: ignore[arg-type]


def brief(changes: tuple[Change, ...]) -> list[tuple[str, str, str]]:
    return [(change.kind, change.object, change.severity) for change in changes]


def renamed_email(name: str, **more: object) -> Catalog:
    return customer(*(column.replace("email", name) for column in CUSTOMER), **more)


def profiles(values: list[str], column: str, *, complete: bool = True) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "schema": ["s"],
            "table": ["customer"],
            "column": [column],
            "sampled_rows": [len(values)],
            "null_fraction": [0.0],
            "distinct_estimate": [len(set(values))],
            "samples": [values],
            "allowed_values": [[]],
            "complete": [complete],
            "min": [min(values)],
            "max": [max(values)],
        },
        schema_overrides={"allowed_values": pl.List(pl.String)},
    )


def test_every_kind_has_a_severity() -> None:
    assert set(DEFAULT_SEVERITIES) == set(KINDS)
    assert set(DEFAULT_SEVERITIES.values()) <= set(SEVERITIES)


def test_equal_catalogs_have_no_drift() -> None:
    assert diff_catalogs(customer(), customer()) == ()


def test_tables_with_equal_fingerprints_are_not_compared() -> None:
    catalog = with_fingerprints(customer())
    assert diff_catalogs(catalog, replace(catalog, columns=catalog.columns.head(1))) == ()


def test_the_order_of_rows_in_a_catalog_plays_no_part() -> None:
    before = customer(primary_keys={"s.customer": ["customer_id"]}, indexes=[("s.customer", "i", ["email"])])
    after = make_catalog(tables={"s.customer": CUSTOMER[:2], "s.region": ("id int", "zone text")})
    turned = [
        replace(catalog, **{name: getattr(catalog, name).reverse() for name in FRAME_SCHEMAS})
        for catalog in (before, after)
    ]
    assert diff_catalogs(*turned) == diff_catalogs(before, after)


def test_worst_changes_come_first_and_among_them_the_most_used() -> None:
    before = make_catalog(
        tables={"s.a": ("x int", "y int", "z bytea")}, unique=[("s.a", ["y"])], comments={"s.a": "old"}
    )
    after = make_catalog(tables={"s.a": ("n uuid",)})
    found = brief(diff_catalogs(before, after))
    assert found == [
        ("column_removed", "s.a.y", "breaking"),
        ("column_removed", "s.a.x", "breaking"),
        ("column_removed", "s.a.z", "breaking"),
        ("column_added", "s.a.n", "safe"),
        ("comment_changed", "s.a", "cosmetic"),
    ]


def test_a_rename_is_told_by_name_type_and_place() -> None:
    (change,) = diff_catalogs(customer(), renamed_email("email_address"))
    assert (change.kind, change.column, change.after) == ("column_renamed", "email", "email_address")
    assert 0.7 <= change.confidence < 1
    assert "name" in change.reason


@pytest.mark.parametrize(
    ("short", "long"), [("qty", "quantity"), ("dept", "department"), ("msg", "message"), ("dob", "date_of_birth")]
)
def test_an_abbreviation_spelled_out_is_a_rename_even_with_a_wider_type(short: str, long: str) -> None:
    before, after = customer("id int", f"{short} int"), customer("id int", f"{long} bigint")
    assert [kind for kind, _, _ in brief(diff_catalogs(before, after))] == ["column_renamed", "type_widened"]


def test_other_values_under_a_similar_name_are_no_rename() -> None:
    known = Profiles(profiles(['"a@x.org"', '"b@x.org"'], "email"), profiles(['"ok"', '"bounced"'], "email_state"))
    found = brief(diff_catalogs(customer(), renamed_email("email_state"), profiles=known))
    assert [kind for kind, _, _ in found] == ["column_removed", "column_added"]


@pytest.mark.parametrize(
    ("old", "name", "values", "is_renamed"),
    [
        (["030-11", "030-99"], "contact", ["030-11", "030-99"], True),
        (["030-11", "030-99"], "email_work", ["089-11", "089-99"], False),
        (["9.50", "10.25"], "contact", ["9.5", "10.25"], True),
        (["1", "5"], "contact", ["1", "5"], False),  # as in any small table
        (["a@x.org", "n@x.org"], "email_address", ["b@x.org", "o@x.org"], True),  # the name tells, rows came and went
    ],
)
def test_least_and_greatest_values_tell_renames_where_no_values_are_published(
    old: list[str], name: str, values: list[str], is_renamed: bool
) -> None:
    known = Profiles(profiles(old, "email").drop("samples"), profiles(values, name))
    before, after = (
        p.with_columns(pl.lit(v[0]).alias("min"), pl.lit(v[1]).alias("max"))
        for p, v in zip((known.before, known.after), (old, values), strict=True)
    )
    found = brief(diff_catalogs(customer(), renamed_email(name), profiles=Profiles(before, after)))
    assert (found[0][0] == "column_renamed") is is_renamed


def test_equal_values_make_a_rename_under_an_unlike_name() -> None:
    values = ['"a@x.org"', '"b@x.org"']
    known = Profiles(profiles(values, "email"), profiles(values, "contact"))
    assert brief(diff_catalogs(customer(), renamed_email("contact"))) != []
    found = diff_catalogs(customer(), renamed_email("contact"), profiles=known)
    assert [(change.kind, change.after) for change in found] == [("column_renamed", "contact")]
    assert "values" in found[0].reason


def test_an_unlike_name_alone_is_no_rename() -> None:
    found = brief(diff_catalogs(customer(), renamed_email("loyalty_tier")))
    assert [kind for kind, _, _ in found] == ["column_removed", "column_added"]


def test_a_rename_with_two_equal_candidates_is_none() -> None:
    before = make_catalog(tables={"s.order_line": ("id int", "weight_kg int", "placed date")})
    columns = ("id int", "weight_kg int", "placed date")
    after = make_catalog(tables={"s.line_one": columns, "s.line_two": columns})
    assert {change.kind for change in diff_catalogs(before, after)} == {"table_removed", "table_added"}


def test_views_keys_and_definitions_that_use_a_removed_column_are_named() -> None:
    human = HumanKnowledge((HumanTable("s", "customer", columns=(HumanColumn("email"),), origin="shop.yml:3"),))
    tables = {"s.customer": CUSTOMER, "s.letter": ("email varchar(120)",)}
    before = make_catalog(
        tables={**tables, "s.mails": ("email varchar(120)",)},
        views={"s.mails": "SELECT email FROM s.customer"},
        unique=[("s.customer", ["email"])],
        foreign_keys=["s.letter(email) -> s.customer(email)"],
    )
    after = make_catalog(tables={"s.customer": (*CUSTOMER[:2], CUSTOMER[3]), "s.letter": tables["s.letter"]})
    found = diff_catalogs(before, after, human=human)
    removed = next(change for change in found if change.kind == "column_removed")
    assert removed.consumers == (
        "definition (shop.yml:3)",
        "foreign key of s.letter(email)",
        "unique key (email)",
        "view s.mails",
    )


def test_severities_can_be_configured() -> None:
    (change,) = diff_catalogs(customer(), customer(*CUSTOMER, "phone text"), severities={"column_added": "risky"})
    assert (change.severity, change.reason) == ("risky", "configured")


@pytest.mark.parametrize(
    ("rules", "severity"),
    [
        ({"column_added": "risky", "column_added:s.customer.*": "cosmetic"}, "cosmetic"),
        ({"column_added:S.CUSTOMER.phone": "breaking", "column_added:s.*": "risky"}, "breaking"),
        ({"column_added:t.*": "risky", "column_removed:s.*": "breaking"}, "safe"),
    ],
)
def test_a_glob_that_fits_wins_over_the_kind_and_the_first_over_later_ones(
    rules: dict[str, str], severity: str
) -> None:
    (change,) = diff_catalogs(customer(), customer(*CUSTOMER, "phone text"), severities=rules)
    assert change.severity == severity


@pytest.mark.parametrize("wrong", [{"column_gone": "safe"}, {"column_added": "fatal"}])
def test_unknown_kinds_and_severities_are_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match=r"column_gone|fatal"):
        diff_catalogs(customer(), customer(), severities=wrong)


def test_a_foreign_key_follows_renames_at_both_ends() -> None:
    before = make_catalog(
        tables={"s.region": ("id int not null", "zone text"), "s.shop": ("region int", "city text")},
        primary_keys={"s.region": ["id"]},
        foreign_keys=["s.shop(region) -> s.region(id)"],
    )
    after = make_catalog(
        tables={"s.region": ("region_id int not null", "zone text"), "s.shop": ("region_id int", "city text")},
        primary_keys={"s.region": ["region_id"]},
        foreign_keys=["other_name: s.shop(region_id) -> s.region(region_id)"],
    )
    assert {change.kind for change in diff_catalogs(before, after)} == {"column_renamed"}


def test_a_child_names_the_foreign_key_that_its_removed_parent_took_along() -> None:
    before = make_catalog(
        tables={"s.region": ("id int", "zone text"), "s.shop": ("region int",)},
        foreign_keys=["s.shop(region) -> s.region(id)"],
    )
    found = brief(diff_catalogs(before, make_catalog(tables={"s.shop": ("region int",)})))
    assert found == [("table_removed", "s.region", "breaking"), ("fk_removed", "s.shop.region", "risky")]


def test_the_order_of_columns_in_a_composite_foreign_key_plays_no_part() -> None:
    tables = {"s.p": ("a int", "b int"), "s.c": ("x int", "y int")}
    before = make_catalog(tables=tables, foreign_keys=["s.c(x, y) -> s.p(a, b)"])
    assert diff_catalogs(before, make_catalog(tables=tables, foreign_keys=["s.c(y, x) -> s.p(b, a)"])) == ()
    crossed = diff_catalogs(before, make_catalog(tables=tables, foreign_keys=["s.c(x, y) -> s.p(b, a)"]))
    assert [change.kind for change in crossed] == ["fk_changed"]


def test_a_check_follows_a_renamed_column() -> None:
    before = customer(checks=[("s.customer", "email <> ''")])
    after = renamed_email("email_address", checks=[("s.customer", "email_address <> ''")])
    assert [change.kind for change in diff_catalogs(before, after)] == ["column_renamed"]


def test_tables_that_moved_to_another_schema_are_renames_however_many_they_are() -> None:
    def catalog(schema: str, count: int) -> Catalog:
        columns = ("id int", "amount numeric(10,2)", "placed date")
        tables = {f"{schema}.t{number}": (*columns, f"own_{number} text") for number in range(count)}
        return make_catalog(tables=tables)

    found = diff_catalogs(catalog("a", 600), catalog("b", 600))
    assert {change.kind for change in found} == {"table_renamed"}
    assert len(found) == 600


def test_the_documentation_names_the_severity_of_every_kind() -> None:
    text = (Path(__file__).parents[3] / "docs" / "drift.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([a-z_]+) \| (breaking|risky|safe|cosmetic) \|", text, re.MULTILINE)
    assert dict(rows) == dict(DEFAULT_SEVERITIES)
