"""What a global model is: it tells the class of records of a schema, and is plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from pramana_core.errors import ModelError
from pramana_core.mixed.table import Floats, MixedTable
from pramana_core.model_sharing.core.attributes import TreeSchema
from pramana_core.model_sharing.core.conditions import Condition
from pramana_core.model_sharing.core.tree import SharedTree
from pramana_core.ties import first_largest_of_rows

Codes = npt.NDArray[np.intp]


class GlobalModel(Protocol):
    """A model that tells the class of records, and how probable each class is."""

    @property
    def kind(self) -> str:
        """Its name in options and documents."""

    @property
    def schema(self) -> TreeSchema:
        """The class and the attributes."""

    def predict(self, table: MixedTable) -> Codes:
        """Return the class code of each of n records.

        Raises:
            MissingColumn, TableError, UnknownCategory: as `TreeSchema.read`.
        """

    def probabilities(self, table: MixedTable) -> Floats:
        """Return the probability of each class of n records, n x classes; raises as `predict`."""


@dataclass(frozen=True)
class TreeModel:
    """A single tree."""

    tree: SharedTree
    kind: Literal["tree"] = "tree"

    @property
    def schema(self) -> TreeSchema:
        """The class and the attributes."""
        return self.tree.schema

    def predict(self, table: MixedTable) -> Codes:
        """Return the class code of each of n records; see `GlobalModel`."""
        return self.tree.predict(table)

    def probabilities(self, table: MixedTable) -> Floats:
        """Return the probability of each class, n x classes; see `GlobalModel`."""
        return self.tree.probabilities(table)


@dataclass(frozen=True)
class ForestModel:
    """Trees whose probabilities are averaged; the most probable class is predicted.

    Raises:
        ModelError: there are no trees, or they are of different schemas.
    """

    trees: tuple[SharedTree, ...]
    kind: Literal["forest"] = "forest"

    def __post_init__(self) -> None:
        if not self.trees or any(tree.schema != self.schema for tree in self.trees):
            raise ModelError(
                "A forest must have at least one tree, and all of one schema.", where="trees"
            )

    @property
    def schema(self) -> TreeSchema:
        """The class and the attributes."""
        return self.trees[0].schema

    def predict(self, table: MixedTable) -> Codes:
        """Return the class code of each of n records; of a tie the first. See `GlobalModel`."""
        return likeliest(self.probabilities(table))

    def probabilities(self, table: MixedTable) -> Floats:
        """Return the probability of each class, n x classes; see `GlobalModel`."""
        records = self.schema.read(table)
        total = np.zeros((records.records, self.schema.classes))
        for tree in self.trees:
            total += tree.probabilities(records)
        return total / len(self.trees)


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
    conditions: tuple[tuple[str, Condition], ...]
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
        return likeliest(self.probabilities(table))

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


def meeting(
    records: MixedTable, conditions: tuple[tuple[str, Condition], ...]
) -> npt.NDArray[np.bool_]:
    """Return which of n records, as a schema reads them, meet all of some conditions."""
    found = np.ones(records.records, dtype=bool)
    for name, condition in conditions:
        found &= condition.holds(records[name])
    return found


def likeliest(probabilities: Floats) -> Codes:
    """Return the most probable class of each of n records; of a tie the first."""
    return first_largest_of_rows(probabilities)
