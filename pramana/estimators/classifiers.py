"""The base class of classifiers: predictions, probabilities and scores on frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np

from pramana.estimators.base import Estimator, sklearn_tags
from pramana.frames.codes import (
    MissingColumns,
    encode,
    label_codes,
    lacking,
    report_missing_columns,
    takes_empty,
)
from pramana.frames.tables import Frame, as_frame, names_of, shown
from pramana.reporting.estimating import EstimatedCounts
from pramana_core.alike import did_you_mean
from pramana_core.domain import Domain
from pramana_core.errors import MissingColumn, OptionError, UnknownVariable
from pramana_core.learn.common.documents import write_json
from pramana_core.learn.common.worth import Worth
from pramana_core.learn.learners import ClassLearner
from pramana_core.learn.prediction import Predictor
from pramana_core.marginals.counts import Codes
from pramana_core.progress import Progress

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd
    from sklearn.utils import Tags

    Labels = Sequence[object] | npt.NDArray[Any]

ModelT = TypeVar("ModelT", bound=Predictor)

SUM_OUT = "NaiveBayes, BayesClassifier and DecisionTree"
"""The classifiers that accept records with missing values."""


class Classifier(Estimator, Generic[ModelT]):
    """An estimator that predicts a class variable; `model_` is the learned model."""

    learner: ClassVar[ClassLearner[Any, Any]]
    """The learner in `pramana_core`."""

    target: str
    features: Sequence[str] | None
    model_: ModelT

    def __init_subclass__(cls) -> None:
        if "learner" in vars(cls):
            cls.kind = cls.learner.kind
            cls.job_names = {"features": cls.learner.features}
        super().__init_subclass__()

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The class labels in the order of the domain, (classes,)."""
        return np.array(self._fitted.target.categories, dtype=object)

    @property
    def feature_names_in_(self) -> npt.NDArray[Any]:
        """The names of the features, (features,)."""
        return np.array(self._fitted.inputs.names, dtype=object)

    @property
    def n_features_in_(self) -> int:
        """The count of features."""
        return len(self._fitted.inputs)

    @property
    def notes_(self) -> tuple[str, ...]:
        """Notes on how to read the model, one sentence each; often empty."""
        return tuple(getattr(self._fitted, "notes", ()))

    def predict(
        self, frame: Frame, *, missing_columns: MissingColumns = "warn"
    ) -> npt.NDArray[Any]:
        """Return the predicted class of each row, (n,).

        Columns that are not features are ignored. `NaiveBayes`, `BayesClassifier` and
        `DecisionTree` sum over the categories of missing features and empty cells; other
        classifiers raise an error.

        Args:
            frame: a table of n rows; in a feature of intervals, numbers are mapped to their
                intervals.
            missing_columns: whether missing columns cause a warning (`warn`), cause an error
                (`error`) or are accepted (`ignore`).

        Raises NotFitted, TableError, MissingColumn, OptionError, UnknownCategory.
        """
        codes = self._fitted.predict(self._codes(frame, missing_columns))
        return self.classes_[codes]

    def predict_proba(
        self, frame: Frame, *, missing_columns: MissingColumns = "warn"
    ) -> npt.NDArray[np.float64]:
        """Return the probability of each class, in the order of `classes_`, (n, classes).

        Raises the errors of `predict`, and OptionError if a linear classifier lacks logistic loss.
        """
        shares = self._fitted.probabilities(self._codes(frame, missing_columns))
        if shares is None:
            raise OptionError(
                f"{self._options_text()} gives no probabilities: predict_proba needs"
                " loss='logistic'.",
                where="predict_proba",
            )
        return shares

    def score(
        self,
        frame: Frame,
        y: Labels | None = None,
        *,
        missing_columns: MissingColumns = "warn",
    ) -> float:
        """Return the share of rows whose class is predicted correctly.

        Args:
            frame: a table as in `predict`.
            y: the true classes, n labels; by default the frame's column of the target.
            missing_columns: as in `predict`.

        Raises TableError, MissingColumn, UnknownCategory, and the errors of `predict`.
        """
        predicted = self._fitted.predict(self._codes(frame, missing_columns))
        true = label_codes(as_frame(frame, "frame"), self._fitted.target, y)
        return float(np.mean(predicted == true))

    @property
    def _fitted(self) -> ModelT:
        self._require_fitted()
        return self.model_

    def _codes(self, frame: Frame, missing_columns: MissingColumns = "warn") -> dict[str, Codes]:
        model = self._fitted
        table = as_frame(frame, "frame")
        if not model.sums_out:
            self._require_whole(table, model.inputs)
        report_missing_columns(table, model.used, model.inputs.names, missing_columns)
        return encode(table, model.inputs, "frame", missing=model.sums_out)

    def _require_whole(self, table: pd.DataFrame, inputs: Domain) -> None:
        empty = [v.name for v in inputs if v.name in table.columns and not takes_empty(v)]
        empty = [name for name in empty if table[name].isna().any()]
        words = lacking(table, inputs.names, "frame")
        if words or empty:
            words = words or f"Column {empty[0]!r} of frame has empty cells"
            raise MissingColumn(
                f"{words}, but a {type(self).__name__} needs all values; fill these cells, or use"
                f" {SUM_OUT}, which accept missing values.",
                where="frame" if not empty else empty[0],
            )

    def _learn(self, counts: EstimatedCounts, on_step: Progress) -> None:
        self._require_variables(counts.domain)
        names = None if self.features is None else list(self.features)
        self.model_ = self.learner.learn(
            counts.marginals,
            self.target,
            names,
            self._options(),
            seed=getattr(self, "seed", 0),
            on_step=on_step,
        )

    def _weigh(self, counts: EstimatedCounts) -> Worth | None:
        marginals = counts.marginals.part(apart=True)
        return self.learner.worth(marginals, self.model_, getattr(self, "seed", 0))

    def _document(self) -> dict[str, Any]:
        return self.learner.document(self.model_)

    def _options(self) -> Any:
        return self._options_of(self.learner.options)

    def _require_variables(self, domain: Domain) -> None:
        if not isinstance(self.target, str):
            raise OptionError(
                f"target must be the name of a variable, not {shown(self.target)}; the reports have"
                f" {', '.join(domain.names)}.",
                where="target",
            )
        features = () if self.features is None else names_of(self.features, "features", some=True)
        for argument, names in (("target", [self.target]), ("features", features)):
            unknown = [name for name in names if name not in domain]
            if unknown:
                raise UnknownVariable(
                    f"{argument} names {', '.join(map(repr, unknown))}, no variable of the"
                    f" reports{did_you_mean(unknown, domain.names)}; they have"
                    f" {', '.join(domain.names)}.",
                    where=argument,
                )
        if len(domain) == 1 or self.target in features:
            raise OptionError(
                f"{self.target!r} must be predicted from variables other than {self.target!r}.",
                where="features" if features else "target",
            )

    def _take(self, document: Mapping[str, Any]) -> None:
        self.model_ = self.learner.read(write_json(document))

    def __sklearn_tags__(self) -> Tags:
        return sklearn_tags("classifier", missing=True)
