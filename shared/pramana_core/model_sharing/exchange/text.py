"""Shared trees and global models as plain text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from pramana_core.alike import first_few
from pramana_core.model_sharing.attributes import Attribute, CategoricalAttribute, TreeSchema
from pramana_core.model_sharing.conditions import Condition, Interval, Values, whole
from pramana_core.model_sharing.global_models.conjunctive import RuleModel
from pramana_core.model_sharing.global_models.model import GlobalModel
from pramana_core.model_sharing.global_models.naive_bayes import CategoryShares, NaiveBayesModel
from pramana_core.model_sharing.global_models.votes import VotesModel
from pramana_core.model_sharing.tree import Leaf, Node, SharedTree

_CLASSES = 6
"""The maximum number of other classes in a line."""


def condition_words(attribute: Attribute, condition: Condition) -> str:
    """Return a condition as text: `safety = high`, `doors = 2 or 4`, `38 < hours <= 50`."""
    name, words = attribute.name, part_words(attribute, condition)
    if isinstance(condition, Values):
        return f"{name} = {words}"
    if math.isfinite(condition.above) and math.isfinite(condition.up_to):
        return f"{number(condition.above)} < {name} <= {number(condition.up_to)}"
    return f"{name}: any" if words == "any" else f"{name} {words}"


def part_words(attribute: Attribute, condition: Condition) -> str:
    """Return a condition as text without the attribute's name: `2 or 4`, `> 38, <= 50`."""
    if isinstance(condition, Interval):
        ends = []
        if math.isfinite(condition.above):
            ends.append(f"> {number(condition.above)}")
        if math.isfinite(condition.up_to):
            ends.append(f"<= {number(condition.up_to)}")
        return ", ".join(ends) or "any"
    labels = attribute.categories if isinstance(attribute, CategoricalAttribute) else ()
    names = [labels[code] for code in condition.codes]
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def conditions_words(schema: TreeSchema, conditions: Iterable[tuple[str, Condition]]) -> str:
    """Return conditions as text joined by `and`, without conditions that all values meet."""
    words = [
        condition_words(schema[name], condition)
        for name, condition in conditions
        if condition != whole(schema, name)
    ]
    return " and ".join(words) or "all records"


def leaf_words(schema: TreeSchema, leaf: Leaf) -> str:
    """Return a leaf's class with its count as text, and counts of other classes if known."""
    label = schema.target.categories[leaf.label]
    words = f"{label} ({number(leaf.hit)} of {records_words(leaf.records)}"
    others = others_words(schema, leaf)
    return f"{words}; {others})" if others else f"{words})"


def others_words(schema: TreeSchema, leaf: Leaf) -> str:
    """Return the counts of a leaf's other classes as text, largest first, or ""."""
    if leaf.distribution is None or not leaf.miss:
        return ""
    counts = {
        code: count for code, count in enumerate(leaf.distribution) if count and code != leaf.label
    }
    ranked = sorted(counts, key=lambda code: -counts[code])
    named = (f"{schema.target.categories[c]} {number(counts[c])}" for c in ranked)
    return first_few(named, _CLASSES)


def records_words(records: float) -> str:
    """Return a number of records as text: `1 record`, `12 records`."""
    return f"{number(records)} record{'' if records == 1 else 's'}"


def number(value: float) -> str:
    """Return a number as text with thousands separators; fractions get six significant digits."""
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:.6g}"


def rounded(value: float) -> str:
    """Return a number as text, with four digits."""
    return number(float(f"{value:.4g}"))


_INDENT = "|   "

MOST_LINES = 2_000
"""The maximum number of lines of a tree as text; larger trees are cut."""


def write_shared_tree_text(tree: SharedTree, *, most_lines: int = MOST_LINES) -> str:
    """Return a tree as text with one line for each part of a split, at most `most_lines` lines.

    |--- safety = low: unacc (576 of 576 records)
    |--- safety = med or high
    |   |--- persons = 2: unacc (384 of 384 records)
    """
    found: list[str] = []
    for line in _lines(tree, tree.root, 0):
        if len(found) == most_lines:
            found.append("(The remaining lines are omitted; the JSON has them.)")
            break
        found.append(line)
    return "\n".join(found) + "\n"


def write_model_text(model: GlobalModel) -> str:
    """Return a global model of any kind as text."""
    if isinstance(model, SharedTree):
        return write_shared_tree_text(model)
    if isinstance(model, RuleModel):
        return "\n".join(_rule(model)) + "\n"
    if isinstance(model, NaiveBayesModel):
        return "\n".join(_naive_bayes(model)) + "\n"
    if isinstance(model, VotesModel):
        parts = [f"The votes of {len(model.trees)} trees.\n"]
        for place, tree in enumerate(model.trees, 1):
            text = write_shared_tree_text(tree, most_lines=200)
            parts.append(f"Tree {place}, {records_words(tree.records)}:\n{text}")
        return "\n".join(parts)
    return f"A model of kind {model.kind}.\n"


def _lines(tree: SharedTree, node: Node, depth: int) -> Iterator[str]:
    lead = _INDENT * depth + "|--- "
    if isinstance(node, Leaf):
        # Only a leaf at the root needs a line; other leaves are in the line of their part.
        yield lead + leaf_words(tree.schema, node)
        return
    for condition, below in node.parts:
        words = condition_words(tree.schema[node.attribute], condition)
        if isinstance(below, Leaf):
            yield f"{lead}{words}: {leaf_words(tree.schema, below)}"
            continue
        yield lead + words
        yield from _lines(tree, below, depth + 1)


def _rule(model: RuleModel) -> Iterator[str]:
    schema = model.schema
    covered, others = Leaf.of(model.covered), Leaf.of(model.others)
    if not model.conditions:
        yield f"{schema.target.name} of all records: {leaf_words(schema, covered)}"
        return
    yield f"If {conditions_words(schema, model.conditions)}:"
    yield f"    {schema.target.name} {leaf_words(schema, covered)}"
    yield "Otherwise:"
    yield f"    {schema.target.name} {leaf_words(schema, others)}"


def _naive_bayes(model: NaiveBayesModel) -> Iterator[str]:
    target = model.schema.target
    shares = zip(target.categories, model.prior, strict=True)
    yield f"{target.name}: " + ", ".join(f"{label} {_percent(p)}" for label, p in shares)
    for attribute, density in zip(model.schema.attributes, model.densities, strict=True):
        yield ""
        yield f"{attribute.name}:"
        for code, label in enumerate(target.categories):
            if isinstance(density, CategoryShares) and isinstance(attribute, CategoricalAttribute):
                row = zip(attribute.categories, density.probabilities[code], strict=True)
                words = ", ".join(f"{category} {_percent(share)}" for category, share in row)
            elif isinstance(density, CategoryShares):
                continue
            else:
                mean, spread = density.means[code], float(np.sqrt(density.variances[code]))
                words = f"{rounded(mean)} on average, standard deviation {rounded(spread)}"
            yield f"    {label}: {words}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
