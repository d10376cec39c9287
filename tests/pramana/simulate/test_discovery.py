"""Controlled decisions keep their rate of false discoveries on the CENSUS table, and how many
truly frequent itemsets they find.

Releases by the owner's own code, every column randomized by itself; a false discovery is an
itemset held frequent whose support among these very records is below 2 %.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

from benchmarks.reproduce.engine import Setting
from benchmarks.reproduce.frapp.data import census
from pramana.setups import SeededOwner
from pramana.simulate.designs import symmetric
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.common.options import RuleOptions
from pramana_core.learn.rules.itemsets import items_of
from pramana_core.learn.rules.mining import FoundItemsets, mine_itemsets
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Plan
from tests.places import DATA

pytestmark = [
    pytest.mark.calibration,
    pytest.mark.public_data,
    pytest.mark.skipif(not DATA.is_dir(), reason=f"there is no folder {DATA.name} of public data"),
]

RUNS = int(os.environ.get("PRAMANA_DISCOVERY_RUNS", "20"))
"""20 always; `make campaign` takes 50."""

RATE = 0.05
MINIMUM = 0.02


def chosen(found: FoundItemsets) -> set[tuple[int, ...]]:
    return {itemset.items for itemset in found.frequent}


@pytest.fixture(scope="module")
def shares() -> dict[tuple[float, str], tuple[float, float, float]]:
    """Mean share of false discoveries, its standard error, and mean power, by p and decisions."""
    survey = census(Setting(data=DATA))
    domain, items = survey.domain, items_of(survey.domain)
    exact = ReportedCounts(survey.codes, {v.name: v.size for v in domain})
    plain = EstimatedMarginals(exact, Plan.unrandomized(domain))
    true = chosen(mine_itemsets(plain, items, RuleOptions(MINIMUM)))
    owner = SeededOwner.of("discovery", 1, survey.size)
    measured = {}
    for p in (0.3, 0.4):
        plan = symmetric(domain, p)
        runs: dict[str, list[tuple[float, float]]] = {"point": [], "controlled": []}
        for run in range(RUNS):
            marginals = EstimatedMarginals(owner.report(plan, survey.codes, run), plan)
            for decisions, rows in runs.items():
                rate = {"false_discovery": RATE} if decisions == "controlled" else {}
                options = RuleOptions(MINIMUM, decisions=decisions, **rate)
                found = chosen(mine_itemsets(marginals, items, options))
                rows.append((len(found - true) / max(1, len(found)), len(found & true) / len(true)))
        for decisions, rows in runs.items():
            false, power = np.array(rows).T
            error = float(false.std(ddof=1) / np.sqrt(RUNS))
            measured[p, decisions] = (float(false.mean()), error, float(power.mean()))
    return measured


@pytest.mark.parametrize(("p", "power"), [(0.3, 0.7), (0.4, 0.4)])
def test_the_rate_of_false_discoveries_is_kept_and_most_itemsets_are_found(shares, p, power):
    false, _, found = shares[p, "controlled"]
    print(f"p = {p}: false discoveries {false:.4f} of the chosen, power {found:.3f}")
    assert false <= RATE
    assert found >= power


def test_negative_control_the_papers_decisions_exceed_the_rate(shares):
    false, error, found = shares[0.4, "point"]
    print(f"point decisions at p = 0.4: false {false:.4f} (s.e. {error:.4f}), power {found:.3f}")
    assert false - 4 * error > RATE
