"""A real table: heavy ties (capital gains are 0 in eleven of twelve records), rare categories."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pramana_core.errors import MaskingError
from pramana_core.mask import egadp, mask
from tests.places import DATA
from tests.shared.mask.moments import correlation, covariance_difference

pytestmark = [pytest.mark.public_data, pytest.mark.slow]

TOLD = ["age", "education-num", "sex", "race", "workclass", "native-country"]
SECRET = ["capital-gain", "hours-per-week", "fnlwgt"]


@pytest.fixture(scope="module")
def adult() -> pd.DataFrame:
    path = DATA / "adult-train.csv.gz"
    if not path.exists():
        pytest.skip(f"{path} is absent")
    return pd.read_csv(path, skipinitialspace=True)


@pytest.fixture(scope="module")
def merged(adult: pd.DataFrame) -> pd.DataFrame:
    """Every third record, no country or class of work with fewer than 20."""
    third = adult.iloc[::3].reset_index(drop=True)
    for name in ("native-country", "workclass"):
        counts = third[name].value_counts()
        third[name] = third[name].replace(list(counts[counts < 20].index), "other")
    return third


def test_a_country_of_one_record_is_refused(adult: pd.DataFrame):
    with pytest.raises(MaskingError, match="1 record stands nearly alone in S, most by 'native-co"):
        egadp(adult[TOLD], adult[SECRET], np.random.default_rng(1))


def test_moments_are_exact(merged: pd.DataFrame):
    masked = egadp(merged[TOLD], merged[SECRET], np.random.default_rng(1))
    told = pd.get_dummies(merged[TOLD], dtype=float).to_numpy()
    assert covariance_difference(told, merged[SECRET], masked.values) < 1e-9
    assert correlation(masked.noise, np.column_stack([told, merged[SECRET]])) < 1e-9


@pytest.mark.parametrize("name", ["cgadp", "shuffle", "shuffle-parametric"])
def test_ranks_and_ties_are_kept(merged: pd.DataFrame, name: str):
    """Not exactly: a normal copula is a model, and hours and ages are not monotonic."""
    masked = mask(name, merged[TOLD], merged[SECRET], np.random.default_rng(1)).values
    numbers = merged[["age", "education-num"]]

    def ranks(secret):
        return stats.spearmanr(np.column_stack([numbers, secret])).statistic

    assert np.abs(ranks(masked) - ranks(merged[SECRET])).max() < 0.05
    zeros = [(v["capital-gain"] == 0).mean() for v in (masked, merged)]
    assert abs(zeros[0] - zeros[1]) < 0.01


def test_egadp_keeps_neither(merged: pd.DataFrame):
    """The negative control."""
    masked = egadp(merged[TOLD], merged[SECRET], np.random.default_rng(1)).values
    assert (masked["capital-gain"] == 0).mean() == 0
    assert (masked["capital-gain"] < 0).mean() > 0.3
