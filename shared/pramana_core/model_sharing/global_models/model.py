"""A global model: it tells the class of records of a schema, and is plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from pramana_core.mixed import Floats, MixedTable
from pramana_core.model_sharing.attributes import TreeSchema
from pramana_core.model_sharing.tree import SharedTree

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
