"""Layouts of many small graphs keep what makes a picture readable."""

from __future__ import annotations

import itertools
import random

import pytest

from dictionary_pipeline.relationships.diagram.layers import Edge, Node
from dictionary_pipeline.relationships.diagram.placing import Placed, place

SEEDS = range(60)


def graph(seed: int) -> tuple[list[Node], list[Edge]]:
    """Boxes of several sizes; stars, chains, cycles, parallel and self references among them."""
    chance = random.Random(seed)
    nodes = [Node(chance.choice([130, 180, 240]), chance.choice([26, 80, 150])) for _ in range(chance.randint(1, 25))]
    edges = []
    for child in range(1, len(nodes)):
        edges += [edge(chance, nodes, child, chance.randrange(child)) for _ in range(chance.choice([0, 1, 1, 2]))]
    for _ in range(chance.randint(0, 6)):
        edges.append(edge(chance, nodes, chance.randrange(len(nodes)), chance.randrange(len(nodes))))
    return nodes, edges


def edge(chance: random.Random, nodes: list[Node], child: int, parent: int) -> Edge:
    return Edge(child, parent, chance.randint(5, int(nodes[child].height) - 5), 13.0)


def box(placed: Placed, nodes: list[Node], number: int) -> tuple[float, float, float, float]:
    left, top = placed.boxes[number]
    return left, top, left + nodes[number].width, top + nodes[number].height


@pytest.mark.parametrize("seed", SEEDS)
def test_boxes_do_not_overlap_and_lie_in_the_picture(seed: int) -> None:
    nodes, edges = graph(seed)
    placed = place(nodes, edges)
    boxes = [box(placed, nodes, number) for number in range(len(nodes))]
    for one, other in itertools.combinations(boxes, 2):
        assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
    for left, top, right, bottom in boxes:
        assert left >= 0 and top >= 0 and right <= placed.width and bottom <= placed.height


@pytest.mark.parametrize("seed", SEEDS)
def test_every_line_runs_at_right_angles_from_its_child_to_its_parent(seed: int) -> None:
    nodes, edges = graph(seed)
    placed = place(nodes, edges)
    assert len(placed.paths) == len(edges)
    for own, path in zip(edges, placed.paths, strict=True):
        for before, after in itertools.pairwise(path):
            assert (before[0] == after[0]) != (before[1] == after[1])
        for number, port, end in ((own.child, own.child_port, path[0]), (own.parent, own.parent_port, path[-1])):
            left, top, right, _ = box(placed, nodes, number)
            assert end[0] in (left, right)
            assert end[1] == top + port or own.child == own.parent


@pytest.mark.parametrize("seed", SEEDS)
def test_no_line_runs_through_a_box(seed: int) -> None:
    nodes, edges = graph(seed)
    placed = place(nodes, edges)
    for path, number in itertools.product(placed.paths, range(len(nodes))):
        left, top, right, bottom = box(placed, nodes, number)
        for (x1, y1), (x2, y2) in itertools.pairwise(path):
            apart = max(x1, x2) <= left or min(x1, x2) >= right or max(y1, y2) <= top or min(y1, y2) >= bottom
            assert apart, (path, number)


@pytest.mark.parametrize("seed", SEEDS)
def test_lines_to_different_places_do_not_run_on_top_of_each_other(seed: int) -> None:
    nodes, edges = graph(seed)
    upright = [
        ((own.parent, own.parent_port), x1, min(y1, y2), max(y1, y2))
        for own, path in zip(edges, place(nodes, edges).paths, strict=True)
        if own.child != own.parent
        for (x1, y1), (x2, y2) in itertools.pairwise(path)
        if x1 == x2
    ]
    for (one, x, top, bottom), (other, x2, top2, bottom2) in itertools.combinations(upright, 2):
        assert one == other or x != x2 or bottom < top2 or bottom2 < top


def test_the_same_graph_gives_the_same_layout() -> None:
    assert place(*graph(7)) == place(*graph(7))


def test_parents_stand_left_of_their_children() -> None:
    nodes = [Node(100, 50)] * 4
    placed = place(nodes, [Edge(1, 0, 20, 13), Edge(2, 1, 20, 13), Edge(3, 2, 20, 13), Edge(3, 0, 30, 13)])
    lefts = [left for left, _ in placed.boxes]
    assert lefts == sorted(set(lefts))


def test_a_cycle_is_laid_out() -> None:
    placed = place([Node(100, 50)] * 3, [Edge(0, 1, 20, 13), Edge(1, 2, 20, 13), Edge(2, 0, 20, 13)])
    assert len({left for left, _ in placed.boxes}) == 3


def test_a_star_is_not_one_long_column() -> None:
    nodes = [Node(150, 120)] * 21
    placed = place(nodes, [Edge(0, parent, 30 + parent, 13) for parent in range(1, 21)])
    assert placed.height < 1.5 * placed.width


def test_nothing_has_a_layout_too() -> None:
    assert place([], []) == Placed([], [], 0.0, 0.0)
