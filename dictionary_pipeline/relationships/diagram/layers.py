"""Layers of a diagram and the order within them, after Sugiyama, Tagawa and Toda (1981).

Parents stand left of their children. References to the same place of a parent share one line, a net,
which runs through the layers between as a chain of slots, so that a lookup with twenty children adds
one line to the picture and not twenty.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

_SWEEPS = 12
_FLATNESS = 0.85
"""Height of a pleasant picture, as a share of the side of a square that would hold its boxes."""
_BESIDE, _BELOW = 90.0, 22.0
"""Space that a box needs beside and below itself."""


class Node(NamedTuple):
    """A box to be placed."""

    width: float
    height: float


class Edge(NamedTuple):
    """A reference from a child to a parent, both by position in the list of nodes."""

    child: int
    parent: int
    child_port: float
    """Where it leaves the child, from the top of its box."""
    parent_port: float
    """Where it meets the parent."""


class Port(NamedTuple):
    """An end of a net in a layer: a place on a box, or a slot between boxes."""

    item: int
    offset: float


class Segment(NamedTuple):
    """The line of a net across one gap."""

    net: int
    left: Port
    right: Port


@dataclass
class Layers:
    """Boxes and slots in layers. Items below the number of nodes are boxes, the others slots."""

    nodes: Sequence[Node]
    edges: Sequence[Edge]
    layer_of: list[int]
    order: list[list[int]]
    segments: list[list[Segment]] = field(default_factory=list)
    """By gap, which is right of the layer of the same number."""
    routes: list[list[tuple[int, Segment]]] = field(default_factory=list)
    """Edge -> gap and segment of each step from parent to child; none for a reference to itself."""

    def height(self, item: int) -> float:
        """Height of a box; slots have none."""
        return self.nodes[item].height if item < len(self.nodes) else 0.0


def arrange(nodes: Sequence[Node], edges: Sequence[Edge]) -> Layers:
    """Put nodes into layers and order each layer so that few lines cross; the same input gives the same picture."""
    layer_of = _assign(len(nodes), edges)
    _balance(layer_of, nodes, edges)
    count = max(layer_of, default=-1) + 1
    layers = Layers(nodes, edges, layer_of, [[] for _ in range(count)], [[] for _ in range(count)])
    for item, layer in enumerate(layer_of):
        layers.order[layer].append(item)
    _add_nets(layers)
    _reduce_crossings(layers)
    return layers


def _assign(count: int, edges: Sequence[Edge]) -> list[int]:
    """Layer of every node: one right of its rightmost parent, then closer to whom it is tied to most."""
    parents, children = _neighbours(count, edges)
    order = _parents_first(count, parents)
    rank = {node: position for position, node in enumerate(order)}
    up = [[parent for parent in parents[node] if rank[parent] < rank[node]] for node in range(count)]
    down: list[list[int]] = [[] for _ in range(count)]
    for node in range(count):
        # An edge that closes a cycle points the other way here, and only here.
        up[node] += [child for child in children[node] if rank[child] < rank[node] and child not in up[node]]
        for parent in up[node]:
            down[parent].append(node)
    layer = [0] * count
    for node in order:
        layer[node] = max((layer[parent] + 1 for parent in up[node]), default=0)
    for _ in range(_SWEEPS):
        for node in reversed(order):
            if down[node] and len(down[node]) > len(up[node]):
                layer[node] = min(layer[child] for child in down[node]) - 1
    return layer


def _neighbours(count: int, edges: Sequence[Edge]) -> tuple[list[list[int]], list[list[int]]]:
    parents: list[set[int]] = [set() for _ in range(count)]
    children: list[set[int]] = [set() for _ in range(count)]
    for edge in edges:
        if edge.child != edge.parent:
            parents[edge.child].add(edge.parent)
            children[edge.parent].add(edge.child)
    return [sorted(own) for own in parents], [sorted(own) for own in children]


def _parents_first(count: int, parents: Sequence[Sequence[int]]) -> list[int]:
    """Nodes after their parents, as far as cycles allow (depth first)."""
    order: list[int] = []
    entered = [False] * count
    for root in range(count):
        stack: list[tuple[int, Iterator[int]]] = []
        if not entered[root]:
            entered[root] = True
            stack.append((root, iter(parents[root])))
        while stack:
            parent = next((candidate for candidate in stack[-1][1] if not entered[candidate]), None)
            if parent is None:
                order.append(stack.pop()[0])
            else:
                entered[parent] = True
                stack.append((parent, iter(parents[parent])))
    return order


def _balance(layer_of: list[int], nodes: Sequence[Node], edges: Sequence[Edge]) -> None:
    """Move nodes whose neighbours share a layer further away, or to its other side, while a layer is too tall.

    A star would otherwise have all its parents in one long column.
    """
    parents, children = _neighbours(len(nodes), edges)
    around = [{*parents[node], *children[node]} for node in range(len(nodes))]
    good = math.sqrt(sum((node.width + _BESIDE) * (node.height + _BELOW) for node in nodes)) * _FLATNESS
    for _ in nodes:
        tall: dict[int, float] = defaultdict(float)
        for node, layer in enumerate(layer_of):
            tall[layer] += nodes[node].height + _BELOW
        worst = max(tall, key=lambda layer: (tall[layer], -layer), default=0)
        if tall[worst] <= good:
            break
        moves = []
        for node, layer in enumerate(layer_of):
            beside = {layer_of[other] for other in around[node]}
            if layer == worst and len(beside) == 1:
                middle = beside.pop()
                side = 1 if layer > middle else -1
                for step in (2 * side, -side, -2 * side):
                    height = tall[middle + step] + nodes[node].height + _BELOW
                    if middle + step != layer and height < tall[worst]:
                        moves.append(
                            (max(height, good), abs(step), step != side, len(around[node]), -node, middle + step)
                        )
        if not moves:
            break
        _, _, _, _, negative, target = min(moves)
        layer_of[-negative] = target
    used = {layer: number for number, layer in enumerate(sorted(set(layer_of)))}
    layer_of[:] = [used[layer] for layer in layer_of]


def _add_nets(layers: Layers) -> None:
    """Lead every reference through the layers between its ends."""
    slots: dict[tuple[int, int], int] = {}
    nets: dict[tuple[int, float], int] = {}
    seen: set[Segment] = set()
    for edge in layers.edges:
        net = nets.setdefault((edge.parent, edge.parent_port), len(nets))
        at, end = layers.layer_of[edge.parent], layers.layer_of[edge.child]
        step = 1 if end > at else -1
        here = Port(edge.parent, edge.parent_port)
        route: list[tuple[int, Segment]] = []
        while at != end:
            at += step
            there = Port(edge.child, edge.child_port)
            if at != end:
                if (net, at) not in slots:
                    slots[net, at] = len(layers.nodes) + len(slots)
                    layers.order[at].append(slots[net, at])
                there = Port(slots[net, at], 0.0)
            gap = at - 1 if step > 0 else at
            segment = Segment(net, here, there) if step > 0 else Segment(net, there, here)
            route.append((gap, segment))
            if segment not in seen:
                seen.add(segment)
                layers.segments[gap].append(segment)
            here = there
        layers.routes.append(route)


def _reduce_crossings(layers: Layers) -> None:
    best, fewest = [list(order) for order in layers.order], _crossings(layers)
    for sweep in range(_SWEEPS):
        if fewest == 0:
            break
        rightwards = sweep % 2 == 0
        numbers = range(1, len(layers.order)) if rightwards else range(len(layers.order) - 2, -1, -1)
        for number in numbers:
            _sort_layer(layers, number, rightwards)
        count = _crossings(layers)
        if count < fewest:
            best, fewest = [list(order) for order in layers.order], count
    layers.order = best


def _sort_layer(layers: Layers, number: int, from_left: bool) -> None:
    """Order a layer by the mean place of the ends that its items are tied to on one side."""
    places: dict[int, list[float]] = defaultdict(list)
    place = _places(layers, number - 1 if from_left else number + 1)
    for _, left, right in layers.segments[number - 1 if from_left else number]:
        own, other = (right, left) if from_left else (left, right)
        places[own.item].append(place(other))
    current = {item: position for position, item in enumerate(layers.order[number])}
    layers.order[number].sort(
        key=lambda item: (
            sum(places[item]) / len(places[item]) if places[item] else float(current[item]),
            current[item],
        )
    )


def _places(layers: Layers, number: int) -> Callable[[Port], float]:
    position = {item: place for place, item in enumerate(layers.order[number])}
    return lambda port: position[port.item] + port.offset / (layers.height(port.item) + 1)


def _crossings(layers: Layers) -> int:
    total = 0
    for number, segments in enumerate(layers.segments[:-1]):
        left_place, right_place = _places(layers, number), _places(layers, number + 1)
        lines = sorted((left_place(left), right_place(right), net) for net, left, right in segments)
        for position, (left, right, net) in enumerate(lines):
            total += sum(
                left < other_left and right > other_right and net != other
                for other_left, other_right, other in lines[position + 1 :]
            )
    return total
