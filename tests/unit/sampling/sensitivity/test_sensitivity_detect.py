from __future__ import annotations

import pytest

from dictionary_pipeline.engines.base import TypeClass
from dictionary_pipeline.sampling.sensitivity.detect import detect
from dictionary_pipeline.sampling.sensitivity.model import ColumnEvidence, Verdict

CARDS = ("4812225535458692", "5209793217107240", "345820150354947", "6011915928688269")


def judge(
    column: str,
    *values: str,
    table: str = "t",
    kind: TypeClass = "string",
    siblings: tuple[str, ...] = (),
    comment: str | None = None,
) -> Verdict | None:
    return detect(
        ColumnEvidence(
            schema="s",
            table=table,
            column=column,
            data_type=kind,
            type_class=kind,
            comment=comment,
            values=values,
            siblings=siblings,
        )
    )


def test_values_that_agree_raise_the_confidence_of_a_name() -> None:
    without = judge("email")
    with_values = judge("email", "amy@mailbox.org", "bob@post.de")
    assert without is not None and with_values is not None
    assert without.confidence < with_values.confidence


def test_the_reason_tells_name_and_share() -> None:
    verdict = judge("email", "amy@mailbox.org", "bob@post.de", "none yet", "c@d.com")
    assert verdict == Verdict("EMAIL_ADDRESS", 0.97, "the name says 'email'; 75 % of values are e-mail addresses")


def test_the_reason_of_a_harmless_name_tells_what_the_values_are() -> None:
    verdict = judge("x7", *CARDS)
    assert verdict == Verdict("CREDIT_CARD", 0.95, "100 % of values are valid card numbers")


@pytest.mark.parametrize("kind", ["boolean", "timestamp", "date", "interval", "integer", "uuid"])
def test_a_flag_or_a_moment_of_a_password_is_none(kind: TypeClass) -> None:
    assert judge("password", table="users", kind=kind) is None


def test_a_date_is_personal_only_when_its_name_tells_a_birth() -> None:
    assert judge("date_of_birth", "1980-02-03", kind="date") is not None
    assert judge("start_date", "1980-02-03", kind="date", table="employees") is None


def test_an_identifier_column_that_passes_the_check_digit_by_chance_is_no_card() -> None:
    one_in_ten = [str(4000000000000000 + 10_007 * step) for step in range(25)]
    assert judge("order_number", *one_in_ten) is None
    assert judge("ref", *one_in_ten) is None


def test_numbers_in_sequence_are_no_cards_even_when_every_one_passes() -> None:
    valid = ("4111111111111111", "4111111111111129", "4111111111111137", "4111111111111145")
    assert judge("ref", *valid) is None


def test_one_value_of_a_known_key_form_is_enough() -> None:
    verdict = judge("value", "true", "30", "blue", "AKIAIOSFODNN7EXAMPLE")
    assert verdict is not None
    assert verdict.category == "SECRET"


def test_a_name_column_is_a_persons_only_in_a_table_about_persons() -> None:
    assert judge("name", table="customer") is not None
    assert judge("name", table="product") is None
    assert judge("name", table="xyz") is None
    assert judge("name", table="xyz", siblings=("name", "birth_date")) is not None


def test_a_companys_telephone_is_not_personal_but_its_contacts_name_is() -> None:
    assert judge("phone", "+49 30 901820", table="suppliers") is None
    assert judge("company_phone", "+49 30 901820") is None
    assert judge("contact_name", "Anna Schmidt", table="suppliers") is not None


def test_a_comment_tells_what_a_name_hides() -> None:
    verdict = judge("fld_17", comment="Social security number of the employee", siblings=("emp_name",))
    assert verdict is not None
    assert verdict.category == "US_SSN"
    assert verdict.reason == "the comment says 'social security number'; no values seen"
    assert judge("fld_18", comment="Template of the e-mail") is None


def test_a_comment_about_pay_makes_no_reference_an_amount() -> None:
    def judge_number(column: str) -> Verdict | None:
        comment, siblings = "Department that pays the wage.", ("first_name", "last_name")
        return judge(column, "1", "2", "3", table="employee", kind="integer", siblings=siblings, comment=comment)

    assert judge_number("department_id") is None
    assert judge_number("fld_17") is not None


def test_placeholders_count_as_no_values() -> None:
    verdict = judge("email", "n/a", "unknown", "-")
    assert verdict is not None
    assert verdict.reason.endswith("no values seen")


def test_a_hashed_number_is_still_the_persons() -> None:
    digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    verdict = judge("ssn_hash", digest)
    assert verdict is not None
    assert verdict.category == "US_SSN"


def test_odd_evidence_does_not_stop_the_detector() -> None:
    for text in ("", " ", "\x00", "@", "+", "((((", "a" * 5000, "9" * 400, "🦉", "\n\n", "{", '{"a":', "1.2.3.4.5"):
        verdicts = judge("x", text), judge(text, text, table=text, comment=text, siblings=(text,))
        assert all(verdict is None or 0 <= verdict.confidence <= 1 for verdict in verdicts), text


def test_a_name_and_a_form_that_agree_give_one_reason() -> None:
    verdict = judge("phone", "(111)234-0195x5702", "001-129-378-0720x7033", "119.393.0676x4400")
    assert verdict is not None
    assert verdict.reason == "the name says 'phone'; 100 % of values are written as telephone numbers are"


def test_addresses_that_name_persons_are_theirs_also_at_an_organisation() -> None:
    named = judge(
        "f2", "anna.keller@acme.example", "j.smith7@bolt.example", "omar-hassan@cord.example", table="shipper"
    )
    assert named is not None and named.category == "EMAIL_ADDRESS"
    assert (
        judge("f2", "acme@post.example", "export.dept@bolt.example", "cord.gmbh@web.example", table="shipper") is None
    )


def test_a_persons_address_in_a_few_words_is_personal() -> None:
    told = judge("hint", "ask anna.keller@acme.example", "none", "closed")
    assert told is not None and told.category == "FREE_TEXT_PII"
    assert judge("hint", "ask support@acme.example", "none", "closed") is None
