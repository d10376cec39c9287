"""Linear classifiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any

import numpy as np

from pramana.estimators.base import estimator
from pramana.estimators.classifiers import Classifier
from pramana.estimators.saved import plain
from pramana_core.learn.common.options import Basis, Encoding, Keep, LinearOptions, Loss
from pramana_core.learn.learners import LINEAR
from pramana_core.learn.linear.drawing import weights_chart
from pramana_core.learn.linear.model import LinearClassifier as Planes
from pramana_core.learn.linear.model import Plane
from pramana_core.pictures.plots import Picture

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd


@estimator
class LinearClassifier(Classifier[Planes]):
    """Logistic regression, least squares or a perceptron on estimated counts (Ma 6).

    A categorical variable becomes one indicator column per category except the first. Of three or
    more classes, each is fitted against all others together.

    Args:
        target: the class variable; with two classes, the second is positive.
        features: the variables that predict the class; by default all others.
        loss: `logistic`, `least-squares` (targets -1 and +1), or `perceptron` (Ma 6.2).
        l2: the penalty added to the mean loss is l2 / 2 times the sum of the squared weights of
            scaled columns; not for the perceptron.
        encoding: `indicator`, or `ordinal`, one column with the numbers 1 .. K for the categories.
        numeric: by variable, a number for each category in the domain's order.
        basis: `cells` fits to the counts of all cells of features and class, with errors; `network`
            fits to records drawn from a learned network, without errors. None chooses `cells` if
            records report these variables together.
        steps: the perceptron's largest number of updates per plane.
        sample: the number of records drawn from the network.
        keep: which of the perceptron's successive weights become the model: those with the
            `fewest-wrong` records, or those with the `longest-run` of right ones.
        seed: the seed of the perceptron's draws and of the drawn records.

    Examples:
        >>> import pramana as pm
        >>> people = pm.example("titanic")
        >>> domain = pm.domain(people, pm.observed_categories(people))
        >>> plan, keys = pm.plan(domain, p=0.1), pm.Keys.for_experiments(1)
        >>> reports = pm.randomize(people, plan, keys, record_id=people.index)
        >>> model = pm.LinearClassifier("survived", ["sex", "age"]).fit(reports)
        >>> model.to_frame()[["term", "weight", "se_population", "low", "high"]].round(2)
                  term  weight  se_population   low  high
        0  (intercept)    0.82           0.19  0.45  1.18
        1     sex=male   -2.30           0.23 -2.75 -1.85
        2    age=child    1.62           0.77  0.11  3.13
    """

    learner = LINEAR

    target: str
    features: Sequence[str] | None = None
    _: KW_ONLY
    loss: Loss = LinearOptions.loss
    l2: float = LinearOptions.l2
    encoding: Encoding = LinearOptions.encoding
    numeric: Mapping[str, Sequence[float]] | None = None
    basis: Basis | None = LinearOptions.basis
    steps: int = LinearOptions.steps
    sample: int = LinearOptions.sample
    keep: Keep = LinearOptions.keep
    seed: int = 0

    def _options(self) -> LinearOptions:
        numeric = {} if self.numeric is None else plain(self.numeric)
        return self._options_of(LinearOptions, numeric=numeric)

    def job_options(self) -> dict[str, Any]:
        """Return the fields of the equivalent job at a miner."""
        options = super().job_options()
        return options | {"numeric": options["numeric"] or {}}

    @property
    def coef_(self) -> npt.NDArray[np.float64]:
        """The weights of the columns in their own units, (planes, columns).

        With two classes there is one plane, with the second class on its positive side. With three
        or more there is one plane per class, in the order of `classes_`. A class without estimated
        records has an intercept of minus infinity.
        """
        return self._weights("estimate")[:, 1:]

    @property
    def intercept_(self) -> npt.NDArray[np.float64]:
        """The intercepts, (planes,)."""
        return self._weights("estimate")[:, 0]

    @property
    def coef_error_(self) -> npt.NDArray[np.float64]:
        """The standard errors of `coef_` against the population; NaN if unknown."""
        return self._weights("se")[:, 1:]

    @property
    def feature_names_out_(self) -> npt.NDArray[Any]:
        """The column names, such as `sex=male`, (columns,)."""
        return np.array([column.name for column in self._fitted.columns], dtype=object)

    def to_frame(self) -> pd.DataFrame:
        """Return the weights, one row for each term of each plane.

        Columns: `class`, the class on the positive side; `term`, the intercept or a column;
        `weight`, in the column's unit; `se_records` and `se_population`, the standard errors given
        these records and against their population; `low` and `high`, the 95 % interval against the
        population. Errors are missing if they cannot be computed (see `notes_`).
        """
        import pandas as pd

        rows = [
            {
                "class": plane.positive,
                "term": weight.column,
                "weight": weight.estimate,
                "se_records": weight.se_records,
                "se_population": weight.se,
                "low": None if weight.interval is None else weight.interval[0],
                "high": None if weight.interval is None else weight.interval[1],
            }
            for plane in self._fitted.planes
            for weight in plane.weights
        ]
        return pd.DataFrame(rows).astype(dict.fromkeys(_ERRORS, float))

    def _picture(self) -> Picture:
        return weights_chart(self._fitted)

    def _weights(self, what: str) -> npt.NDArray[np.float64]:
        model = self._fitted
        if model.target.size == 2:
            return _row(model.planes[0], what)[None]
        empty = 0.0 if what == "estimate" else np.nan
        every = np.full((model.target.size, 1 + len(model.columns)), empty)
        every[:, 0] = -np.inf if what == "estimate" else np.nan
        for plane in model.planes:
            every[model.target.code(plane.positive)] = _row(plane, what)
        return every


_ERRORS = ("se_records", "se_population", "low", "high")
"""The columns of a frame with errors."""


def _row(plane: Plane, what: str) -> npt.NDArray[np.float64]:
    return np.array([getattr(weight, what) for weight in plane.weights], dtype=float)
