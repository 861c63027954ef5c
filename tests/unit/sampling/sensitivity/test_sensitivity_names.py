from __future__ import annotations

import pytest

from dictionary_pipeline.sampling.sensitivity import vocabulary
from dictionary_pipeline.sampling.sensitivity.context import read_table
from dictionary_pipeline.sampling.sensitivity.names import read_comment, read_name, split


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("CustomerEmail", ("customer", "email")),
        ("CUSTEMAILADDR", ("cust", "emailaddr")),
        ("telefonnummer_privat", ("telefonnummer", "privat")),
        ("cust_nm_2", ("cust", "name")),
        ("Straße", ("strasse",)),
        ("公司电话", ("公司", "电话")),
        ("ग्राहक_फोन", ("ग्राहक", "फोन")),
        ("icd10", ("icd10",)),
        ("addr1", ("addr",)),
    ],
)
def test_a_name_is_split_into_known_words(name: str, words: tuple[str, ...]) -> None:
    assert split(name) == words


@pytest.mark.parametrize("name", ["email_template_id", "phone_model", "password_min_length", "token_count"])
def test_a_compound_that_tells_another_thing_is_harmless(name: str) -> None:
    reading = read_name(name)
    assert reading.harmless
    assert not reading.signals


@pytest.mark.parametrize(
    "name", ["salesman_id_code", "company", "class_room", "pinnacle", "cartel", "manifest", "emirate"]
)
def test_letters_inside_other_words_tell_nothing(name: str) -> None:
    assert not read_name(name).signals


def test_the_bearer_of_a_name_is_told_by_the_word_beside() -> None:
    assert read_name("customer_name").bearer == "person"
    assert read_name("nombre_cliente").bearer == "person"
    assert read_name("file_name").bearer == "thing"
    assert read_name("customer_company_name").bearer == "organisation"
    assert read_name("name").bearer == "bare"
    assert read_name("foo_name").bearer == "unknown"


def test_an_unknown_front_makes_a_weak_signal() -> None:
    (signal,) = read_name("zweittelefon").signals
    assert signal.category == "PHONE_NUMBER"
    assert not signal.strong


def test_capitals_may_part_words_elsewhere() -> None:
    assert read_name("MACaddr").signals[0].category == "MAC_ADDRESS"


def test_a_comment_gives_weak_signals_from_its_beginning_only() -> None:
    (signal,) = read_comment("Date of birth of the insured. See also e-mail address.")
    assert (signal.category, signal.strong, signal.source) == ("DATE_OF_BIRTH", False, "comment")


@pytest.mark.parametrize(
    ("table", "subject"),
    [
        ("dim_customer", "person"),
        ("stg_customers_2023", "person"),
        ("customer_type", "lookup"),
        ("customer_orders", "thing"),
        ("tipo_cliente", "lookup"),
        ("T_LIEFERANTEN", "organisation"),
        ("xyz", "unknown"),
    ],
)
def test_a_table_is_about_what_its_last_telling_word_says(table: str, subject: str) -> None:
    assert read_table(table, ()).subject == subject


def test_columns_tell_that_an_unknown_table_is_about_people() -> None:
    assert read_table("xyz", ("id", "gender")).is_about_people
    assert read_table("xyz", ("id", "first_name")).is_about_people
    assert not read_table("xyz", ("id", "email")).is_about_people


def test_no_phrase_tells_two_categories_and_none_is_listed_twice() -> None:
    phrases = [phrase.removeprefix("? ") for listed in vocabulary.signals().values() for phrase in listed]
    assert sorted(phrases) == sorted(set(phrases))
