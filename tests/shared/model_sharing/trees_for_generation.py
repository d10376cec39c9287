"""Random trees with intervals beyond the declared range, and too narrow to be cut."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from pramana_core.domain import Variable
from pramana_core.model_sharing.core.attributes import (
    Attribute,
    CategoricalAttribute,
    NumericAttribute,
    TreeSchema,
)
from pramana_core.model_sharing.core.tree import (
    Condition,
    Interval,
    Leaf,
    Node,
    SharedTree,
    Split,
    Values,
    whole,
)


def random_schema(rng: np.random.Generator) -> TreeSchema:
    attributes: list[Attribute] = []
    for place in range(rng.integers(1, 5)):
        name = f"a{place}"
        if rng.random() < 0.5:
            labels = tuple("pqrst"[: rng.integers(1, 6)])
            attributes.append(CategoricalAttribute(name, labels))
        else:
            low = float(rng.choice([-1e9, -3, 0, 0.1, 1e-300, 5]))
            high = low + float(rng.choice([1, 2.5, 40, 1e6]))
            attributes.append(NumericAttribute(name, low, high, bool(rng.random() < 0.5)))
    classes = tuple("xyz"[: rng.integers(2, 4)])
    return TreeSchema(Variable("class", classes), tuple(attributes))


def random_tree(
    schema: TreeSchema, rng: np.random.Generator, depth: int = 4, fractions: bool = False
) -> SharedTree:
    """Return a tree; some intervals are very narrow, or beyond the declared range."""
    box = {name: whole(schema, name) for name in schema.names}
    return SharedTree(schema, _node(schema, box, rng, depth, fractions))


def _node(
    schema: TreeSchema,
    box: dict[str, Condition],
    rng: np.random.Generator,
    depth: int,
    fractions: bool,
) -> Node:
    name = str(rng.choice(list(schema.names)))
    parts = _cut(schema, name, box[name], rng) if depth and rng.random() < 0.85 else []
    if len(parts) < 2:
        return _leaf(schema.classes, rng, fractions)
    return Split(
        name,
        tuple((c, _node(schema, {**box, name: c}, rng, depth - 1, fractions)) for c in parts),
    )


def _cut(
    schema: TreeSchema, name: str, extent: Condition, rng: np.random.Generator
) -> list[Condition]:
    if isinstance(extent, Values):
        groups: dict[int, list[int]] = {}
        for code in extent.codes:
            groups.setdefault(int(rng.integers(0, 3)), []).append(code)
        return [Values(tuple(codes)) for codes in groups.values()]
    attribute = schema[name]
    assert isinstance(attribute, NumericAttribute)
    low, high = attribute.low, attribute.high
    cut = float(
        rng.choice([rng.uniform(low, high), low, high, low - 1.5, high + 1.5, math.floor(high)])
    )
    ends = [cut, math.nextafter(cut, math.inf)] if rng.random() < 0.2 else [cut]
    inside = [end for end in ends if extent.above < end < extent.up_to]
    edges = [extent.above, *inside, extent.up_to]
    return [Interval(one, two) for one, two in pairwise(edges)]


def _leaf(classes: int, rng: np.random.Generator, fractions: bool) -> Leaf:
    counts = rng.integers(0, 9, classes).astype(float)
    if fractions:
        counts += rng.random(classes)
    leaf = Leaf.of(counts)
    return leaf if rng.random() < 0.5 else Leaf(leaf.label, leaf.hit, leaf.miss)


@st.composite
def trees(draw: st.DrawFn, fractions: bool = False) -> SharedTree:
    rng = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    return random_tree(random_schema(rng), rng, draw(st.integers(0, 4)), fractions)
