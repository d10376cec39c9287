"""Pictures of shared trees.

A tree is drawn from left to right, in the layout of `pramana_core.pictures.trees`. A leaf shows a
bar of its classes, in which misses of unknown class are grey.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pramana_core.mixed import Floats
from pramana_core.model_sharing.exchange.text import number, part_words, records_words
from pramana_core.model_sharing.tree import Leaf, Node, SharedTree, Split, leaves_below
from pramana_core.pictures.svg import Layout, colour, short
from pramana_core.pictures.trees import UNKNOWN, Item, TreePicture, fitting_depth

MOST_DRAWN = 60
"""The maximum number of rows of a picture; of larger trees, only the top is drawn."""


def draw_shared_tree(tree: SharedTree) -> Layout:
    """Return a picture of a tree, cut to the depth that `MOST_DRAWN` rows allow."""
    depth = fitting_depth(tree.root, _below, tree.depth, MOST_DRAWN)
    cut = depth + 1 < tree.depth
    foot = f"Splits below level {depth + 1} are omitted." if cut else ""
    target = tree.schema.target.name, tree.schema.target.categories
    drawn = TreePicture(_item(tree, tree.root, depth), target, foot=foot)
    name = f"Decision tree for {tree.schema.target.name}"
    return Layout(drawn.width, drawn.height, name, [*drawn.parts()])


def _below(node: Node) -> list[Node]:
    return [] if isinstance(node, Leaf) else [below for _, below in node.parts[:MOST_DRAWN]]


def _item(tree: SharedTree, node: Node, depth: int) -> Item:
    leaves = list(leaves_below(node))
    counts, unknown = _counts(tree, leaves)
    records = counts.sum() + unknown
    total, details = records_words(records), _details(tree, counts, unknown)
    if isinstance(node, Split) and depth >= 0:
        attribute = tree.schema[node.attribute]
        shown = len(node.parts) if len(node.parts) <= MOST_DRAWN else MOST_DRAWN - 1
        answers = [
            (part_words(attribute, part), _share(tree, [below]), _item(tree, below, depth - 1))
            for part, below in node.parts[:shown]
        ]
        if rest := [below for _, below in node.parts[shown:]]:
            answers.append(("others", _share(tree, rest), _others(tree, rest)))
        return Item(node.attribute, (total,), details, answers=answers)
    label = node.label if isinstance(node, Leaf) else int(np.argmax(counts))
    share = f" {100 * counts[label] / records:.0f} %" if records else ""
    note = f"{number(float(counts[label]))} of {total}"
    if isinstance(node, Split):
        note = f"{len(leaves):,} paths omitted, {total}"
    bars = [*((count, colour(code)) for code, count in enumerate(counts)), (unknown, UNKNOWN)]
    return Item(
        f"{short(tree.schema.target.categories[label], 26)}{share}",
        (note,),
        details,
        [(float(count / records), fill) for count, fill in bars if count],
        colour(label),
    )


def _others(tree: SharedTree, nodes: Sequence[Node]) -> Item:
    leaves = [leaf for node in nodes for leaf in leaves_below(node)]
    counts, unknown = _counts(tree, leaves)
    records = records_words(counts.sum() + unknown)
    words = f"{len(nodes):,} more parts with {len(leaves):,} paths and {records} omitted"
    return Item(words, details=_details(tree, counts, unknown))


def _share(tree: SharedTree, nodes: Sequence[Node]) -> float:
    below = sum(leaf.records for node in nodes for leaf in leaves_below(node))
    return below / tree.records if tree.records else 0.0


def _counts(tree: SharedTree, leaves: Sequence[Leaf]) -> tuple[Floats, float]:
    counts, unknown = np.zeros(tree.schema.classes), 0.0
    for leaf in leaves:
        if leaf.distribution is None:
            counts[leaf.label] += leaf.hit
            unknown += leaf.miss
        else:
            counts += leaf.distribution
    return counts, unknown


def _details(tree: SharedTree, counts: Floats, unknown: float) -> str:
    labels = zip(tree.schema.target.categories, counts, strict=True)
    lines = [f"{label}: {number(float(count))}" for label, count in labels if count]
    if unknown:
        lines.append(f"other classes: {number(unknown)}")
    return "\n".join(lines) or "no records"
