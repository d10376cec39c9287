"""Regression of a number on other columns, from masked records or from records as they are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pramana.estimators.base import Estimator, estimator
from pramana.estimators.saved import LearnedFrom
from pramana.frames.codes import copies_of, is_masked, mixed_columns, numbers_of
from pramana.frames.sentences import one_sentence
from pramana.frames.tables import Frame, shown
from pramana.reporting.estimating import EstimatedCounts
from pramana.reporting.files import names_of
from pramana.reporting.reports import Reports
from pramana_core.errors import OptionError, TableError
from pramana_core.learn.common.documents import write_json
from pramana_core.mixed import MixedTable
from pramana_core.pictures.plots import Picture
from pramana_core.plan import Plan
from pramana_core.progress import Progress
from pramana_core.regression.documents import read_regression_json, regression_json
from pramana_core.regression.learning import learn_regression
from pramana_core.regression.model import RegressionModel
from pramana_core.regression.options import ModelName, RegressionOptions
from pramana_core.regression.pictures import effects_chart
from pramana_core.regression.words import (
    diagnostic_rows,
    facts,
    rows_of,
    warnings,
    write_regression_text,
)
from pramana_core.terminal import progress_bar

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd
    from sklearn.utils import Tags


@estimator
class Regression(Estimator):
    """Linear, polynomial or kernel regression, or a regression tree, with its errors.

    It learns from what `pm.mask` made, from frames of masked copies, or from one plain frame.
    Copies are combined by Reiter's rules (2003): the errors then count what masking added.
    Categories become indicators, one for each but the first.

    Args:
        target: the column that is explained; it must hold numbers.
        features: the columns that explain it; by default all others.
        model: `linear`; `polynomial`; `kernel`, for a relationship of any smooth shape; or `tree`.
        degree: the highest power of a numeric column, of `polynomial`; 2 to 6.
        max_depth: the most questions on a path of a `tree`.
        min_leaf: the fewest records in a leaf of a `tree`.
        confidence: of all intervals.
        seed: decides which records are left out together when the model is judged.

    Attributes:
        model_: what was learned, with all errors and diagnostics.
        coef_: the coefficients in the columns' own units, (terms,); of least squares only.
        coef_error_: their standard errors against the population.
        intercept_: the intercept.
        score_: how well records were predicted that were left out, with its standard error.
        diagnostics_: a frame of the diagnostics, a row for each copy.
        masking_: how the records were masked, in words; empty if they were not.

    Examples:
        >>> import numpy as np, pandas as pd, pramana as pm
        >>> age = np.arange(20.0, 60.0, 0.1)
        >>> noise = np.random.default_rng(1).normal(0, 5, len(age))
        >>> people = pd.DataFrame({"age": age, "spends": 300 - 0.3 * (age - 40) ** 2 + noise})
        >>> model = pm.Regression("spends", model="polynomial").fit(people)
        >>> model.to_frame()[["term", "estimate", "se"]].round(3)
                  term  estimate     se
        0  (intercept)  -176.795  2.912
        1          age    23.796  0.154
        2        age^2    -0.297  0.002
        >>> model.predict({"age": [20, 40, 60]}).round()
        array([180., 299., 180.])
    """

    kind = "regression"
    of_counts = False

    target: str
    features: Sequence[str] | None = None
    _: KW_ONLY
    model: ModelName = RegressionOptions.model
    degree: int = RegressionOptions.degree
    max_depth: int = RegressionOptions.max_depth
    min_leaf: int = RegressionOptions.min_leaf
    confidence: float = RegressionOptions.confidence
    seed: int = RegressionOptions.seed

    def fit(self, data: Any, y: None = None) -> Self:  # type: ignore[override]
        """Learn from masked records, or from a table as it is.

        Args:
            data: what `pm.mask` returned; a list of frames, one for each masked copy of the same
                records; or one frame.
            y: nothing: the target is a column of the data.

        Returns:
            the estimator itself.

        Raises:
            TableError: the data are no tables, a column holds times or empty cells, or the target
                has categories.
            MissingColumn: there is no column of a name.
            OptionError: an option is out of its range.
            LimitExceeded: there would be too many terms.
            EstimationError: there are too few records, or nothing varies.
            NotInstalled: a tree, without scikit-learn.

        Examples:
            >>> import pandas as pd, pramana as pm
            >>> table = pd.DataFrame({"x": [1, 2, 3, 4, 5, 6], "y": [1.0, 2.1, 2.9, 4.2, 5.0, 5.8]})
            >>> model = pm.Regression("y").fit(table)
            >>> model.coef_.round(3), model.coef_error_.round(3)
            (array([0.971]), array([0.035]))
        """
        with one_sentence():
            if y is not None:
                raise OptionError(
                    "y must be left out: the target is a column of the data, named in the"
                    " constructor.",
                    where="y",
                )
            options = self._options()
            _require_records(data)
            copies, masking = copies_of(data)
            tables = [self._table(copy, place) for place, copy in enumerate(copies)]
            with progress_bar("learning") as bar:
                features = None if self.features is None else self._chosen()
                self.model_: RegressionModel = learn_regression(
                    tables, self.target, features, options, bar, masked=bool(masking)
                )
        words = (masking,) if masking else ()
        self._set_source(source_of(self.model_.records, options.model, words))
        return self

    def predict(self, frame: Frame) -> npt.NDArray[np.float64]:
        """Return the predicted target of each row.

        Args:
            frame: a table of n rows with all features; other columns are ignored.

        Returns:
            n numbers, in the target's unit.

        Raises:
            NotFitted: nothing was learned.
            TableError: what was passed is no table, or a feature has empty cells or another type.
            MissingColumn: a feature is missing.
            UnknownCategory: a cell holds a category that was not learned.
        """
        model = self._fitted
        table = self._whole(frame, [feature.name for feature in model.features])
        with one_sentence():
            return model.predict(table)

    def score(self, frame: Frame, y: Any = None) -> float:
        """Return R2: the share of the target's variance that is predicted; at most 1.

        Args:
            frame: a table as in `predict`.
            y: the true targets, n numbers; by default the frame's column of the target.

        Raises:
            TableError: y is no column of n numbers, or does not vary.
            MissingColumn: neither y nor the target's column is there.
            Others: see `predict`.
        """
        predicted = self.predict(frame)
        if y is None:
            with one_sentence():
                true = self._whole(frame, [self._fitted.target]).matrix()[:, 0]
        else:
            true = numbers_of(y, len(predicted), "y")
        around = true - true.mean()
        if not around.any():
            raise TableError(
                "The targets are all the same, so that there is no variance to predict.", where="y"
            )
        return float(1 - np.square(true - predicted).sum() / np.square(around).sum())

    @property
    def feature_names_in_(self) -> npt.NDArray[Any]:
        """The names of the features, (features,)."""
        return np.array([feature.name for feature in self._fitted.features], dtype=object)

    @property
    def n_features_in_(self) -> int:
        """How many features there are."""
        return len(self._fitted.features)

    @property
    def coef_(self) -> npt.NDArray[np.float64]:
        """The coefficients of the terms in the columns' own units, (terms,)."""
        return np.array([one.estimate for one in self._coefficients()[1:]])

    @property
    def coef_error_(self) -> npt.NDArray[np.float64]:
        """The standard errors of `coef_` against the population."""
        return np.array([one.se for one in self._coefficients()[1:]])

    @property
    def intercept_(self) -> float:
        """The intercept."""
        return float(self._coefficients()[0].estimate)

    @property
    def score_(self) -> Any:
        """How well left-out records were predicted: `r2` with its `se`, `rmse`; None of few."""
        return self._fitted.score

    @property
    def notes_(self) -> tuple[str, ...]:
        """What the reader of the model must know, a sentence each."""
        return tuple(warnings(self._fitted))

    @property
    def diagnostics_(self) -> pd.DataFrame:
        """The diagnostics, a row for each copy.

        Columns: `r2`, `adjusted_r2`, `residual_sd`, `aic`.
        """
        import pandas as pd

        return pd.DataFrame(diagnostic_rows(self._fitted)).astype(float)

    def summary(self) -> str:
        """Return the model as text: its numbers with their errors, its tests, what to beware of.

        Raises:
            NotFitted: nothing was learned.
        """
        return write_regression_text(self._fitted)

    def to_frame(self) -> pd.DataFrame:
        """Return what was learned as rows of numbers.

        Of least squares a row for each coefficient: `term`; `estimate`, in its own unit; `se`, its
        standard error against the population, and `se_robust`, the same for errors of any
        variances (HC3); `t`, its degrees of `freedom`, `p`; `low` and `high`, the ends of its
        interval by `se`. Of a tree a row for each
        node; of a kernel regression a row for each point of its curves.

        Raises:
            NotFitted: nothing was learned.
        """
        import pandas as pd

        return pd.DataFrame(rows_of(self._fitted))

    @property
    def _fitted(self) -> RegressionModel:
        self._require_fitted()
        return self.model_

    def _coefficients(self) -> Any:
        found = self._fitted.coefficients
        if not found:
            raise OptionError(
                f"A {self._fitted.options.model} model has no coefficients; to_frame() has its"
                " numbers.",
                where="coef_",
            )
        return found

    def _options(self) -> RegressionOptions:
        """Return the options that have limits. Raises OptionError."""
        if not isinstance(self.target, str):
            raise OptionError(
                f"target must be the name of a column, not {shown(self.target)}.", where="target"
            )
        self._chosen()
        return self._options_of(RegressionOptions)

    def _chosen(self) -> list[str]:
        """Return the features by name, none if all are meant. Raises OptionError."""
        return [] if self.features is None else list(names_of(self.features, "features"))

    def _table(self, copy: Frame, place: int) -> MixedTable:
        """Return the columns of a copy that are asked for. Raises TableError, MissingColumn."""
        argument = "data" if place == 0 else f"copy {place + 1} of data"
        names = self._chosen()
        # A feature that is the target, or there twice, is refused below.
        asked = list(dict.fromkeys([*names, self.target])) if names else None
        return mixed_columns(copy, asked, argument, needed=[self.target])

    def _whole(self, frame: Frame, names: Sequence[str]) -> MixedTable:
        """Return some columns of a table to predict of. Raises TableError, MissingColumn."""
        with one_sentence():
            return mixed_columns(frame.frame if is_masked(frame) else frame, names, "frame")

    def _learn(self, counts: EstimatedCounts, on_step: Progress) -> None:  # noqa: ARG002
        """Refuse counts: `fit` learns from records."""
        raise TableError("A Regression learns from records, not from counts.", where="data")

    def _set_source(self, source: LearnedFrom) -> None:
        super()._set_source(source)
        self.masking_: tuple[str, ...] = source.masking

    def _source(self) -> LearnedFrom:
        self._require_fitted()
        return source_of(self.n_records_, self.model_.options.model, self.masking_)

    def _document(self) -> dict[str, Any]:
        return regression_json(self._fitted)

    def _take(self, document: Mapping[str, Any]) -> None:
        self.model_ = read_regression_json(write_json(document))

    def source_told(self) -> str:
        """Return in words what was learned from: records, and how they were masked.

        Raises:
            NotFitted: nothing was learned.
        """
        records = f"learned from {self._fitted.records:,} records"
        if not self.masking_:
            return f"{records} as they are; no gamma bounds what they tell"
        return f"{records} masked by {'; '.join(self.masking_)}, which no gamma bounds"

    def _found_told(self) -> str:
        score = self._fitted.score
        said = f", R2 {self._fitted.mean('r2'):.3f}"
        return said if score is None else f"{said} ({score.r2:.3f} of records left out)"

    def _picture(self) -> Picture:
        return effects_chart(self.model_)

    def _facts(self) -> list[tuple[str, str]]:
        found = [("fit", words) for words in facts(self._fitted)]
        told = "standard errors and intervals against the population"
        return [*found, ("errors", told), *(("note", words) for words in self.notes_)]

    def __sklearn_tags__(self) -> Tags:
        """Say to scikit-learn what this is: a regressor of numbers, text and categories."""
        from sklearn.utils import InputTags, RegressorTags, Tags, TargetTags

        return Tags(
            estimator_type="regressor",
            target_tags=TargetTags(required=False),
            regressor_tags=RegressorTags(),
            input_tags=InputTags(string=True, categorical=True),
            requires_fit=True,
        )


_BY = {
    "linear": "least squares",
    "polynomial": "least squares",
    "kernel": "kernel ridge regression",
    "tree": "a regression tree",
}


def source_of(records: int, model: ModelName, masking: tuple[str, ...]) -> LearnedFrom:
    """Return what a regression was learned from: nothing bounds what its records tell."""
    return LearnedFrom(records, (), math.inf, math.inf, _BY[model], masking=masking)


def _require_records(data: object) -> None:
    """Refuse what tells counts and no records. Raises TableError."""
    if isinstance(data, Plan | Reports | EstimatedCounts):
        raise TableError(
            f"data must be masked or plain records, not {shown(data)}: randomized records tell"
            " counts of categories, from which classifiers and networks are learned.",
            where="data",
        )
