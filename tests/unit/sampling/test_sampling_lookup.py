"""Codes of small referenced tables as allowed values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
from unit.builders import make_catalog

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.sampling.lookup import lookup_sets

CURRENCIES = ["EUR", "GBP", "USD"]


def shop(**options: Any) -> Catalog:
    tables = {
        "s.currency": ["code text", "number int"],
        "s.payment": ["id int", "currency text", "number int"],
    }
    keys = ["s.payment(currency) -> s.currency(code)", "s.payment(number) -> s.currency(number)"]
    return make_catalog(tables=tables, foreign_keys=options.pop("foreign_keys", keys), **options)


def measured(catalog: Catalog, *, rows: int = 3, complete: bool = True, distinct: int = 3) -> pl.DataFrame:
    return frames.fit(
        catalog.columns.select(
            "schema",
            "table",
            "column",
            status=pl.lit("ok"),
            sampled_rows=pl.lit(rows),
            complete=pl.lit(complete),
            distinct_estimate=pl.lit(distinct),
        ),
        frames.PROFILES,
    )


def values(*, used: tuple[str, ...] = ("USD",), codes: tuple[str, ...] = tuple(CURRENCIES)) -> pl.DataFrame:
    rows = [("s", "currency", "code", code, 1) for code in codes]
    return frames.from_rows([*rows, *(("s", "payment", "currency", code, 5) for code in used)], frames.VALUES)


def found(
    catalog: Catalog, profiles: pl.DataFrame, listed: pl.DataFrame, hidden: tuple[tuple[str, str, str], ...] = ()
) -> list[tuple[Any, ...]]:
    names = frames.from_rows(hidden, {name: pl.String() for name in ("schema", "table", "column")})
    return lookup_sets(catalog, profiles, listed, names).rows()


def test_a_text_key_of_a_small_table_gives_all_its_codes_and_a_number_gives_none() -> None:
    catalog = shop()
    assert found(catalog, measured(catalog), values()) == [
        ("s", "payment", "currency", ['"EUR"', '"GBP"', '"USD"'], "lookup")
    ]


def test_a_table_that_is_large_or_was_not_read_whole_gives_none() -> None:
    catalog = shop()
    assert found(catalog, measured(catalog, rows=201), values()) == []
    assert found(catalog, measured(catalog, complete=False), values()) == []


def test_codes_that_cannot_all_be_listed_give_none() -> None:
    catalog = shop()
    assert found(catalog, measured(catalog, distinct=4), values()) == []


def test_a_key_that_is_not_enforced_gives_none_when_the_data_breaks_it() -> None:
    catalog = shop()
    assert found(catalog, measured(catalog), values(used=("USD", "XXX"))) == []


def test_keys_that_prove_nothing_are_left_alone() -> None:
    catalog = shop()
    unproven = replace(catalog, foreign_keys=catalog.foreign_keys.with_columns(is_validated=pl.lit(False)))
    elsewhere = replace(catalog, foreign_keys=catalog.foreign_keys.with_columns(to_database=pl.lit("other")))
    composite = shop(foreign_keys=["s.payment(currency, number) -> s.currency(code, number)"])
    itself = shop(foreign_keys=["s.currency(code) -> s.currency(code)"])
    for catalog in (unproven, elsewhere, composite, itself):
        assert found(catalog, measured(catalog), values()) == []


def test_hidden_values_are_neither_listed_nor_given_a_list() -> None:
    catalog = shop()
    for hidden in (("s", "currency", "code"), ("s", "payment", "currency")):
        assert found(catalog, measured(catalog), values(), (hidden,)) == []
