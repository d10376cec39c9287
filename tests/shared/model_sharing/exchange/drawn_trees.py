"""Trees drawn by hypothesis."""

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

COLOUR = CategoricalAttribute(
    "colour", ("red", "green", "blue"), Taxonomy((("warm",), ("cold",), ("cold",)))
)
SCHEMA = TreeSchema(
    Variable("class", ("a", "b", "c")),
    (
        COLOUR,
        NumericAttribute("size", -1.5, 10),
        NumericAttribute("age", 0, 120, whole=True),
        CategoricalAttribute("<&> \N{SNOWMAN}", ("x", "y")),
    ),
)


@st.composite
def shared_trees(draw: st.DrawFn, *, told: bool | None = None) -> SharedTree:
    """Trees over `SCHEMA`; `told` says whether leaves have the counts of all classes."""
    box = {name: whole(SCHEMA, name) for name in SCHEMA.names}
    return SharedTree(SCHEMA, draw_node(draw, box, 4, told))


def draw_node(draw: st.DrawFn, box: dict[str, Condition], depth: int, told: bool | None) -> Node:
    able = [name for name, c in box.items() if isinstance(c, Interval) or len(c.codes) > 1]
    if not depth or not able or draw(st.integers(0, 2)) == 0:
        return draw_leaf(draw, told)
    name = draw(st.sampled_from(able))
    parts = draw_parts(draw, box[name])
    if len(parts) < 2:
        return draw_leaf(draw, told)
    return Split(
        name, tuple((p, draw_node(draw, {**box, name: p}, depth - 1, told)) for p in parts)
    )


def draw_parts(draw: st.DrawFn, extent: Condition) -> list[Condition]:
    if isinstance(extent, Values):
        cut = draw(st.integers(1, len(extent.codes) - 1))
        turned = draw(st.permutations(extent.codes))
        return [Values(tuple(sorted(turned[:cut]))), Values(tuple(sorted(turned[cut:])))]
    low, high = max(extent.above, -1e6), min(extent.up_to, 1e6)
    ends = sorted(draw(st.sets(st.floats(low, high), min_size=1, max_size=3)))
    ends = [end for end in ends if extent.above < end < extent.up_to]
    bounds = [extent.above, *ends, extent.up_to]
    return [Interval(a, b) for a, b in pairwise(bounds)]


def draw_leaf(draw: st.DrawFn, told: bool | None) -> Leaf:
    counts = draw(st.tuples(*[st.integers(0, 50) | st.floats(0, 50)] * 3))
    leaf = Leaf.of(tuple(map(float, counts)))
    if told or (told is None and draw(st.booleans())):
        return leaf
    return Leaf(leaf.label, leaf.hit, min(leaf.miss, 2 * leaf.hit))
