"""The protocol of global models: plain data that predicts the class of records of a schema."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from pramana_core.mixed import Floats, MixedTable
from pramana_core.model_sharing.attributes import TreeSchema


class GlobalModel(Protocol):
    """A model that predicts the class of records, such as a `SharedTree`."""

    @property
    def kind(self) -> str:
        """The model's name in options and documents."""

    @property
    def schema(self) -> TreeSchema:
        """The class and the attributes."""

    def predict(self, table: MixedTable) -> npt.NDArray[np.intp]:
        """Return the class code of each of n records. Raises as `TreeSchema.read`."""

    def probabilities(self, table: MixedTable) -> Floats:
        """Return the probability of each class of n records, n x classes; raises as `predict`."""
