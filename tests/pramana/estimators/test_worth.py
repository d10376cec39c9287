"""The stated accuracy of classifiers of two owners' releases, against true records."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import pramana as pm

DOMAIN = pm.Domain(
    (
        pm.Variable("ward", tuple("abcd")),
        pm.Variable("therapy", tuple("abc")),
        pm.Variable("outcome", tuple("abc")),
    )
)
OWNERS = {"north": ["ward"], "south": ["therapy", "outcome"]}
RUNS = 20


def people(seed: int, repeated: float) -> pd.DataFrame:
    """Records whose other columns repeat the outcome with a probability."""
    rng, records = np.random.default_rng(seed), 3000
    outcome = rng.choice(3, records, p=[0.7, 0.2, 0.1])
    found: dict[str, object] = {"id": np.arange(records).astype(str)}
    for variable in DOMAIN:
        repeats = rng.random(records) < (1 if variable.name == "outcome" else repeated)
        codes = np.where(repeats, outcome, rng.integers(variable.size, size=records))
        found[variable.name] = np.array(variable.categories)[codes]
    return pd.DataFrame(found)


@pytest.mark.slow
@pytest.mark.parametrize("repeated", [0.0, 0.35])
def test_the_interval_holds_the_accuracy_of_two_owners_model(repeated: float):
    """Columns that say nothing give a constant model. The control: a quarter of the interval."""
    design = pm.design(DOMAIN, 3000, gamma=19, learn="classifier", target="outcome", owners=OWNERS)
    held = narrow = better = 0
    for seed in range(RUNS):
        frame = people(seed, repeated)
        releases = [
            pm.randomize(
                frame,
                design.plan_of(owner),
                pm.Keys.for_experiments(2 * seed + part, linkage_seed=seed),
                record_id="id",
            )
            for part, owner in enumerate(OWNERS)
        ]
        model = pm.BayesClassifier("outcome").fit(pm.join(*releases))
        accuracy, _, _, gain = model.worth_.figures
        right = model.score(frame)
        held += accuracy.low <= right <= accuracy.high
        narrow += abs(right - accuracy.value) <= (accuracy.high - accuracy.low) / 8
        better += gain.low > 0
        assert accuracy.low < accuracy.value < accuracy.high
    enough = binom.ppf(1e-6, RUNS, 0.93)
    assert held >= enough > narrow
    assert repeated or better <= binom.ppf(1 - 1e-6, RUNS, 0.025)
