"""What all classifiers have in common: predictions, probabilities and scores on frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pramana.estimators.base import Estimator
from pramana.frames.codes import encode
from pramana.frames.tables import Frame
from shared.domain import Domain
from shared.errors import OptionError
from shared.learn.common.documents import write_json
from shared.learn.prediction import Predictor, read_predictor

if TYPE_CHECKING:
    import numpy.typing as npt


class Classifier(Estimator):
    """An estimator that tells a class from other variables.

    After `fit` there are also `model_` (with all its errors), `classes_`, `feature_names_in_` and
    `n_features_in_`.
    """

    target: str
    model_: Predictor

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The classes' labels, (classes,)."""
        self._require_fitted()
        return np.array(self.model_.target.categories, dtype=object)

    @property
    def feature_names_in_(self) -> npt.NDArray[Any]:
        """The names of the features, (features,)."""
        self._require_fitted()
        return np.array(self.model_.inputs.names, dtype=object)

    @property
    def n_features_in_(self) -> int:
        """How many features there are."""
        return len(self.feature_names_in_)

    def predict(self, frame: Frame) -> npt.NDArray[Any]:
        """Return the class of each row, (n,) labels."""
        self._require_fitted()
        return self.classes_[self.model_.predict(self._codes(frame))]

    def predict_proba(self, frame: Frame) -> npt.NDArray[np.float64]:
        """Return the probability of each class, (n, classes)."""
        self._require_fitted()
        shares = self.model_.probabilities(self._codes(frame))
        if shares is None:
            raise OptionError(
                f"This {type(self).__name__} predicts classes, not their probabilities.",
                where="predict_proba",
            )
        return shares

    def score(self, frame: Frame) -> float:
        """Return the share of rows whose class is predicted right."""
        self._require_fitted()
        truth = encode(frame, Domain((self.model_.target,)), "frame")[self.model_.target.name]
        return float(np.mean(self.model_.predict(self._codes(frame)) == truth))

    def _codes(self, frame: Frame) -> dict[str, Any]:
        return encode(frame, self.model_.inputs, "frame", missing=self.model_.sums_out)

    def _take(self, document: Mapping[str, Any]) -> None:
        self.model_ = read_predictor(write_json(document))
