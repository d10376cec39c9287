"""Private trees: their questions are chosen privately, and their counts noised.

Why the whole tree is epsilon-differentially private for the replacement of one record. The number
of records is public, for replacing one leaves it as it is. Take adding or removing a record first:

* A level. The nodes of a level part the records, so the record is in one of them and the choices at
  all others stay as they are. At this one, by gini, the score of its part changes from S / n to
  (S + 2 m + 1) / (n + 1), m the records of its class there, n all of them and S the sum of the
  classes' squared counts: by (2 m + 1 - S / n) / (n + 1), between -1 and 1, up for some questions
  and down for others. With weights of exp(a / 2 * score) no probability changes by more than e^a.
* The leaves. One count of one leaf changes by 1; noise of scale 1 / b on it gives a factor e^b.
* Each level is chosen given those above it, so the factors multiply: d levels of a, and b.

Replacing a record is removing one and adding another: twice d a + b. So with epsilon_l for each
level and epsilon_c for the counts, a = epsilon_l / 2 and b = epsilon_c / 2, and all of it is
epsilon = d epsilon_l + epsilon_c. The questions that may be asked and where ways end depend on the
schema and on the questions before alone: the ranges, categories and thresholds must be declared.

The exponential mechanism for trees by gini is of Friedman and Schuster (2010), who bound a change
of gini by 2; with the sum over parts as above it is 1.

Also here:

* The two mechanisms that private trees are made with, as a protocol, and for simulations.
* How private trees are grown, and what they cost.
* Noise on the counts of a tree whose structure is public, and what is made of them.
* The questions a private tree may ask: a public list, made from the schema alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Annotated, Protocol

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Le

from pramana_core.errors import EmptyTable, ModelError, OptionError
from pramana_core.learn.common.options import InnerShare, require_limits
from pramana_core.mixed import CategoricalColumn, Floats, MixedTable
from pramana_core.model_sharing.attributes import (
    Attribute,
    CategoricalAttribute,
    NumericAttribute,
    TreeSchema,
)
from pramana_core.model_sharing.tree import (
    Condition,
    Interval,
    Leaf,
    Node,
    SharedTree,
    Split,
    Values,
    leaves_below,
    whole,
)

# The two mechanisms that private trees are made with, as a protocol, and for simulations.


class Noise(Protocol):
    """What draws the randomness of private trees."""

    def laplace(self, scale: float) -> int:
        """Return a whole number x with a probability proportional to exp(-|x| / scale)."""

    def choose(self, scores: Floats, epsilon: float) -> int:
        """Return a place with a probability proportional to exp(epsilon * score).

        This is the exponential mechanism. Where a record that is added or removed changes all
        scores in the same direction, each by at most 1, it is epsilon-differentially private for
        that; where it may change some up and others down, 2 epsilon.

        Args:
            scores: one for each place, at least one.
            epsilon: at least 0; with 0 all places are as likely.
        """


@dataclass(frozen=True)
class GeneratorNoise:
    """Noise of numpy's generator, in floating-point numbers: for simulations, not for releases.

    Its sequence can be foreseen by whoever learns the generator's state, and the probabilities are
    rounded. What leaves an owner is drawn by a library that does neither.
    """

    rng: np.random.Generator

    def laplace(self, scale: float) -> int:
        """Return a draw of the discrete Laplace distribution: the difference of two geometric."""
        stop = -math.expm1(-1 / scale)
        return int(self.rng.geometric(stop)) - int(self.rng.geometric(stop))

    def choose(self, scores: Floats, epsilon: float) -> int:
        """Return a place drawn by the exponential mechanism."""
        return int(self.rng.choice(len(scores), p=choice_probabilities(scores, epsilon)))


def choice_probabilities(scores: Floats, epsilon: float) -> Floats:
    """Return the probability of each place by the exponential mechanism (`Noise.choose`)."""
    # The largest is taken off first, so that no weight is above 1, and one is 1.
    weights = np.exp(epsilon * (scores - scores.max()))
    found: Floats = weights / weights.sum()
    return found


# How private trees are grown, and what they cost.

EPSILONS = (1e-6, 1e3)
"""The least and the largest epsilon: below there is only noise, above no privacy."""

DEEPEST = 12
"""The most questions on a way of a private tree."""

DEEP_ENOUGH = 8
"""The most where no depth is asked for: more took time, and hardly told anything, on all tables."""


@dataclass(frozen=True)
class PrivateOptions:
    """How a private tree is grown. None of it may be read from the records.

    Attributes:
        depth: how many questions each way has; None for as many as leave the counts of the leaves
            well above their noise (`depth_for`).
        splits: the share of epsilon that the choice of the questions takes; the counts take the
            rest.
        grid: into how many equal steps the declared range of a number is divided by the thresholds
            that may be asked for.

    Raises:
        OptionError: an option is out of its range.
    """

    depth: Annotated[int, Ge(1), Le(DEEPEST)] | None = None
    splits: InnerShare = 0.5
    grid: Annotated[int, Ge(2), Le(1000)] = 16

    def __post_init__(self) -> None:
        require_limits(self)


@dataclass(frozen=True)
class PrivateTree:
    """A differentially private tree.

    Attributes:
        tree: the tree, whose leaves have distributions; counts that noise made negative are 0.
        epsilon: replacing one record by any other changes the probability of no outcome by more
            than a factor e^epsilon.
        noised: the counts as they came out of the noise, leaves x classes; they may be negative.
    """

    tree: SharedTree
    epsilon: float
    noised: Floats


def require_epsilon(epsilon: float) -> None:
    """Check that an epsilon is one that trees can be released with. Raises OptionError."""
    least, most = EPSILONS
    if not isinstance(epsilon, Real) or not least <= epsilon <= most:
        raise OptionError(
            f"epsilon must be from {least:g} to {most:g}, not {epsilon}.", where="epsilon"
        )


# Noise on the counts of a tree whose structure is public, and what is made of them.


def noised(tree: SharedTree, epsilon: float, noise: Noise) -> PrivateTree:
    """Return a tree with discrete Laplace noise on the counts of all classes in its leaves.

    It is differentially private only if its structure is public, or bounded by an epsilon of its
    own (which then adds): one learned from the records tells of them whatever is done to the
    counts.

    Replacing a record changes two counts by 1 each, or none. With noise of scale 2 / epsilon on
    each, the probability of no outcome changes by more than a factor e^epsilon. What is made of
    the noised counts looks at nothing else, so it costs nothing: negative ones become 0.

    Raises:
        ModelError: a leaf does not count all classes, or not in whole numbers.
    """
    leaves = tree.leaves
    counts = np.array([leaf.distribution or (np.nan,) * tree.schema.classes for leaf in leaves])
    if not np.array_equal(counts, np.rint(counts)):
        raise ModelError(
            "Noise can be put on a tree whose leaves count the records of all classes only.",
            where="counts",
            remedy="Count the owner's records in it first (count_records).",
        )
    scale = 2 / epsilon
    drawn = np.array([[count + noise.laplace(scale) for count in row] for row in counts])
    return PrivateTree(with_counts(tree, drawn), epsilon, drawn)


def count_records(tree: SharedTree, table: MixedTable, classes: npt.NDArray[np.intp]) -> SharedTree:
    """Return a tree of the same structure with the counts of other records in its leaves.

    Args:
        tree: gives the structure.
        table: the attributes of n records.
        classes: their class codes, n.

    Raises:
        MissingColumn, TableError, UnknownCategory: as `TreeSchema.read`.
    """
    counts = np.zeros((len(tree.leaves), tree.schema.classes))
    np.add.at(counts, (tree.leaf_of(table), classes), 1)
    return with_counts(tree, counts)


def with_counts(tree: SharedTree, counts: Floats) -> SharedTree:
    """Return a tree of the same structure with other counts in its leaves: leaves x classes.

    Negative counts become 0. A leaf that then has none tells the class of the nearest node above
    it that has some, all of whose counts are added up before.
    """
    kept: Floats = np.maximum(counts, 0)
    return SharedTree(tree.schema, _counted(tree.root, kept, 0))


def _counted(node: Node, counts: Floats, label: int) -> Node:
    """Return a node with counts in its leaves, given the class of the node above it."""
    totals = counts.sum(axis=0)
    if totals.any():
        label = int(totals.argmax())
    if isinstance(node, Leaf):
        hit = float(totals[label])
        return Leaf(label, hit, float(totals.sum()) - hit, tuple(map(float, totals)))
    parts, first = [], 0
    for condition, below in node.parts:
        last = first + sum(1 for _ in leaves_below(below))
        parts.append((condition, _counted(below, counts[first:last], label)))
        first = last
    return Split(node.attribute, tuple(parts))


# The questions a private tree may ask: a public list, made from the schema alone.


@dataclass(frozen=True)
class Question:
    """A question of two answers: a category or any other, a number up to a threshold or above."""

    attribute: str
    parts: tuple[Condition, Condition]


def thresholds_of(attribute: NumericAttribute, grid: int) -> tuple[float, ...]:
    """Return the thresholds that may be asked for, ascending and equally far apart."""
    between = np.linspace(attribute.low, attribute.high, grid + 1)[1:-1]
    if attribute.whole:
        between = np.floor(between)
    return tuple(
        float(value) for value in np.unique(between) if attribute.low <= value < attribute.high
    )


class Questions:
    """The questions that may be asked of a table's records, and how good each is.

    What may be asked depends on the schema and on the conditions that lead to a node only.
    """

    def __init__(
        self,
        schema: TreeSchema,
        records: MixedTable,
        classes: npt.NDArray[np.intp],
        grid: int,
    ) -> None:
        """Prepare the records' places in the grids.

        Args:
            schema: the class and the attributes, declared.
            records: the attributes of n records, as `TreeSchema.read` returns them.
            classes: the class codes of the records, n.
            grid: into how many steps ranges of numbers are divided.
        """
        self._schema, self._classes = schema, classes
        self._thresholds: dict[str, tuple[float, ...]] = {}
        self._places: dict[str, npt.NDArray[np.intp]] = {}
        for attribute in schema.attributes:
            column = records[attribute.name]
            if isinstance(column, CategoricalColumn):
                self._places[attribute.name] = column.codes.astype(np.intp)
            elif isinstance(attribute, NumericAttribute):
                known = thresholds_of(attribute, grid)
                self._thresholds[attribute.name] = known
                self._places[attribute.name] = np.searchsorted(known, column.values, side="left")

    def at(self, box: Mapping[str, Condition]) -> list[Question]:
        """Return the questions of a node that these conditions lead to."""
        return [
            Question(attribute.name, parts)
            for attribute in self._schema.attributes
            for parts in self._parts(attribute, box[attribute.name])
        ]

    def _parts(self, attribute: Attribute, extent: Condition) -> list[tuple[Condition, Condition]]:
        if isinstance(extent, Interval):
            return [
                (Interval(extent.above, value), Interval(value, extent.up_to))
                for value in self._thresholds.get(attribute.name, ())
                if extent.above < value < extent.up_to
            ]
        if len(extent.codes) < 2:
            return []
        # Of two categories, one against the other is the same question as the other against one.
        asked = extent.codes if len(extent.codes) > 2 else extent.codes[:1]
        return [
            (Values((code,)), Values(tuple(other for other in extent.codes if other != code)))
            for code in asked
        ]

    def scores(self, questions: list[Question], rows: npt.NDArray[np.intp]) -> Floats:
        """Return how good each question is for some records."""
        tables = {name: self._table(name, rows) for name in {q.attribute for q in questions}}
        whole = np.bincount(self._classes[rows], minlength=self._schema.classes)
        first = np.array([tables[q.attribute][self._row(q)] for q in questions])
        return _worth(first) + _worth(whole - first)

    def _table(self, name: str, rows: npt.NDArray[np.intp]) -> Floats:
        """Return how many of some records have each place and class; of numbers, up to each."""
        classes = self._schema.classes
        attribute = self._schema[name]
        number = (
            len(attribute.categories)
            if isinstance(attribute, CategoricalAttribute)
            else len(self._thresholds[name]) + 1
        )
        cells = self._places[name][rows] * classes + self._classes[rows]
        table = np.bincount(cells, minlength=number * classes).reshape(number, classes)
        counts: Floats = table.astype(np.float64)
        return counts if name not in self._thresholds else counts.cumsum(axis=0)

    def _row(self, question: Question) -> int:
        """Return the row of a table that is the first part of a question."""
        part = question.parts[0]
        if isinstance(part, Values):
            return part.codes[0]
        return self._thresholds[question.attribute].index(part.up_to)

    def rows_of(
        self, question: Question, rows: npt.NDArray[np.intp]
    ) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Return which of some records are in the first part of a question, and which are not."""
        places, row = self._places[question.attribute][rows], self._row(question)
        first = places == row if isinstance(question.parts[0], Values) else places <= row
        return rows[first], rows[~first]


def _worth(counts: Floats) -> Floats:
    """Return the worth of parts, questions x classes: their classes' squared counts (gini)."""
    worth: Floats = np.square(counts).sum(axis=1) / np.maximum(counts.sum(axis=1), 1)
    return worth


_ABOVE_NOISE = 4
"""So many times the noise of all its counts a leaf has records, on average."""


@dataclass
class _Open:
    """A node that is still to be split: its records, the conditions on its way, its parts."""

    rows: npt.NDArray[np.intp]
    box: Mapping[str, Condition]
    attribute: str | None = None
    below: tuple[tuple[Condition, _Open], ...] = ()


def grow_private_tree(
    schema: TreeSchema,
    table: MixedTable,
    classes: npt.NDArray[np.intp],
    epsilon: float,
    noise: Noise,
    options: PrivateOptions | None = None,
) -> PrivateTree:
    """Return a tree that is epsilon-differentially private for the replacement of one record.

    Args:
        schema: the class and the attributes; declared, not read from the records.
        table: the attributes of n records; other columns are ignored.
        classes: their class codes, n.
        epsilon: for the replacement of one record, 1e-6 to 1000.
        noise: draws the choices and the noise.
        options: how it is grown; not chosen by looking at the records.

    Raises:
        OptionError: epsilon is out of its range.
        EmptyTable: there are no records.
        MissingColumn, TableError, UnknownCategory: see `TreeSchema.read`.
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
            # A quarter: replacing a record is two changes, each of some scores up, of others down.
            _ask(node, questions, noise, per_level / 4)
        level = [below for node in level for _, below in node.below]
    bare = SharedTree(schema, _node(root))
    counted = noised(count_records(bare, records, classes), for_counts, noise)
    return PrivateTree(counted.tree, epsilon, counted.noised)


def depth_for(records: int, classes: int, epsilon: float) -> int:
    """Return a depth at which the average leaf has several times the noise of its counts.

    It looks at public figures only: the number of records and of classes, and the epsilon that is
    spent on the counts.
    """
    leaves = records * epsilon / (2 * classes * _ABOVE_NOISE)
    return min(max(int(math.log2(max(leaves, 1))), 1), DEEP_ENOUGH)


def _ask(node: _Open, questions: Questions, noise: Noise, epsilon: float) -> None:
    asked = questions.at(node.box)
    if not asked:
        return
    question = asked[noise.choose(questions.scores(asked, node.rows), epsilon)]
    name = question.attribute
    node.attribute = name
    node.below = tuple(
        (condition, _Open(rows, {**node.box, name: condition}))
        for condition, rows in zip(
            question.parts, questions.rows_of(question, node.rows), strict=True
        )
    )


def _node(node: _Open) -> Node:
    if node.attribute is None:
        return Leaf(0, 0, 0)
    parts = tuple((condition, _node(below)) for condition, below in node.below)
    return Split(node.attribute, parts)
