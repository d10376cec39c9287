"""Conjunctive rules, as in Weka: grown by information gain, pruned by reduced error.

The best condition lowers the entropy of the classes most, averaged over the records that the rule
covers and the records that it does not cover.
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
Conditions = tuple[tuple[str, Condition], ...]

_LEAST_GAIN = 1e-9
"""The minimum gain in nats per record; smaller gains are rounding errors."""


@dataclass(frozen=True)
class RuleModel:
    """A conjunctive rule: its conditions, and class counts of records that meet all, and of others.

    `covered` and `others` have these counts for all classes. Raises ModelError: counts are
    negative, are all 0 or are not one for each class, or a condition is on an unknown attribute.
    """

    schema: TreeSchema
    conditions: Conditions
    covered: tuple[float, ...]
    others: tuple[float, ...]
    kind: Literal["conjunctive"] = "conjunctive"

    def __post_init__(self) -> None:
        counts = (*self.covered, *self.others)
        complete = len(self.covered) == len(self.others) == self.schema.classes
        if not complete or not all(0 <= count < np.inf for count in counts) or not sum(counts):
            raise ModelError(
                "A rule needs a count for each class, not negative and not all 0.",
                where="covered",
            )
        names = [name for name, _ in self.conditions]
        if len(set(names)) < len(names) or not set(names) <= set(self.schema.names):
            raise ModelError(
                "A rule must have at most one condition for each attribute of the schema.",
                where="conditions",
            )

    def covers(self, table: MixedTable) -> npt.NDArray[np.bool_]:
        """Return whether each of n records meets all conditions. Raises the errors of `predict`."""
        return meeting(self.schema.read(table), self.conditions)

    def predict(self, table: MixedTable) -> Codes:
        """Return the code of the most probable class (the first, if equal) of each of n records.

        Raises the errors of `GlobalModel.predict`.
        """
        return first_largest_of_rows(self.probabilities(table))

    def probabilities(self, table: MixedTable) -> Floats:
        """Return class probabilities, n x classes. Raises the errors of `GlobalModel.predict`."""
        counts = np.array([self.others, self.covered])
        empty = counts.sum(axis=1) == 0
        counts[empty] = counts[::-1][empty]
        shares = counts / counts.sum(axis=1, keepdims=True)
        found: Floats = shares[self.covers(table).astype(int)]
        return found


def meeting(records: MixedTable, conditions: Conditions) -> npt.NDArray[np.bool_]:
    """Return whether each of n records, read by the schema, meets all conditions."""
    found = np.ones(records.records, dtype=bool)
    for name, condition in conditions:
        found &= condition.holds(records[name])
    return found


def learn_rule(
    schema: TreeSchema, table: MixedTable, classes: Codes, *, min_leaf: int = 1, seed: int = 0
) -> RuleModel:
    """Learn a conjunctive rule from n records.

    A condition requires one category, or a number on one side of a threshold. As in Weka, a third
    of the records, drawn with `seed`, is set aside, and the rule keeps its first conditions as long
    as they predict these records best. `min_leaf` is the minimum number of covered records and of
    other records. Raises the errors of `learn_global`.
    """
    records = schema.read(table)
    if not records.records:
        raise EmptyTable("There are no records to learn a rule from.")
    order = stream(seed).permutation(records.records)
    cut = records.records // 3
    growing, held_out = np.sort(order[cut:]), np.sort(order[:cut])
    rules = _grown(records.rows(growing), classes[growing], schema.classes, min_leaf)
    best = rules[-1]
    if cut:
        right = [_right(records, classes, rule, growing, held_out) for rule in rules]
        best = rules[int(np.argmax(right))]
    covered = meeting(records, best)
    counts = [np.bincount(classes[rows], minlength=schema.classes) for rows in (covered, ~covered)]
    inside, outside = (tuple(map(float, one)) for one in counts)
    return RuleModel(schema, best, inside, outside)


def _right(
    records: MixedTable, classes: Codes, rule: Conditions, growing: Codes, held_out: Codes
) -> int:
    covered = meeting(records, rule)
    usual = int(np.argmax(np.bincount(classes[growing])))
    right = 0
    for side in (covered, ~covered):
        known = classes[growing[side[growing]]]
        label = int(np.argmax(np.bincount(known))) if len(known) else usual
        right += int(np.count_nonzero(classes[held_out[side[held_out]]] == label))
    return right


def _grown(records: MixedTable, classes: Codes, number: int, min_leaf: int) -> list[Conditions]:
    """Return rules with 0, 1, 2, ... conditions; each adds the best condition to the one before."""
    everything = np.bincount(classes, minlength=number).astype(np.float64)
    covered = np.arange(records.records)
    known: dict[str, Condition] = {}
    rules: list[Conditions] = [()]
    spread = float(entropy(everything[None, :])[0])
    while np.count_nonzero(np.bincount(classes[covered], minlength=number)) > 1:
        found = [
            best
            for column in records.columns
            if (best := _best(column, covered, classes, everything, known, min_leaf)) is not None
        ]
        if not found:
            break
        # Ties go to the first attribute.
        best = found[first_smallest([one.nats for one in found], scale=len(classes))]
        if spread - best.nats < _LEAST_GAIN * len(classes):
            break
        spread = best.nats
        known = {**known, best.name: best.condition}
        covered = covered[best.condition.holds(records[best.name].rows(covered))]
        rules.append(tuple(known.items()))
    return rules


@dataclass(frozen=True)
class _Candidate:
    """A condition, and the entropy of the classes given the condition, in nats."""

    name: str
    condition: Condition
    nats: float


def _best(
    column: Column,
    covered: Codes,
    classes: Codes,
    everything: Floats,
    known: dict[str, Condition],
    min_leaf: int,
) -> _Candidate | None:
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
    rest = everything - counts
    inside = entropy(counts)
    nats = inside + entropy(rest)
    fits = (counts.sum(axis=1) >= min_leaf) & (rest.sum(axis=1) >= min_leaf)
    if not fits.any():
        return None
    # A condition and its opposite are equally good; the one with more divisible records is taken.
    scale = len(classes)
    least = nats[fits].min() + _LEAST_GAIN * scale
    place = first_largest(np.where(fits & (nats <= least), inside, -np.inf), scale=scale)
    return _Candidate(column.name, conditions[place], float(nats[place]))


def _below(column: NumericColumn, classes: Codes, number: int) -> tuple[Floats, Floats]:
    order = np.argsort(column.values, kind="stable")
    values = column.values[order]
    last = np.flatnonzero(values[1:] > values[:-1])
    low, high = values[last], values[last + 1]
    ends = low + (high - low) / 2
    # The middle of neighbouring floats may round to the higher one, which must stay above.
    ends = np.where(ends >= high, low, ends)
    return ends, np.eye(number)[classes[order]].cumsum(axis=0)[last]
