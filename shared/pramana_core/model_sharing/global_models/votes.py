"""Classification by the votes of several owners' trees, without pseudo-data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from pramana_core.mixed import Floats, MixedTable
from pramana_core.model_sharing.attributes import TreeSchema
from pramana_core.model_sharing.global_models.common_schema import common_schema, in_schema
from pramana_core.model_sharing.tree import SharedTree
from pramana_core.ties import first_largest_of_rows

_SMOOTHING = 1.0
"""Records added to each leaf, spread over the classes (Laplace), so a small leaf weighs less."""


@dataclass(frozen=True)
class VotesModel:
    """A classifier that adds up the class shares of a record's leaves in several trees.

    A tree also votes, with full weight, on records with categories that its owner does not have
    (`in_schema`), so owners should declare the same ones. Raises ModelError: see `common_schema`.
    """

    trees: tuple[SharedTree, ...]
    kind: Literal["votes"] = "votes"

    def __post_init__(self) -> None:
        schema = common_schema(self.trees)
        object.__setattr__(self, "trees", tuple(in_schema(tree, schema) for tree in self.trees))

    @property
    def schema(self) -> TreeSchema:
        """The class variable and the attributes."""
        return self.trees[0].schema

    @cached_property
    def _shares(self) -> tuple[Floats, ...]:
        found = []
        for tree in self.trees:
            counts = tree.class_counts + _SMOOTHING / self.schema.classes
            found.append(counts / counts.sum(axis=1, keepdims=True))
        return tuple(found)

    def probabilities(self, table: MixedTable) -> Floats:
        """Return class probabilities, n x classes. Raises the errors of `GlobalModel.predict`."""
        records = self.schema.read(table)
        votes: Floats = np.zeros((records.records, self.schema.classes))
        for tree, shares in zip(self.trees, self._shares, strict=True):
            votes += shares[tree.leaf_of(records)]
        found: Floats = votes / votes.sum(axis=1, keepdims=True)
        return found

    def predict(self, table: MixedTable) -> npt.NDArray[np.intp]:
        """Return the code of the most probable class (the first, if equal) of each of n records.

        Raises the errors of `GlobalModel.predict`.
        """
        return first_largest_of_rows(self.probabilities(table))
