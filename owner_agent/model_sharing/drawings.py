"""The tree with nothing required and the one that would leave, for her eyes."""

from __future__ import annotations

from dataclasses import dataclass

from owner_agent.model_sharing.growing import Made
from shared.model_sharing.core.attributes import CategoricalAttribute, TreeSchema
from shared.model_sharing.core.conditions import Condition, Interval
from shared.model_sharing.core.tree import Leaf, Node, SharedTree

MOST_LINES = 400


@dataclass(frozen=True)
class Drawing:
    """A tree as a picture or as text."""

    title: str
    svg: str | None = None
    text: str | None = None


def drawings_of(made: Made) -> tuple[Drawing, ...]:
    """Return the tree with nothing required, if anything is, and the one that would leave."""
    found = [Drawing("The tree that would leave", text=tree_text(made.tree, MOST_LINES))]
    if made.chosen.section.required is not None and made.grown is not None:
        found.insert(0, Drawing("With nothing required", text=tree_text(made.grown, MOST_LINES)))
    return tuple(found)


def tree_text(tree: SharedTree, most: int) -> str:
    """Return a tree as indented lines, at most so many."""
    lines = list[str]()
    _write(tree.schema, tree.root, 0, lines)
    left = len(lines) - most
    return "\n".join(lines[:most] + ([f"... and {left:,} more lines"] if left > 0 else []))


def _write(schema: TreeSchema, node: Node, depth: int, lines: list[str]) -> None:
    if isinstance(node, Leaf):
        lines[-1:] = [(lines[-1] if lines else "all") + _leaf(schema, node)]
        return
    for condition, below in node.parts:
        lines.append("  " * depth + _condition(schema, node.attribute, condition))
        _write(schema, below, depth + 1, lines)


def _leaf(schema: TreeSchema, leaf: Leaf) -> str:
    return f": {schema.target.categories[leaf.label]} ({leaf.hit:g} right, {leaf.miss:g} not)"


def _condition(schema: TreeSchema, name: str, condition: Condition) -> str:
    attribute = schema[name]
    if isinstance(condition, Interval):
        above = "" if condition.above == float("-inf") else f"{condition.above:g} < "
        up_to = "" if condition.up_to == float("inf") else f" <= {condition.up_to:g}"
        return f"{above}{name}{up_to}"
    labels = attribute.categories if isinstance(attribute, CategoricalAttribute) else ()
    return f"{name}: {', '.join(labels[code] for code in condition.codes)}"
