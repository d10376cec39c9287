"""The questions a private tree may ask: a public list, made from the schema alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pramana_core.mixed.table import CategoricalColumn, Floats, MixedTable
from pramana_core.model_sharing.core.attributes import (
    Attribute,
    CategoricalAttribute,
    NumericAttribute,
    TreeSchema,
)
from pramana_core.model_sharing.core.conditions import Condition, Interval, Values
from pramana_core.model_sharing.private.options import PrivateOptions


@dataclass(frozen=True)
class Question:
    """A question of two answers: a category or any other, a number up to a threshold or above."""

    attribute: str
    parts: tuple[Condition, Condition]


def thresholds_of(attribute: NumericAttribute, options: PrivateOptions) -> tuple[float, ...]:
    """Return the thresholds that may be asked for, ascending: declared, or equally far apart."""
    declared = options.thresholds.get(attribute.name)
    if declared is not None:
        return tuple(sorted(set(declared)))
    between = np.linspace(attribute.low, attribute.high, options.grid + 1)[1:-1]
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
        options: PrivateOptions,
    ) -> None:
        """Prepare the records' places in the grids.

        Args:
            schema: the class and the attributes, declared.
            records: the attributes of n records, as `TreeSchema.read` returns them.
            classes: the class codes of the records, n.
            options: the grids, and how good a question is.
        """
        self._schema, self._classes, self._quality = schema, classes, options.quality
        self._thresholds: dict[str, tuple[float, ...]] = {}
        self._places: dict[str, npt.NDArray[np.intp]] = {}
        for attribute in schema.attributes:
            column = records[attribute.name]
            if isinstance(column, CategoricalColumn):
                self._places[attribute.name] = column.codes.astype(np.intp)
            elif isinstance(attribute, NumericAttribute):
                known = thresholds_of(attribute, options)
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
        return self._worth(first) + self._worth(whole - first)

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

    def _worth(self, counts: Floats) -> Floats:
        """Return the worth of parts, questions x classes."""
        if self._quality == "hits":
            most: Floats = counts.max(axis=1)
            return most
        records = counts.sum(axis=1)
        worth: Floats = np.square(counts).sum(axis=1) / np.maximum(records, 1)
        return worth

    def rows_of(
        self, question: Question, rows: npt.NDArray[np.intp]
    ) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Return which of some records are in the first part of a question, and which are not."""
        places, row = self._places[question.attribute][rows], self._row(question)
        first = places == row if isinstance(question.parts[0], Values) else places <= row
        return rows[first], rows[~first]
