"""A user's own table: intervals hold the table's true values at the stated rate.

The adult census table over three owners, as in examples/, many times with fresh keys: each run
goes through the owner's and the learner's own code in one process. The truth is the table itself,
so the error is that of randomization alone.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from owner_agent.randomize.draws import pseudonyms
from owner_agent.randomize.reports import randomize
from owner_agent.site.planning import planned
from owner_agent.site.site import site_from
from owner_agent.state.keys import Secrets
from owner_agent.table.encode import encode
from pramana.demo.report import Row, compare
from pramana.demo.scenario import from_table
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.networks.bayes_net import learn_parameters
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Plan
from pramana_core.wire.models import ParameterMessage
from tests.places import DATA, ROOT

pytestmark = pytest.mark.calibration

TABLE = DATA / "adult-train.csv.gz"
EXAMPLE = ROOT / "examples" / "adult"

RUNS = 24
FALSE_ALARM = 1e-6


@dataclass(frozen=True)
class Answer:
    """What `compare` takes of a model: its parameters."""

    parameters: list[ParameterMessage]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Row, ...]]:
    if not TABLE.exists():
        pytest.skip("the public adult table is not beside the project")
    folder = tmp_path_factory.mktemp("adult")
    scenario = from_table(TABLE, EXAMPLE / "sites.toml", EXAMPLE / "structure.json")
    parts = []
    for number, site in enumerate(scenario.sites):
        pd.DataFrame(site.columns).to_csv(folder / f"{number}.csv", index=False)
        content = {
            "owner": site.owner,
            "table": f"{number}.csv",
            "record_id": "record",
            "variables": site.variables,
        }
        file = site_from(content, folder)
        plan = planned(file)
        parts.append((site.owner, plan.plan, encode(file, plan)))
    whole = Plan.combine(plan for _, plan, _ in parts)
    exact = Plan.unrandomized(whole.domain)
    true = {name: codes for _, _, encoded in parts for name, codes in encoded.columns.items()}
    clean = learn_parameters(
        EstimatedMarginals(ReportedCounts(true, exact.reported_sizes), exact), scenario.structure
    )
    found = []
    for run in range(RUNS):
        linkage = hashlib.sha256(b"adult %d" % run).digest()
        reported = {}
        for owner, plan, encoded in parts:
            secrets = Secrets(hashlib.sha256(f"{owner} {run}".encode()).digest(), linkage)
            keys = pseudonyms(secrets, "adult", encoded.record_ids)
            reported |= randomize(plan, secrets, "adult", keys, encoded.columns).columns
        counts = ReportedCounts(reported, whole.reported_sizes)
        learned = learn_parameters(EstimatedMarginals(counts, whole), scenario.structure)
        parameters = [ParameterMessage(**vars(p)) for p in learned.parameters()]
        found.append(compare(Answer(parameters), clean, None))
    return found


def coverage(runs: list[tuple[Row, ...]], factor: float) -> tuple[float, float]:
    """Limits for the mean coverage if standard errors were `factor` times what they are.

    Runs are independent; the parameters of one are not, so the spread between runs counts.
    Parameters whose error is exactly 0, of unrandomized variables alone, are left out.
    """
    shares = []
    for rows in runs:
        z = np.array([row.z for row in rows if row.z is not None])
        shares.append(np.mean(np.abs(z) <= 1.96 * factor))
    half = (
        stats.t.isf(FALSE_ALARM / 2, len(shares) - 1)
        * np.std(shares, ddof=1)
        / np.sqrt(len(shares))
    )
    return float(np.mean(shares) - half), float(np.mean(shares) + half)


def test_intervals_hold_the_tables_own_values(runs: list[tuple[Row, ...]]):
    low, high = coverage(runs, 1.0)
    print(f"\ncoverage of the table's values between {low:.4f} and {high:.4f}")
    assert low <= 0.95 <= high
    assert high - low < 0.03


@pytest.mark.parametrize("factor", [0.85, 1.2])
def test_other_standard_errors_would_be_found_out(runs: list[tuple[Row, ...]], factor: float):
    """The negative control, in both directions."""
    low, high = coverage(runs, factor)
    assert not low <= 0.95 <= high


def test_what_people_are_shown_is_what_was_tested(runs: list[tuple[Row, ...]]):
    for row in runs[0]:
        if row.z is not None:
            assert row.covered == (abs(row.z) <= 1.96)
        if row.estimate is None:
            assert row.covered is None
