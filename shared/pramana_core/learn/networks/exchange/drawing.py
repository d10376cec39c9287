"""Pictures of network structures as self-contained SVG, drawn in layers from parents to children.

The layout is Sugiyama's: layers by longest path, crossings reduced by barycentres, links that skip
layers led through invisible stations. Parts that no link joins stand side by side, and nodes
without any link in columns after them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from pramana_core.learn.networks.structure import Structure
from pramana_core.pictures.svg import (
    MIDDLE,
    PALETTE,
    box,
    breadth,
    document,
    key,
    outlined,
    text,
    titled,
)

_GAP_X, _GAP_Y, _HEIGHT, _MARGIN = 34.0, 64.0, 34.0, 16.0
_SWEEPS = 12
_PLAIN_WIDTH, _WIDTHS, _OPACITIES = 1.4, (0.8, 2.8), (0.4, 1.0)
_CERTAIN = 0.995
"""From here on a confidence rounds to 100 % and is not written beside its link."""

_ARROW = (
    '<defs><marker id="tip" viewBox="0 0 10 10" refX="4" refY="5" markerWidth="10"'
    ' markerHeight="10" markerUnits="userSpaceOnUse" orient="auto">'
    '<path d="M0,0 L10,5 L0,10 z" fill="#555"/></marker></defs>'
)

_Station = tuple[str, int]
"""A node (its name, 0) or the k-th invisible station of a link (its name, k)."""

_Places = dict[_Station, tuple[float, float]]
"""The centres of stations."""


@dataclass(frozen=True)
class _Layout:
    """Where the stations of a structure or a part of it are, from (0, 0) to (width, height)."""

    places: _Places
    chains: list[list[_Station]]
    width: float
    height: float

    def beside(self, right: _Layout) -> _Layout:
        """Return both, one to the right of the other."""
        start = self.width + (_GAP_X if self.places and right.places else 0.0)
        moved = {station: (x + start, y) for station, (x, y) in right.places.items()}
        return _Layout(
            self.places | moved,
            self.chains + right.chains,
            start + right.width,
            max(self.height, right.height),
        )


def draw_structure(
    structure: Structure,
    groups: Mapping[str, str] | None = None,
    confidence: Mapping[tuple[str, str], float | None] | None = None,
    title: str = "Bayesian network structure",
) -> str:
    """Return an SVG picture of a structure.

    Args:
        structure: the nodes and links.
        groups: a group per node (its owner, say); nodes of one group share a colour and the
            groups are named in a legend.
        confidence: the probability of each link, by (parent, child). The lower, the thinner and
            paler its line; below 100 % the number stands beside it. A link without one is drawn
            plainly.
        title: what the picture shows, for those who cannot see it.
    """
    known = confidence or {}
    layout = _laid_out(structure)
    chains = layout.chains
    places = {s: (x + _MARGIN, y + _MARGIN) for s, (x, y) in layout.places.items()}
    width, height = layout.width + 2 * _MARGIN, layout.height + 2 * _MARGIN
    groups = groups or {}
    colours = _colours(groups)
    legend, end = key(_MARGIN, height + 2, colours.items())
    if groups:
        height += 30
        width = max(width, end + _MARGIN)
    plain = PALETTE[-1] if groups else PALETTE[0]
    parts = [
        _ARROW,
        *(_link(chain, places, known.get(_ends(chain))) for chain in chains),
        *(
            _node(node, places[node, 0], colours.get(groups.get(node, ""), plain))
            for node in structure.nodes
        ),
        *(_percent(chain, places, known.get(_ends(chain))) for chain in chains),
        legend,
    ]
    return document(width, height, title, filter(None, parts))


def _laid_out(structure: Structure) -> _Layout:
    parts = _parts(structure)
    layout = _Layout({}, [], 0.0, 0.0)
    for part in (part for part in parts if len(part) > 1):
        layout = layout.beside(
            _layered(Structure.of({node: structure.parents[node] for node in part}))
        )
    return layout.beside(_columns([part[0] for part in parts if len(part) == 1], layout.height))


def _parts(structure: Structure) -> list[list[str]]:
    """Return the nodes, apart where no links join them, in the order of the structure."""
    part = {node: {node} for node in structure.nodes}
    for parent, child in structure.links:
        if part[parent] is not part[child]:
            part[parent] |= part[child]
            for node in part[child]:
                part[node] = part[parent]
    firsts = {id(nodes): nodes for nodes in part.values()}
    return [[node for node in structure.nodes if node in nodes] for nodes in firsts.values()]


def _columns(nodes: list[str], height: float) -> _Layout:
    """Place nodes below each other, as many as fit the height, then in a further column."""
    fitting = round((height + _GAP_Y) / (_HEIGHT + _GAP_Y))
    rows = max(fitting, math.ceil(math.sqrt(len(nodes))))
    layout = _Layout({}, [], 0.0, 0.0)
    for column in (nodes[start : start + rows] for start in range(0, len(nodes), rows or 1)):
        width = max(_width((node, 0)) for node in column)
        places = {(node, 0): (width / 2, _level(k)) for k, node in enumerate(column)}
        layout = layout.beside(_Layout(places, [], width, _level(len(column) - 1) + _HEIGHT / 2))
    return layout


def _layered(structure: Structure) -> _Layout:
    layers, chains = _layers(structure)
    _reduce_crossings(layers, chains)
    places, width = _coordinates(layers, chains)
    return _Layout(places, chains, width, _level(len(layers) - 1) + _HEIGHT / 2)


def _level(number: int) -> float:
    """Return the height of a layer's middle."""
    return number * (_HEIGHT + _GAP_Y) + _HEIGHT / 2


def _layers(structure: Structure) -> tuple[list[list[_Station]], list[list[_Station]]]:
    depth: dict[str, int] = {}
    for node in structure.order:
        depth[node] = 1 + max((depth[p] for p in structure.parents[node]), default=-1)
    for node in structure.order:
        children = [child for parent, child in structure.links if parent == node]
        if children and not structure.parents[node]:
            depth[node] = min(depth[child] for child in children) - 1
    layers: list[list[_Station]] = [[] for _ in range(max(depth.values()) + 1)]
    for node in structure.order:
        layers[depth[node]].append((node, 0))
    chains = []
    for parent, child in structure.links:
        chain: list[_Station] = [(parent, 0)]
        for level in range(depth[parent] + 1, depth[child]):
            station = (f"{parent}\0{child}", level)
            layers[level].append(station)
            chain.append(station)
        chains.append([*chain, (child, 0)])
    return layers, chains


def _neighbours(chains: list[list[_Station]], *, up: bool) -> dict[_Station, list[_Station]]:
    found: dict[_Station, list[_Station]] = {}
    for chain in chains:
        for above, below in pairwise(chain):
            key, value = (below, above) if up else (above, below)
            found.setdefault(key, []).append(value)
    return found


def _reduce_crossings(layers: list[list[_Station]], chains: list[list[_Station]]) -> None:
    above, below = _neighbours(chains, up=True), _neighbours(chains, up=False)
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        fixed = above if down else below
        for index in range(1, len(layers)) if down else range(len(layers) - 2, -1, -1):
            rank = {s: i for i, s in enumerate(layers[index - 1 if down else index + 1])}
            here = {s: i for i, s in enumerate(layers[index])}

            def centre(
                station: _Station,
                rank: dict[_Station, int] = rank,
                here: dict[_Station, int] = here,
            ) -> float:
                seen = [rank[n] for n in fixed.get(station, []) if n in rank]  # noqa: B023
                return sum(seen) / len(seen) if seen else float(here[station])

            layers[index].sort(key=centre)


def _coordinates(
    layers: list[list[_Station]], chains: list[list[_Station]]
) -> tuple[_Places, float]:
    """Place stations near the mean of their neighbours, keeping their order and distances."""
    neighbours = _neighbours(chains, up=True)
    for station, others in _neighbours(chains, up=False).items():
        neighbours.setdefault(station, []).extend(others)
    x: dict[_Station, float] = {}
    for layer in layers:
        at = 0.0
        for station in layer:
            x[station] = at + _width(station) / 2
            at += _width(station) + _GAP_X
    for _ in range(40):
        for layer in layers:
            wanted = {
                s: sum(x[n] for n in neighbours.get(s, [s])) / len(neighbours.get(s, [s]))
                for s in layer
            }
            # Pushed apart to the right and to the left alike, so that nothing drifts.
            rightward, leftward = _spread(layer, wanted, 1), _spread(layer[::-1], wanted, -1)
            wanted = {s: (rightward[s] + leftward[s]) / 2 for s in layer}
            x.update(wanted)
    left = min(x[s] - _width(s) / 2 for layer in layers for s in layer)
    right = max(x[s] + _width(s) / 2 for layer in layers for s in layer)
    places = {
        station: (x[station] - left, _level(level))
        for level, layer in enumerate(layers)
        for station in layer
    }
    return places, right - left


def _spread(
    order: list[_Station], wanted: Mapping[_Station, float], direction: int
) -> dict[_Station, float]:
    placed: dict[_Station, float] = {}
    edge = None
    for station in order:
        half = _width(station) / 2
        at = wanted[station]
        if edge is not None:
            nearest = edge + direction * (half + _GAP_X)
            at = max(at, nearest) if direction == 1 else min(at, nearest)
        placed[station] = at
        edge = at + direction * half
    return placed


def _width(station: _Station) -> float:
    name, level = station
    return 10.0 if level else max(44.0, 22 + breadth(name))


def _ends(chain: list[_Station]) -> tuple[str, str]:
    return chain[0][0], chain[-1][0]


def _link(
    chain: list[_Station],
    places: _Places,
    confidence: float | None,
) -> str:
    parent, child = _ends(chain)
    title, width, opacity = f"{parent} → {child}", _PLAIN_WIDTH, 1.0
    if confidence is not None:
        title += f": confidence {_shown(confidence)}"
        width = _between(_WIDTHS, confidence)
        opacity = _between(_OPACITIES, confidence)
    path = (
        f'<path d="{_path(_points(chain, places))}" fill="none" stroke="#555"'
        f' stroke-width="{width:.2f}" marker-end="url(#tip)"/>'
    )
    return titled(title, path, more=f'opacity="{opacity:.2f}"')


def _percent(
    chain: list[_Station],
    places: _Places,
    confidence: float | None,
) -> str:
    """Write a link's confidence in the middle of its last stretch, where it is alone."""
    if confidence is None or confidence >= _CERTAIN:
        return ""
    (x0, y0), (x1, y1) = _points(chain, places)[-2:]
    x, y = (x0 + x1) / 2, (y0 + y1) / 2 + 4
    return text(x, y, _shown(confidence), 11, more=f"{MIDDLE} {outlined(5)}")


def _shown(confidence: float) -> str:
    return f"{100 * confidence:.0f} %"


def _between(ends: tuple[float, float], share: float) -> float:
    return ends[0] + (ends[1] - ends[0]) * share


def _points(chain: list[_Station], places: _Places) -> list[tuple[float, float]]:
    points = [places[s] for s in chain]
    points[0] = (points[0][0], points[0][1] + _HEIGHT / 2)
    # The line ends inside the tip, which reaches the node: a wide line must not blunt it.
    points[-1] = (points[-1][0], points[-1][1] - _HEIGHT / 2 - 7)
    return points


def _path(points: list[tuple[float, float]]) -> str:
    """Return a curve through the points, vertical at both ends."""
    steps = [(x1 - x0) / (y1 - y0) for (x0, y0), (x1, y1) in pairwise(points)]
    # Between two stretches that lean the same way the curve leans as both do, and nowhere more
    # than either: it stays between its stations.
    inner = [2 * a * b / (a + b) if a * b > 0 else 0.0 for a, b in pairwise(steps)]
    leans = [0.0, *inner, 0.0]
    path = [f"M{points[0][0]:.1f},{points[0][1]:.1f}"]
    for ((x0, y0), (x1, y1)), (lean0, lean1) in zip(pairwise(points), pairwise(leans), strict=True):
        bend = (y1 - y0) * 0.4
        path.append(
            f"C{x0 + lean0 * bend:.1f},{y0 + bend:.1f}"
            f" {x1 - lean1 * bend:.1f},{y1 - bend:.1f} {x1:.1f},{y1:.1f}"
        )
    return " ".join(path)


def _node(name: str, place: tuple[float, float], colour: str) -> str:
    x, y = place
    width = _width((name, 0))
    around = box(x - width / 2, y - _HEIGHT / 2, width, _HEIGHT, colour, 'rx="9"')
    return f"<g>{around}{text(x, y + 5, name, 14, '#fff', MIDDLE)}</g>"


def _colours(groups: Mapping[str, str]) -> dict[str, str]:
    """Return the colour of each group."""
    names = dict.fromkeys(groups.values())
    return {name: PALETTE[k % len(PALETTE)] for k, name in enumerate(names)}
