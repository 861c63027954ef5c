from __future__ import annotations

from dictionary_pipeline.config.resolved import HumanColumn, HumanKnowledge, HumanTable
from unit.builders import make_catalog
from unit.enrichment.profiled import make_definitions

TABLES = {
    "s.orders": ["id integer", "total numeric", "note text", "owner text"],
    "s.recent": ["id integer", "amount numeric", "twice numeric", "remark text", "owner text"],
    "s.top": ["amount numeric", "remark text"],
}
VIEWS = {
    "s.recent": "SELECT id, total AS amount, total * 2 AS twice, note AS remark, owner FROM s.orders",
    "s.top": "WITH r AS (SELECT * FROM s.recent) SELECT max(amount) AS amount, remark FROM r GROUP BY remark",
}
COMMENTS = {
    "s.orders": "Orders of the shop",
    "s.orders.id": "Number of the order",
    "s.orders.total": "Total in euro",
    "s.orders.note": "What the customer wrote",
    "s.orders.owner": "Who took the order",
    "s.recent.owner": "Who has the order now",
}


def described(
    human: HumanKnowledge | None = None, comments: dict[str, str] | None = None
) -> dict[str, tuple[str, str]]:
    catalog = make_catalog(tables=TABLES, views=VIEWS, comments=COMMENTS if comments is None else comments)
    columns = make_definitions(catalog, human=human).columns
    return {f"{table}.{column}": (source, text) for _, table, column, text, source in columns.iter_rows()}


def test_a_view_column_that_shows_a_column_unchanged_takes_over_its_text() -> None:
    columns = described()
    assert columns["recent.id"] == ("inherited", "Number of the order")
    assert columns["recent.amount"] == ("inherited", "Total in euro")


def test_texts_are_inherited_through_views_on_views() -> None:
    assert described()["top.remark"] == ("inherited", "What the customer wrote")


def test_an_expression_inherits_nothing() -> None:
    columns = described()
    assert columns["recent.twice"][0] == "derived"
    assert columns["top.amount"][0] == "derived"


def test_a_text_of_its_own_comes_before_an_inherited_one() -> None:
    assert described()["recent.owner"] == ("database", "Who has the order now")


def test_peoples_words_are_inherited_and_come_before_inherited_ones() -> None:
    human = HumanKnowledge(
        tables=(
            HumanTable("s", "orders", columns=(HumanColumn("note", "Free text by the customer"),)),
            HumanTable("s", "recent", columns=(HumanColumn("amount", "Amount due"),)),
        )
    )
    columns = described(human)
    assert columns["recent.remark"] == ("inherited", "Free text by the customer")
    assert columns["top.remark"] == ("inherited", "Free text by the customer")
    assert columns["recent.amount"] == ("human", "Amount due")


def test_derived_text_is_not_inherited() -> None:
    assert {source for source, _ in described(comments={}).values()} == {"derived"}


def test_a_table_definition_is_not_inherited() -> None:
    catalog = make_catalog(tables=TABLES, views=VIEWS, comments=COMMENTS)
    tables = make_definitions(catalog).tables
    assert dict(tables.select("table", "definition_source").iter_rows()) == {
        "orders": "database",
        "recent": "derived",
        "top": "derived",
    }
