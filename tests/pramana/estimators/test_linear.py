"""Linear classifiers: weights with errors, beside scikit-learn's."""

from __future__ import annotations

import numpy as np

from tests.pramana.estimators.aboard import fitted


def test_the_frame_has_weights_with_errors_and_intervals():
    model = fitted("LinearClassifier", noisy=True)
    frame = model.to_frame()
    assert list(frame["term"]) == ["(intercept)", *model.feature_names_out_]
    assert set(frame["class"]) == {"yes"}
    assert np.array_equal(frame["weight"], [*model.intercept_, *model.coef_[0]])
    assert np.array_equal(frame["se_population"][1:], model.coef_error_[0])
    assert frame["weight"].between(frame["low"], frame["high"]).all()
    assert (frame["se_population"] > frame["se_records"]).all()
