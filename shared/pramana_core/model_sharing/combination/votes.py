"""Votes: the trees of several owners combined as they are, without pseudo-data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from pramana_core.errors import OptionError
from pramana_core.mixed.table import Floats, MixedTable
from pramana_core.model_sharing.combination.schemas import common_schema, in_schema
from pramana_core.model_sharing.core.attributes import TreeSchema
from pramana_core.model_sharing.core.tree import SharedTree
from pramana_core.ties import first_largest_of_rows

Weights = Literal["equal", "records", "leaves"]


@dataclass(frozen=True)
class VoteOptions:
    """How the votes of trees are weighed.

    Attributes:
        weights: what the class shares of the leaf that a record is in are weighed by: "equal" for
            each tree; "records", those of the whole tree; "leaves", those of the leaf, so that
            the trees' counts are added up.
        smoothing: how many records, spread evenly over the classes, are added to each leaf
            (Laplace): the fewer records a leaf has, the less its shares are believed. Spread by
            the tree's class distribution instead they drown the rare classes: on car, five
            records so added cost 9 points of accuracy.

    Raises:
        OptionError: an option is out of range.
    """

    weights: Weights = "equal"
    smoothing: float = 1.0

    def __post_init__(self) -> None:
        if self.weights not in get_args(Weights):
            raise OptionError(
                f"weights must be one of {', '.join(get_args(Weights))}, not {self.weights!r}.",
                where="weights",
            )
        if not 0 <= self.smoothing < np.inf:
            raise OptionError(
                f"smoothing must be a number of at least 0, not {self.smoothing:g}.",
                where="smoothing",
            )


@dataclass(frozen=True, eq=False)
class TreeVotes:
    """The trees of several owners as one classifier; make it with `votes_of`.

    Attributes:
        schema: what the trees have in common; the trees are in it.
        trees: the trees.
        tables: for each tree, what each of its leaves says of each class: leaves x classes; the
            sum over the trees, made to add up to 1, is the probability.
    """

    schema: TreeSchema
    trees: tuple[SharedTree, ...]
    tables: tuple[Floats, ...]

    def probabilities(self, table: MixedTable) -> Floats:
        """Return the probability of each class of n records: n x classes.

        Raises:
            MissingColumn, TableError, UnknownCategory: as `TreeSchema.read`.
        """
        records = self.schema.read(table)
        return self.of_leaves([tree.leaf_of(records) for tree in self.trees])

    def predict(self, table: MixedTable) -> npt.NDArray[np.intp]:
        """Return the class code of each of n records; of a tie the first. Raises as above."""
        return first_largest_of_rows(self.probabilities(table))

    def of_leaves(self, leaves: Sequence[npt.NDArray[np.intp]]) -> Floats:
        """Return the probabilities of n records from the leaf each has in each tree."""
        votes: Floats = sum(
            (table[at] for table, at in zip(self.tables, leaves, strict=True)),
            np.zeros((len(leaves[0]), self.schema.classes)),
        )
        totals = votes.sum(axis=1, keepdims=True)
        even = np.full_like(votes, 1 / self.schema.classes)
        found: Floats = np.divide(votes, totals, out=even, where=totals > 0)
        return found


def votes_of(trees: Sequence[SharedTree], options: VoteOptions | None = None) -> TreeVotes:
    """Return the votes of several owners' trees.

    A tree also votes on records with categories that its owner never had: as on most of its records
    there (`in_schema`), with its full weight. So owners should declare the same categories.

    Args:
        trees: the trees.
        options: how their votes are weighed.

    Raises:
        ModelError: the trees cannot be combined, see `common_schema`.
    """
    options = options or VoteOptions()
    schema = common_schema(trees)
    known = tuple(in_schema(tree, schema) for tree in trees)
    return TreeVotes(schema, known, tuple(_table(tree, options) for tree in known))


def _table(tree: SharedTree, options: VoteOptions) -> Floats:
    counts: Floats = tree.class_counts() + options.smoothing / tree.schema.classes
    totals = counts.sum(axis=1, keepdims=True)
    if options.weights == "leaves":
        return counts
    # A leaf without records says nothing.
    shares = np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0)
    found: Floats = shares * (tree.records if options.weights == "records" else 1.0)
    return found
