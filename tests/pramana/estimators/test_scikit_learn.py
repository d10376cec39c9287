"""scikit-learn's habits: its own checks as far as they apply, and its tools on our estimators."""

from __future__ import annotations

import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import pramana as pm
from tests.pramana.estimators.aboard import CLASSIFIERS, clean, fitted, people

APPLY = {
    "check_estimator_cloneable",
    "check_get_params_invariance",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
}
"""scikit-learn's checks that do not fit an array and y."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_checks_of_scikit_learn_that_apply_pass(name: str):
    results = check_estimator(getattr(pm, name)("y"), on_fail=None, on_skip=None)
    passed = {result["check_name"] for result in results if result["status"] == "passed"}
    assert passed >= APPLY


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_fit_returns_itself_and_leaves_its_options_and_the_table(name: str):
    frame, model = people(), getattr(pm, name)("survived", ["sex", "class"])
    options, before = model.get_params(), frame.copy()
    assert model.fit(frame, clean()) is model
    assert model.get_params() == options
    assert all(model.get_params()[option] is value for option, value in options.items())
    assert frame.equals(before)
    assert all(name.endswith("_") or name in options for name in vars(model))


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_clone_has_the_options_and_nothing_learned(name: str):
    made = clone(fitted(name, features=("sex", "class")))
    assert made.get_params() == fitted(name, features=("sex", "class")).get_params()
    assert not made.__sklearn_is_fitted__()
