"""A single conjunctive rule, grown by information and pruned by reduced error.

In principle Weka's ConjunctiveRule, the paper's third kind of global model: what a condition tells
is how far it lowers the entropy of the classes, averaged over the records that the rule covers and
all that it does not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pramana_core.errors import EmptyTable
from pramana_core.learn.common.documents import stream
from pramana_core.mixed.table import CategoricalColumn, Column, Floats, MixedTable, NumericColumn
from pramana_core.model_sharing.attributes import TreeSchema
from pramana_core.model_sharing.global_models.model import Codes, RuleModel, entropy_bits, meeting
from pramana_core.model_sharing.tree import Condition, Interval, Values
from pramana_core.ties import first_largest, first_smallest

Asked = tuple[tuple[str, Condition], ...]

_LEAST_GAIN = 1e-9
"""Bits for each record; what tells less is rounding."""


def learn_rule(
    schema: TreeSchema,
    table: MixedTable,
    classes: Codes,
    *,
    held_out: float = 1 / 3,
    min_leaf: int = 1,
    seed: int = 0,
) -> RuleModel:
    """Learn a conjunctive rule from n records.

    Conditions are of one category, or of numbers up to or above a threshold in the middle between
    two neighbours. The rule is cut back to the first of its conditions that predict the held-out
    records best; its counts are then those of all records.

    Args:
        schema, table, classes: as of `learn_global`.
        held_out: the share of the records that the rule is pruned by.
        min_leaf: the fewest records of the growing set that a rule covers, and that it does not.
        seed: decides which records are held out.

    Raises: as of `learn_global`.
    """
    records = schema.read(table)
    if not records.records:
        raise EmptyTable("There are no records to learn a rule from.")
    order = stream(seed).permutation(records.records)
    cut = int(held_out * records.records)
    growing, pruning = np.sort(order[cut:]), np.sort(order[:cut])
    grown, told = records.rows(growing), classes[growing]
    rules = _grown(grown, told, schema.classes, min_leaf)
    best = rules[-1]
    if cut:
        test, truth = records.rows(pruning), classes[pruning]
        right = [_right(rule, (grown, told), (test, truth), schema.classes) for rule in rules]
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
    spread = float(entropy_bits(everything[None, :])[0])
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
        best = found[first_smallest([one.bits for one in found], scale=len(classes))]
        if spread - best.bits < _LEAST_GAIN * len(classes):
            return rules
        spread = best.bits
        known = {**known, best.name: best.condition}
        covered = covered[best.condition.holds(records[best.name].rows(covered))]
        rules.append(tuple(known.items()))


@dataclass(frozen=True)
class _Candidate:
    """A condition, and the bits that are then missing of all records' classes."""

    name: str
    condition: Condition
    bits: float


def _best(
    column: Column,
    covered: npt.NDArray[np.intp],
    classes: Codes,
    everything: Floats,
    known: dict[str, Condition],
    min_leaf: int,
) -> _Candidate | None:
    """Return the condition on an attribute that tells most; of equal ones the first."""
    here, told = column.rows(covered), classes[covered]
    number = len(everything)
    before = known.get(column.name)
    conditions: list[Condition]
    if isinstance(here, CategoricalColumn):
        if before is not None:
            return None
        size = len(here.categories)
        cells = np.bincount(here.codes * number + told, minlength=size * number)
        counts = cells.reshape(size, number).astype(np.float64)
        conditions = [Values((code,)) for code in range(size)]
    else:
        extent = before if isinstance(before, Interval) else Interval()
        ends, below = _below(here, told, number)
        counts = np.concatenate([below, np.bincount(told, minlength=number) - below])
        conditions = [
            *(Interval(extent.above, float(end)) for end in ends),
            *(Interval(float(end), extent.up_to) for end in ends),
        ]
    if not conditions:
        return None
    rest = everything - counts
    inside = entropy_bits(counts)
    bits = inside + entropy_bits(rest)
    fits = (counts.sum(axis=1) >= min_leaf) & (rest.sum(axis=1) >= min_leaf)
    if not fits.any():
        return None
    # A condition and its opposite tell as much: the one is taken whose records can be told apart
    # further.
    scale = len(classes)
    least = bits[fits].min() + _LEAST_GAIN * scale
    place = first_largest(np.where(fits & (bits <= least), inside, -np.inf), scale=scale)
    return _Candidate(column.name, conditions[place], float(bits[place]))


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
