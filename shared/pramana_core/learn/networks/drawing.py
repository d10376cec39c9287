"""Pictures of network structures, drawn in layers from parents to children.

The layout is Sugiyama's and is computed by grandalf. A link that skips layers passes through an
invisible point in each skipped layer. Columns of nodes without links follow the connected
components.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from pramana_core.learn.networks.structure import Structure
from pramana_core.pictures.svg import (
    MIDDLE,
    PALETTE,
    Box,
    Group,
    Layout,
    Line,
    Point,
    Shape,
    Text,
    breadth,
    colour,
    key,
)

_GAP_X, _GAP_Y, _HEIGHT, _MARGIN = 34.0, 64.0, 34.0, 16.0
_SWEEPS, _STATION = 4, 10.0
_PLAIN_WIDTH, _WIDTHS, _OPACITIES = 1.4, (0.8, 2.8), (0.4, 1.0)
_CERTAIN = 0.995
"""A confidence of at least this value would be written as 100 %, so it is not written."""

_Link = tuple[str, str]


_UNLINKED = "#9aa0a6"
"""The colour of nodes without links."""


@dataclass(frozen=True)
class _Layout:
    """The centres of nodes and the points of links, between (0, 0) and (width, height)."""

    places: Mapping[str, Point]
    lines: Mapping[_Link, list[Point]]
    width: float
    height: float

    def moved(self, x: float, y: float) -> _Layout:
        places = {node: (x + x0, y + y0) for node, (x0, y0) in self.places.items()}
        lines = {link: [(x + x0, y + y0) for x0, y0 in line] for link, line in self.lines.items()}
        return _Layout(places, lines, x + self.width, y + self.height)

    def followed_by(self, right: _Layout) -> _Layout:
        start = self.width + (_GAP_X if self.places and right.places else 0.0)
        right = right.moved(start, 0.0)
        height = max(self.height, right.height)
        return _Layout(
            {**self.places, **right.places}, {**self.lines, **right.lines}, right.width, height
        )


def draw_structure(
    structure: Structure,
    groups: Mapping[str, str] | None = None,
    confidence: Mapping[tuple[str, str], float | None] | None = None,
    title: str = "Bayesian network structure",
) -> Layout:
    """Return a picture of a structure.

    Each group of nodes has a colour, which a legend explains. The lower the `confidence` of a link
    (parent, child), the thinner its line; confidences below 100 % are written. Screen readers read
    `title`.
    """
    known, groups = confidence or {}, groups or {}
    layout = _laid_out(structure).moved(_MARGIN, _MARGIN)
    lines = {link: layout.lines[link] for link in structure.links}
    width, height = layout.width + _MARGIN, layout.height + _MARGIN
    colours = {name: colour(k) for k, name in enumerate(dict.fromkeys(groups.values()))}
    legend, end = key(_MARGIN, height + 2, colours.items())
    if groups:
        height += 30
        width = max(width, end + _MARGIN)
    plain = PALETTE[-1] if groups else PALETTE[0]
    linked = {node for link in structure.links for node in link}
    parts: list[Shape] = [
        *(_link(link, line, known.get(link)) for link, line in lines.items()),
        *(
            _node(
                node,
                layout.places[node],
                colours.get(groups.get(node, ""), plain if node in linked else _UNLINKED),
            )
            for node in structure.nodes
        ),
        *(_percent(line, known.get(link)) for link, line in lines.items()),
        legend,
    ]
    return Layout(width, height, title, [part for part in parts if part], tips=True)


def _laid_out(structure: Structure) -> _Layout:
    parts = _parts(structure)
    layout = _Layout({}, {}, 0.0, 0.0)
    for part in parts:
        if len(part) > 1:
            linked = Structure.of({node: structure.parents[node] for node in part})
            layout = layout.followed_by(_layered(linked))
    return layout.followed_by(
        _columns([part[0] for part in parts if len(part) == 1], layout.height)
    )


def _parts(structure: Structure) -> list[list[str]]:
    part = {node: {node} for node in structure.nodes}
    for parent, child in structure.links:
        if part[parent] is not part[child]:
            part[parent] |= part[child]
            for node in part[child]:
                part[node] = part[parent]
    firsts = {id(nodes): nodes for nodes in part.values()}
    return [[node for node in structure.nodes if node in nodes] for nodes in firsts.values()]


def _columns(nodes: list[str], height: float) -> _Layout:
    fitting = round((height + _GAP_Y) / (_HEIGHT + _GAP_Y))
    rows = max(fitting, math.ceil(math.sqrt(len(nodes))))
    layout = _Layout({}, {}, 0.0, 0.0)
    for column in (nodes[start : start + rows] for start in range(0, len(nodes), rows or 1)):
        width, height = max(map(_width, column)), _HEIGHT + _GAP_Y
        places = {node: (width / 2, k * height + _HEIGHT / 2) for k, node in enumerate(column)}
        layout = layout.followed_by(_Layout(places, {}, width, len(column) * height - _GAP_Y))
    return layout


_ONE_AT_A_TIME = threading.Lock()
"""A lock, because grandalf counts vertices in class attributes, which all threads share."""


class _View:
    """The size and position of a vertex, with the attribute names that grandalf expects."""

    def __init__(self, width: float) -> None:
        self.w, self.h, self.xy = width, _HEIGHT, (0.0, 0.0)


def _layered(structure: Structure) -> _Layout:
    from grandalf.graphs import Edge, Vertex, graph_core
    from grandalf.layouts import SugiyamaLayout

    vertices = {node: Vertex(node) for node in structure.nodes}
    for node, vertex in vertices.items():
        vertex.view = _View(_width(node))
    edges = {link: Edge(*map(vertices.__getitem__, link)) for link in structure.links}
    with _ONE_AT_A_TIME:
        sugiyama = SugiyamaLayout(graph_core([*vertices.values()], [*edges.values()]))
        sugiyama.xspace, sugiyama.yspace, sugiyama.dw = _GAP_X, _GAP_Y, _STATION
        sugiyama.init_all(optimize=True)
        sugiyama.draw(_SWEEPS)
    for layer in sugiyama.layers:
        # With hundreds of nodes grandalf lets one or two overlap.
        for left, right in pairwise(vertex.view for vertex in layer):
            nearest = left.xy[0] + (left.w + right.w) / 2 + _GAP_X
            right.xy = max(right.xy[0], nearest), right.xy[1]
    views = [vertex.view for layer in sugiyama.layers for vertex in layer]
    start = min(view.xy[0] - view.w / 2 for view in views)
    width, height = (max(v.xy[k] + (v.w, v.h)[k] / 2 for v in views) for k in (0, 1))
    # A link that skips layers has a vertex per layer; any other link has only its ends.
    passed = {link: sorted(sugiyama.ctrls.get(e, {}).items()) for link, e in edges.items()}
    lines = {
        link: [vertex.view.xy for _, vertex in found] or [vertices[node].view.xy for node in link]
        for link, found in passed.items()
    }
    places = {node: vertex.view.xy for node, vertex in vertices.items()}
    return _Layout(places, lines, width, height).moved(-start, 0.0)


def _width(name: str) -> float:
    return max(44.0, 22 + breadth(name))


def _link(link: _Link, line: list[Point], confidence: float | None) -> Group:
    title, width, opacity = " → ".join(link), _PLAIN_WIDTH, 1.0
    if confidence is not None:
        title += f": confidence {100 * confidence:.0f} %"
        width, opacity = (a + (b - a) * confidence for a, b in (_WIDTHS, _OPACITIES))
    return Group([_curve(_points(line), width)], title, f"{opacity:.2f}")


def _percent(line: list[Point], confidence: float | None) -> Shape:
    if confidence is None or confidence >= _CERTAIN:
        return ()
    (x0, y0), (x1, y1) = _points(line)[-2:]
    x, y = (x0 + x1) / 2, (y0 + y1) / 2 + 4
    return Text(x, y, f"{100 * confidence:.0f} %", 11, anchor=MIDDLE, outline=9)


def _points(line: list[Point]) -> list[Point]:
    (x0, y0), *between, (x1, y1) = line
    # The line ends inside the tip: a wide line must not blunt the tip, which touches the node.
    return [(x0, y0 + _HEIGHT / 2), *between, (x1, y1 - _HEIGHT / 2 - 7)]


def _curve(points: list[Point], width: float) -> Line:
    steps = [(x1 - x0) / (y1 - y0) for (x0, y0), (x1, y1) in pairwise(points)]
    # At a bend the slope is the harmonic mean of the slopes on both sides if their signs agree,
    # else vertical, so that the curve does not overshoot its bends.
    inner = [2 * a * b / (a + b) if a * b > 0 else 0.0 for a, b in pairwise(steps)]
    leans = [0.0, *inner, 0.0]
    stretches = []
    for ((x0, y0), (x1, y1)), (lean0, lean1) in zip(pairwise(points), pairwise(leans), strict=True):
        bend = (y1 - y0) * 0.4
        stretches.append(((x0 + lean0 * bend, y0 + bend), (x1 - lean1 * bend, y1 - bend), (x1, y1)))
    return Line(points[0], stretches, width, "#555", tip=True)


def _node(name: str, place: Point, colour: str) -> Group:
    x, y = place
    width = _width(name)
    around = Box(x - width / 2, y - _HEIGHT / 2, width, _HEIGHT, colour, rounding=9)
    return Group([around, Text(x, y + 5, name, 14, "#fff", MIDDLE)])
