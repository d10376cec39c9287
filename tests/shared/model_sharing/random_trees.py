"""Random schemas, tables and trees, made without the code that grows or reads them.

Some intervals lie beyond the declared range, or are too narrow to be cut.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from pramana_core.domain import Variable
from pramana_core.mixed import CategoricalColumn, Column, Floats, MixedTable, NumericColumn
from pramana_core.model_sharing.attributes import (
    Attribute,
    CategoricalAttribute,
    NumericAttribute,
    TreeSchema,
)
from pramana_core.model_sharing.conditions import Condition, Interval, Values, whole
from pramana_core.model_sharing.tree import Leaf, Node, SharedTree, Split

Counts = Callable[[np.random.Generator, int], Floats]
"""Draws the counts of so many classes of a leaf."""


def labels(number: int) -> tuple[str, ...]:
    return tuple(f"c{place}" for place in range(number))


def random_schema(
    rng: np.random.Generator, classes: int | None = None, *, wild: bool = False
) -> TreeSchema:
    """Return a schema; ranges are -4 to 4, or of very different sizes if it is `wild`."""
    attributes: list[Attribute] = []
    for place in range(int(rng.integers(1, 5))):
        if rng.random() < 0.5:
            attributes.append(CategoricalAttribute(f"a{place}", labels(int(rng.integers(1, 7)))))
            continue
        low, width = -4.0, 8.0
        if wild:
            low = float(rng.choice([-1e9, -3, 0, 0.1, 1e-300, 5]))
            width = float(rng.choice([1, 2.5, 40, 1e6]))
        is_whole = bool(rng.random() < 0.5)
        attributes.append(NumericAttribute(f"a{place}", low, low + width, is_whole))
    target = Variable("class", labels(classes or int(rng.integers(2, 5))))
    return TreeSchema(target, tuple(attributes))


def random_table(rng: np.random.Generator, schema: TreeSchema, records: int) -> MixedTable:
    columns: list[Column] = []
    for a in schema.attributes:
        if isinstance(a, CategoricalAttribute):
            codes = rng.integers(0, len(a.categories), records)
            columns.append(CategoricalColumn(a.name, codes, a.categories))
        else:
            values = rng.uniform(-5, 5, records)
            columns.append(NumericColumn(a.name, np.round(values) if a.whole else values))
    return MixedTable(tuple(columns), records)


def whole_counts(rng: np.random.Generator, classes: int) -> Floats:
    return rng.integers(0, 9, classes).astype(float)


def fractions(rng: np.random.Generator, classes: int) -> Floats:
    return whole_counts(rng, classes) + rng.random(classes)


def random_tree(
    rng: np.random.Generator,
    schema: TreeSchema,
    depth: int = 4,
    counts: Counts = whole_counts,
    told: float = 1.0,
) -> SharedTree:
    """Return a tree; `told` is the chance that a leaf has the counts of all classes."""

    def node(box: dict[str, Condition], depth: int) -> Node:
        name = str(rng.choice(schema.names))
        parts = _parts(rng, schema[name], box[name]) if depth and rng.random() < 0.85 else []
        if len(parts) < 2:
            leaf = Leaf.of(counts(rng, schema.classes))
            return leaf if rng.random() < told else Leaf(leaf.label, leaf.hit, leaf.miss)
        return Split(name, tuple((part, node({**box, name: part}, depth - 1)) for part in parts))

    return SharedTree(schema, node({name: whole(schema, name) for name in schema.names}, depth))


def _parts(rng: np.random.Generator, attribute: Attribute, extent: Condition) -> list[Condition]:
    if isinstance(extent, Values):
        sides, codes = rng.integers(0, 3, len(extent.codes)), np.array(extent.codes)
        return [Values(tuple(codes[sides == s].tolist())) for s in range(3) if np.any(sides == s)]
    assert isinstance(attribute, NumericAttribute)
    low, high = attribute.low, attribute.high
    near = [rng.uniform(low, high), low, high, low - 1.5, high + 1.5, math.floor(high)]
    cut = float(rng.choice(near))
    ends = [cut, math.nextafter(cut, math.inf)] if rng.random() < 0.2 else [cut]
    inside = [end for end in ends if extent.above < end < extent.up_to]
    return [Interval(one, two) for one, two in pairwise([extent.above, *inside, extent.up_to])]


@st.composite
def trees(
    draw: st.DrawFn,
    schema: TreeSchema | None = None,
    counts: Counts = whole_counts,
    told: float = 0.5,
    depth: int = 4,
) -> SharedTree:
    """Draw trees over a schema, or over any."""
    rng = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    known = schema or random_schema(rng, wild=True)
    return random_tree(rng, known, draw(st.integers(0, depth)), counts, told)
