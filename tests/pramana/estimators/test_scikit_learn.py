"""scikit-learn's habits: its own checks as far as they apply, and its tools on our estimators."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.inspection import permutation_importance
from sklearn.metrics import get_scorer
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted

import pramana as pm
from tests.pramana.estimators.aboard import CLASSIFIERS, clean, fitted, people

LEARNS = "it fits an array of numbers and y; ours learn from reports of categories and their plan"

ARRAYS = (
    "check_classifier_data_not_an_array", "check_classifiers_classes",
    "check_classifiers_one_label", "check_classifiers_train", "check_complex_data",
    "check_dict_unchanged", "check_dont_overwrite_parameters", "check_dtype_object",
    "check_estimators_dtypes", "check_estimators_fit_returns_self",
    "check_estimators_overwrite_params", "check_estimators_pickle",
    "check_f_contiguous_array_estimator", "check_fit1d", "check_fit2d_1feature",
    "check_fit2d_1sample", "check_fit2d_predict1d", "check_fit_check_is_fitted",
    "check_fit_idempotent", "check_fit_score_takes_y",
    "check_methods_sample_order_invariance", "check_methods_subset_invariance",
    "check_n_features_in", "check_n_features_in_after_fitting", "check_pipeline_consistency",
    "check_positive_only_tag_during_fit", "check_readonly_memmap_input",
    "check_supervised_y_2d",
)  # fmt: skip

WORDS = (
    "check_classifiers_regression_target", "check_estimator_sparse_array",
    "check_estimator_sparse_matrix", "check_estimator_sparse_tag",
    "check_estimators_empty_data_messages", "check_supervised_y_no_nan",
)  # fmt: skip

DO_NOT_APPLY = {
    **dict.fromkeys(
        ARRAYS,
        LEARNS,
    ),
    **dict.fromkeys(
        WORDS,
        "it wants a ValueError of scikit-learn's words about an array or y, which are refused as"
        " such",
    ),
    "check_estimators_unfitted": "it wants scikit-learn's NotFittedError, which is not loaded for"
    " ours; see test_what_is_not_fitted_says_so",
}
"""scikit-learn's checks that cannot apply, with the reason."""

ALSO = {"LinearClassifier": {"check_decision_proba_consistency": LEARNS}}
"""Those of estimators that have a method more."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_checks_of_scikit_learn_that_apply_pass(name: str):
    listed = DO_NOT_APPLY | ALSO.get(name, {})
    results = check_estimator(
        getattr(pm, name)("y"), expected_failed_checks=listed, on_fail=None, on_skip=None
    )
    by: dict[str, set[str]] = {}
    for result in results:
        by.setdefault(result["check_name"], set()).add(result["status"])
    failed = {check for check, statuses in by.items() if "failed" in statuses}
    expected = {check for check, statuses in by.items() if statuses == {"xfail"}}
    assert failed == set()
    assert set(listed) - expected == set(), "these would pass, or are no checks any more"
    passed = {check for check, statuses in by.items() if statuses == {"passed"}}
    assert {
        "check_estimator_cloneable",
        "check_get_params_invariance",
        "check_no_attributes_set_in_init",
        "check_parameters_default_constructible",
        "check_set_params",
        "check_valid_tag_types",
    } <= passed


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


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_what_is_not_fitted_says_so(name: str):
    made = getattr(pm, name)("survived")
    with pytest.raises(NotFittedError):
        check_is_fitted(made)
    check_is_fitted(fitted(name))
    calls = [member for member in ("predict", "predict_proba", "score", "decision_function")
             if hasattr(made, member)]  # fmt: skip
    for member in calls:
        with pytest.raises(pm.NotFitted):
            getattr(made, member)(people())
    for member in ("to_json", "to_frame", "to_document", "source_told"):
        with pytest.raises(pm.NotFitted):
            getattr(made, member)()


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_its_tools_take_a_fitted_classifier(name: str):
    model, frame = fitted(name), people()
    features, true = frame.drop(columns="survived"), frame["survived"]
    assert is_classifier(model)
    assert get_scorer("accuracy")(model, features, true) == model.score(frame)
    assert 0.7 < get_scorer("roc_auc")(model, features, true) < 0.9
    told = permutation_importance(model, features, true, n_repeats=2, random_state=0)
    means: Any = told.importances_mean
    assert features.columns[int(means.argmax())] == "sex"
