"""No kernel is much slower than plain numpy at the same work, in processor time, side by side.

Ratios are far below these limits on any machine; one is reached when somebody loses what made the
kernel fast. Both sides run in turn, so that a busy machine slows both.
"""

from __future__ import annotations

import hmac
import itertools
from hashlib import sha256

import numpy as np
import pytest

from benchmarks.bench.measuring import Comparison, measure
from owner_agent.randomize.draws import pseudonyms
from owner_agent.randomize.reports import Randomizer
from owner_agent.state.keys import Secrets
from pramana_core.channels import Symmetric
from pramana_core.domain import Domain
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.kernels import compiled
from pramana_core.kernels.counting import count_tables
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Block, Plan

RECORDS = 200_000
DOMAIN = Domain.of(**{f"v{i}": "abcde" for i in range(6)})
PLAN = Plan(tuple(Block((v,), Symmetric.from_gamma(5, 9.0)) for v in DOMAIN))
RNG = np.random.default_rng(1)
COLUMNS = {v.name: RNG.integers(0, 5, RECORDS).astype(np.uint8) for v in DOMAIN}
KEYS = np.frombuffer(RNG.bytes(16 * RECORDS), dtype="V16")
IDS = [f"P{i:06d}" for i in range(RECORDS // 40)]
SECRETS = Secrets(sha256(b"a guard's draw key").digest(), sha256(b"its linkage").digest())
FIVE = DOMAIN.names[:5]


PAIRS = list(itertools.combinations(range(len(DOMAIN)), 2))


def compiled_counts(tables):
    """Count as one thread does where numba is installed."""
    return count_tables(list(COLUMNS.values()), [5] * len(COLUMNS), tables, threads=1)


def counted(names):
    cells = np.zeros(RECORDS, dtype=np.int64)
    for name in names:
        cells = cells * 5 + COLUMNS[name]
    return np.bincount(cells, minlength=5 ** len(names))


def joint_counts():
    return compiled_counts([range(5)])[0]


def all_pairs():
    return compiled_counts(PAIRS)


def all_pairs_by_numpy():
    return [counted(pair) for pair in itertools.combinations(DOMAIN.names, 2)]


def estimates():
    counts = ReportedCounts(COLUMNS, PLAN.reported_sizes)  # remembers nothing
    return EstimatedMarginals(counts, PLAN).marginal(FIVE).standard_error(population=True)


def randomized():
    plan = Plan(PLAN.blocks[:1])
    return Randomizer(plan, SECRETS, "guard", threads=1).reports(KEYS, COLUMNS)


def randomized_by_numpy():
    """Report a column by numpy's own generator: neither keyed nor repeatable."""
    keep = RNG.random(RECORDS) < 9 / 13
    return np.where(keep, COLUMNS["v0"], (COLUMNS["v0"] + RNG.integers(1, 5, RECORDS)) % 5)


GUARDED = {
    "joint counts": (joint_counts, lambda: counted(FIVE), 0.8),
    "all pairs": (all_pairs, all_pairs_by_numpy, 0.5),
    "estimates with errors, beside counts alone": (estimates, lambda: counted(FIVE), 5.0),
    "keyed randomization": (randomized, randomized_by_numpy, 3.0),
    "pseudonyms": (
        lambda: pseudonyms(SECRETS, "guard", IDS),
        lambda: [hmac.digest(SECRETS.linkage, i.encode(), "sha256")[:16] for i in IDS],
        1.5,
    ),
}
"""What is guarded, what plainly does the same, and how much slower ours may be at most."""


def ratio(ours, theirs):
    return measure(Comparison("guarded", "plain numpy", ours, theirs)).ratio


@pytest.fixture
def loaded():
    """Compiled loops, where numba is installed."""
    pytest.importorskip("numba")
    compiled.load()


@pytest.mark.slow
@pytest.mark.usefixtures("loaded")
@pytest.mark.parametrize("name", GUARDED)
def test_no_kernel_is_much_slower_than_numpy(name):
    ours, theirs, limit = GUARDED[name]
    assert ratio(ours, theirs) < limit


def test_a_slow_kernel_is_caught():
    """One that counts three times where once is enough."""
    assert ratio(lambda: [counted(FIVE) for _ in range(3)], lambda: counted(FIVE)) > 1.5
