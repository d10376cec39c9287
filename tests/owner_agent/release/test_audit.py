"""An empirical audit: a million reports of the real keyed sampler do not refute the declared gamma.

Two truths l and l' attain gamma; a coin for each record, from a fixed seed, says which is true.
Pooled are the reports y with P[l, y] / P[l', y] = gamma and those with the reverse ratio. Let such
a report's truth be its likelier one with odds of at most gamma (times the odds of the coin): the
number of those is then binomial, or smaller, and its exact confidence limit (Clopper and Pearson)
bounds gamma from below. Where the declared gamma is attained it bounds it from above as well.

Each limit is wrong with probability 1e-6.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from owner_agent.randomize.reports import Randomizer
from owner_agent.randomize.sampling import join, split
from owner_agent.state.keys import Secrets
from pramana_core.channels import (
    Choice,
    CutAndPaste,
    Dense,
    Grouped,
    Mixture,
    OneHot,
    RandomSymmetric,
    Sampled,
    Symmetric,
    Transition,
)
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan

pytestmark = pytest.mark.calibration

RECORDS = 1_000_000
FALSE_ALARM = 1e-6
SECRETS = Secrets(draw=bytes(range(5, 37)), linkage=bytes(range(2, 34)))


def pairs(gamma):
    """Return all pairs of three binary variables, sampled alike."""
    channel = Symmetric.from_gamma(4, gamma)
    third = (1 << 32) // 3
    return Sampled((2, 2, 2), tuple(Choice(a, third, channel) for a in ((0, 1), (0, 2), (1, 2))))


def matrix(excess):
    """Return a matrix with one more report than truths, of gamma 2 (1 + excess)."""
    low = 1 / (4 + 2 * excess + 1)
    high = 2 * (1 + excess) * low
    rest = 1 - high - low
    return Dense.from_probabilities([[high, low, rest], [low, high, rest]])


@dataclass(frozen=True)
class Scheme:
    """A scheme as declared, the same with a gamma 2 % above, and what to look at.

    `truths` are known to be the only ones, where others (of another group, or impossible) are told
    apart from them by design; None for all.
    """

    sizes: tuple[int, ...]
    declared: Transition
    stronger: Transition
    weaker: Transition
    truths: tuple[int, ...] | None = None


def scheme(sizes, make, gamma, truths=None):
    return Scheme(sizes, make(gamma), make(1.02 * gamma), make(gamma / 1.02), truths)


SCHEMES = {
    "symmetric": scheme((3,), lambda g: Symmetric.from_gamma(3, g), 3.0),
    "binary": scheme((2,), lambda g: Dense.binary(0.4, 1 - 0.4 * g), 1.45),
    "matrix": scheme((2,), lambda g: matrix(g / 2 - 1), 2.0),
    "random-gamma-diagonal": scheme(
        (2,), lambda g: RandomSymmetric.around_gamma(2, g, 0.3), 3.0
    ),
    "gamma-diagonal": scheme((2, 2), lambda g: Mixture.from_gamma(4, g), 2.0),
    "grouped": scheme(
        (4,), lambda g: Grouped(((0, 2), (1, 3)), (Symmetric.from_gamma(2, g),) * 2), 3.0, (0, 2)
    ),
    "mask": scheme((3,), lambda g: OneHot.from_gamma(3, g), 1.7),
    "sampled": scheme((2, 2, 2), pairs, 2.0),
}  # fmt: skip


@dataclass(frozen=True)
class Extremes:
    """Truths that attain gamma, and the reports that do: likelier under the one or the other."""

    gamma: float
    truths: tuple[int, int]
    reports: tuple[np.ndarray, np.ndarray]


def extremes(case):
    """Find, by listing the matrix, the pair of truths whose extreme reports are most frequent."""
    rows = case.declared.matrix()
    known = case.truths or range(len(rows))
    best, most = None, 0.0
    gamma = max(_ratios(rows[a], rows[b]).max() for a in known for b in known)
    for a in known:
        for b in known:
            ratio = _ratios(rows[a], rows[b])
            ends = (
                np.flatnonzero(np.isclose(ratio, gamma, rtol=1e-6)),
                np.flatnonzero(np.isclose(1 / ratio, gamma, rtol=1e-6)),
            )
            frequent = rows[a][ends[0]].sum() + rows[b][ends[1]].sum()
            if len(ends[0]) and frequent > most * (1 + 1e-9):
                best, most = Extremes(gamma, (a, b), ends), frequent
    return best


def _ratios(row, other):
    """Return the ratios of two rows, 1 for a report that neither truth can have."""
    return np.divide(row, other, out=np.ones(len(row)), where=(row > 0) | (other > 0))


def coin(ends):
    """Return the probability of l that balances the extreme reports' two truths."""
    return 0.5 if len(ends.reports[1]) else 1 / (1 + ends.gamma)


@pytest.fixture(scope="module")
def keys():
    return np.frombuffer(np.random.default_rng(23).bytes(16 * RECORDS), dtype="V16")


@pytest.fixture(scope="module")
def uniform():
    return np.random.default_rng(29).random(RECORDS)


def drawn(sizes, channel, cells, keys):
    """Return the reports (as cells) of the real keyed sampler."""
    names = tuple(Variable(f"v{i}", tuple(map(str, range(k)))) for i, k in enumerate(sizes))
    block = Block(names, channel)
    columns = dict(zip(block.names, split(cells, sizes), strict=True))
    reports = Randomizer(Plan((block,)), SECRETS, "audit").reports(keys, columns)
    return join(list(reports.values()), block.reported_shape)


def audit(case, channel, keys, uniform):
    """Return the limits (low, high) of gamma from the reports of a sampler of `channel`."""
    ends = extremes(case)
    first = uniform < coin(ends)
    made = drawn(case.sizes, channel, np.where(first, *ends.truths).astype(np.uint8), keys)
    here, there = np.isin(made, ends.reports[0]), np.isin(made, ends.reports[1])
    likelier = int((here & first).sum() + (there & ~first).sum())
    low, high = limits(likelier, int(here.sum() + there.sum()))
    odds = coin(ends) / (1 - coin(ends))
    return low / odds, high / odds


def limits(hits, trials, wrong=FALSE_ALARM):
    """Return one-sided limits of the odds p / (1 - p), each wrong with probability `wrong`."""
    low = stats.beta.ppf(wrong, hits, trials - hits + 1)
    high = stats.beta.isf(wrong, hits + 1, trials - hits)
    return low / (1 - low), high / (1 - high)


@pytest.mark.parametrize("name", SCHEMES)
def test_the_declared_gamma_is_kept_and_attained(name, keys, uniform):
    case = SCHEMES[name]
    low, high = audit(case, case.declared, keys, uniform)
    gamma = extremes(case).gamma
    assert low <= gamma, f"the reports refute gamma = {gamma:.4f}: it is {low:.4f} or more"
    assert high >= gamma, f"the declared gamma = {gamma:.4f} is not attained: {high:.4f} at most"


@pytest.mark.parametrize("name", SCHEMES)
def test_a_sampler_off_by_two_percent_is_refuted(name, keys, uniform):
    """The control: the same sampler with a probability moved so that gamma is 2 % off."""
    case = SCHEMES[name]
    gamma = extremes(case).gamma
    low, _ = audit(case, case.stronger, keys, uniform)
    assert low > gamma
    _, high = audit(case, case.weaker, keys, uniform)
    assert high < gamma


# Cut-and-paste -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("sizes", "cut", "gamma"), [((2,), 1, 3.2), ((2, 2), 2, 6.0)])
def test_cut_and_paste_keeps_and_attains_its_gamma(sizes, cut, gamma, keys, uniform):
    """By pooled reports, of which too few are extreme to see 2 %; to 8 % they are sharp enough."""
    case = Scheme(sizes, *(CutAndPaste.from_gamma(sizes, cut, f * gamma) for f in (1, 1.08, 0.925)))
    found = extremes(case).gamma
    assert found == pytest.approx(case.declared.amplification, rel=1e-9)
    low, high = audit(case, case.declared, keys, uniform)
    assert low <= found <= high
    assert audit(case, case.stronger, keys, uniform)[0] > found
    assert audit(case, case.weaker, keys, uniform)[1] < found
