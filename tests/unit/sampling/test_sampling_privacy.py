"""Which columns are withheld, and what releases or adds one."""

from __future__ import annotations

import polars as pl
import pytest
from sampling_fakes import catalog_of, config_of

from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.resolved import DatabaseConfig
from dictionary_pipeline.sampling.privacy import Policy, denied_columns


def denied(catalog: Catalog, config: DatabaseConfig) -> pl.DataFrame:
    return denied_columns(catalog, Policy(config))


def category(column: str, type_class: str = "string") -> str | None:
    found = denied(catalog_of({"t": {column: type_class}}), config_of())["category"].to_list()
    return found[0] if found else None


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("password", "PASSWORD"),
        ("PASSWORD", "PASSWORD"),
        ("PasswordHash", "PASSWORD"),
        ("passwordhash", "PASSWORD"),
        ("userpasswordsalt", "PASSWORD"),
        ("usr_pwd", "PASSWORD"),
        ("passwd2", "PASSWORD"),
        ("PassWord", "PASSWORD"),
        ("password_reset_token", "PASSWORD"),
        ("client_secret", "SECRET"),
        ("ClientSecret", "SECRET"),
        ("accesstoken", "SECRET"),
        ("csrf token", "SECRET"),
        ("tokens", "SECRET"),
        ("api_key", "SECRET"),
        ("apikey", "SECRET"),
        ("APIKey", "SECRET"),
        ("private-key", "SECRET"),
        ("salt", "SECRET"),
        ("file_hash", "SECRET"),
        ("sha256hash", "SECRET"),
        ("ssn", "NATIONAL_ID"),
        ("customer_ssn", "NATIONAL_ID"),
        ("custssn", "NATIONAL_ID"),
        ("SSN_last4", "NATIONAL_ID"),
        ("SocialSecurityNumber", "NATIONAL_ID"),
        ("card_number", "CREDIT_CARD"),
        ("CardNo", "CREDIT_CARD"),
        ("creditcardnumber", "CREDIT_CARD"),
        ("cc_num", "CREDIT_CARD"),
        ("card_pan", "CREDIT_CARD"),
        ("cvv2", "CREDIT_CARD"),
    ],
)
def test_names_that_tell_a_secret_are_withheld(column: str, expected: str) -> None:
    assert category(column) == expected


@pytest.mark.parametrize(
    "column",
    [
        "hashtag", "basalt", "assault_count", "discard_number", "postcard_no", "secretary", "tokenizer", "scorecard_no",
        "compass", "bypass_code", "passenger", "passport_no", "pan", "card_type", "credit_card_type", "api_version",
        "key", "public_key", "token_count", "password_length", "hash_algorithm", "cardinality_no", "session", "number",
        "company_name", "assns", "lessn", "hasher", "saltwater",
    ],
)  # fmt: skip
def test_names_that_only_look_alike_are_read(column: str) -> None:
    assert category(column) is None


@pytest.mark.parametrize(
    ("column", "type_class", "expected"),
    [
        ("password_changed", "timestamp", None),
        ("has_password", "boolean", None),
        ("has_password", "integer", None),
        ("has_password", "string", "PASSWORD"),
        ("token_id", "integer", None),
        ("token_id", "string", "SECRET"),
        ("prompt_tokens", "integer", None),
        ("ssn", "integer", "NATIONAL_ID"),
        ("card_number", "decimal", "CREDIT_CARD"),
    ],
)
def test_a_moment_a_flag_or_a_reference_holds_no_secret(column: str, type_class: str, expected: str | None) -> None:
    assert category(column, type_class) == expected


@pytest.mark.parametrize("pattern", ["token", "*.token", "app.token", "main.app.token", "main.*.tok*", "TOKEN"])
def test_allow_releases_a_verdict_by_name(pattern: str) -> None:
    catalog = catalog_of({"app": {"token": "string"}})
    assert denied(catalog, config_of()).height == 1
    assert denied(catalog, config_of(allow=(pattern,))).height == 0


@pytest.mark.parametrize("pattern", ["other.token", "app", "app*", "main.token", "tok", "a.b.c.token"])
def test_a_pattern_matches_part_by_part(pattern: str) -> None:
    catalog = catalog_of({"app": {"token": "string"}})
    assert denied(catalog, config_of(allow=(pattern,))).height == 1


def test_withhold_adds_columns_and_wins_over_allow() -> None:
    catalog = catalog_of({"app": {"email": "string", "token": "string", "id": "integer", "a.b": "string"}})
    config = config_of(withhold=("EMAIL", "tok*", "a.b"), allow=("token", "email"))
    withheld = denied(catalog, config)
    assert withheld.select("schema", "table", "column", "category").rows() == [
        ("main", "app", "email", "CONFIGURED"),
        ("main", "app", "token", "CONFIGURED"),
        ("main", "app", "a.b", "CONFIGURED"),
    ]
    assert withheld["reason"][0] == "matches the withhold pattern `EMAIL`"


def test_the_reason_names_the_words() -> None:
    assert denied(catalog_of({"t": {"UserApiKey": "string"}}), config_of())["reason"].to_list() == [
        "the name says `api key`"
    ]


def test_a_long_run_together_name_is_judged_quickly() -> None:
    assert category("password" * 60 + "x") is None
