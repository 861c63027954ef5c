"""The diagrams of a database: one per subject area, and an overview when there are several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from dictionary_pipeline import naming
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.relationships.diagram.areas import subject_areas
from dictionary_pipeline.relationships.diagram.scene import (
    Box,
    Link,
    Row,
    Scene,
    Schema,
    area_scene,
    keys_only,
    more,
    read_schema,
)
from dictionary_pipeline.relationships.diagram.svg import draw
from dictionary_pipeline.relationships.names import TableName

OVERVIEW = "overview"
_MAX_WHOLE = 30
"""Tables of a database that is drawn whole."""
_MAX_AREAS = 30
"""Areas that the overview shows, the largest."""
_MAX_TIES = 40
"""Lines of the overview, the strongest."""
_MAX_NAMED, _MANY_AREAS, _FEWER_NAMED = 5, 12, 2
"""Tables that the overview names per area; fewer where there are many areas."""


class Diagram(NamedTuple):
    """A picture, drawn when it is asked for."""

    name: str
    """File name without its ending."""
    tables: int
    scene: Scene

    @property
    def title(self) -> str:
        """What the picture shows."""
        return self.scene.title

    def svg(self) -> bytes:
        """The picture as a file."""
        return draw(self.scene)


class _Area(NamedTuple):
    """Tables that are drawn together."""

    hub: TableName
    """The table with most relationships in the area, which gives it its name."""
    tables: Sequence[TableName]
    """Sorted."""


def er_diagrams(
    catalog: Catalog, relationships: pl.DataFrame, keys: pl.DataFrame, roles: pl.DataFrame
) -> tuple[Diagram, ...]:
    """The diagrams of a database: the overview first, if there is one, then the areas by size.

    A database of up to 30 tables is drawn whole. Of a larger one, tables without relationships are left out.

    Args:
        relationships: `frames.RELATIONSHIPS`; the accepted ones are drawn.
        keys: `frames.KEYS`.
        roles: `frames.ROLES`.
    """
    schema = read_schema(catalog, relationships, keys, roles)
    areas = _areas(schema)
    if not areas:
        return ()
    left_out = len(schema.columns) - sum(len(area.tables) for area in areas)
    noun = "table" if left_out == 1 else "tables"
    notes = [f"{left_out} {noun} without relationships not shown"] if left_out else []
    if len(areas) == 1:
        scene = area_scene(schema, _title(None, areas[0].tables), areas[0].tables, notes)
        return (Diagram(OVERVIEW, len(areas[0].tables), scene),)
    names = naming.file_names([tuple(area.hub) for area in areas], suffix=".svg")
    overview = Diagram(OVERVIEW, sum(len(area.tables) for area in areas), _overview(schema, areas, notes))
    drawn = [
        Diagram(
            names[tuple(area.hub)].removesuffix(".svg"),
            len(area.tables),
            area_scene(schema, _title(area.hub, area.tables), area.tables),
        )
        for area in areas
    ]
    return overview, *drawn


def main_pictures(diagrams: Sequence[Diagram], most_bytes: int) -> dict[str, bytes]:
    """The whole schema or its overview as `er_diagram`, and `er_largest_area` if there are several.

    Of a picture that does not fit, only the keys are shown, and if they do not fit either, nothing.

    Args:
        most_bytes: Size of the pictures together.
    """
    shown: dict[str, bytes] = {}
    for name, diagram in zip(("er_diagram", "er_largest_area"), diagrams, strict=False):
        room = most_bytes - sum(map(len, shown.values()))
        for scene in (diagram.scene, keys_only(diagram.scene)):
            svg = draw(scene, tooltips=False)
            if len(svg) <= room:
                shown[name] = svg
                break
    return shown


def _areas(schema: Schema) -> list[_Area]:
    tables = sorted(schema.columns)
    links = [(reference.child, reference.parent) for reference in schema.references if not reference.database]
    if not tables:
        return []
    areas = [tables] if len(tables) <= _MAX_WHOLE else subject_areas(tables, links)
    place = {table: number for number, area in enumerate(areas) for table in area}
    degree: Counter[TableName] = Counter()
    for child, parent in links:
        if child != parent and place.get(child, -1) == place.get(parent, -2):
            degree[child] += 1
            degree[parent] += 1
    return [_Area(min(area, key=lambda table: (-degree[table], table)), area) for area in areas]


def _title(hub: TableName | None, tables: Sequence[TableName]) -> str:
    count = f"{len(tables)} table{'s' if len(tables) > 1 else ''}"
    return f"Area of {hub}: {count}" if hub else f"{count} and their relationships"


def _overview(schema: Schema, areas: Sequence[_Area], notes: Sequence[str]) -> Scene:
    """One box per area, and lines where areas refer to each other."""
    shown = areas[:_MAX_AREAS]
    place = {table: number for number, area in enumerate(shown) for table in area.tables}
    ties: Counter[tuple[int, int]] = Counter()
    within: Counter[TableName] = Counter()
    for reference in schema.references:
        child, parent = place.get(reference.child), place.get(reference.parent)
        if child is None or parent is None or reference.database:
            continue
        if child == parent:
            within.update({reference.child, reference.parent})
        else:
            ties[child, parent] += 1
    named = _MAX_NAMED if len(shown) <= _MANY_AREAS else _FEWER_NAMED
    boxes = tuple(_area_box(schema, area, within, named) for area in shown)
    strongest = sorted(ties, key=lambda tie: (-ties[tie], tie))[:_MAX_TIES]
    links = tuple(_tie(shown, *tie, ties[tie]) for tie in sorted(strongest))
    smaller = [f"{len(areas) - len(shown)} smaller areas not shown"] if len(areas) > len(shown) else []
    weaker = [f"{len(ties) - len(links)} weaker ties not shown"] if len(ties) > len(links) else []
    title = f"{len(areas)} subject areas of {sum(len(area.tables) for area in areas)} tables"
    return Scene(title, boxes, links, schema.shows_schemas, (*smaller, *weaker, *notes))


def _area_box(schema: Schema, area: _Area, within: Counter[TableName], named: int) -> Box:
    others = sorted((table for table in area.tables if table != area.hub), key=lambda table: (-within[table], table))
    rows = tuple(Row(table.table, schema.roles.get(table, ("other", ""))[0]) for table in others[:named])
    tooltip = f"Area of {area.hub}: {', '.join(map(str, area.tables))}"
    return Box(*area.hub, "area", tooltip, rows, more(len(others) - len(rows), "table"))


def _tie(areas: Sequence[_Area], child: int, parent: int, count: int) -> Link:
    noun = "reference" if count == 1 else "references"
    tooltip = f"{count} {noun} from the area of {areas[child].hub} to that of {areas[parent].hub}"
    return Link(child, None, parent, None, is_inferred=False, is_one_to_one=False, tooltip=tooltip)
