"""Pictures of shared trees and of global models, as self-contained SVG."""

from __future__ import annotations

from pramana_core.errors import ModelError
from pramana_core.model_sharing.combination.combining import VotesModel
from pramana_core.model_sharing.core.conditions import Condition
from pramana_core.model_sharing.core.tree import Leaf, Node, SharedTree
from pramana_core.model_sharing.exchange.layout import Conditions, Drawn, Marks
from pramana_core.model_sharing.exchange.portraits import draw_forest, draw_naive_bayes, draw_rule
from pramana_core.model_sharing.exchange.words import records_words
from pramana_core.model_sharing.global_models.model import (
    ForestModel,
    GlobalModel,
    RuleModel,
    TreeModel,
)
from pramana_core.model_sharing.global_models.naive_bayes import NaiveBayesModel
from pramana_core.pictures.svg import document, text

_VOTERS = 8
"""So many trees of votes are drawn; of the others it is said that they are not."""


def draw_shared_tree(
    tree: SharedTree,
    *,
    max_depth: int | None = None,
    marks: Marks | None = None,
    title: str = "",
) -> str:
    """Return an SVG picture of a tree.

    Args:
        tree: the tree.
        max_depth: draw the splits below so many others as leaves that say what they leave out; by
            default the most at which the picture has no more than `MOST_DRAWN` rows.
        marks: what looks otherwise.
        title: a line above the picture.

    Raises:
        OptionError: a negative depth.
    """
    drawn = Drawn(tree, max_depth, marks or Marks(), title)
    return document(drawn.width, drawn.height, _name(tree), drawn.parts())


def draw_pruning(before: SharedTree, after: SharedTree, *, max_depth: int | None = None) -> str:
    """Return an SVG picture of a tree before and after it was pruned, one above the other.

    Nodes that pruning took are pale in the first; those that it made have a frame in the second.
    The first is for whoever may see the records alone.

    Args:
        before: the tree before.
        after: what it became.
        max_depth: as of `draw_shared_tree`.

    Raises:
        OptionError: a negative depth.
    """
    old, new = _kinds(before), _kinds(after)
    gone = frozenset(known for known, leaf in old.items() if new.get(known, leaf) != leaf)
    gone |= frozenset(old) - frozenset(new)
    merged = frozenset(known for known, leaf in new.items() if leaf and not old.get(known, False))
    first = Drawn(before, max_depth, Marks(gone=gone), f"Before: {_size(before)}; pale: merged")
    second = Drawn(
        after, max_depth, Marks(merged=merged), f"After: {_size(after)}; framed: made by merging"
    )
    width = max(first.width, second.width)
    parts = [
        *first.parts(),
        f'<g transform="translate(0,{first.height:.0f})">',
        *second.parts(),
        "</g>",
    ]
    return document(width, first.height + second.height, _name(after), parts)


def _kinds(tree: SharedTree) -> dict[Conditions, bool]:
    """Return the nodes by the conditions that lead to them, and whether they are leaves."""
    found: dict[Conditions, bool] = {}
    waiting: list[tuple[Node, dict[str, Condition]]] = [(tree.root, {})]
    while waiting:
        node, known = waiting.pop()
        found[frozenset(known.items())] = isinstance(node, Leaf)
        if not isinstance(node, Leaf):
            waiting += [(below, {**known, node.attribute: part}) for part, below in node.parts]
    return found


def _size(tree: SharedTree) -> str:
    leaves = len(tree.leaves)
    return f"{leaves:,} path{'' if leaves == 1 else 's'}, {records_words(tree.records)}"


def _name(tree: SharedTree) -> str:
    return f"Decision tree for {tree.schema.target.name}"


def draw_model(model: GlobalModel, *, max_depth: int | None = None) -> str:
    """Return an SVG picture of a global model of any kind.

    A tree, and each tree of votes, is drawn as by `draw_shared_tree`; a rule as its two sides; of
    a forest, what its splits by each attribute tell; of naive Bayes, what each attribute is like in
    each class.

    Args:
        model: the model.
        max_depth: of each tree, as of `draw_shared_tree`.

    Raises:
        OptionError: a negative depth.
        ModelError: there is no picture of models of its kind.
    """
    if isinstance(model, TreeModel):
        return draw_shared_tree(model.tree, max_depth=max_depth)
    if isinstance(model, ForestModel):
        return draw_forest(model)
    if isinstance(model, RuleModel):
        return draw_rule(model)
    if isinstance(model, NaiveBayesModel):
        return draw_naive_bayes(model)
    if isinstance(model, VotesModel):
        return _draw_votes(model, max_depth)
    raise ModelError(f"There is no picture of models of kind {model.kind!r}.", where="kind")


def _draw_votes(model: VotesModel, max_depth: int | None) -> str:
    trees, number = model.votes.trees[:_VOTERS], len(model.trees)
    drawn = [
        Drawn(tree, max_depth, Marks(), f"Tree {place} of {number}: {_size(tree)}")
        for place, tree in enumerate(trees, 1)
    ]
    parts, top = [], 0.0
    for one in drawn:
        parts += [f'<g transform="translate(0,{top:.0f})">', *one.parts(), "</g>"]
        top += one.height
    if number > len(trees):
        parts.append(text(18, top, f"{number - len(trees)} more trees are not drawn.", 12, "#555"))
        top += 18
    return document(max(one.width for one in drawn), top, f"The votes of {number} trees", parts)
