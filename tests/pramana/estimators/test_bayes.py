"""Bayesian classifiers: their parameters, links and evidence."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.naive_bayes import CategoricalNB
from sklearn.preprocessing import OrdinalEncoder

import pramana as pm
from tests.pramana.estimators.aboard import FEATURES, fitted


@pytest.mark.parametrize("table", ["titanic", "berkeley"])
@pytest.mark.parametrize("alpha", [1.0, 0.5])
def test_of_a_table_that_is_true_it_is_scikit_learns(table: str, alpha: float):
    frame = pm.example(table)  # type: ignore[arg-type]
    target = frame.columns[-1]
    domain = pm.Domain.of(**{name: sorted(frame[name].unique()) for name in frame})
    ours = pm.NaiveBayes(target, alpha=alpha).fit(frame, pm.Plan.unrandomized(domain))
    features = frame.drop(columns=target)
    codes = OrdinalEncoder().fit_transform(features)
    theirs = CategoricalNB(alpha=alpha).fit(codes, frame[target])
    assert np.array_equal(ours.classes_, theirs.classes_)
    assert np.allclose(ours.predict_proba(features), theirs.predict_proba(codes), atol=1e-12)
    assert ours.score(frame) == theirs.score(codes, frame[target])


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
    assert rows["evidence"].isna().all()
    assert (rows.groupby(["class", "given"])["probability"].sum().round(12) == 1).all()
    assert fitted("NaiveBayes").links_ == ()
