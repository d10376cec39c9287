"""The baselines are methods like the others, and say what sets them apart."""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.errors import OptionError
from pramana_core.mask import METHODS
from pramana_core.mask.synthetic.registry import METHODS as SYNTHETIC


def test_they_are_among_all_methods():
    assert set(SYNTHETIC) == {"synthetic-copula", "synthetic-trees"}
    assert set(SYNTHETIC) < set(METHODS)


@pytest.mark.parametrize("name", SYNTHETIC)
def test_what_a_method_says_of_its_values_holds(name):
    rng = np.random.default_rng(1)
    s = rng.standard_normal(120)
    x = s + rng.standard_normal(120)
    method = SYNTHETIC[name]
    masked = method(s, x, rng, **method.options)
    assert masked.method == name
    assert np.isin(masked.values, x).all() == method.released_values
    assert not np.isclose(masked.values.mean(), x.mean(), rtol=1e-9)
    assert not method.exact_moments
    with pytest.raises(OptionError, match="no option"):
        method(s, x, rng, noise=1)
