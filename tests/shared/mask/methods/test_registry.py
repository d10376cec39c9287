"""Methods by their names: what they take, and that what they promise is so."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from pramana_core.errors import OptionError
from pramana_core.mask import METHODS, mask
from pramana_core.mask.core.masked import Method
from tests.shared.mask.examples import linear
from tests.shared.mask.moments import covariance_difference, mean_difference

TOLD, X = linear(150)

NAMES = [
    "sadp",
    "cadp",
    "gadp",
    "ipso",
    "egadp",
    "cgadp",
    "shuffle",
    "shuffle-parametric",
    "nmegadp",
    "nmegadp-shuffle",
    "nmegadp-copula",
    "nmegadp-copula-shuffle",
]
SYNTHETIC = ["synthetic-copula", "synthetic-trees"]


def test_the_papers_methods_are_there_and_then_the_baselines():
    assert list(METHODS) == [*NAMES, *SYNTHETIC]


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS.values(), ids=list(METHODS))
def test_a_result_bears_the_methods_name(method: Method):
    assert METHODS[method.name] is method
    assert method(TOLD, X, np.random.default_rng(1)).method == method.name


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_what_a_method_promises_is_so(name: str):
    method = METHODS[name]
    masked = mask(name, TOLD, X, np.random.default_rng(1))
    same = np.array_equal(np.sort(masked.matrix, axis=0), np.sort(X, axis=0))
    assert same == method.released_values
    apart = covariance_difference(TOLD, X, masked.matrix) + mean_difference(X, masked.matrix)
    assert (apart < 1e-9) == method.exact_moments
    assert method.independent == (name not in ("sadp", "cadp"))


@pytest.mark.parametrize("name", SYNTHETIC)
def test_what_a_baseline_says_of_its_values_holds(name: str):
    method = METHODS[name]
    masked = method(TOLD, X, np.random.default_rng(1), **method.options)
    assert np.isin(masked.matrix, X).all() == method.released_values
    assert mean_difference(X, masked.matrix) > 1e-9
    assert not method.exact_moments


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS.values(), ids=list(METHODS))
def test_options_are_those_of_the_function(method: Method):
    taken = {
        name: parameter.default
        for name, parameter in inspect.signature(method.run).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    assert set(method.options) <= set(taken)
    for name, default in method.options.items():
        assert taken[name] in (default, None)
    explicit = mask(method.name, TOLD, X, np.random.default_rng(1), **method.options)
    plain = mask(method.name, TOLD, X, np.random.default_rng(1))
    np.testing.assert_array_equal(explicit.matrix, plain.matrix)


@pytest.mark.parametrize("method", METHODS.values(), ids=list(METHODS))
def test_sentences_are_sentences(method: Method):
    for text in (method.keeps, method.protects):
        assert text[0].isupper()
        assert text.endswith(".")


def test_unknown_names_are_refused():
    with pytest.raises(OptionError, match="There is no masking method 'nosie'; there are sadp, ca"):
        mask("nosie", TOLD, X, np.random.default_rng(1))


def test_unknown_options_are_refused():
    with pytest.raises(
        OptionError, match="Method 'egadp' has no option 'noise'; it takes max_leverage."
    ):
        mask("egadp", TOLD, X, np.random.default_rng(1), noise=0.1)


def test_the_list_cannot_be_written_to():
    with pytest.raises(TypeError):
        METHODS["egadp"] = METHODS["gadp"]  # type: ignore[index]
    with pytest.raises(TypeError):
        METHODS["egadp"].options["max_leverage"] = 1  # type: ignore[index]
