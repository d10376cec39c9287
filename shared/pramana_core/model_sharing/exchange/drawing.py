"""Pictures of shared trees, and of global models that consist of them.

A leaf shows its class and its counts; records whose class the tree does not say are grey.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pramana_core.errors import ModelError
from pramana_core.mixed import Floats
from pramana_core.model_sharing.exchange.text import (
    number,
    part_words,
    records_words,
)
from pramana_core.model_sharing.global_models.model import GlobalModel, TreeModel
from pramana_core.model_sharing.global_models.votes import VotesModel
from pramana_core.model_sharing.tree import Leaf, Node, SharedTree, Split, leaves_below
from pramana_core.pictures.svg import Group, Layout, Shape, Text, colour, short
from pramana_core.pictures.trees import UNKNOWN, Item, TreePicture, fitting_depth

MOST_DRAWN = 60
"""Rows of a picture; deeper trees are cut so that they have no more."""


def _picture(tree: SharedTree, title: str = "") -> TreePicture:
    """Return a tree with its places."""
    depth = fitting_depth(tree.root, _below, tree.depth, MOST_DRAWN)
    root = _Drawn(tree).item(tree.root, depth)
    cut = depth + 1 < tree.depth
    foot = f"Splits below {depth + 1} others are left out, as the rows say." if cut else ""
    target = tree.schema.target.name, tree.schema.target.categories
    return TreePicture(root, target, title=title, foot=foot)


def _below(node: Node) -> list[Node]:
    """Return what follows a split; of very many parts the first, and one in the place of others."""
    return [] if isinstance(node, Leaf) else [below for _, below in node.parts[:MOST_DRAWN]]


@dataclass(frozen=True)
class _Drawn:
    tree: SharedTree

    def item(self, node: Node, depth: int) -> Item:
        """Return a node with the splits down to a depth as it is drawn."""
        leaves = list(leaves_below(node))
        counts, untold = self._counts(leaves)
        said, details = records_words(counts.sum() + untold), self._details(counts, untold)
        if isinstance(node, Split) and depth >= 0:
            attribute = self.tree.schema[node.attribute]
            shown = len(node.parts) if len(node.parts) <= MOST_DRAWN else MOST_DRAWN - 1
            answers = [
                (part_words(attribute, part), self._share(below), self.item(below, depth - 1))
                for part, below in node.parts[:shown]
            ]
            if rest := [below for _, below in node.parts[shown:]]:
                answers.append(("others", sum(map(self._share, rest)), self._others(rest)))
            return Item(node.attribute, (said,), details, answers=answers)
        label = node.label if isinstance(node, Leaf) else int(np.argmax(counts))
        records = counts.sum() + untold
        share = f" {100 * counts[label] / records:.0f} %" if records else ""
        note = f"{number(float(counts[label]))} of {said}"
        if isinstance(node, Split):
            note = f"{len(leaves):,} paths left out, {said}"
        bars = [*((count, colour(code)) for code, count in enumerate(counts)), (untold, UNKNOWN)]
        return Item(
            f"{short(self.tree.schema.target.categories[label], 26)}{share}",
            (note,),
            details,
            [(float(count / records), fill) for count, fill in bars if count],
            colour(label),
        )

    def _others(self, nodes: Sequence[Node]) -> Item:
        """Return what stands in the place of parts that are not drawn."""
        leaves = [leaf for node in nodes for leaf in leaves_below(node)]
        counts, untold = self._counts(leaves)
        said = f"{len(nodes):,} more parts with {len(leaves):,} paths and"
        said += f" {records_words(counts.sum() + untold)} left out"
        return Item(said, details=self._details(counts, untold))

    def _share(self, node: Node) -> float:
        below = sum(leaf.records for leaf in leaves_below(node))
        return below / self.tree.records if self.tree.records else 0.0

    def _counts(self, leaves: Sequence[Leaf]) -> tuple[Floats, float]:
        """Return the records of each class as far as they are told, and those of untold classes."""
        counts, untold = np.zeros(self.tree.schema.classes), 0.0
        for leaf in leaves:
            if leaf.distribution is None:
                counts[leaf.label] += leaf.hit
                untold += leaf.miss
            else:
                counts += leaf.distribution
        return counts, untold

    def _details(self, counts: Floats, untold: float) -> str:
        """Return what hovering shows: the counts of the classes."""
        labels = zip(self.tree.schema.target.categories, counts, strict=True)
        lines = [f"{label}: {number(float(count))}" for label, count in labels if count]
        if untold:
            lines.append(f"other classes, untold which: {number(untold)}")
        return "\n".join(lines) or "no records"


_VOTERS = 8
"""So many trees of votes are drawn; of the others it is said that they are not."""


def draw_shared_tree(tree: SharedTree) -> Layout:
    """Return a picture of a tree, as deep as it has at most `MOST_DRAWN` rows."""
    drawn = _picture(tree)
    title = f"Decision tree for {tree.schema.target.name}"
    return Layout(drawn.width, drawn.height, title, [*drawn.parts()])


def _size(tree: SharedTree) -> str:
    leaves = len(tree.leaves)
    return f"{leaves:,} path{'' if leaves == 1 else 's'}, {records_words(tree.records)}"


def draw_model(model: GlobalModel) -> Layout:
    """Return a picture of a global model that is made of trees.

    Args:
        model: a tree, or the votes of several, which are drawn one below another.

    Raises:
        ModelError: models of its kind are read as text and have no picture.
    """
    if isinstance(model, TreeModel):
        return draw_shared_tree(model.tree)
    if isinstance(model, VotesModel):
        return _draw_votes(model)
    raise ModelError(
        f"A model of kind {model.kind!r} has no picture.",
        where="kind",
        remedy="Read its text (`write_model_text`).",
    )


def _draw_votes(model: VotesModel) -> Layout:
    trees, number = model.trees[:_VOTERS], len(model.trees)
    drawn = [
        _picture(tree, f"Tree {place} of {number}: {_size(tree)}")
        for place, tree in enumerate(trees, 1)
    ]
    parts: list[Shape] = []
    top = 0.0
    for one in drawn:
        parts.append(Group([*one.parts()], place=(0, top), apart=True))
        top += one.height
    if number > len(trees):
        parts.append(Text(18, top, f"{number - len(trees)} more trees are not drawn.", 12, "#555"))
        top += 18
    return Layout(max(one.width for one in drawn), top, f"The votes of {number} trees", parts)
