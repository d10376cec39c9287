"""Differentially private trees, whose splits are chosen at random and whose counts have noise.

Replacing a record means removing one and adding another. Adding or removing a record changes the
gini score of one node of each level by at most 1, up or down. If splits are chosen with weights
exp(a / 2 * score), no probability changes by more than the factor e^a. Adding or removing a record
also changes one count of one leaf by 1. With noise of scale 1 / b, no probability changes by more
than the factor e^b. With a = epsilon_l / 2 for each of d levels and b = epsilon_c / 2, the whole
tree is epsilon-differentially private, epsilon = d epsilon_l + epsilon_c. Possible questions depend
only on the schema, in which ranges and categories are declared. The mechanism is from Friedman and
Schuster (2010), who bound a change of gini by 2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from pramana_core.errors import EmptyTable
from pramana_core.mixed import CategoricalColumn, Floats, MixedTable
from pramana_core.model_sharing.attributes import NumericAttribute, TreeSchema
from pramana_core.model_sharing.conditions import Condition, Interval, Values, whole
from pramana_core.model_sharing.offers import apart, halves
from pramana_core.model_sharing.private_options import PrivateOptions, require_epsilon
from pramana_core.model_sharing.tree import Leaf, Node, SharedTree, Split, leaves_below

Rows = npt.NDArray[np.intp]
Question = tuple[str, Condition, Condition]
"""An attribute and its two parts: a category and the others, or up to a threshold and above."""


_ABOVE_NOISE = 4
"""The minimum ratio of the average leaf's records to the total noise of its counts."""

DEEP_ENOUGH = 8
"""The largest default depth; on all tables tried, deeper trees predicted hardly better."""


class Noise(Protocol):
    """The source of randomness of private trees."""

    def laplace(self, scale: float) -> int:
        """Return a whole number x with a probability proportional to exp(-|x| / scale)."""

    def choose(self, scores: Floats, epsilon: float) -> int:
        """Return an index with a probability proportional to exp(epsilon * score).

        This is the exponential mechanism. Suppose that adding or removing a record changes each
        score by at most 1. Then the choice is epsilon-differentially private if all scores change
        in the same direction, and otherwise 2 epsilon-differentially private.
        """


@dataclass(frozen=True)
class GeneratorNoise:
    """Noise from a numpy generator, in floating-point numbers: for simulations, not for releases.

    Whoever learns the generator's state can predict the noise. The probabilities are rounded.
    """

    rng: np.random.Generator

    def laplace(self, scale: float) -> int:
        """Return a discrete Laplace draw, as the difference of two geometric draws."""
        stop = -math.expm1(-1 / scale)
        return int(self.rng.geometric(stop)) - int(self.rng.geometric(stop))

    def choose(self, scores: Floats, epsilon: float) -> int:
        """Return an index drawn by the exponential mechanism."""
        return int(self.rng.choice(len(scores), p=choice_probabilities(scores, epsilon)))


def choice_probabilities(scores: Floats, epsilon: float) -> Floats:
    """Return the probability of each index by the exponential mechanism (`Noise.choose`)."""
    # After the largest score is subtracted, the largest weight is 1.
    weights = np.exp(epsilon * (scores - scores.max()))
    found: Floats = weights / weights.sum()
    return found


@dataclass(frozen=True)
class PrivateTree:
    """A private tree. Replacing one record changes no tree's probability by more than e^epsilon.

    `noised` has the counts with noise, leaves x classes. `tree` has the same counts, with 0 instead
    of negative counts.
    """

    tree: SharedTree
    epsilon: float
    noised: Floats


@dataclass
class _Open:
    """A node during growth, with its records and the conditions that lead to it."""

    rows: Rows
    box: Mapping[str, Condition]
    question: Question | None = None
    below: tuple[_Open, ...] = ()

    def leaves(self) -> list[_Open]:
        return [leaf for one in self.below for leaf in one.leaves()] if self.below else [self]

    def bare(self) -> Node:
        if self.question is None:
            return Leaf(0, 0, 0)
        name, *parts = self.question
        return Split(name, tuple(zip(parts, (one.bare() for one in self.below), strict=True)))


def grow_private_tree(
    schema: TreeSchema,
    table: MixedTable,
    classes: Rows,
    epsilon: float,
    noise: Noise,
    options: PrivateOptions | None = None,
) -> PrivateTree:
    """Return a tree that is epsilon-differentially private for the replacement of one record.

    The schema and the options must be declared, not derived from the n records. epsilon is from
    1e-6 to 1000. Raises OptionError, EmptyTable; MissingColumn, TableError, UnknownCategory: see
    `TreeSchema.read`.
    """
    options = options or PrivateOptions()
    require_epsilon(epsilon)
    records = schema.read(table)
    if not records.records:
        raise EmptyTable("There are no records to learn a tree from.")
    for_counts = epsilon * (1 - options.splits)
    depth = options.depth or depth_for(records.records, schema.classes, for_counts)
    per_level = (epsilon - for_counts) / depth
    questions = Questions(schema, records, classes, options.grid)
    root = _Open(np.arange(records.records), {name: whole(schema, name) for name in schema.names})
    level = [root]
    for _ in range(depth):
        for node in level:
            # A quarter, because replacing a record is two changes, each in both directions.
            _ask(node, questions, noise, per_level / 4)
        level = [below for node in level for below in node.below]
    counts = np.array(
        [np.bincount(classes[leaf.rows], minlength=schema.classes) for leaf in root.leaves()]
    )
    # Replacing a record changes two counts by 1, or leaves all unchanged.
    drawn: Floats = np.array(
        [[n + noise.laplace(2 / for_counts) for n in row] for row in counts.tolist()], dtype=float
    )
    tree = SharedTree(schema, with_counts(root.bare(), np.maximum(drawn, 0)))
    return PrivateTree(tree, epsilon, drawn)


def _ask(node: _Open, questions: Questions, noise: Noise, epsilon: float) -> None:
    """Choose a node's question from the public list; with an empty list, the node stays a leaf."""
    listed = questions.at(node.box)
    if not listed:
        return
    question = listed[noise.choose(questions.scores(listed, node.rows), epsilon)]
    name, *parts = question
    sides = zip(parts, questions.rows_of(question, node.rows), strict=True)
    node.question = question
    node.below = tuple(_Open(rows, {**node.box, name: part}) for part, rows in sides)


def depth_for(records: int, classes: int, epsilon: float) -> int:
    """Return a depth at which the average leaf has many more records than noise."""
    leaves = records * epsilon / (2 * classes * _ABOVE_NOISE)
    return min(max(int(math.log2(max(leaves, 1))), 1), DEEP_ENOUGH)


def with_counts(node: Node, counts: Floats, label: int = 0) -> Node:
    """Return a node with counts in its leaves, leaves x classes, none of them negative.

    An empty leaf has the class of the nearest node above it that is not empty.
    """
    totals = counts.sum(axis=0)
    if totals.any():
        label = int(totals.argmax())
    if isinstance(node, Leaf):
        hit = float(totals[label])
        return Leaf(label, hit, float(totals.sum()) - hit, tuple(map(float, totals)))
    parts, first = [], 0
    for condition, below in node.parts:
        last = first + sum(1 for _ in leaves_below(below))
        parts.append((condition, with_counts(below, counts[first:last], label)))
        first = last
    return Split(node.attribute, tuple(parts))


def thresholds_of(attribute: NumericAttribute, grid: int) -> tuple[float, ...]:
    """Return the possible thresholds of an attribute, ascending and equally spaced."""
    between = np.linspace(attribute.low, attribute.high, grid + 1)[1:-1]
    if attribute.whole:
        between = np.floor(between)
    return tuple(
        float(value) for value in np.unique(between) if attribute.low <= value < attribute.high
    )


@dataclass
class Questions:
    """The possible questions about n records, and their scores."""

    schema: TreeSchema
    records: MixedTable
    classes: Rows
    grid: int
    thresholds: dict[str, tuple[float, ...]] = field(init=False, default_factory=dict)
    places: dict[str, Rows] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        for attribute in self.schema.attributes:
            name, column = attribute.name, self.records[attribute.name]
            if isinstance(column, CategoricalColumn):
                self.places[name] = column.codes.astype(np.intp)
            elif isinstance(attribute, NumericAttribute):
                self.thresholds[name] = known = thresholds_of(attribute, self.grid)
                self.places[name] = np.searchsorted(known, column.values, side="left")

    def at(self, box: Mapping[str, Condition]) -> list[Question]:
        """Return the possible questions at the node to which the conditions `box` lead."""
        found: list[Question] = []
        for name in self.schema.names:
            extent = box[name]
            if isinstance(extent, Interval):
                inside = (v for v in self.thresholds[name] if extent.above < v < extent.up_to)
                found += [(name, *halves(extent, value)) for value in inside]
            elif len(extent.codes) > 1:
                # With two categories, both questions are the same.
                codes = extent.codes if len(extent.codes) > 2 else extent.codes[:1]
                found += [(name, *apart(extent, {code})) for code in codes]
        return found

    def scores(self, questions: list[Question], rows: Rows) -> Floats:
        """Return the gini score of each question on the given rows (see the module's docstring)."""
        tables = {name: self._table(name, rows) for name in {q[0] for q in questions}}
        everyone = np.bincount(self.classes[rows], minlength=self.schema.classes)
        first = np.array([tables[q[0]][self._row(q)] for q in questions])
        return _worth(first) + _worth(everyone - first)

    def rows_of(self, question: Question, rows: Rows) -> tuple[Rows, Rows]:
        """Return the rows in the first part of a question, and the remaining rows."""
        places, row = self.places[question[0]][rows], self._row(question)
        first = places == row if isinstance(question[1], Values) else places <= row
        return rows[first], rows[~first]

    def _table(self, name: str, rows: Rows) -> Floats:
        classes, numeric = self.schema.classes, name in self.thresholds
        number = len(getattr(self.schema[name], "categories", self.thresholds.get(name, ()))) + 1
        cells = self.places[name][rows] * classes + self.classes[rows]
        table = np.bincount(cells, minlength=number * classes).reshape(number, classes)
        counts: Floats = table.astype(np.float64)
        return counts.cumsum(axis=0) if numeric else counts

    def _row(self, question: Question) -> int:
        name, part, _ = question
        return (
            part.codes[0] if isinstance(part, Values) else self.thresholds[name].index(part.up_to)
        )


def _worth(counts: Floats) -> Floats:
    """Return the gini score of each part: the sum of squared class counts, divided by its size."""
    worth: Floats = np.square(counts).sum(axis=1) / np.maximum(counts.sum(axis=1), 1)
    return worth
