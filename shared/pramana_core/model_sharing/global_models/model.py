"""The protocol of global models, which are plain data and predict the class of records."""

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
        """The name of the kind of model in options and documents."""

    @property
    def schema(self) -> TreeSchema:
        """The class variable and the attributes."""

    def predict(self, table: MixedTable) -> npt.NDArray[np.intp]:
        """Return the class codes of n records. Raises the errors of `TreeSchema.read`."""

    def probabilities(self, table: MixedTable) -> Floats:
        """Return class probabilities of n records, n x classes. Raises the errors of `predict`."""
