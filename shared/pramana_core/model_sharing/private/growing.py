"""Private trees: their questions are chosen privately, and their counts noised.

Why the whole tree is epsilon-differentially private for the replacement of one record. The number
of records is public, for replacing one leaves it as it is. Take adding or removing a record first:

* A level. The nodes of a level part the records, so the record is in one of them and the choices at
  all others stay as they are. At this one, by hits, the most frequent class of the part that it is
  in has one record more or as many, and the other part is as it was: every question's score rises
  by 0 or 1. With a weight of exp(a * score), each weight and their sum rise by factors between 1
  and e^a, so no probability changes by more than e^a. By gini the score of its part changes from
  S / n to (S + 2 m + 1) / (n + 1), m the records of its class there, n all of them and S the sum of
  the classes' squared counts: by (2 m + 1 - S / n) / (n + 1), between -1 and 1, up for some
  questions and down for others; so the weights are exp(a / 2 * score).
* The leaves. One count of one leaf changes by 1; noise of scale 1 / b on it gives a factor e^b.
* Each level is chosen given those above it, so the factors multiply: d levels of a, and b.

Replacing a record is removing one and adding another: twice d a + b. So with epsilon_l for each
level and epsilon_c for the counts, a = epsilon_l / 2 and b = epsilon_c / 2, and all of it is
epsilon = d epsilon_l + epsilon_c. The questions that may be asked and where ways end depend on the
schema and on the questions before alone: the ranges, categories and thresholds must be declared.

The exponential mechanism for trees, by hits and by gini, is of Friedman and Schuster (2010), who
bound a change of gini by 2; with the sum over parts as above it is 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pramana_core.errors import EmptyTable, OptionError
from pramana_core.mixed.table import MixedTable
from pramana_core.model_sharing.core.attributes import NumericAttribute, TreeSchema
from pramana_core.model_sharing.core.conditions import Condition
from pramana_core.model_sharing.core.tree import Leaf, Node, SharedTree, Split, whole
from pramana_core.model_sharing.private.counts import count_records, noised
from pramana_core.model_sharing.private.noise import Noise
from pramana_core.model_sharing.private.options import (
    DEEP_ENOUGH,
    PrivateOptions,
    PrivateTree,
    Spent,
    require_epsilon,
)
from pramana_core.model_sharing.private.questions import Questions

_WORTH = {"hits": 2, "gini": 4}
"""By what epsilon of a level is divided to weigh a score."""

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
        classes: the class codes of the records, n.
        epsilon: for the replacement of one record, 1e-6 to 1000.
        noise: draws the choices and the noise.
        options: how it is grown; not chosen by looking at the records.

    Raises:
        OptionError: epsilon is out of its range, or thresholds are of no numeric attribute.
        EmptyTable: there are no records.
        MissingColumn, TableError, UnknownCategory: see `TreeSchema.read`.
    """
    options = options or PrivateOptions()
    require_epsilon(epsilon)
    records = schema.read(table)
    if not records.records:
        raise EmptyTable("There are no records to learn a tree from.")
    for name in options.thresholds:
        if not isinstance(schema[name], NumericAttribute):
            raise OptionError(
                f"{name!r} has categories, no thresholds.", where=f"thresholds/{name}"
            )
    chosen = options.structure == "chosen"
    for_counts = epsilon * (1 - options.splits) if chosen else epsilon
    depth = options.depth or depth_for(records.records, schema.classes, for_counts)
    per_level = (epsilon - for_counts) / depth
    questions = Questions(schema, records, classes, options)
    root = _Open(np.arange(records.records), {name: whole(schema, name) for name in schema.names})
    level = [root]
    for _ in range(depth):
        for node in level:
            _ask(node, questions, noise, per_level / _WORTH[options.quality] if chosen else 0.0)
        level = [below for node in level for _, below in node.below]
    bare = SharedTree(schema, _node(root))
    counted = noised(count_records(bare, records, classes), for_counts, noise)
    spent = tuple(
        Spent(f"the questions of level {number}", per_level) for number in range(1, depth + 1)
    )
    return PrivateTree(
        counted.tree, epsilon, (spent if chosen else ()) + counted.spent, counted.noised
    )


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
    # What is drawn without looking at the records does not even see their scores.
    scores = questions.scores(asked, node.rows) if epsilon > 0 else np.zeros(len(asked))
    question = asked[noise.choose(scores, epsilon)]
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
