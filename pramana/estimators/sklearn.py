"""Linear classifiers as scikit-learn's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pramana_core.errors import NotInstalled, OptionError
from pramana_core.learn.linear.model import LinearClassifier

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline


def logistic_pipeline(model: LinearClassifier) -> Pipeline:
    """Return a logistic model of indicators as a fitted pipeline; see `to_sklearn`."""
    _require_same_meaning(model)
    try:
        import pandas as pd
        from sklearn.compose import ColumnTransformer
        from sklearn.pipeline import Pipeline
        from sklearn.preprocessing import OneHotEncoder
    except ImportError:
        raise NotInstalled(
            "to_sklearn needs scikit-learn: install it by pip install scikit-learn.",
            where="sklearn",
        ) from None
    names = list(model.inputs.names)
    encoder = OneHotEncoder(
        categories=[list(v.categories) for v in model.inputs], drop="first", sparse_output=False
    )
    indicators = ColumnTransformer([("onehot", encoder, names)], verbose_feature_names_out=False)
    indicators.fit(pd.DataFrame({v.name: [v.categories[0]] for v in model.inputs}, dtype=object))
    return Pipeline([("indicators", indicators), ("classifier", _classifier(model))])


def _require_same_meaning(model: LinearClassifier) -> None:
    if model.options.loss != "logistic":
        raise OptionError(
            f"to_sklearn needs loss='logistic', which scikit-learn's LogisticRegression has; this"
            f" was fitted with loss={model.options.loss!r}.",
            where="loss",
        )
    wanted = [
        tuple(float(code == other) for other in range(variable.size))
        for variable in model.inputs
        for code in range(1, variable.size)
    ]
    if [column.values for column in model.columns] != wanted:
        names = sorted({c.variable for c in model.columns if c.name == c.variable})
        raise OptionError(
            f"to_sklearn needs indicator columns; {', '.join(map(repr, names))} stands as"
            " a number.",
            where="encoding",
        )
    found = {plane.positive for plane in model.planes}
    without = [label for label in model.target.categories if label not in found]
    if model.target.size > 2 and without:
        raise OptionError(
            f"to_sklearn needs a plane for each class; {', '.join(map(repr, without))} has none,"
            " for it is estimated to have no records.",
            where="classes_",
        )


def _classifier(model: LinearClassifier) -> Any:
    """Return the fitted classifier of the indicators."""
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.preprocessing import LabelBinarizer

    labels = np.array(model.target.categories, dtype=object)
    planes = sorted(model.planes, key=lambda plane: model.target.code(plane.positive))
    weights = np.array([plane.vector for plane in planes])
    if len(planes) == 1 or model.basis == "naive-bayes":
        return _regression(weights, labels)
    several = OneVsRestClassifier(_regression(weights[:1], labels, fitted=False))
    several.estimators_ = [_regression(row[None], np.array([0, 1])) for row in weights]
    several.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(labels)
    several.label_binarizer_.classes_ = labels
    vars(several)["classes_"] = labels  # where it is no property that asks the former
    several.n_features_in_ = weights.shape[1] - 1
    return several


def _regression(weights: Any, labels: Any, *, fitted: bool = True) -> Any:
    from sklearn.linear_model import LogisticRegression

    made = LogisticRegression(C=np.inf)
    if fitted:
        made.coef_, made.intercept_ = weights[:, 1:].copy(), weights[:, 0].copy()
        made.classes_ = labels
        made.n_features_in_ = weights.shape[1] - 1
        made.n_iter_ = np.zeros(len(weights), dtype=np.int32)
    return made
