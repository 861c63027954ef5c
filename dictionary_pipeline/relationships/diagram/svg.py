"""Drawing a scene as SVG that shows at a glance: roles by colour, keys marked, inferred references dashed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate, takewhile
from typing import NamedTuple
from xml.sax.saxutils import escape

from dictionary_pipeline.relationships.diagram.layers import Edge, Node
from dictionary_pipeline.relationships.diagram.placing import Placed, Point, place
from dictionary_pipeline.relationships.diagram.scene import Box, Link, Scene

_MARGIN = 24
_HEAD = 26
_ROW = 17
_FOOT = 6
_MARK = 30
"""Width of the column of key marks."""
_MIN_WIDTH, _MAX_WIDTH = 130, 270
_BOLD, _PLAIN, _SMALL = 14.0, 11.5, 10.5
"""Font sizes; bold letters are wider, which the first allows for."""
_LETTER_WIDTHS = {
    **dict.fromkeys("ijl.,:;'|!", 0.26),
    **dict.fromkeys("frtI-()[] ", 0.36),
    **dict.fromkeys("mwMW@%", 0.88),
}
"""Widths of letters in Helvetica, per size of the font; the others go by kind."""
_RADIUS = 6

_COLOURS = {
    "fact": ("#2166ac", "fact: events and amounts"),
    "dimension": ("#1b7837", "dimension: things described"),
    "lookup": ("#5aae61", "lookup: small list"),
    "bridge": ("#b35806", "bridge: links tables"),
    "other": ("#56607a", "other"),
    "view": ("#7b5ea7", "view"),
    "business": ("#b2427a", "business entity"),
    "area": ("#3b4a6b", "area: tables that belong together"),
    "outside": ("#9a9a9a", "outside this picture"),
}
"""Role -> colour and what the legend says; told apart by lightness too."""
_STYLE = (
    "text{font-family:Helvetica,Arial,'DejaVu Sans',sans-serif;font-size:11.5px;fill:#222}"
    ".t{font-size:18px;font-weight:bold}.h{font-size:13px;font-weight:bold;fill:#fff}"
    ".s{font-size:11px;fill:#fff;fill-opacity:.8}.d{font-size:10.5px;fill:#8a8a8a;text-anchor:end}"
    ".k{font-size:9px;font-weight:bold;fill:#b8860b}.f{font-size:9px;font-weight:bold;fill:#2166ac}"
    ".m{font-size:10.5px;fill:#777}.p{font-weight:bold}"
    ".l{fill:none;stroke:#5b6472;stroke-width:1.3}.i{stroke-dasharray:6 4}.w{fill:none;stroke:#fff;stroke-width:4}"
)
_MARKERS = (
    '<marker id="many" viewBox="0 0 12 12" refX="1" refY="6" markerWidth="12" markerHeight="12" '
    'markerUnits="userSpaceOnUse" orient="auto"><path d="M1 1L12 6L1 11M1 6H12" fill="none" stroke="#5b6472" '
    'stroke-width="1.3"/></marker>'
    '<marker id="one" viewBox="0 0 12 12" refX="11" refY="6" markerWidth="12" markerHeight="12" '
    'markerUnits="userSpaceOnUse" orient="auto-start-reverse"><path d="M5 1V11" fill="none" stroke="#5b6472" '
    'stroke-width="1.6"/></marker>'
)
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class _Size(NamedTuple):
    width: float
    height: float


def draw(scene: Scene, *, tooltips: bool = True) -> bytes:
    """Draw a scene; the same scene gives the same bytes.

    Args:
        tooltips: Whether pointing at a table or line tells more. A picture within a page shows none.
    """
    sizes = [_size(box, scene.shows_schemas) for box in scene.boxes]
    linked = sorted({link.child for link in scene.links} | {link.parent for link in scene.links})
    number = {box: place for place, box in enumerate(linked)}
    edges = [
        Edge(number[link.child], number[link.parent], _port(link.child_row), _port(link.parent_row))
        for link in scene.links
    ]
    placed = place([Node(*sizes[box]) for box in linked], edges)
    corners = dict(zip(linked, placed.boxes, strict=True))
    alone = [box for box in range(len(scene.boxes)) if box not in corners]
    width, height = _add_rows(corners, alone, sizes, placed)
    legend, legend_width = _legend(scene)
    top = _MARGIN + 62
    total_width = round(max(width, legend_width, _wide(scene.title, 19.0)) + 2 * _MARGIN)
    total_height = round(height + top + _MARGIN)
    lines = [
        _tipped(_line(link, path), link.tooltip * tooltips)
        for link, path in zip(scene.links, placed.paths, strict=True)
    ]
    boxes = [
        _tipped(
            _draw_box(scene.boxes[box], sizes[box], scene.shows_schemas),
            scene.boxes[box].tooltip * tooltips,
            corners[box],
        )
        for box in sorted(corners)
    ]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total_width}" height="{total_height}" '
        f'viewBox="0 0 {total_width} {total_height}" role="img"><title>{_text(scene.title)}</title>',
        f"<style>{_STYLE}</style><defs>{_MARKERS}</defs>",
        f'<rect width="{total_width}" height="{total_height}" fill="#fff"/>',
        f'<text class="t" x="{_MARGIN}" y="{_MARGIN + 16}">{_text(scene.title)}</text>',
        f'<g transform="translate({_MARGIN} {_MARGIN + 34})">{legend}</g>',
        f'<g transform="translate({_MARGIN} {top})">',
        *lines,
        *boxes,
        "</g></svg>\n",
    ]
    return "\n".join(parts).encode()


def _size(box: Box, shows_schema: bool) -> _Size:
    schema = _schema_of(box, shows_schema)
    head = _wide(box.table, _BOLD) + _wide(schema, _PLAIN) + 18
    rows = [_indent(box) + _wide(row.column, _PLAIN) + _wide(row.detail, _SMALL) + 26 for row in box.rows]
    width = min(max([head, *rows, _MIN_WIDTH]), _MAX_WIDTH)
    body = len(box.rows) * _ROW + (_ROW if box.more else 0) + (_FOOT if box.rows else 0)
    return _Size(round(width), _HEAD + body)


def _indent(box: Box) -> int:
    return _MARK if any(row.is_primary or row.is_foreign for row in box.rows) else 2


def _port(row: int | None) -> float:
    return _HEAD / 2 if row is None else _HEAD + 3 + row * _ROW + _ROW / 2


def _add_rows(
    corners: dict[int, Point], alone: Sequence[int], sizes: Sequence[_Size], placed: Placed
) -> tuple[float, float]:
    """Put boxes without references in rows below the others; width and height of all."""
    room = max(placed.width, 900.0)
    width, left, top = placed.width, 0.0, placed.height + (40 if corners and alone else 0)
    bottom = placed.height
    for box in alone:
        if left and left + sizes[box].width > room:
            left, top = 0.0, bottom + _MARGIN
        corners[box] = (left, top)
        left += sizes[box].width + _MARGIN
        width, bottom = max(width, left - _MARGIN), max(bottom, top + sizes[box].height)
    return width, bottom


def _line(link: Link, path: Sequence[Point]) -> str:
    drawn = _rounded(path)
    shape = "one" if link.is_one_to_one else "many"
    style = "l i" if link.is_inferred else "l"
    return f'<path class="{style}" d="{drawn}" marker-start="url(#{shape})" marker-end="url(#one)"/>'


def _tipped(drawn: str, tooltip: str, corner: Point | None = None) -> str:
    """A part of the picture with its tooltip, moved to its place."""
    moved = f' transform="translate({_xy(corner)})"' if corner else ""
    title = f"<title>{_text(tooltip)}</title>" if tooltip else ""
    return f"<g{moved}>{title}{drawn}</g>" if moved or title else drawn


def _rounded(path: Sequence[Point]) -> str:
    parts = [f"M{_xy(path[0])}"]
    for before, corner, after in zip(path, path[1:], path[2:], strict=False):
        radius = min(_RADIUS, _distance(before, corner) / 2, _distance(corner, after) / 2)
        parts.append(f"L{_xy(_towards(corner, before, radius))}Q{_xy(corner)} {_xy(_towards(corner, after, radius))}")
    return "".join([*parts, f"L{_xy(path[-1])}"])


def _distance(one: Point, other: Point) -> float:
    return abs(one[0] - other[0]) + abs(one[1] - other[1])


def _towards(start: Point, end: Point, by: float) -> Point:
    length = _distance(start, end) or 1.0
    return start[0] + (end[0] - start[0]) * by / length, start[1] + (end[1] - start[1]) * by / length


def _xy(point: Point) -> str:
    return f"{point[0]:g} {point[1]:g}"


def _draw_box(box: Box, size: _Size, shows_schema: bool) -> str:
    colour = _COLOURS[box.role][0]
    width, height = size
    indent = _indent(box)
    fill = "#fff" if box.rows else colour
    parts = [f'<rect width="{width:g}" height="{height:g}" rx="5" fill="{fill}" stroke="{colour}" stroke-width="1.4"/>']
    if box.rows:
        parts.append(f'<path d="M0 {_HEAD}V5Q0 0 5 0H{width - 5:g}Q{width:g} 0 {width:g} 5V{_HEAD}Z" fill="{colour}"/>')
    parts.append(_head(box, width, shows_schema))
    for number, row in enumerate(box.rows):
        y = _HEAD + 3 + number * _ROW + 12.5
        if row.is_primary:
            parts.append(f'<text class="k" x="6" y="{y:g}">PK</text>')
        if row.is_foreign:
            parts.append(f'<text class="f" x="{20 if row.is_primary else 6}" y="{y:g}">FK</text>')
        detail = _cut(row.detail, _MAX_WIDTH / 2, _SMALL)
        room = width - indent - 20 - _wide(detail, _SMALL)
        style = ' class="p"' if row.is_primary else ""
        parts.append(f'<text{style} x="{indent + 6}" y="{y:g}">{_text(_cut(row.column, room, _PLAIN))}</text>')
        parts.append(f'<text class="d" x="{width - 7:g}" y="{y:g}">{_text(detail)}</text>')
    if box.more:
        y = _HEAD + 3 + len(box.rows) * _ROW + 12.5
        parts.append(f'<text class="m" x="{indent + 6}" y="{y:g}">{_text(box.more)}</text>')
    return "".join(parts)


def _head(box: Box, width: float, shows_schema: bool) -> str:
    schema = _schema_of(box, shows_schema)
    shown = f'<tspan class="s">{_text(schema)}</tspan>' if schema else ""
    table = _cut(box.table, width - 16 - _wide(schema, _PLAIN), _BOLD)
    return f'<text class="h" x="8" y="17.5">{shown}{_text(table)}</text>'


def _schema_of(box: Box, shows_schema: bool) -> str:
    return f"{_cut(box.schema, _MAX_WIDTH / 3, _PLAIN)}." if shows_schema and box.schema else ""


def _legend(scene: Scene) -> tuple[str, float]:
    """The legend and its width; it explains only what the picture shows."""
    parts: list[str] = []
    left = 0.0

    def add(symbol: str, wide: int, said: str) -> None:
        nonlocal left
        shown = f'{symbol}<text class="m" x="{wide}" y="9">{_text(said)}</text>'
        parts.append(f'<g transform="translate({left:g} 0)">{shown}</g>')
        left += wide + _wide(said, _SMALL) + 22

    present = {box.role for box in scene.boxes}
    for role, (colour, said) in _COLOURS.items():
        if role in present:
            add(f'<rect width="14" height="11" rx="2" fill="{colour}"/>', 20, said)
    line = '<path class="{}" d="M0 5H42" marker-start="url(#many)" marker-end="url(#one)"/>'
    if any(not link.is_inferred for link in scene.links):
        add(line.format("l"), 48, scene.lines[0])
    if any(link.is_inferred for link in scene.links):
        add(line.format("l i"), 48, scene.lines[1])
    for note in scene.notes:
        add("", 0, note)
    return "".join(parts), left


def _cut(text: str, room: float, size: float) -> str:
    """As much of a name as there is room for."""
    text = _NOT_XML.sub("\ufffd", text)
    if _wide(text, size) <= room:
        return text
    fits = takewhile(lambda width: width * size <= room - size, accumulate(map(_width, text)))
    return f"{text[: max(2, sum(1 for _ in fits))]}…"


def _wide(text: str, size: float) -> float:
    return sum(map(_width, text)) * size


def _width(letter: str) -> float:
    """Width of a letter at size 1."""
    return _LETTER_WIDTHS.get(letter) or _width_by_kind(letter)


def _width_by_kind(letter: str) -> float:
    if letter > "\u2e80":
        return 1.0
    return 0.7 if letter.isupper() else 0.57


def _text(text: str) -> str:
    """Text for XML: names may hold anything."""
    return escape(_NOT_XML.sub("\ufffd", text), {'"': "&quot;"})
