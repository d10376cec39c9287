"""Strata: against dense algebra, loops over cells, and all possible reports."""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.channels import Dense, Identity, Symmetric
from pramana_core.errors import EstimationError, OptionError, SingularChannel
from pramana_core.estimation.axes import Stratum, merged, moment
from pramana_core.estimation.likelihood import likelihood
from tests.shared.estimation.core.strata_cases import LAYOUTS, SHAPE, listed, stratum_of


@pytest.mark.parametrize("name", LAYOUTS)
def test_strata_equal_the_listed_probabilities(name: str):
    stratum = stratum_of(name)
    dense = listed(stratum)
    np.testing.assert_allclose(stratum.listed(), dense.T, rtol=1e-12, atol=1e-15)
    rng = np.random.default_rng(1)
    true = rng.random((*SHAPE, 4))
    seen = rng.random((dense.shape[1], 4))
    np.testing.assert_allclose(stratum.expected(true), dense.T @ true.reshape(-1, 4), rtol=1e-12)
    back = np.broadcast_to(stratum.adjoint(seen), (*SHAPE, 4))
    np.testing.assert_allclose(back.reshape(-1, 4), dense @ seen, rtol=1e-12)
    assert stratum.records == stratum.reported.sum()


@pytest.mark.parametrize("name", ["each-alone", "another-order", "jointly", "jointly-apart"])
def test_moments_undo_the_channels_and_have_the_stated_variance(name: str):
    """Of all reports of one record with their probabilities: mean and variance of each margin."""
    stratum = stratum_of(name)
    assert stratum.solvable
    dense = listed(stratum)
    estimator = np.empty(dense.shape)
    for report in range(dense.shape[1]):
        one = np.zeros(stratum.reported.size)
        one[report] = 1
        reported = one.reshape(stratum.reported.shape)
        alone = Stratum(reported, stratum.channels, stratum.groups, SHAPE)
        estimator[:, report] = alone.moment().ravel()
    np.testing.assert_allclose(estimator @ dense.T, np.eye(12), atol=1e-9)
    true = np.random.default_rng(2).dirichlet(np.ones(12)).reshape(SHAPE)
    seen = true.ravel() @ dense
    for gone in [(), (0,), (1,), (0, 2), (1, 2)]:
        margin = estimator.reshape(*SHAPE, -1).sum(axis=gone)
        wanted = margin**2 @ seen - (margin @ seen) ** 2
        np.testing.assert_allclose(
            stratum.estimator_variance(true, gone), wanted, rtol=1e-9, atol=1e-12
        )


def test_what_is_no_stratum_is_refused():
    with pytest.raises(SingularChannel):
        moment([Stratum(np.ones(2), (Symmetric.from_probability(2, 0.5),))])
    with pytest.raises(EstimationError):
        moment([])
    with pytest.raises(OptionError):
        Stratum(np.zeros(3), (Identity(2),))
    for groups, shape in ((((0,),), ()), ((), (2,))):
        with pytest.raises(OptionError):
            Stratum(np.zeros(2), (Identity(2),), groups, shape)
    for groups in (((0, 1),), ((1,),), ((0,), (1,))):
        with pytest.raises(OptionError):
            Stratum(np.zeros(2), (Identity(2),), groups, (2, 3))


def test_strata_of_equal_channels_add_up():
    names = ["jointly", "another-order", "jointly", "backwards", "jointly"]
    strata = [stratum_of(name, seed) for seed, name in enumerate(names)]
    fewer = merged(strata)
    assert [stratum.groups for stratum in fewer] == [strata[k].groups for k in (0, 1, 3)]
    together = sum(strata[k].reported for k in (0, 2, 4))
    np.testing.assert_array_equal(fewer[0].reported, together)
    theta = np.random.default_rng(1).dirichlet(np.ones(12)).reshape(*SHAPE, 1)
    for many, few in zip(likelihood(strata, theta), likelihood(fewer, theta), strict=True):
        np.testing.assert_allclose(few, many, rtol=1e-12)


NARROW = Dense.from_probabilities([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]])
