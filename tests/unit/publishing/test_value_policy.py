"""Which columns' values are stored, and the reason given."""

from __future__ import annotations

from dictionary_pipeline import frames
from dictionary_pipeline.config.resolved import ColumnPatterns, ConnectionSpec, DatabaseConfig, SamplingLimits
from dictionary_pipeline.publishing.value_policy import value_store_policy
from unit.builders import make_catalog

ROLES = {"customer": "dimension", "country": "lookup", "sale": "fact", "tag": "bridge", "recent": "other"}


def policy(
    *, include: tuple[str, ...] = (), exclude: tuple[str, ...] = (), views: bool = False
) -> dict[str, tuple[bool, str]]:
    catalog = make_catalog(
        tables={
            "s.customer": ["id int", "name text", "email text"],
            "s.country": ["code text"],
            "s.sale": ["channel text"],
            "s.tag": ["label text"],
            "s.recent": ["name text"],
            "s.log": ["line text"],
        },
        views={"s.recent": None},
    )
    roles = frames.from_rows([("s", table, role, "") for table, role in ROLES.items()], frames.ROLES)
    withheld = catalog.columns.filter(column="email")
    config = DatabaseConfig(
        "db",
        ConnectionSpec("duckdb"),
        sampling=SamplingLimits(value_store_views=views),
        value_store=ColumnPatterns(include, exclude),
    )
    rows = value_store_policy(catalog, roles, withheld, config).iter_rows()
    return {f"{table}.{column}": (stored, reason) for _, table, column, stored, reason in rows}


def test_roles_and_kinds_decide_about_text_columns() -> None:
    assert policy() == {
        "country.code": (True, "its table is of role lookup"),
        "customer.name": (True, "its table is of role dimension"),
        "customer.email": (False, "its values are withheld"),
        "log.line": (True, "its table is of role other"),
        "recent.name": (False, "its table is a view"),
        "sale.channel": (False, "its table is of role fact"),
        "tag.label": (False, "its table is of role bridge"),
    }
    assert policy(views=True)["recent.name"] == (True, "its table is of role other")


def test_patterns_override_in_both_directions_but_never_show_withheld_values() -> None:
    found = policy(include=("S.SALE.*", "recent.name", "email"), exclude=("name", "country.*"))
    assert {name for name, (stored, _) in found.items() if stored} == {"log.line", "sale.channel"}
    assert found["sale.channel"][1] == "included by a pattern of value_store"
    assert found["recent.name"] == found["country.code"] == (False, "excluded by a pattern of value_store")
