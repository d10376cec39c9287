"""Pictures of shared trees, and of global models that are made of them.

A tree is drawn from left to right in the layout of all trees (`pramana_core.pictures.trees`). A
leaf has a bar of its classes; misses whose class is not told are grey.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pramana_core.errors import ModelError
from pramana_core.mixed import Floats
from pramana_core.model_sharing.exchange.text import number, part_words, records_words
from pramana_core.model_sharing.global_models.model import GlobalModel
from pramana_core.model_sharing.global_models.votes import VotesModel
from pramana_core.model_sharing.tree import Leaf, Node, SharedTree, Split, leaves_below
from pramana_core.pictures.svg import Group, Layout, Shape, Text, colour, short
from pramana_core.pictures.trees import UNKNOWN, Item, TreePicture, fitting_depth

MOST_DRAWN = 60
"""The most rows of a picture; deeper trees are cut."""

_VOTERS = 8
"""The most trees of votes that are drawn."""


def draw_shared_tree(tree: SharedTree) -> Layout:
    """Return a picture of a tree, as deep as `MOST_DRAWN` rows allow."""
    drawn = _picture(tree)
    name = f"Decision tree for {tree.schema.target.name}"
    return Layout(drawn.width, drawn.height, name, [*drawn.parts()])


def draw_model(model: GlobalModel) -> Layout:
    """Return a picture of a global model of one tree, or of several below one another.

    Raises:
        ModelError: models of its kind have no picture, but a text.
    """
    if isinstance(model, SharedTree):
        return draw_shared_tree(model)
    if not isinstance(model, VotesModel):
        raise ModelError(
            f"A model of kind {model.kind!r} has no picture.",
            where="kind",
            remedy="Read its text (`write_model_text`).",
        )
    parts: list[Shape] = []
    top, width, trees = 0.0, 0.0, len(model.trees)
    for place, tree in enumerate(model.trees[:_VOTERS], 1):
        paths = f"{len(tree.leaves):,} path{'' if len(tree.leaves) == 1 else 's'}"
        one = _picture(tree, f"Tree {place} of {trees}: {paths}, {records_words(tree.records)}")
        parts.append(Group([*one.parts()], place=(0, top), apart=True))
        top, width = top + one.height, max(width, one.width)
    if trees > _VOTERS:
        parts.append(Text(18, top, f"{trees - _VOTERS} more trees are not drawn.", 12, "#555"))
        top += 18
    return Layout(width, top, f"The votes of {trees} trees", parts)


def _picture(tree: SharedTree, title: str = "") -> TreePicture:
    depth = fitting_depth(tree.root, _below, tree.depth, MOST_DRAWN)
    cut = depth + 1 < tree.depth
    foot = f"Splits below {depth + 1} others are left out, as the rows say." if cut else ""
    target = tree.schema.target.name, tree.schema.target.categories
    return TreePicture(_item(tree, tree.root, depth), target, title=title, foot=foot)


def _below(node: Node) -> list[Node]:
    return [] if isinstance(node, Leaf) else [below for _, below in node.parts[:MOST_DRAWN]]


def _item(tree: SharedTree, node: Node, depth: int) -> Item:
    """Return a node as it is drawn, with the splits down to a depth."""
    leaves = list(leaves_below(node))
    counts, untold = _counts(tree, leaves)
    records = counts.sum() + untold
    said, details = records_words(records), _details(tree, counts, untold)
    if isinstance(node, Split) and depth >= 0:
        attribute = tree.schema[node.attribute]
        shown = len(node.parts) if len(node.parts) <= MOST_DRAWN else MOST_DRAWN - 1
        answers = [
            (part_words(attribute, part), _share(tree, [below]), _item(tree, below, depth - 1))
            for part, below in node.parts[:shown]
        ]
        if rest := [below for _, below in node.parts[shown:]]:
            answers.append(("others", _share(tree, rest), _others(tree, rest)))
        return Item(node.attribute, (said,), details, answers=answers)
    label = node.label if isinstance(node, Leaf) else int(np.argmax(counts))
    share = f" {100 * counts[label] / records:.0f} %" if records else ""
    note = f"{number(float(counts[label]))} of {said}"
    if isinstance(node, Split):
        note = f"{len(leaves):,} paths left out, {said}"
    bars = [*((count, colour(code)) for code, count in enumerate(counts)), (untold, UNKNOWN)]
    return Item(
        f"{short(tree.schema.target.categories[label], 26)}{share}",
        (note,),
        details,
        [(float(count / records), fill) for count, fill in bars if count],
        colour(label),
    )


def _others(tree: SharedTree, nodes: Sequence[Node]) -> Item:
    """Return what stands for parts that are not drawn."""
    leaves = [leaf for node in nodes for leaf in leaves_below(node)]
    counts, untold = _counts(tree, leaves)
    records = records_words(counts.sum() + untold)
    words = f"{len(nodes):,} more parts with {len(leaves):,} paths and {records} left out"
    return Item(words, details=_details(tree, counts, untold))


def _share(tree: SharedTree, nodes: Sequence[Node]) -> float:
    below = sum(leaf.records for node in nodes for leaf in leaves_below(node))
    return below / tree.records if tree.records else 0.0


def _counts(tree: SharedTree, leaves: Sequence[Leaf]) -> tuple[Floats, float]:
    """Return the records of each class, and those whose class is not told."""
    counts, untold = np.zeros(tree.schema.classes), 0.0
    for leaf in leaves:
        if leaf.distribution is None:
            counts[leaf.label] += leaf.hit
            untold += leaf.miss
        else:
            counts += leaf.distribution
    return counts, untold


def _details(tree: SharedTree, counts: Floats, untold: float) -> str:
    labels = zip(tree.schema.target.categories, counts, strict=True)
    lines = [f"{label}: {number(float(count))}" for label, count in labels if count]
    if untold:
        lines.append(f"other classes: {number(untold)}")
    return "\n".join(lines) or "no records"
