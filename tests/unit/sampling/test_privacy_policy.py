"""What the configuration makes of a verdict: deny, then patterns, then categories, then the default."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from sampling_fakes import catalog_of, config_of
from unit.builders import make_catalog

from dictionary_pipeline import frames
from dictionary_pipeline.config.resolved import ColumnRule, PrivacyPolicy, Treatment
from dictionary_pipeline.sampling.privacy import (
    CONFIGURED,
    Policy,
    denied_columns,
    hidden_of,
    known_sensitivity,
    masked_of,
    withheld_of,
)
from dictionary_pipeline.sampling.sensitivity.model import Verdict
from dictionary_pipeline.sampling.verdicts import Judge

NAME = ("main", "customer", "email")
EMAIL = Verdict("EMAIL_ADDRESS", 0.9, "its values")


def policy(
    *rules: tuple[str, Treatment],
    withhold: tuple[str, ...] = (),
    allow: tuple[str, ...] = (),
    privacy: PrivacyPolicy = PrivacyPolicy(),  # noqa: B008 - frozen
) -> Policy:
    columns = tuple(ColumnRule(match, treat) for match, treat in rules)
    return Policy(replace(config_of(withhold=withhold, allow=allow), privacy=replace(privacy, columns=columns)))


def treatment(decided: Policy, verdict: Verdict | None = EMAIL) -> str | None:
    denial = decided.denial(NAME, "string")
    ruling = denial or decided.ruling(NAME, verdict)
    return ruling.treatment if ruling else None


def test_a_sensitive_column_is_withheld_by_default() -> None:
    assert treatment(policy()) == "withhold"
    assert treatment(policy(), None) is None
    assert treatment(policy(privacy=PrivacyPolicy(default="mask"))) == "mask"


def test_a_category_beats_the_default_and_a_pattern_beats_the_category() -> None:
    privacy = PrivacyPolicy(default="allow", categories={"EMAIL_ADDRESS": "mask"})
    assert treatment(policy(privacy=privacy)) == "mask"
    assert treatment(policy(("customer.*", "withhold"), privacy=privacy)) == "withhold"
    assert treatment(policy(allow=("EMAIL",), privacy=privacy)) == "allow"


def test_the_first_pattern_counts_but_deny_wins_wherever_it_stands() -> None:
    assert treatment(policy(("email", "mask"), ("*", "allow"))) == "mask"
    assert treatment(policy(("email", "mask"), allow=("email",))) == "mask"
    assert treatment(policy(("email", "allow"), ("e*", "deny"), allow=("email",))) == "deny"
    assert treatment(policy(("email", "allow"), withhold=("*mail",))) == "deny"


@pytest.mark.parametrize("treat", ["withhold", "mask"])
def test_a_pattern_protects_a_column_that_nobody_found_sensitive(treat: Treatment) -> None:
    ruling = policy(("email", treat)).ruling(NAME, None)
    assert ruling is not None
    assert (ruling.verdict.category, ruling.treatment) == (CONFIGURED, treat)
    assert "`email`" in ruling.verdict.reason


@pytest.mark.parametrize(
    ("rules", "categories", "denied"),
    [
        ((), {}, True),
        ((("token", "withhold"),), {}, True),
        ((), {"SECRET": "withhold"}, True),
        ((("token", "allow"),), {}, False),
        ((("token", "mask"),), {}, False),
        ((), {"SECRET": "allow"}, False),
        ((("token", "withhold"),), {"SECRET": "allow"}, True),
    ],
)
def test_a_secret_told_by_name_is_read_only_when_a_person_says_so(
    rules: tuple[tuple[str, Treatment], ...], categories: dict[str, str], denied: bool
) -> None:
    catalog = catalog_of({"t": {"token": "string", "id": "integer"}})
    privacy = PrivacyPolicy(default="allow", categories=categories)  # type: ignore[arg-type]
    found = denied_columns(catalog, policy(*rules, privacy=privacy))
    assert found["column"].to_list() == (["token"] if denied else [])


def test_last_times_verdicts_are_seen_under_todays_policy() -> None:
    catalog = catalog_of({"customer": {"email": "string", "phone": "string", "token": "string", "code": "string"}})
    previous = frames.from_rows(
        [
            ("main", "customer", "email", "EMAIL_ADDRESS", 0.9, "its values", "withhold"),
            ("main", "customer", "phone", "PHONE_NUMBER", 0.9, "its values", "allow"),
            ("main", "customer", "code", CONFIGURED, 1.0, "matches a pattern that is gone", "withhold"),
            ("main", "customer", "gone", "PERSON", 0.9, "its values", "withhold"),
        ],
        frames.SENSITIVITY,
    )
    known = known_sensitivity(catalog, policy(("email", "mask")), previous)
    assert dict(known.select("column", "treatment").iter_rows()) == {
        "token": "deny",
        "email": "mask",
        "phone": "withhold",
    }
    assert withheld_of(known)["column"].to_list() == ["token", "phone"]
    assert masked_of(known)["column"].to_list() == ["email"]
    assert set(hidden_of(known)["column"]) == {"token", "phone", "email"}
    assert known.schema == pl.Schema(frames.SENSITIVITY)


def test_a_column_that_cannot_be_read_stays_what_its_values_showed_it_to_be() -> None:
    catalog = make_catalog(tables={"s.ship": ("id int", "full_name text")})
    published = catalog.columns.with_columns(sensitivity=pl.lit(None, pl.String))
    fresh, known = policy(), policy().after(published)
    denied, nothing = denied_columns(catalog, fresh), frames.empty(frames.SENSITIVITY)
    assert Judge(catalog, fresh, denied, nothing).sensitivity()["column"].to_list() == ["full_name"]
    assert Judge(catalog, known, denied, nothing).sensitivity().is_empty()
