from __future__ import annotations

import pytest

from dictionary_pipeline.relationships.inference.matching import fit, owns
from dictionary_pipeline.relationships.inference.readings import ColumnReading, read_columns, read_tables
from dictionary_pipeline.relationships.inference.words import Vocabulary, likeness, stem, tokens


def read(table: str, columns: list[str], others: list[str] | None = None) -> list[ColumnReading]:
    tables = [table, *(others or [])]
    vocabulary = Vocabulary(tables, columns)
    return read_columns(read_tables(tables, vocabulary)[0], columns, vocabulary)


@pytest.mark.parametrize(
    ("identifier", "words"),
    [
        ("ShipAddress2", ("ship", "address", "2")),
        ("BILL_TO_ID", ("bill", "to", "id")),
        ("ORD#", ("ord", "no")),
        ("order-line no", ("order", "line", "no")),
    ],
)
def test_identifiers_are_split_into_lower_case_words(identifier: str, words: tuple[str, ...]) -> None:
    assert tokens(identifier) == words


@pytest.mark.parametrize(
    ("plural", "singular"),
    [
        ("orders", "order"),
        ("categories", "category"),
        ("addresses", "address"),
        ("people", "person"),
        ("status", "status"),
    ],
)
def test_plurals_become_singular(plural: str, singular: str) -> None:
    assert stem(plural) == singular


@pytest.mark.parametrize(
    ("short", "full"), [("cust", "customer"), ("dept", "department"), ("kd", "kunde"), ("wh", "warehouse")]
)
def test_abbreviations_are_alike(short: str, full: str) -> None:
    assert likeness(short, full) >= 0.5


@pytest.mark.parametrize(("one", "other"), [("order", "item"), ("cat", "dog"), ("1", "10"), ("o", "order")])
def test_other_words_are_not(one: str, other: str) -> None:
    assert likeness(one, other) == 0.0


@pytest.mark.parametrize(
    ("word", "parts"),
    [("custno", ("cust", "no")), ("lineitem", ("line", "item")), ("stuid", ("stu", "id")), ("valid", ("valid",))],
)
def test_words_run_together_are_split_by_the_words_of_the_schema(word: str, parts: tuple[str, ...]) -> None:
    assert Vocabulary(["customers", "line", "students"], ["line_item", "name"]).split(word) == parts


def test_words_that_begin_most_tables_say_nothing() -> None:
    names = ["app_user", "app_role", "app_order_line", "app_product", "log"]
    things = [reading.thing for reading in read_tables(names, Vocabulary(names, []))]
    assert things == [("user",), ("role",), ("order", "line"), ("product",), ("log",)]


@pytest.mark.parametrize(
    ("column", "thing", "mark"),
    [
        ("customer_id", ("customer",), "id"),
        ("id_cliente", ("cliente",), "id"),
        ("fk_kunde", ("kunde",), ""),
        ("CUST_NO", ("cust",), "number"),
        ("country_code", ("country",), "code"),
        ("id", (), "id"),
        ("artist", ("artist",), ""),
        ("player_id_2", ("player", "2"), "id"),
    ],
)
def test_columns_say_what_they_identify_and_how(column: str, thing: tuple[str, ...], mark: str) -> None:
    reading = read("orders", [column, "total"])[0]
    assert (reading.things[0], reading.mark) == (thing, mark)


def test_a_letter_that_begins_all_columns_is_the_tables_prefix() -> None:
    key, name, other = read("customer", ["c_custkey", "c_name", "c_nationkey"], ["nation"])
    assert key.plain == ("cust", "key")
    assert other.things[0] == ("nation",)
    assert name.plain == ("name",)


def test_the_tables_own_word_is_no_prefix() -> None:
    key, _ = read("customer", ["customer_id", "customer_name"])
    assert key.plain == ("customer", "id")


def score(thing: str, target: str, own: str = "x") -> float:
    return fit(tuple(thing.split()), tuple(target.split()), tuple(own.split())).score


def test_the_last_word_is_the_head_of_a_name() -> None:
    assert score("customer", "customer") == 1.0
    assert score("ship to customer", "customer") > score("happy customer", "customer") > 0.8
    assert score("customer status", "customer") < 0.4
    assert score("order", "customer order") > score("customer", "customer order")


def test_the_own_table_completes_a_name() -> None:
    assert score("type", "artist type", own="artist") > 0.9 > score("type", "artist type", own="release")


def test_a_key_is_named_after_its_own_table() -> None:
    assert owns((), ("order",)) == 1.0
    assert owns(("order",), ("customer", "order")) >= 0.7
    assert owns(("customer",), ("customer", "order")) < 0.7
    assert owns(("d",), ("domain",)) > owns(("d",), ("domain", "author"))


def test_a_name_without_a_letter_stands_for_itself() -> None:
    tables, columns = ["%", "--", "orders"], ["?", "&<>", "id"]
    vocabulary = Vocabulary(tables, columns)

    readings = read_tables(tables, vocabulary)

    assert [reading.thing for reading in readings] == [("%",), ("--",), ("order",)]
    assert [column.things for column in read_columns(readings[0], columns, vocabulary)][:2] == [(("?",),), (("&<>",),)]
