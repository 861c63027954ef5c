from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence

import polars as pl
import pytest

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.resolved import HumanKnowledge, PathLimits
from dictionary_pipeline.relationships.diagram.diagrams import Diagram, er_diagrams, main_pictures
from dictionary_pipeline.relationships.relate import relate
from unit.builders import make_catalog

SVG = "{http://www.w3.org/2000/svg}"


def diagrams(catalog: Catalog, inferred: Sequence[str] = (), proposed: Sequence[str] = ()) -> tuple[Diagram, ...]:
    """Diagrams of a catalog; `inferred` and `proposed` name columns whose keys nobody declared."""
    graph = relate(catalog, frames.empty(frames.PROFILES), HumanKnowledge(), PathLimits())
    column = pl.col("from_columns").list.get(0)
    relationships = graph.relationships.with_columns(
        origin=pl.when(column.is_in(list(inferred))).then(pl.lit("inferred")).otherwise("origin"),
        confidence=pl.when(column.is_in(list(inferred))).then(0.94).otherwise("confidence"),
        accepted=~column.is_in(list(proposed)),
    )
    return er_diagrams(catalog, relationships, graph.keys, graph.roles)


def texts(svg: bytes) -> list[str]:
    root = ElementTree.fromstring(svg)
    return ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]


def tooltips(svg: bytes) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}title")]


def lines(svg: bytes) -> list[str]:
    """Classes of the lines between boxes; those of the legend do not count."""
    drawn = re.findall(rb'<path class="([^"]+)" d="M[^"]*Q?[^"]*" marker-start="url\(#(\w+)\)"', svg)
    legend = re.findall(rb'<path class="([^"]+)" d="M0 5H42"', svg)
    return [f"{style.decode()} {shape.decode()}" for style, shape in drawn[len(legend) :]]


def shop() -> Catalog:
    return make_catalog(
        tables={
            "s.orders": ["id integer", "customer_id integer", "paid boolean", "total numeric(12,2)", "at timestamp"],
            "s.customer": ["id integer", "referred_by integer", "name character varying(20)"],
            "s.lonely": ["a text"],
            "s.recent": ["id integer"],
        },
        views={"s.recent": "SELECT id FROM s.orders"},
        primary_keys={"s.orders": ["id"], "s.customer": ["id"]},
        foreign_keys=[
            "s.orders(customer_id) -> s.customer(id)",
            "s.customer(referred_by) -> s.customer(id)",
            "s.orders(shop_id) -> gone.shop(id)",
        ],
    )


def test_a_small_database_is_one_picture_of_its_tables_without_views() -> None:
    [diagram] = diagrams(shop())
    assert (diagram.name, diagram.tables, diagram.title) == ("overview", 3, "3 tables and their relationships")
    shown = texts(diagram.svg())
    assert {"orders", "customer", "lonely", "shop"} <= {*shown}
    assert "recent" not in shown


def test_keys_are_marked_and_types_stand_without_their_parameters() -> None:
    shown = texts(diagrams(shop())[0].svg())
    assert shown.count("PK") == 2
    assert shown.count("FK") == 2
    assert "numeric" in shown and "character varying" in shown
    assert not any("(" in text for text in shown)


def test_pointing_at_a_table_or_line_tells_more() -> None:
    told = tooltips(diagrams(shop(), inferred=["customer_id"])[0].svg())
    assert "s.orders(customer_id) refers to s.customer(id), inferred, confidence 0.94" in told
    assert any(text.startswith("s.orders: fact. It refers to") for text in told)
    assert "gone.shop: outside the dictionary" in told


def test_inferred_references_are_dashed_and_proposed_ones_are_not_drawn() -> None:
    assert lines(diagrams(shop())[0].svg()) == ["l many"] * 3
    assert sorted(lines(diagrams(shop(), inferred=["customer_id"])[0].svg())) == ["l i many", "l many", "l many"]
    assert lines(diagrams(shop(), proposed=["customer_id"])[0].svg()) == ["l many"] * 2


def test_a_one_to_one_reference_has_no_crows_foot() -> None:
    catalog = make_catalog(
        tables={"s.a": ["id integer"], "s.b": ["id integer"]},
        primary_keys={"s.a": ["id"], "s.b": ["id"]},
        foreign_keys=["s.b(id) -> s.a(id)"],
    )
    assert lines(diagrams(catalog)[0].svg()) == ["l one"]


def test_the_legend_explains_what_the_picture_shows_and_nothing_else() -> None:
    shown = texts(diagrams(shop())[0].svg())
    assert "many refer to one" in shown and "outside this picture" in shown
    assert "the same, inferred" not in shown and "bridge: links tables" not in shown


def test_wide_tables_show_their_keys_and_references_first() -> None:
    columns = [f"c{number} text" for number in range(30)] + ["parent_id integer", "id integer"]
    catalog = make_catalog(
        tables={"s.wide": columns},
        primary_keys={"s.wide": ["id"]},
        foreign_keys=["s.wide(parent_id) -> s.wide(id)"],
    )
    shown = texts(diagrams(catalog)[0].svg())
    assert shown.index("id") < shown.index("parent_id") < shown.index("c0")
    assert "+ 24 more columns" in shown


def test_names_of_any_kind_are_escaped_and_values_in_types_are_not_shown() -> None:
    catalog = make_catalog(
        tables={
            "s.<script>&": ["id integer", "\"quoted\" enum('secret')", "\x01\x0b control text", "顧客 text"],
            f"s.{'long ' * 60}": ["id integer"],
        }
    )
    svg = diagrams(catalog)[0].svg()
    assert b"<script" not in svg and b"secret" not in svg
    assert "<script>&" in texts(svg) and "顧客" in texts(svg)
    assert any(text.endswith("…") for text in texts(svg))


def test_the_same_database_gives_the_same_bytes() -> None:
    svg = diagrams(shop())[0].svg()
    assert svg == diagrams(shop())[0].svg()


def large(groups: int, size: int = 20) -> Catalog:
    """Groups of tables around a hub each, tied to the group before by one reference."""
    tables, references, keys = {}, [], {}
    for group in range(groups):
        for number in range(size):
            name = f"s.g{group:02}_{number:02}"
            tables[name] = ["id integer", "hub_id integer", "before_id integer"]
            keys[name] = ["id"]
            if number:
                references.append(f"{name}(hub_id) -> s.g{group:02}_00(id)")
        if group:
            references.append(f"s.g{group:02}_01(before_id) -> s.g{group - 1:02}_00(id)")
    tables["s.lonely"] = ["a text"]
    return make_catalog(tables=tables, primary_keys=keys, foreign_keys=references)


def test_a_large_database_has_a_picture_per_area_and_an_overview() -> None:
    overview, *areas = diagrams(large(3))
    assert [area.name for area in areas] == ["s.g00_00", "s.g01_00", "s.g02_00"]
    assert all(area.tables == 20 for area in areas)
    assert (overview.name, overview.tables, overview.title) == ("overview", 60, "3 subject areas of 60 tables")
    shown = texts(overview.svg())
    assert {"g00_00", "g01_00", "g02_00", "1 table without relationships not shown"} <= {*shown}
    assert "1 reference from the area of s.g02_00 to that of s.g01_00" in tooltips(overview.svg())


def test_a_parent_in_another_area_is_shown_in_grey() -> None:
    area = diagrams(large(3))[2]
    assert "s.g00_00: in another area" in tooltips(area.svg())
    assert "outside this picture" in texts(area.svg())


def test_an_overview_of_very_many_areas_shows_the_largest() -> None:
    overview = diagrams(large(50))[0]
    assert "20 smaller areas not shown" in texts(overview.svg())


def test_a_database_without_tables_has_no_diagram() -> None:
    assert diagrams(make_catalog()) == ()


@pytest.mark.parametrize("groups", [1, 3, 50])
def test_main_pictures_fit_an_event(groups: int) -> None:
    pictures = main_pictures(diagrams(large(groups)), 42_000)
    assert [*pictures] == ["er_diagram", "er_largest_area"][: len(pictures)]
    assert pictures and sum(map(len, pictures.values())) <= 42_000
    assert all(len(tooltips(svg)) == 1 for svg in pictures.values())


def test_a_picture_that_is_too_large_shows_keys_only_and_a_hopeless_one_is_left_out() -> None:
    drawn = diagrams(make_catalog(tables={"s.a": [f"c{n} text" for n in range(9)]}, primary_keys={"s.a": ["c0"]}))
    whole = main_pictures(drawn, 100_000)["er_diagram"]
    small = main_pictures(drawn, len(whole) - 1)["er_diagram"]
    assert {"c0"} == {*texts(small)} & {f"c{n}" for n in range(9)}
    assert main_pictures(drawn, 100) == {}
