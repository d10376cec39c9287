"""Trees for tests of anonymity: a small schema, and any tree over it."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from pramana_core.domain import Variable
from pramana_core.mixed import Floats
from pramana_core.model_sharing.attributes import CategoricalAttribute, NumericAttribute, TreeSchema
from pramana_core.model_sharing.conditions import Condition, Interval, Values
from pramana_core.model_sharing.tree import Leaf, Node, SharedTree, Split
from tests.shared.model_sharing import random_trees

CITIES = ("Lyon", "Nice", "Rome", "Pisa", "Bonn")
SCHEMA = TreeSchema(
    Variable("ill", ("no", "mild", "severe")),
    (
        CategoricalAttribute("city", CITIES),
        CategoricalAttribute("work", ("desk", "field", "none", "other")),
        NumericAttribute("age", 0, 100, whole=True),
    ),
)


def values(*codes: int) -> Values:
    """Return the condition that one of some categories holds."""
    return Values(codes)


def split(attribute: str, *parts: tuple[Condition, Node]) -> Split:
    """Return a split."""
    return Split(attribute, parts)


def leaf(*counts: float) -> Leaf:
    """Return a leaf with these counts of the classes."""
    return Leaf.of(counts)


def tree(root: Node) -> SharedTree:
    """Return a tree over the small schema."""
    return SharedTree(SCHEMA, root)


def by_city(*leaves: Node) -> SharedTree:
    """Return the tree that asks for the city, with a part for each."""
    return tree(Split("city", tuple((Values((n,)), one) for n, one in enumerate(leaves))))


def by_age(*leaves: Node) -> SharedTree:
    """Return the tree that asks for the age, in steps of ten."""
    ends = [-float("inf"), *(10.0 * n for n in range(1, len(leaves))), float("inf")]
    parts = zip(ends[:-1], ends[1:], leaves, strict=True)
    return tree(Split("age", tuple((Interval(a, b), one) for a, b, one in parts)))


def _counts(rng: np.random.Generator, classes: int) -> Floats:
    return rng.choice([*range(13), 0, 40], classes).astype(float)


def trees(depth: int = 4) -> st.SearchStrategy[SharedTree]:
    """Return any trees over the small schema whose root splits."""
    found = random_trees.trees(SCHEMA, _counts, 1.0, depth)
    return found.filter(lambda one: isinstance(one.root, Split))
