"""Linear classifiers: weights with errors, beside scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest

from tests.pramana.estimators.aboard import fitted, people


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
