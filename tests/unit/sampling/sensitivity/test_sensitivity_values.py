from __future__ import annotations

import pytest

from dictionary_pipeline.sampling.sensitivity import addresses, formats, nationalids, prose, secrets
from dictionary_pipeline.sampling.sensitivity.persons import name_derived_share, person_shares
from dictionary_pipeline.sampling.sensitivity.valueset import MOST_LOOKED_AT, ValueSet


def test_at_most_a_hundred_values_are_looked_at() -> None:
    assert len(ValueSet(str(number) for number in range(1000))) == MOST_LOOKED_AT


@pytest.mark.parametrize("text", ["a.b@c.de", "Anna <a@b.org>", "mailto:x@y.com", "a@b.org; c@d.org", "O'Neil@x.ie"])
def test_mail_addresses_are_known(text: str) -> None:
    assert formats.email_share(ValueSet([text])) == 1.0


@pytest.mark.parametrize(
    "text", ["icon@2x.png", "@babel/core", "git@github.com:o/r.git", "<1.2@mx.example.com>", "a@b"]
)
def test_what_only_has_an_at_sign_is_no_mail_address(text: str) -> None:
    assert formats.email_share(ValueSet([text])) == 0.0


@pytest.mark.parametrize("text", ["2024-01-15", "192.168.100.200", "12345", "978-0-306-40615-7", "1234567.89"])
def test_dates_and_other_numbers_are_no_valid_telephone_numbers(text: str) -> None:
    assert formats.valid_phone_share(ValueSet([text])) == 0.0


def test_numbers_of_telephones_are_told_by_their_writing() -> None:
    assert formats.telltale_phone_share(ValueSet(["(301)234-0195x5702", "001-429-378-0720", "719.393.0676x44"])) == 1.0
    assert formats.telltale_phone_share(ValueSet(["0-306-40615-2", "0-19-852663-6", "0-596-52068-9"])) == 0.0


def test_a_card_number_needs_network_length_and_check_digit() -> None:
    assert formats.is_card("4111 1111 1111 1111")
    assert not formats.is_card("4111 1111 1111 1112")
    assert not formats.is_card("9111111111111111")
    assert not formats.is_card("357317884041150")


def test_small_four_part_numbers_look_like_versions() -> None:
    assert formats.look_like_versions(ValueSet(["1.2.3.4", "10.0.1.20"]))
    assert not formats.look_like_versions(ValueSet(["1.2.3.4", "81.2.69.142"]))


def test_national_numbers_are_told_by_their_scheme() -> None:
    found = nationalids.find(ValueSet(["50061249746", "45051526859", "95102352890", "85122086666"]))
    assert found is not None
    assert found.category == "PL_PESEL"
    assert found.by_chance < nationalids.SURE


def test_two_numbers_with_one_check_digit_may_be_chance() -> None:
    found = nationalids.find(ValueSet(["76724991G", "13847387F"]))
    assert found is not None
    assert found.by_chance > nationalids.SURE


def test_numbers_that_fail_belong_to_no_scheme() -> None:
    assert nationalids.find(ValueSet(["50061249740", "45051526850", "95102352891"])) is None


@pytest.mark.parametrize(
    "name",
    ["Anna Schmidt", "SMITH, John", "Dr. Maria Rossi-Bianchi", "Jan van den Berg", "王伟", "佐藤 太郎", "Иван Петров"],
)
def test_names_of_persons_are_known(name: str) -> None:
    assert person_shares(ValueSet([name])).full == 1.0


@pytest.mark.parametrize(
    "name",
    ["Smith, Jones and Brown", "Schmidt GmbH", "orders", "Oak Table", "Room 12", "Paris", "user_1", "5th Avenue"],
)
def test_names_of_firms_and_things_are_none(name: str) -> None:
    shares = person_shares(ValueSet([name]))
    assert shares.full == 0.0
    assert shares.known == 0.0 or shares.place > 0


def test_user_names_made_of_names_are_known() -> None:
    assert name_derived_share(ValueSet(["bradleyhardy", "jsmith", "anna.k"])) == 1.0
    assert name_derived_share(ValueSet(["pending", "admin", "batch_7"])) == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "12 High Street",
        "862 Rodriguez Fields Suite 912",
        "Hauptstraße 12",
        "12, rue de la Paix",
        "Calle Mayor 3",
        "ul. Zielona 12/4",
        "北京市朝阳区建国路88号",
    ],
)
def test_street_addresses_are_known(text: str) -> None:
    assert addresses.is_street_address(text)


@pytest.mark.parametrize("text", ["Berlin", "00:1A:2B:3C:4D:5E", "0x7ffe0010", "High Street", "12 apples", "A-01-03"])
def test_other_addresses_are_no_street_addresses(text: str) -> None:
    assert not addresses.is_street_address(text)


@pytest.mark.parametrize(
    "text",
    [
        "AKIAIOSFODNN7EXAMPLE",
        "postgres://app:s3cr3tpw@db/main",
        "-----BEGIN RSA PRIVATE KEY-----",
        "Server=db;User Id=sa;Password=hunter22;",
        "Authorization: Bearer abcdef0123456789abcdef",
    ],
)
def test_keys_of_known_forms_are_found(text: str) -> None:
    assert secrets.holds_key(text)


@pytest.mark.parametrize(
    "text", ["Basic Introduction", "https://example.org/a:b", "postgres://app@db/main", "sk-learn-for-beginners-guide"]
)
def test_what_resembles_a_key_is_none(text: str) -> None:
    assert not secrets.holds_key(text)


def test_random_texts_differ_in_shape() -> None:
    assert secrets.random_share(ValueSet(["q7Yt0zKXn2vB8mLr5cWs1dFg", "ZxC9vBn3Mq71WeRt58Yu2IoP6"])) == 1.0
    assert secrets.random_share(ValueSet([f"Customer{number}Region00000Xy" for number in range(10, 20)])) == 0.0


def test_text_that_tells_a_telephone_number_is_about_a_person() -> None:
    found = prose.find(ValueSet(["nothing of note here", "please call (301)234-0195 today"]), with_names=False)
    assert found is not None
    assert found.share == 0.5


def test_json_keys_tell_what_the_text_holds() -> None:
    found = prose.find(ValueSet(['{"client_secret": "abcdef"}', '{"plan": "pro"}']), with_names=False)
    assert found is not None
    assert found.category == "SECRET"


def test_addresses_of_a_support_desk_do_not_make_text_personal() -> None:
    assert prose.find(ValueSet(["For help write to support@example.com please"]), with_names=True) is None
