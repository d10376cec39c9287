"""Classification of a frame's rows by shared trees and global models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pramana.frames.codes import label_codes
from pramana.frames.tables import Frame, as_frame
from pramana.model_sharing.columns import attribute_columns

if TYPE_CHECKING:
    from pramana_core.model_sharing.global_models.model import GlobalModel
    from pramana_core.model_sharing.tree import SharedTree


class TreePredictor:
    """Predicts the classes of a frame's rows from the attributes of a tree's schema."""

    @property
    def _fitted(self) -> SharedTree | GlobalModel:
        """The tree or global model that predicts. Raises NotFitted if nothing was learned yet."""
        raise NotImplementedError

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The class labels, (classes,)."""
        return np.array(self._fitted.schema.target.categories, dtype=object)

    @property
    def feature_names_in_(self) -> npt.NDArray[Any]:
        """The names of the attributes, (attributes,)."""
        return np.array(self._fitted.schema.names, dtype=object)

    def predict(self, frame: Frame) -> npt.NDArray[Any]:
        """Return the predicted class of each row of a table with all attributes, (n,).

        Raises NotFitted, TableError, MissingColumn, UnknownCategory.
        """
        return self.classes_[self._fitted.predict(attribute_columns(self._fitted.schema, frame))]

    def predict_proba(self, frame: Frame) -> npt.NDArray[np.float64]:
        """Return the probability of each class, in the order of `classes_`, (n, classes).

        If leaves have only hits and misses, the misses are divided evenly among the other classes.
        Raises the errors of `predict`.
        """
        return self._fitted.probabilities(attribute_columns(self._fitted.schema, frame))

    def score(self, frame: Frame, y: Any = None) -> float:
        """Return the share of rows whose class is predicted correctly.

        Args:
            frame: a table as in `predict`.
            y: the true classes, n labels; by default the frame's column of the target.

        Raises TableError, MissingColumn, UnknownCategory, and the errors of `predict`.
        """
        schema = self._fitted.schema
        found = self._fitted.predict(attribute_columns(schema, frame))
        return float(np.mean(found == label_codes(as_frame(frame, "frame"), schema.target, y)))
