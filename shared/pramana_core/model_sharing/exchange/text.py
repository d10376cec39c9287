"""Shared trees and global models as plain text, in lines that fit a page."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

import numpy as np

from pramana_core.errors import OptionError
from pramana_core.model_sharing.combination.combining import VotesModel
from pramana_core.model_sharing.core.attributes import CategoricalAttribute
from pramana_core.model_sharing.core.tree import Leaf, Node, SharedTree
from pramana_core.model_sharing.exchange.words import (
    condition_words,
    conditions_words,
    leaf_words,
    records_words,
    rounded,
)
from pramana_core.model_sharing.global_models.measures import told_by_attribute
from pramana_core.model_sharing.global_models.model import (
    ForestModel,
    GlobalModel,
    RuleModel,
    TreeModel,
)
from pramana_core.model_sharing.global_models.naive_bayes import NaiveBayesModel, Shares
from pramana_core.ties import descending

_INDENT = "|   "

WIDTH, _NARROW = 98, 40
"""Columns of a line, and the fewest left to the words of a deep node."""

MOST_LINES = 2_000
"""Longer trees are cut; how much is left out is said."""


def write_shared_tree_text(
    tree: SharedTree,
    *,
    max_depth: int | None = None,
    width: int = WIDTH,
    most_lines: int = MOST_LINES,
) -> str:
    """Return a tree, a line for each part of a split, with the counts of its leaves.

        |--- safety = low: unacc (576 of 576 records)
        |--- safety = med or high
        |   |--- persons = 2: unacc (384 of 384 records)

    Args:
        tree: the tree.
        max_depth: leave out the splits below so many others, saying what is left out; None for all.
        width: the columns of a line; longer conditions are continued on the next, set in.
        most_lines: the most lines.

    Raises:
        OptionError: a negative depth, or a width or number of lines below 1.
    """
    if (max_depth is not None and max_depth < 0) or width < 1 or most_lines < 1:
        raise OptionError(
            "A depth must be 0 or more, a width and a number of lines 1 or more.", where="max_depth"
        )
    found: list[str] = []
    for line in _lines(tree, tree.root, 0, max_depth, width):
        if len(found) == most_lines:
            found.append("(The rest is left out: see the JSON.)")
            break
        found.append(line)
    return "\n".join(found) + "\n"


def write_model_text(
    model: GlobalModel, *, max_depth: int | None = None, width: int = WIDTH
) -> str:
    """Return a global model of any kind.

    Args:
        model: the model.
        max_depth: of each tree, as in `write_shared_tree_text`.
        width: the columns of a line.

    Raises:
        OptionError: as `write_shared_tree_text`.
    """
    if isinstance(model, TreeModel):
        return write_shared_tree_text(model.tree, max_depth=max_depth, width=width)
    if isinstance(model, RuleModel):
        return _wrapped(_rule(model), width)
    if isinstance(model, NaiveBayesModel):
        return _wrapped(_naive_bayes(model), width)
    if isinstance(model, ForestModel):
        return _wrapped(_forest(model), width)
    if isinstance(model, VotesModel):
        parts = [f"The votes of {len(model.trees)} trees.\n"]
        for place, tree in enumerate(model.trees, 1):
            told = write_shared_tree_text(tree, max_depth=max_depth, width=width, most_lines=200)
            parts.append(f"Tree {place}, {records_words(tree.records)}:\n{told}")
        return "\n".join(parts)
    return f"A model of kind {model.kind}.\n"


def _lines(tree: SharedTree, node: Node, depth: int, most: int | None, width: int) -> Iterator[str]:
    lead = _INDENT * depth + "|--- "
    if isinstance(node, Leaf):
        # Only the root: other leaves are told in their part's line.
        yield from _set_in(lead, leaf_words(tree.schema, node), width)
        return
    if most is not None and depth > most:
        leaves = _leaves(node)
        counted = sum(leaf.records for leaf in leaves)
        yield f"{lead}({len(leaves):,} leaves left out, {records_words(counted)})"
        return
    for condition, below in node.parts:
        said = condition_words(tree.schema[node.attribute], condition)
        if isinstance(below, Leaf):
            yield from _set_in(lead, f"{said}: {leaf_words(tree.schema, below)}", width)
            continue
        yield from _set_in(lead, said, width)
        yield from _lines(tree, below, depth + 1, most, width)


def _leaves(node: Node) -> list[Leaf]:
    if isinstance(node, Leaf):
        return [node]
    return [leaf for _, below in node.parts for leaf in _leaves(below)]


def _set_in(lead: str, said: str, width: int) -> Iterator[str]:
    """Yield what is said in lines of a width, those after the first set in."""
    # Lines after the first are set in two columns further.
    inner = max(width - len(lead) - 2, _NARROW)
    bars = lead[: -len("|--- ")]
    for place, line in enumerate(
        textwrap.wrap(said, inner, break_long_words=False, break_on_hyphens=False) or [""]
    ):
        yield f"{bars}|      {line}" if place else f"{lead}{line}"


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
            if isinstance(density, Shares) and isinstance(attribute, CategoricalAttribute):
                row = zip(attribute.categories, density.probabilities[code], strict=True)
                told = ", ".join(f"{category} {_percent(share)}" for category, share in row)
            elif isinstance(density, Shares):
                continue
            else:
                mean, spread = density.means[code], float(np.sqrt(density.variances[code]))
                told = f"{rounded(mean)} on average, standard deviation {rounded(spread)}"
            yield f"    {label}: {told}"


def _forest(model: ForestModel) -> Iterator[str]:
    leaves = [len(tree.leaves) for tree in model.trees]
    yield (
        f"{len(leaves)} trees of {min(leaves):,} to {max(leaves):,} leaves, whose probabilities are"
        " averaged."
    )
    told = told_by_attribute(model.trees)
    ranked = [[*told.items()][at] for at in descending([*told.values()], scale=1.0).tolist()]
    said = ", ".join(f"{name} {bits:.3f}" for name, bits in ranked)
    yield f"What splits tell of the class, in bits, by attribute: {said}."


def _wrapped(lines: Iterator[str], width: int) -> str:
    found: list[str] = []
    for line in lines:
        inside = line[: len(line) - len(line.lstrip())]
        found += textwrap.wrap(
            line,
            max(width, _NARROW),
            subsequent_indent=f"{inside}    ",
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
    return "\n".join(found) + "\n"


def _percent(share: float) -> str:
    # The sign stays with its number at the end of a line.
    return f"{100 * share:.1f}\N{NO-BREAK SPACE}%"
