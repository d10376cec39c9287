"""A conjunctive rule, grown by information and pruned by reduced error: Weka's ConjunctiveRule.

What a condition tells is how far it lowers the entropy of the classes, averaged over the records
that the rule covers and those that it does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from pramana_core.errors import EmptyTable, ModelError
from pramana_core.learn.common.distributions import stream
from pramana_core.mixed import CategoricalColumn, Column, Floats, MixedTable, NumericColumn
from pramana_core.model_sharing.attributes import TreeSchema
from pramana_core.model_sharing.conditions import Condition, Interval, Values
from pramana_core.model_sharing.offers import entropy
from pramana_core.ties import first_largest, first_largest_of_rows, first_smallest

Codes = npt.NDArray[np.intp]
Asked = tuple[tuple[str, Condition], ...]

_LEAST_GAIN = 1e-9
"""Nats for each record; a smaller gain is rounding."""


@dataclass(frozen=True)
class RuleModel:
    """A conjunctive rule: what is known of the records that meet all conditions, and of the others.

    Attributes:
        conditions: the condition on each attribute that is asked for; a record must meet all.
        covered: the counts of all classes among the records that the rule was learned from and
            that meet it.
        others: those among the rest.

    Raises:
        ModelError: counts are negative or not of all classes, there are none, or a condition is on
            no attribute.
    """

    schema: TreeSchema
    conditions: Asked
    covered: tuple[float, ...]
    others: tuple[float, ...]
    kind: Literal["conjunctive"] = "conjunctive"

    def __post_init__(self) -> None:
        counts = (*self.covered, *self.others)
        if not all(len(c) == self.schema.classes for c in (self.covered, self.others)):
            raise ModelError("A rule must count all classes.", where="covered")
        if not all(0 <= count < np.inf for count in counts) or not sum(counts):
            raise ModelError(
                "The counts of a rule must not be negative, and there must be some.",
                where="covered",
            )
        asked = [name for name, _ in self.conditions]
        if len(set(asked)) < len(asked) or not set(asked) <= set(self.schema.names):
            raise ModelError(
                "The conditions of a rule must be on attributes of the schema, one on each.",
                where="conditions",
            )

    def covers(self, table: MixedTable) -> npt.NDArray[np.bool_]:
        """Return which of n records meet all conditions; see `GlobalModel` for what it raises."""
        return meeting(self.schema.read(table), self.conditions)

    def predict(self, table: MixedTable) -> Codes:
        """Return the class code of each of n records; of a tie the first. See `GlobalModel`."""
        return first_largest_of_rows(self.probabilities(table))

    def probabilities(self, table: MixedTable) -> Floats:
        """Return the probability of each class, n x classes; see `GlobalModel`."""
        covered, others = np.array(self.covered), np.array(self.others)
        if not covered.sum():
            covered = others
        if not others.sum():
            others = covered
        shares = np.array([others / others.sum(), covered / covered.sum()])
        found: Floats = shares[self.covers(table).astype(int)]
        return found


def meeting(records: MixedTable, conditions: Asked) -> npt.NDArray[np.bool_]:
    """Return which of n records, as a schema reads them, meet all of some conditions."""
    found = np.ones(records.records, dtype=bool)
    for name, condition in conditions:
        found &= condition.holds(records[name])
    return found


def learn_rule(
    schema: TreeSchema,
    table: MixedTable,
    classes: Codes,
    *,
    min_leaf: int = 1,
    seed: int = 0,
) -> RuleModel:
    """Learn a conjunctive rule from n records.

    Conditions are of one category, or of numbers up to or above a threshold in the middle between
    two neighbours. The rule is cut back to the first of its conditions that predict a third of the
    records best, which are held out, as in Weka; its counts are then those of all records.

    Args:
        schema, table, classes: as of `learn_global`.
        min_leaf: the fewest records of the growing set that a rule covers, and that it does not.
        seed: decides which records are held out.

    Raises: as of `learn_global`.
    """
    records = schema.read(table)
    if not records.records:
        raise EmptyTable("There are no records to learn a rule from.")
    order = stream(seed).permutation(records.records)
    cut = records.records // 3
    growing, pruning = np.sort(order[cut:]), np.sort(order[:cut])
    grown, labels = records.rows(growing), classes[growing]
    rules = _grown(grown, labels, schema.classes, min_leaf)
    best = rules[-1]
    if cut:
        test, truth = records.rows(pruning), classes[pruning]
        right = [_right(rule, (grown, labels), (test, truth), schema.classes) for rule in rules]
        best = rules[int(np.argmax(right))]
    covered = meeting(records, best)
    return RuleModel(
        schema,
        best,
        _counted(classes[covered], schema.classes),
        _counted(classes[~covered], schema.classes),
    )


def _counted(classes: Codes, number: int) -> tuple[float, ...]:
    return tuple(float(count) for count in np.bincount(classes, minlength=number))


def _right(
    rule: Asked, grown: tuple[MixedTable, Codes], test: tuple[MixedTable, Codes], number: int
) -> int:
    """Return how many held-out records a rule predicts right by what it knows of the others."""
    table, classes = grown
    inside = meeting(table, rule)
    found, truth = meeting(test[0], rule), test[1]
    usual = int(np.argmax(np.bincount(classes, minlength=number)))
    right = 0
    for known, asked in ((inside, found), (~inside, ~found)):
        counts = np.bincount(classes[known], minlength=number)
        label = int(np.argmax(counts)) if counts.sum() else usual
        right += int(np.count_nonzero(truth[asked] == label))
    return right


def _grown(records: MixedTable, classes: Codes, number: int, min_leaf: int) -> list[Asked]:
    """Return the rules on the way: none of the conditions, the first, the first two, ..."""
    everything = np.bincount(classes, minlength=number).astype(np.float64)
    covered = np.arange(records.records)
    known: dict[str, Condition] = {}
    rules: list[Asked] = [()]
    spread = float(entropy(everything[None, :])[0])
    while True:
        here = np.bincount(classes[covered], minlength=number)
        if np.count_nonzero(here) < 2:
            return rules
        found = [
            best
            for column in records.columns
            if (best := _best(column, covered, classes, everything, known, min_leaf)) is not None
        ]
        if not found:
            return rules
        # Of equal ones the first, in the order of the attributes.
        best = found[first_smallest([one.nats for one in found], scale=len(classes))]
        if spread - best.nats < _LEAST_GAIN * len(classes):
            return rules
        spread = best.nats
        known = {**known, best.name: best.condition}
        covered = covered[best.condition.holds(records[best.name].rows(covered))]
        rules.append(tuple(known.items()))


@dataclass(frozen=True)
class _Candidate:
    """A condition, and the nats that are then missing of all records' classes."""

    name: str
    condition: Condition
    nats: float


def _best(
    column: Column,
    covered: npt.NDArray[np.intp],
    classes: Codes,
    everything: Floats,
    known: dict[str, Condition],
    min_leaf: int,
) -> _Candidate | None:
    """Return the condition on an attribute that tells most; of equal ones the first."""
    here, labels = column.rows(covered), classes[covered]
    number = len(everything)
    before = known.get(column.name)
    conditions: list[Condition]
    if isinstance(here, CategoricalColumn):
        if before is not None:
            return None
        size = len(here.categories)
        cells = np.bincount(here.codes * number + labels, minlength=size * number)
        counts = cells.reshape(size, number).astype(np.float64)
        conditions = [Values((code,)) for code in range(size)]
    else:
        extent = before if isinstance(before, Interval) else Interval()
        ends, below = _below(here, labels, number)
        counts = np.concatenate([below, np.bincount(labels, minlength=number) - below])
        conditions = [
            *(Interval(extent.above, float(end)) for end in ends),
            *(Interval(float(end), extent.up_to) for end in ends),
        ]
    if not conditions:
        return None
    rest = everything - counts
    inside = entropy(counts)
    nats = inside + entropy(rest)
    fits = (counts.sum(axis=1) >= min_leaf) & (rest.sum(axis=1) >= min_leaf)
    if not fits.any():
        return None
    # A condition and its opposite tell as much: the one is taken whose records can be told apart
    # further.
    scale = len(classes)
    least = nats[fits].min() + _LEAST_GAIN * scale
    place = first_largest(np.where(fits & (nats <= least), inside, -np.inf), scale=scale)
    return _Candidate(column.name, conditions[place], float(nats[place]))


def _below(column: NumericColumn, classes: Codes, number: int) -> tuple[Floats, Floats]:
    """Return the thresholds, and the counts of classes up to each: thresholds x classes."""
    order = np.argsort(column.values, kind="stable")
    values = column.values[order]
    marks = np.zeros((len(values), number))
    marks[np.arange(len(values)), classes[order]] = 1
    last = np.flatnonzero(values[1:] > values[:-1])
    low, high = values[last], values[last + 1]
    ends = low + (high - low) / 2
    # Of neighbouring floats the middle may be the higher, which is to be above.
    ends = np.where(ends >= high, low, ends)
    return ends, marks.cumsum(axis=0)[last]
