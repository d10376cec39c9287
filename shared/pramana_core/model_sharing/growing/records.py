"""The records that a tree is learned from, as codes and ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from pramana_core.mixed.table import CategoricalColumn, Floats, MixedTable
from pramana_core.model_sharing.attributes import NumericAttribute, TreeSchema
from pramana_core.model_sharing.growing.thresholds import between
from pramana_core.model_sharing.tree import Condition, Leaf, whole

Codes = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Records:
    """n records.

    Attributes:
        schema: what they are of.
        classes: their class codes.
        codes: of each attribute the codes of categories, or the ranks of numbers: 0 is the least,
            and equal numbers have the same.
        values: of each attribute of numbers the different ones, ascending.
    """

    schema: TreeSchema
    classes: Codes
    codes: Mapping[str, Codes]
    values: Mapping[str, Floats]

    @classmethod
    def of(cls, schema: TreeSchema, attributes: MixedTable, classes: Codes) -> Records:
        """Return the records of a table whose columns are the schema's."""
        codes: dict[str, Codes] = {}
        values: dict[str, Floats] = {}
        for column in attributes.columns:
            if isinstance(column, CategoricalColumn):
                codes[column.name] = column.codes
            else:
                values[column.name], ranks = np.unique(column.values, return_inverse=True)
                codes[column.name] = ranks.astype(np.intp)
        return cls(schema, classes, codes, values)

    @cached_property
    def indicators(self) -> Floats:
        """The classes as zeros and ones: n x classes."""
        return np.eye(self.schema.classes)[self.classes]

    def __len__(self) -> int:
        return len(self.classes)

    def everything(self) -> dict[str, Condition]:
        """Return the condition on each attribute that always holds."""
        return {name: whole(self.schema, name) for name in self.schema.names}

    def counts(self, rows: Codes) -> Floats:
        """Return how many of some records are of each class."""
        return np.bincount(self.classes[rows], minlength=self.schema.classes).astype(np.float64)

    def leaf(self, rows: Codes) -> Leaf:
        """Return the leaf of some records."""
        return Leaf.of(self.counts(rows))

    def threshold(self, name: str, left: int, right: int) -> float:
        """Return the threshold between two neighbouring ranks."""
        values = self.values[name]
        attribute = self.schema[name]
        is_whole = isinstance(attribute, NumericAttribute) and attribute.whole
        a, b = float(values[left]), float(values[right])
        return between(a, b, whole=is_whole and a == int(a) and b == int(b))
