"""Regression of a numeric column on other columns, learned from masked or true records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pramana.estimators.base import Estimator, estimator, sklearn_tags
from pramana.estimators.saved import LearnedFrom
from pramana.frames.codes import is_masked, mixed_columns, numbers_of
from pramana.frames.sentences import one_sentence
from pramana.frames.tables import Frame, names_of, shown
from pramana.reporting.estimating import EstimatedCounts
from pramana.reporting.reports import Reports
from pramana_core.errors import OptionError, TableError
from pramana_core.learn.common.documents import write_json
from pramana_core.learn.common.options import RegressionOptions
from pramana_core.mixed import MixedTable
from pramana_core.pictures.plots import Picture
from pramana_core.plan import Plan
from pramana_core.progress import Progress
from pramana_core.regression.learning import learn_regression
from pramana_core.regression.model import DOCUMENT, RegressionModel
from pramana_core.regression.pictures import coefficients_chart
from pramana_core.regression.words import (
    coefficient_rows,
    warnings,
)
from pramana_core.terminal import progress_bar

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd
    from sklearn.utils import Tags


@estimator
class Regression(Estimator):
    """Linear or polynomial regression by least squares, with standard errors.

    The data are a result of `pm.mask` or a frame of true records. A categorical column becomes one
    indicator per category except the first.

    Args:
        target: the numeric column to explain.
        features: the columns that explain the target; by default all others.
        degree: the highest power of a numeric column, 1 to 6; 1 is linear.
        confidence: the confidence level of all intervals.
        seed: the seed that assigns records to the folds of the score.

    Attributes:
        model_: the learned model with its errors and diagnostics.

    Examples:
        >>> import numpy as np, pandas as pd, pramana as pm
        >>> age = np.arange(20.0, 60.0, 0.1)
        >>> noise = np.random.default_rng(1).normal(0, 5, len(age))
        >>> people = pd.DataFrame({"age": age, "spends": 300 - 0.3 * (age - 40) ** 2 + noise})
        >>> model = pm.Regression("spends", degree=2).fit(people)
        >>> model.to_frame()[["term", "estimate", "se"]].round(3)
                  term  estimate     se
        0  (intercept)  -176.795  2.912
        1          age    23.796  0.154
        2        age^2    -0.297  0.002
        >>> model.predict({"age": [20, 40, 60]}).round()
        array([180., 299., 180.])
    """

    kind = "regression"

    target: str
    features: Sequence[str] | None = None
    _: KW_ONLY
    degree: int = RegressionOptions.degree
    confidence: float = RegressionOptions.confidence
    seed: int = RegressionOptions.seed

    def fit(self, data: Any, y: None = None) -> Self:  # type: ignore[override]
        """Learn from masked records, or from a table of true records.

        Args:
            data: the result of `pm.mask`, or a frame.
            y: not used; the target is a column of the data.

        Raises TableError, MissingColumn, OptionError, LimitExceeded, EstimationError.
        """
        with one_sentence():
            if y is not None:
                raise OptionError(
                    "y must be omitted: the constructor names the target, a column of the data.",
                    where="y",
                )
            if not isinstance(self.target, str):
                raise OptionError(
                    f"target must be the name of a column, not {shown(self.target)}.",
                    where="target",
                )
            names = self._features()
            options = self._options_of(RegressionOptions)
            _require_records(data)
            masked = is_masked(data)
            masking = (data.method,) if masked else ()
            # The learner rejects a feature that is the target or is named twice.
            wanted = None if names is None else list(dict.fromkeys([*names, self.target]))
            frame = data.frame if masked else data
            table = mixed_columns(frame, wanted, "data", needed=[self.target])
            with progress_bar("learning") as bar:
                self.model_: RegressionModel = learn_regression(
                    table, self.target, names, options, bar, masked=masked
                )
        self._set_source(source_of(self.model_.records, masking))
        return self

    def predict(self, frame: Frame) -> npt.NDArray[np.float64]:
        """Return the predicted target of each row of a table with all features, (n,).

        Raises NotFitted, TableError, MissingColumn, UnknownCategory.
        """
        model = self._fitted
        table = self._whole(frame, [feature.name for feature in model.features])
        with one_sentence():
            return model.predict(table)

    def score(self, frame: Frame, y: Any = None) -> float:
        """Return R2, the share of the target's variance that the predictions explain; at most 1.

        Args:
            frame: a table as in `predict`.
            y: the true targets, n numbers; by default the frame's column of the target.

        Raises TableError, MissingColumn, and the errors of `predict`.
        """
        predicted = self.predict(frame)
        if y is None:
            true = self._whole(frame, [self._fitted.target]).matrix()[:, 0]
        else:
            true = numbers_of(y, len(predicted), "y")
        around = true - true.mean()
        if not around.any():
            raise TableError(
                "All targets are equal, so they have no variance to predict.", where="y"
            )
        return float(1 - np.square(true - predicted).sum() / np.square(around).sum())

    @property
    def feature_names_in_(self) -> npt.NDArray[Any]:
        """The names of the features, (features,)."""
        return np.array([feature.name for feature in self._fitted.features], dtype=object)

    @property
    def n_features_in_(self) -> int:
        """The count of features."""
        return len(self._fitted.features)

    @property
    def coef_(self) -> npt.NDArray[np.float64]:
        """The coefficients of the terms in the columns' own units, (terms,)."""
        return np.array([one.estimate for one in self._fitted.coefficients[1:]])

    @property
    def coef_error_(self) -> npt.NDArray[np.float64]:
        """The standard errors of `coef_` against the population."""
        return np.array([one.se for one in self._fitted.coefficients[1:]])

    @property
    def intercept_(self) -> float:
        """The intercept."""
        return float(self._fitted.coefficients[0].estimate)

    @property
    def score_(self) -> Any:
        """The score on held-out records: `r2`, its `se`, and `rmse`; None for too few records."""
        return self._fitted.score

    @property
    def masking_(self) -> tuple[str, ...]:
        """A description of each masking of the records; empty if they were not masked."""
        return self.learned_from_.masking

    @property
    def notes_(self) -> tuple[str, ...]:
        """Notes on how to read the model, one sentence each."""
        return tuple(warnings(self._fitted))

    @property
    def diagnostics_(self) -> pd.DataFrame:
        """The diagnostics in one row, with columns `r2` and `residual_sd`."""
        import pandas as pd

        return pd.DataFrame([vars(self._fitted.diagnostics)])

    def to_frame(self) -> pd.DataFrame:
        """Return the coefficients, one row each.

        Columns: `term`; `estimate`, in the target's unit per unit of the term; `se`, the standard
            error against the population; `se_robust`, the standard error under unequal variances
            (HC3); `t`, with its degrees of `freedom` and its p-value `p`; `low` and `high`, the
            ends of the interval computed from `se`.
        """
        import pandas as pd

        return pd.DataFrame(coefficient_rows(self._fitted))

    @property
    def _fitted(self) -> RegressionModel:
        self._require_fitted()
        return self.model_

    def _features(self) -> list[str] | None:
        return None if self.features is None else names_of(self.features, "features", some=True)

    def _whole(self, frame: Frame, names: Sequence[str]) -> MixedTable:
        with one_sentence():
            return mixed_columns(frame.frame if is_masked(frame) else frame, names, "frame")

    def _learn(self, counts: EstimatedCounts, on_step: Progress) -> None:  # noqa: ARG002
        raise TableError(
            "A Regression learns from records, not from counts; use fit with a table.",
            where="data",
        )

    def _document(self) -> dict[str, Any]:
        return DOCUMENT.write(self._fitted)

    def _take(self, document: Mapping[str, Any]) -> None:
        self.model_ = DOCUMENT.read(write_json(document))

    def describe_source(self) -> str:
        """Return the source in words: the count of records and their masking. Raises NotFitted."""
        records = f"learned from {self._fitted.records:,} records"
        if not self.masking_:
            return f"{records} without masking; no gamma bounds their disclosure"
        return f"{records} masked by {'; '.join(self.masking_)}, which no gamma bounds"

    def _finding(self) -> str:
        score = self._fitted.score
        words = f", R2 {self._fitted.diagnostics.r2:.3f}"
        return words if score is None else f"{words} ({score.r2:.3f} of held-out records)"

    def _picture(self) -> Picture:
        return coefficients_chart(self._fitted)

    def __sklearn_tags__(self) -> Tags:
        return sklearn_tags("regressor")


def source_of(records: int, masking: tuple[str, ...]) -> LearnedFrom:
    """Return a description of the records of a regression; masked records have no privacy bound."""
    return LearnedFrom(records=records, estimated_by="least squares", masking=masking)


def _require_records(data: object) -> None:
    if isinstance(data, Plan | Reports | EstimatedCounts):
        raise TableError(
            f"data must be a result of pm.mask or a table of records, not {shown(data)}.",
            where="data",
        )
