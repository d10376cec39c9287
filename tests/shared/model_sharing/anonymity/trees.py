"""Trees for tests of anonymity: a small schema, and any tree over it."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import strategies as st

from pramana_core.domain import Variable
from pramana_core.model_sharing.core.attributes import (
    CategoricalAttribute,
    NumericAttribute,
    Taxonomy,
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

CITIES = ("Lyon", "Nice", "Rome", "Pisa", "Bonn")
COUNTRIES = Taxonomy(
    (
        ("France", "south"),
        ("France", "south"),
        ("Italy", "south"),
        ("Italy", "south"),
        ("Germany", "north"),
    )
)
SCHEMA = TreeSchema(
    Variable("ill", ("no", "mild", "severe")),
    (
        CategoricalAttribute("city", CITIES, COUNTRIES),
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


@st.composite
def nodes(draw: st.DrawFn, depth: int = 4) -> Node:
    """Draw a node that everything reaches."""
    return _drawn(draw, {name: whole(SCHEMA, name) for name in SCHEMA.names}, depth)


def _drawn(draw: st.DrawFn, box: dict[str, Condition], depth: int) -> Node:
    # The narrower, the likelier a leaf: hypothesis draws small trees often enough by itself.
    name = draw(st.sampled_from(["", *SCHEMA.names])) if depth else ""
    parts = _parts(draw, box[name]) if name else []
    if len(parts) < 2:
        counts = st.integers(0, 12) | st.sampled_from([0, 40])
        return Leaf.of(tuple(map(float, draw(st.tuples(counts, counts, counts)))))
    return Split(name, tuple((c, _drawn(draw, {**box, name: c}, depth - 1)) for c in parts))


def _parts(draw: st.DrawFn, extent: Condition) -> list[Condition]:
    if isinstance(extent, Interval):
        ages = draw(st.lists(st.integers(1, 99), max_size=3, unique=True))
        inside = sorted(float(a) for a in ages if extent.above < a < extent.up_to)
        ends = [extent.above, *inside, extent.up_to]
        return [Interval(a, b) for a, b in pairwise(ends)]
    groups: dict[int, list[int]] = {}
    for code in extent.codes:
        groups.setdefault(draw(st.integers(0, len(extent.codes) - 1)), []).append(code)
    return [Values(tuple(codes)) for codes in groups.values()]


def trees(depth: int = 4) -> st.SearchStrategy[SharedTree]:
    """Return any trees over the small schema whose root splits."""
    return nodes(depth).filter(lambda node: isinstance(node, Split)).map(tree)
