"""Bayesian classifiers: their parameters, links and evidence."""

from __future__ import annotations

import numpy as np

from tests.pramana.estimators.aboard import FEATURES, fitted


def test_the_frame_has_every_parameter_once_with_its_errors():
    model = fitted("NaiveBayes", noisy=True)
    frame = model.to_frame()
    sizes = {variable.name: variable.size for variable in model.model_.inputs}
    assert len(frame) == 2 + 2 * sum(sizes.values())
    for (name, label), rows in frame[frame["class"].notna()].groupby(["variable", "class"]):
        assert len(rows) == sizes[name]
        place = list(model.feature_names_in_).index(name)
        family = model.model_.attributes[place].family
        expected = family.probability[list(model.classes_).index(label)]
        assert np.allclose(rows["probability"], expected)
    assert (frame["se_population"] > frame["se_records"]).all()
    assert (frame["se_records"] > 0).all()
    assert frame["estimate"].between(frame["low"], frame["high"]).all()


def test_links_and_their_parameters():
    model = fitted("BayesClassifier", model="tan")
    assert len(model.links_) == len(FEATURES) - 1
    frame = model.to_frame()
    ((parent, child), *_) = model.links_
    rows = frame[frame["variable"] == child]
    assert all(given.startswith(f"{parent}=") for given in rows["given"])
    assert (rows.groupby(["class", "given"])["probability"].sum().round(12) == 1).all()
    assert fitted("NaiveBayes").links_ == ()
