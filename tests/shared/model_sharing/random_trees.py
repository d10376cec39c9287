"""Random schemas, tables and trees, made without the code that grows or reads them."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from pramana_core.domain import Variable
from pramana_core.mixed.table import CategoricalColumn, Column, MixedTable, NumericColumn
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
)


def labels(number: int) -> tuple[str, ...]:
    return tuple(f"c{place}" for place in range(number))


def random_schema(rng: np.random.Generator, classes: int | None = None) -> TreeSchema:
    attributes: list[Attribute] = []
    for place in range(int(rng.integers(1, 5))):
        if rng.random() < 0.5:
            attributes.append(CategoricalAttribute(f"a{place}", labels(int(rng.integers(1, 7)))))
        else:
            attributes.append(NumericAttribute(f"a{place}", -4, 4, bool(rng.random() < 0.5)))
    return TreeSchema(Variable("t", labels(classes or int(rng.integers(2, 5)))), tuple(attributes))


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


def random_tree(rng: np.random.Generator, schema: TreeSchema, depth: int = 4) -> SharedTree:
    box: dict[str, Condition] = {
        a.name: Values(tuple(range(len(a.categories))))
        if isinstance(a, CategoricalAttribute)
        else Interval()
        for a in schema.attributes
    }
    return SharedTree(schema, _node(rng, schema, box, depth))


def _node(rng: np.random.Generator, schema: TreeSchema, box: dict[str, Condition], depth: int):
    name = str(rng.choice(schema.names))
    parts = _parts(rng, box[name])
    if depth == 0 or len(parts) < 2 or rng.random() < 0.2:
        return Leaf.of(rng.integers(0, 9, schema.classes).astype(float))
    below: list[tuple[Condition, Node]] = [
        (part, _node(rng, schema, {**box, name: part}, depth - 1)) for part in parts
    ]
    return Split(name, tuple(below))


def _parts(rng: np.random.Generator, extent: Condition) -> list[Condition]:
    if isinstance(extent, Values):
        sides = rng.integers(0, 3, len(extent.codes))
        codes = np.array(extent.codes)
        return [Values(tuple(codes[sides == s].tolist())) for s in range(3) if np.any(sides == s)]
    low, high = max(extent.above, -6.0), min(extent.up_to, 6.0)
    cuts = sorted({float(c) for c in rng.uniform(low, high, int(rng.integers(1, 3)))})
    bounds = [extent.above, *(c for c in cuts if low < c < high), extent.up_to]
    assert all(math.isinf(b) or -6 <= b <= 6 for b in bounds)
    return [Interval(a, b) for a, b in pairwise(bounds)]
