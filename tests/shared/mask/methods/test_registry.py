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

pytestmark = pytest.mark.usefixtures("three_bandwidths")

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


def test_the_papers_methods_are_there():
    assert list(METHODS) == NAMES


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_what_a_method_promises_is_so(name: str):
    """And its result bears its name, whether its options are given or left as they are."""
    method = METHODS[name]
    assert method.name == name
    masked = mask(name, TOLD, X, np.random.default_rng(1))
    assert masked.method == name
    among = all(np.isin(masked.matrix[:, k], X[:, k]).all() for k in range(X.shape[1]))
    assert among == method.released_values
    same = np.array_equal(np.sort(masked.matrix, axis=0), np.sort(X, axis=0))
    assert same == method.released_values
    apart = covariance_difference(TOLD, X, masked.matrix) + mean_difference(X, masked.matrix)
    assert (apart < 1e-9) == method.exact_moments
    assert method.independent == (name not in ("sadp", "cadp"))
    taken = {
        option: parameter.default
        for option, parameter in inspect.signature(method.run).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    assert set(method.options) <= set(taken)
    for option, default in method.options.items():
        assert taken[option] in (default, None)
    explicit = method(TOLD, X, np.random.default_rng(1), **method.options)
    np.testing.assert_array_equal(explicit.matrix, masked.matrix)


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
