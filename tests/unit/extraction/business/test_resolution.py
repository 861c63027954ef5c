"""Which names mean the same, and that the order of texts and replies changes nothing."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dictionary_pipeline.config.graph_settings import GraphSettings
from dictionary_pipeline.enrichment.model.texts import NoGuard
from dictionary_pipeline.extraction.business.build import BusinessGraph, build_business
from dictionary_pipeline.extraction.business.records import Found
from dictionary_pipeline.extraction.business.resolution import glossary_aliases
from unit.extraction.business.texts import EXACT, edge, entity, found, graph, of_one, triples, unit


@pytest.mark.parametrize(
    ("names", "title"),
    [
        (("Customer", "customers", "CUSTOMER"), "CUSTOMER"),
        (("Acme Ltd.", "ACME", "Acme GmbH"), "ACME"),
        (("Acme S.A.", "Acme"), "ACME"),
        (("Meyer & Co. KG", "Meyer"), "MEYER"),
        (("Acme Pvt. Ltd.", "Acme s.r.o.", "Acme Sdn Bhd", "Acme"), "ACME"),
        (("the board", "Board"), "BOARD"),
        (("the company", "Company"), "COMPANY"),
        (("Straße", "STRASSE"), "STRASSE"),
        (("return-rate", "return rate"), "RETURN RATE"),
        (("freight company", "freight companies"), "FREIGHT COMPANY"),
        (("Acme Company", "Acme Corp.", "Acme"), "ACME"),
    ],
)
def test_spellings_of_one_name_are_one_entity(names: tuple[str, ...], title: str) -> None:
    built = of_one(" ".join(names), *(entity(name) for name in names))
    assert built.entities["title"].to_list() == [title]


@pytest.mark.parametrize(
    "names",
    [
        ("Paris", "Pari Passu"),
        ("Gas", "Ga"),
        ("Acme North", "Acme South"),
        ("Oslo", "Oslo Port"),
        ("C", "C++", "C#"),
        ("Disney", "Disney+"),
    ],
)
def test_other_names_stay_apart(names: tuple[str, ...]) -> None:
    built = of_one(" ".join(names), *(entity(name) for name in names))
    assert built.entities.height == len(names)


@pytest.mark.parametrize(
    ("plain", "formed"),
    [
        (("insurance", "PRODUCT"), ("insurance company", "ORGANIZATION")),
        (("transport", "PROCESS"), ("transport companies", "ORGANIZATION")),
        (("hotel", "FACILITY"), ("hotel spa", "FACILITY")),
    ],
)
def test_words_that_only_look_like_a_legal_form_merge_nothing(plain: tuple[str, str], formed: tuple[str, str]) -> None:
    built = of_one(
        f"The {formed[0]} sells {plain[0]}",
        entity(*plain),
        entity(*formed),
        edge(formed[0], plain[0], "SUPPLIES"),
        edge(plain[0], formed[0], "USES"),
    )
    assert dict(built.entities.select("title", "type").iter_rows()) == {
        plain[0].upper(): plain[1],
        formed[0].upper(): formed[1],
    }
    assert triples(built) == [
        (formed[0].upper(), "SUPPLIES", plain[0].upper()),
        (plain[0].upper(), "USES", formed[0].upper()),
    ]


def test_an_alias_holds_whatever_the_types() -> None:
    names = (entity("Acme", "PRODUCT"), entity("Acme Ltd", "ORGANIZATION"))
    assert of_one("Acme Ltd", *names, aliases={"Acme": ()}).entities.height == 1


def test_a_name_that_only_looks_like_a_plural_keeps_its_spelling() -> None:
    assert of_one("Paris", entity("Paris", "GEO")).entities["title"].to_list() == ["PARIS"]


def test_the_spelling_of_most_texts_is_the_title() -> None:
    units = [unit(key, "shops shop") for key in "abc"]
    built = graph(units, {"a": found(entity("shop")), "b": found(entity("shops")), "c": found(entity("shops"))})
    assert built.entities["title"].to_list() == ["SHOPS"]


def test_aliases_lead_to_the_name_that_people_want() -> None:
    built = of_one(
        "NW and Northwind Traders Inc. ship to Oslo",
        entity("NW"),
        entity("Northwind Traders Inc."),
        entity("Oslo", "GEO"),
        edge("NW", "Oslo", "LOCATED_IN"),
        edge("northwind", "Oslo", "LOCATED_IN"),
        aliases={"Northwind": ("nw", "Northwind Traders")},
    )
    assert built.entities["title"].to_list() == ["NORTHWIND", "OSLO"]
    assert triples(built) == [("NORTHWIND", "LOCATED_IN", "OSLO")]


def test_a_term_of_the_glossary_is_an_alias_of_the_name_it_stands_for() -> None:
    glossary = {"SKU": "stock keeping unit", "s.k.u.": "stock keeping unit", "Tour": "Deliveries, one after the other."}
    assert glossary_aliases(glossary) == {"stock keeping unit": ("SKU", "s.k.u.")}
    records = found(entity("SKU", "GENERIC"), entity("stock keeping units", "GENERIC"), entity("tour", "PROCESS"))
    units = [unit("a", "Each SKU is one of the stock keeping units of a tour.")]
    built = build_business({"a": records}, units, EXACT, GraphSettings(), NoGuard(), "abc", glossary)
    assert built.entities["title"].to_list() == ["STOCK KEEPING UNIT", "TOUR"]


def test_an_alias_never_makes_a_database_object_of_a_business_entity() -> None:
    built = of_one("Acme", entity("Acme"), aliases={"SHOP.S.ORDERS TABLE": ("Acme",), "shop.s.open": ("Acme",)})
    assert built.entities["title"].to_list() == ["ACME"]


@pytest.mark.parametrize(
    "aliases",
    [
        {"Acme": ("Bolt",), "Zed": ("Acme",)},
        {"Zed": ("Acme",), "Acme": ("Bolt",)},
        {"Acme": ("Bolt",), "Bolt": ("Zed",), "Zed": ("Acme", "Bolt")},
        {" Zed ": ("Acme", "bolts"), "": ("Zed",), "...": ("Zed",)},
    ],
)
def test_aliases_of_aliases_lead_to_one_name(aliases: dict[str, tuple[str, ...]]) -> None:
    built = of_one("Acme Bolt Zed", entity("Acme"), entity("Bolt"), entity("Zed"), aliases=aliases)
    assert built.entities["title"].to_list() == ["ZED"]


def test_of_two_types_the_more_frequent_counts_then_the_first_and_the_conflict_is_told() -> None:
    units = [unit(key, "depot") for key in "abc"]
    two = {"a": found(entity("depot", "GEO")), "b": found(entity("depot", "FACILITY"))}
    built = graph(units, two)
    assert built.entities["type"].to_list() == ["GEO"]
    assert built.conflicts == (("DEPOT", "GEO", "FACILITY 1, GEO 1"),)
    built = graph(units, {**two, "c": found(entity("depot", "FACILITY"))})
    assert built.entities["type"].to_list() == ["FACILITY"]
    assert graph(units, two, entity_types=("FACILITY", "GEO")).entities["type"].to_list() == ["FACILITY"]


def test_an_edge_that_several_texts_state_is_one_edge_that_counts_more() -> None:
    units = [unit(key, "Acme Bolt") for key in "ab"]
    pair = (entity("Acme"), entity("Bolt"))
    records = {
        "a": found(*pair, edge("Acme", "Bolt", "SUPPLIES", "Acme sends parcels", 4)),
        "b": found(*pair, edge("Acme Ltd", "Bolts", "SUPPLIES", "Acme sends letters", 10)),
    }
    row = graph(units, records).edges.row(0, named=True)
    assert (row["weight"], row["confidence"], row["text_units"]) == (7.0, 0.7, ["a", "b"])
    assert row["description"] == "Acme SUPPLIES Bolt: Acme sends letters. Acme sends parcels."


NAMES = ("Acme", "ACME Ltd", "acmes", "Bolt", "bolts", "The Bolt", "NW", "Northwind", "Oslo")
TEXT = " ".join(NAMES)
RECORDS = st.lists(
    st.one_of(
        st.builds(
            entity,
            st.sampled_from(NAMES),
            st.sampled_from(["ORGANIZATION", "GEO", "GROUP", "NONE"]),
            st.sampled_from(["One.", "Two", ""]),
        ),
        st.builds(
            edge,
            st.sampled_from([*NAMES, "shop.s.orders", "nothing"]),
            st.sampled_from([*NAMES, "SHOP.S.OPEN VIEW"]),
            st.sampled_from(["USES", "PART_OF", "HAS_COLUMN", "odd"]),
            st.sampled_from(["One", "Two."]),
            st.integers(1, 10),
        ),
    ),
    max_size=12,
)


def bytes_of(built: BusinessGraph) -> tuple[object, ...]:
    return built.entities.write_json(), built.edges.write_json(), built.rejected, built.conflicts, built.accepted


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(["a#1", "a#2", "b#1", "glossary"]), RECORDS), st.randoms(use_true_random=False))
def test_whatever_order_replies_and_texts_come_in_the_graph_is_the_same(
    replies: dict[str, list[object]], shuffle: random.Random
) -> None:
    units = [unit(key, TEXT) for key in ("a#1", "a#2", "b#1", "glossary")]
    aliases = {"Northwind": ("NW",), "Oslo": ("Bolt", "Northwind")}
    built = graph(units, {key: found(*records) for key, records in replies.items()}, aliases=aliases)  # type: ignore[arg-type]
    keys = list(replies)
    shuffle.shuffle(keys)
    shuffle.shuffle(units)
    shuffled: dict[str, Found] = {}
    for key in keys:
        records = list(replies[key])
        shuffle.shuffle(records)
        shuffled[key] = found(*records)  # type: ignore[arg-type]
    other = graph(sorted(units, key=lambda one: one.key, reverse=True), shuffled, aliases=aliases)
    assert bytes_of(other) == bytes_of(built)
    assert built.entities["title"].is_unique().all()
    assert built.edges.select("source", "target", "type").is_unique().all()
