"""Plans of every form of reports, and reports drawn by them."""

from __future__ import annotations

import pandas as pd

from pramana.owner.keys import Keys
from pramana.owner.randomizing import randomize
from pramana.reporting.reports import Reports
from pramana_core.channels import (
    RESOLUTION,
    Choice,
    CutAndPaste,
    Dense,
    Grouped,
    Identity,
    Mixture,
    OneHot,
    RandomSymmetric,
    Sampled,
    Symmetric,
    Withheld,
)
from pramana_core.domain import Domain, Variable
from pramana_core.plan import Block, Plan

A, B, C = Domain.of(a=["x", "y"], b=["1", "2", "3"], c=["no", "yes"]).variables
QUARTER = RESOLUTION // 4


def plan_of(channel, *variables: Variable) -> Plan:
    return Plan((Block(variables, channel),))


SAMPLED = Sampled(
    (2, 3, 2),
    (
        Choice((0, 1), QUARTER, Mixture.from_gamma(6, 9.0)),
        Choice((2,), QUARTER, Symmetric.from_gamma(2, 4.0)),
    ),
)

PLANS = {
    "identity": plan_of(Identity(2), A),
    "symmetric": plan_of(Symmetric.from_probability(3, 0.3), B),
    "dense": plan_of(Dense.binary(0.1, 0.2), A),
    "more reports than truths": plan_of(
        Dense.from_probabilities([[0.5, 0.3, 0.2], [0.25, 0.25, 0.5]]), A
    ),
    "grouped": plan_of(Grouped.from_probability(((0, 2), (1,)), 0.2), B),
    "random": plan_of(RandomSymmetric.around_gamma(3, 9.0, 0.1), B),
    "mixture": plan_of(Mixture.from_gamma(12, 9.0), A, B, C),
    "withheld": Plan((Block((A,), Withheld(2)), Block((B,), Symmetric.from_gamma(3, 9.0)))),
    "one-hot": plan_of(OneHot.from_gamma(3, 9.0), B),
    "cut and paste": plan_of(CutAndPaste.from_probability((2, 3), 1, 0.4), A, B),
    "sampled": plan_of(SAMPLED, A, B, C),
    "mixed": Plan(
        (
            Block((A,), Identity(2)),
            Block((B,), OneHot.from_gamma(3, 9.0)),
            Block((C,), Withheld(2)),
        )
    ),
}


def people(n: int = 60) -> pd.DataFrame:
    rows = [
        {
            "a": A.categories[i % 2],
            "b": B.categories[i % 3],
            "c": C.categories[i // 4 % 2],
            "d": A.categories[i % 2],
        }
        for i in range(n)
    ]
    frame = pd.DataFrame(rows, index=pd.RangeIndex(n, name="person"))
    return frame[(frame["a"] != "y") | (frame["b"] != "3")]


def reports_of(plan: Plan, *, seed: int = 1, study: str = "study", n: int = 60) -> Reports:
    keys = Keys.for_experiments(seed, linkage_seed=0)
    return randomize(people(n), plan, keys, record_id="person", study=study)
