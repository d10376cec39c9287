"""Pictures of shared trees and of global models.

Also here:

* Pictures of global models that are no trees: a rule, naive Bayes, and what a forest asks for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from pramana_core.domain import Variable
from pramana_core.errors import ModelError
from pramana_core.model_sharing.attributes import Attribute, CategoricalAttribute, NumericAttribute
from pramana_core.model_sharing.combination.votes import VotesModel
from pramana_core.model_sharing.exchange.layout import Conditions, Marks, TreeDrawing
from pramana_core.model_sharing.exchange.text import (
    condition_words,
    leaf_words,
    records_words,
    rounded,
)
from pramana_core.model_sharing.global_models.model import (
    ForestModel,
    GlobalModel,
    RuleModel,
    TreeModel,
    told_by_attribute,
)
from pramana_core.model_sharing.global_models.naive_bayes import (
    CategoryShares,
    Density,
    NaiveBayesModel,
    Normal,
)
from pramana_core.model_sharing.tree import Condition, Leaf, Node, SharedTree
from pramana_core.pictures.svg import (
    END,
    PALETTE,
    Box,
    Group,
    Layout,
    Shape,
    Text,
    breadth,
    colour,
    key,
    short,
)
from pramana_core.ties import descending

# Pictures of global models that are no trees: a rule, naive Bayes, and what a forest asks for.

MOST_DRAWN = 40
"""Attributes, or classes of an attribute, that are drawn; of the others it is said."""

_MARGIN, _ROW, _BAR = 18.0, 24.0, 260.0


def draw_rule(model: RuleModel) -> Layout:
    """Return a picture of a rule: its conditions, and the classes on either side of it."""
    schema = model.schema
    labels = schema.target.categories
    said = [condition_words(schema[name], condition) for name, condition in model.conditions]
    said = [f"{'and ' if place else 'If '}{words}" for place, words in enumerate(said)]
    parts: list[Shape] = []
    y = _MARGIN + 14
    for words in said or ["Of all records"]:
        parts.append(Text(_MARGIN, y, short(words, 90), 14, "#222", bold=True))
        y += 20
    sides = [("then", model.covered), ("otherwise", model.others)]
    wide = max(map(breadth, [*(short(words, 90) for words in said), ""]))
    for name, counts in sides if said else sides[:1]:
        leaf = Leaf.of(counts)
        words = short(leaf_words(schema, leaf), 70)
        parts += [
            Text(_MARGIN, y + 12, name if said else "", 13),
            _stacked(labels, [c / (leaf.records or 1) for c in counts], _MARGIN + 80, y),
            Text(_MARGIN + 80 + _BAR + 10, y + 12, words, 13, colour(leaf.label)),
        ]
        wide = max(wide, 80 + _BAR + 10 + breadth(words, 13))
        y += _ROW + 4
    return Layout(wide + 2 * _MARGIN, y + 8, f"Rule for {schema.target.name}", parts)


def draw_forest(model: ForestModel) -> Layout:
    """Return a picture of what the splits of a forest tell by attribute, the most first."""
    told = told_by_attribute(model.trees)
    order = descending([*told.values()], scale=1.0).tolist()[:MOST_DRAWN]
    ranked = [[*told][at] for at in order]
    heading = f"What splits tell of {model.schema.target.name}, in bits; mean of"
    heading += f" {len(model.trees)} trees"
    left = len(told) - len(ranked)
    heading += f"; {left} attributes that tell less are not drawn" if left else ""
    start = _MARGIN + max(breadth(short(name, 30), 13) for name in ranked) + 10
    parts: list[Shape] = [Text(_MARGIN, _MARGIN + 13, heading, 14, "#222", bold=True)]
    y = _MARGIN + 30
    for name in ranked:
        wide = _BAR * told[name] / (told[ranked[0]] or 1.0)
        parts += [
            Text(start - 8, y + 12, short(name, 30), 13, "#333", END),
            Group([Box(start, y, wide, 16, PALETTE[0])], name),
            Text(start + wide + 6, y + 12, f"{told[name]:.3f}", 12),
        ]
        y += _ROW
    width = max(start + _BAR + 60, breadth(heading) + 2 * _MARGIN)
    return Layout(width, y + 8, f"Forest for {model.schema.target.name}", parts)


def draw_naive_bayes(model: NaiveBayesModel) -> Layout:
    """Return a picture of what each attribute is like in each class.

    Categories are parts of a bar, as long as they are frequent; a number is a mark at its mean, on
    a line as long as a standard deviation to either side, on the scale of its range.
    """
    schema, target = model.schema, model.schema.target
    drawn = list(zip(schema.attributes, model.densities, strict=True))[:MOST_DRAWN]
    named = max(breadth(short(label, 24), 12) for label in target.categories)
    start = _MARGIN + max(20 + named, 30 + breadth(target.name))
    parts: list[Shape] = [Text(_MARGIN, _MARGIN + 13, target.name, 14, "#222", bold=True)]
    y, wide = 44.0, 0.0
    parts.append(_stacked(target.categories, model.prior, start, _MARGIN))
    keys, end = key(start + _BAR + 14, _MARGIN + 1, _colours(target.categories))
    parts.append(keys)
    wide = max(wide, end)
    for attribute, density in drawn:
        parts.append(Text(_MARGIN, y + 22, short(attribute.name, 60), 14, "#222", bold=True))
        if isinstance(attribute, CategoricalAttribute) and isinstance(density, CategoryShares):
            keys, end = key(start + _BAR + 14, y + 12, _colours(_shown(attribute, density)[0]))
            parts.append(keys)
            wide = max(wide, end)
        y += 32
        for label, bar in _of_classes(target, attribute, density, start, y):
            parts += [Text(start - 8, y + 12, short(label, 24), 12, "#333", END), bar]
            y += _ROW - 4
        wide = max(wide, start + _BAR + 180)
    left = len(schema.attributes) - len(drawn)
    if left:
        parts.append(Text(_MARGIN, y + 20, f"{left} more attributes are not drawn.", 12, "#555"))
        y += 24
    return Layout(wide + _MARGIN, y + 14, f"Naive Bayes for {target.name}", parts)


def _of_classes(
    target: Variable, attribute: Attribute, density: Density, x: float, y: float
) -> Iterator[tuple[str, Shape]]:
    """Yield the classes with their part of the picture, each a row below the other."""
    for code, label in enumerate(target.categories[:MOST_DRAWN]):
        if isinstance(density, Normal) and isinstance(attribute, NumericAttribute):
            mean, spread = density.means[code], math.sqrt(density.variances[code])
            yield label, _whisker(attribute, mean, spread, x, y)
        elif isinstance(density, CategoryShares) and isinstance(attribute, CategoricalAttribute):
            labels, rows = _shown(attribute, density)
            yield label, _stacked(labels, rows[code], x, y)
        y += _ROW - 4


def _shown(
    attribute: CategoricalAttribute, density: CategoryShares
) -> tuple[list[str], list[list[float]]]:
    """Return the categories that are drawn, and their shares in each class.

    Of many those most frequent in any class, in their order; the others are the last.
    """
    labels, rows = list(attribute.categories), [list(row) for row in density.probabilities]
    if len(labels) <= len(PALETTE):
        return labels, rows
    most = [max(row[code] for row in rows) for code in range(len(labels))]
    kept = sorted(descending(most).tolist()[: len(PALETTE) - 1])
    named = [labels[code] for code in kept]
    shares = [[row[code] for code in kept] for row in rows]
    return [*named, "others"], [[*row, max(1 - sum(row), 0.0)] for row in shares]


def _stacked(labels: Sequence[str], shares: Sequence[float], x: float, y: float) -> Shape:
    """Return a bar of shares; hovering names them."""
    parts, at = [], x
    for code, share in enumerate(shares):
        part = Box(at, y, _BAR * share, 14, colour(code))
        parts.append(Group([part], f"{labels[code]}: {100 * share:.1f} %"))
        at += _BAR * share
    return tuple(parts)


def _whisker(attribute: NumericAttribute, mean: float, spread: float, x: float, y: float) -> Group:
    """Return the mean and a standard deviation to either side, cut at the ends of the range."""

    def place(value: float) -> float:
        share = (value - attribute.low) / (attribute.high - attribute.low)
        return x + _BAR * min(max(share, 0.0), 1.0)

    low, high = place(mean - spread), place(mean + spread)
    said = f"{rounded(mean)} ± {rounded(spread)}"
    parts: list[Shape] = [
        Box(x, y + 6.5, _BAR, 1, "#ddd"),
        Box(low, y + 5, max(high - low, 1.0), 4, PALETTE[0]),
        Box(place(mean) - 1.5, y + 1, 3, 12, PALETTE[0]),
        Text(x + _BAR + 10, y + 11, said, 12, "#555"),
    ]
    return Group(parts, said)


def _colours(labels: Sequence[str]) -> list[tuple[str, str]]:
    """Return labels with their colours; of many the first."""
    found = [(short(label, 20), colour(code)) for code, label in enumerate(labels)]
    most = len(PALETTE)
    return (
        found if len(found) <= most else [*found[:most], (f"and {len(found) - most} more", "#fff")]
    )


_VOTERS = 8
"""So many trees of votes are drawn; of the others it is said that they are not."""


def draw_shared_tree(
    tree: SharedTree, *, max_depth: int | None = None, marks: Marks | None = None, title: str = ""
) -> Layout:
    """Return a picture of a tree.

    Args:
        tree: the tree.
        max_depth: draw the splits below so many others as leaves that say what they leave out; by
            default the most at which the picture has no more than `MOST_DRAWN` rows.
        marks: what looks otherwise.
        title: a line above the picture.

    Raises:
        OptionError: a negative depth.
    """
    drawn = TreeDrawing(tree, max_depth, marks or Marks(), title)
    return Layout(drawn.width, drawn.height, _name(tree), [*drawn.parts()])


def draw_pruning(before: SharedTree, after: SharedTree, *, max_depth: int | None = None) -> Layout:
    """Return a picture of a tree before and after it was pruned, one above the other.

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
    first = TreeDrawing(
        before, max_depth, Marks(gone=gone), f"Before: {_size(before)}; pale: merged"
    )
    second = TreeDrawing(
        after, max_depth, Marks(merged=merged), f"After: {_size(after)}; framed: made by merging"
    )
    width = max(first.width, second.width)
    below = Group([*second.parts()], place=(0, first.height), apart=True)
    parts = [*first.parts(), below]
    return Layout(width, first.height + second.height, _name(after), parts)


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


def draw_model(model: GlobalModel, *, max_depth: int | None = None) -> Layout:
    """Return a picture of a global model of any kind.

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


def _draw_votes(model: VotesModel, max_depth: int | None) -> Layout:
    trees, number = model.trees[:_VOTERS], len(model.trees)
    drawn = [
        TreeDrawing(tree, max_depth, Marks(), f"Tree {place} of {number}: {_size(tree)}")
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
