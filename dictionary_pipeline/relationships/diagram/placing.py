"""Coordinates of boxes and lines: straight lines first, right angles, a track of its own for every line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from dictionary_pipeline.relationships.diagram.layers import Edge, Layers, Node, Port, arrange

_BETWEEN_BOXES = 22.0
_BETWEEN_LINES = 12.0
_TRACK = 9.0
_APPROACH = 24.0
"""Space left and right of the tracks of a gap, where crow's feet and bars stand."""
_LOOP = 14.0
_SMALL_STEP = 12.0
_SWEEPS = 10
_SLOT_WEIGHT = 4.0
"""How much more a line that runs through counts than a box when both want to be level with their neighbours."""

Point = tuple[float, float]


class Placed(NamedTuple):
    """A finished layout."""

    boxes: list[Point]
    """Upper left corner of every node."""
    paths: list[list[Point]]
    """Line of every edge from child to parent, right-angled."""
    width: float
    height: float


class _Wire(NamedTuple):
    """What one net needs in one gap: its ends on both sides."""

    net: int
    left: list[float]
    right: list[float]

    @property
    def top(self) -> float:
        return min(self.left + self.right)

    @property
    def bottom(self) -> float:
        return max(self.left + self.right)


def place(nodes: Sequence[Node], edges: Sequence[Edge]) -> Placed:
    """Lay out boxes and the references between them."""
    layers = arrange(nodes, edges)
    tops = _vertical(layers)
    tracks = [_tracks(_wires(layers, gap, tops)) for gap in range(len(layers.order))]
    lefts, widths = _horizontal(layers, [max(own.values(), default=-1) + 1 for own in tracks])
    boxes = [(lefts[layers.layer_of[item]], tops[item]) for item in range(len(nodes))]
    paths = []
    for edge, route in zip(edges, layers.routes, strict=True):
        if not route:
            paths.append(_loop(edge, boxes[edge.child], nodes[edge.child].width))
            continue
        points: list[Point] = []
        rightwards = layers.layer_of[edge.parent] < layers.layer_of[edge.child]
        for gap, segment in route:
            is_box = segment.left.item < len(nodes)
            right = lefts[gap] + (nodes[segment.left.item].width if is_box else 0.0)
            track = lefts[gap] + widths[gap] + _APPROACH + tracks[gap].get(segment.net, 0) * _TRACK
            start, end = (tops[port.item] + port.offset for port in (segment.left, segment.right))
            step = [(right, start), (track, start), (track, end), (lefts[gap + 1], end)]
            points += step if rightwards else step[::-1]
        paths.append(_straightened(points[::-1]))
    width = max((left + wide for left, wide in zip(lefts, widths, strict=True)), default=0.0)
    height = max((top + node.height for (_, top), node in zip(boxes, nodes, strict=True)), default=0.0)
    return Placed(boxes, paths, width, height)


def _vertical(layers: Layers) -> dict[int, float]:
    """Top of every item: level with its neighbours as far as the order allows."""
    tops: dict[int, float] = {}
    for order in layers.order:
        top = 0.0
        for previous, item in zip([None, *order], order, strict=False):
            top += _apart(layers, previous, item)
            tops[item] = top
    ties: dict[int, list[tuple[float, Port]]] = defaultdict(list)
    for segments in layers.segments:
        for _, left, right in segments:
            ties[left.item].append((left.offset, right))
            ties[right.item].append((right.offset, left))
    numbers = [*range(len(layers.order))]
    for sweep in range(_SWEEPS):
        for number in numbers if sweep % 2 == 0 else reversed(numbers):
            _settle(layers, layers.order[number], ties, tops)
    _straighten(layers, ties, tops)
    highest = min(tops.values(), default=0.0)
    return {item: round(2 * (top - highest)) / 2 for item, top in tops.items()}


def _straighten(layers: Layers, ties: dict[int, list[tuple[float, Port]]], tops: dict[int, float]) -> None:
    """Level a line with its end where a step would be too small to mean anything."""
    for order in layers.order:
        for place, item in enumerate(order):
            if item < len(layers.nodes) and len(ties[item]) != 1:
                continue
            above = tops[order[place - 1]] + _apart(layers, order[place - 1], item) if place else float("-inf")
            follows = order[place + 1] if place + 1 < len(order) else None
            below = tops[follows] - _apart(layers, item, follows) if follows is not None else float("inf")
            levels = [tops[port.item] + port.offset - offset for offset, port in ties[item]]
            near = [level for level in levels if abs(level - tops[item]) <= _SMALL_STEP and above <= level <= below]
            tops[item] = min(near, key=lambda level: abs(level - tops[item]), default=tops[item])


def _apart(layers: Layers, above: int | None, item: int) -> float:
    """Distance between the tops of two items that follow each other."""
    if above is None:
        return 0.0
    are_boxes = above < len(layers.nodes) and item < len(layers.nodes)
    return layers.height(above) + (_BETWEEN_BOXES if are_boxes else _BETWEEN_LINES)


def _settle(
    layers: Layers, order: Sequence[int], ties: dict[int, list[tuple[float, Port]]], tops: dict[int, float]
) -> None:
    """Move a layer's items as near as possible to where their ties are level: least squares, by pooling violators."""
    blocks: list[tuple[float, float, list[int]]] = []  # mean, weight, items
    below = 0.0
    distance: dict[int, float] = {}
    for previous, item in zip([None, *order], order, strict=False):
        below += _apart(layers, previous, item)
        distance[item] = below
        wanted = [tops[port.item] + port.offset - offset for offset, port in ties[item]]
        target = sum(wanted) / len(wanted) if wanted else tops[item]
        weight = (_SLOT_WEIGHT if item >= len(layers.nodes) else 1.0) * (len(wanted) or 0.1)
        blocks.append((target - below, weight, [item]))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            mean, weight, items = blocks.pop()
            other, more, before = blocks.pop()
            blocks.append(((mean * weight + other * more) / (weight + more), weight + more, before + items))
    for mean, _, items in blocks:
        for item in items:
            tops[item] = mean + distance[item]


def _wires(layers: Layers, gap: int, tops: dict[int, float]) -> list[_Wire]:
    ends: dict[int, tuple[set[float], set[float]]] = defaultdict(lambda: (set(), set()))
    for net, left, right in layers.segments[gap]:
        ends[net][0].add(tops[left.item] + left.offset)
        ends[net][1].add(tops[right.item] + right.offset)
    return [_Wire(net, sorted(left), sorted(right)) for net, (left, right) in ends.items()]


def _tracks(wires: Sequence[_Wire]) -> dict[int, int]:
    """Net -> its track in a gap, counted from the left; straight lines need none."""
    bent = [wire for wire in wires if wire.top < wire.bottom]
    order = sorted(bent, key=lambda wire: (sum(wire.left) / len(wire.left), wire.net))
    for _ in order:
        swapped = False
        for position in range(len(order) - 1):
            one, other = order[position], order[position + 1]
            if _meetings(other, one) < _meetings(one, other):
                order[position], order[position + 1] = other, one
                swapped = True
        if not swapped:
            break
    tracks: dict[int, int] = {}
    for position, wire in enumerate(order):
        before = [
            tracks[other.net]
            for other in order[:position]
            if other.top <= wire.bottom + _BETWEEN_LINES and wire.top <= other.bottom + _BETWEEN_LINES
        ]
        tracks[wire.net] = max(before, default=-1) + 1
    return tracks


def _meetings(one: _Wire, other: _Wire) -> int:
    """Crossings and touches when `one` has a track left of `other`."""
    crossed = sum(one.top <= end <= one.bottom for end in other.left)
    return crossed + sum(other.top <= end <= other.bottom for end in one.right)


def _horizontal(layers: Layers, tracks: Sequence[int]) -> tuple[list[float], list[float]]:
    """Left edge and width of every layer."""
    lefts, widths, left = [], [], 0.0
    for number, order in enumerate(layers.order):
        width = max((layers.nodes[item].width for item in order if item < len(layers.nodes)), default=0.0)
        lefts.append(left)
        widths.append(width)
        left += width + 2 * _APPROACH + max(tracks[number] - 1, 0) * _TRACK
    return lefts, widths


def _loop(edge: Edge, box: Point, width: float) -> list[Point]:
    """A reference to itself, right of its box."""
    left, top = box
    right, start, end = left + width, top + edge.child_port, top + edge.parent_port
    end = end + _SMALL_STEP if start == end else end
    return [(right, start), (right + _LOOP, start), (right + _LOOP, end), (right, end)]


def _straightened(points: Sequence[Point]) -> list[Point]:
    """The same line without points that lie on it or repeat."""
    line: list[Point] = []
    for point in points:
        if line and point == line[-1]:
            continue
        if len(line) >= 2 and (line[-2][0] == line[-1][0] == point[0] or line[-2][1] == line[-1][1] == point[1]):
            line.pop()
        line.append(point)
    return line
