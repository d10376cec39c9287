"""Linear classifiers: weights with errors, beside scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder

import pramana as pm
from tests.pramana.estimators.aboard import fitted, people


@pytest.mark.parametrize("table", ["titanic", "berkeley"])
def test_of_a_table_that_is_true_it_is_scikit_learns(table: str):
    frame = pm.example(table)  # type: ignore[arg-type]
    target = frame.columns[-1]
    domain = pm.Domain.of(**{name: sorted(frame[name].unique()) for name in frame})
    ours = pm.LinearClassifier(target).fit(frame, pm.Plan.unrandomized(domain))
    encoder = OneHotEncoder(drop="first", sparse_output=False)
    columns = encoder.fit_transform(frame.drop(columns=target))
    theirs = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(columns, frame[target])
    assert ours.coef_.shape == theirs.coef_.shape
    assert np.allclose(ours.coef_, theirs.coef_, atol=1e-6)
    assert np.allclose(ours.intercept_, theirs.intercept_, atol=1e-6)
    assert np.allclose(ours.decision_function(frame), theirs.decision_function(columns), atol=1e-6)
    assert [n.replace("=", "_") for n in ours.feature_names_out_] == list(
        encoder.get_feature_names_out()
    )


def test_the_frame_has_weights_with_errors_and_intervals():
    model = fitted("LinearClassifier", noisy=True)
    frame = model.to_frame()
    assert list(frame["term"]) == ["(intercept)", *model.feature_names_out_]
    assert set(frame["class"]) == {"yes"}
    assert np.array_equal(frame["weight"], [*model.intercept_, *model.coef_[0]])
    assert np.array_equal(frame["se_population"][1:], model.coef_error_[0])
    assert frame["weight"].between(frame["low"], frame["high"]).all()
    assert (frame["se_population"] > frame["se_records"]).all()


def test_decisions_are_linear_functions():
    model, frame = fitted("LinearClassifier"), people()
    decisions = model.decision_function(frame)
    assert decisions.shape == (len(frame),)
    assert np.array_equal(model.predict(frame) == "yes", decisions > 0)
    (first,) = model.decision_function({"class": ["1st"], "age": ["adult"], "sex": ["female"]})
    assert first == pytest.approx(model.intercept_[0])
