"""Every measure on every scheme against its definition, summed over the scheme's own story.

`law` tells how each family makes a report, step by step; the definitions of the measures are then
summed over all truths and reports in plain loops. Nothing here asks a channel for its matrix.
"""

from __future__ import annotations

import itertools
import math
import tracemalloc
from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import pytest

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
    SubsetSelection,
    Symmetric,
    Transition,
    Withheld,
)
from pramana_core.errors import LimitExceeded, OptionError
from pramana_core.privacy import (
    Amplification,
    attacker_accuracy,
    conditional_entropy,
    epsilon,
    gamma,
    gamma_within_groups,
    k_anonymity,
    posterior_range,
    worst_posterior,
)

HALF, QUARTER = RESOLUTION // 2, RESOLUTION // 4
SWAP = Dense.binary(0.1, 0.3)
GROUPS = Grouped(((2, 0), (1, 3, 4), (5,)), (SWAP, Symmetric.from_gamma(3, 5.0), None))

CHANNELS: dict[str, Transition] = {
    "identity": Identity(3),
    "binary-symmetric": Symmetric.from_probability(2, 0.25),
    "multi-category": Symmetric.from_probability(5, 0.3),
    "more-moved-than-kept": Symmetric.from_probability(4, 0.9),
    "never-kept": Symmetric.from_probability(3, 1.0),
    "always-swapped": Symmetric.from_probability(2, 1.0),
    "uninformative": Symmetric.from_probability(4, 0.75),
    "gamma-diagonal": Symmetric.from_gamma(6, 19.0),
    "random-matrix": RandomSymmetric.around_gamma(6, 19.0, 0.1),
    "binary": Dense.binary(0.1, 0.25),
    "ternary": Dense.ternary(0.1, 0.25),
    "dense": Dense.from_probabilities([[0.7, 0.2, 0.1], [0.0, 0.9, 0.1], [0.25, 0.25, 0.5]]),
    "dense-rectangular": Dense.from_probabilities([[0.7, 0.1, 0.0, 0.2], [0.3, 0.3, 0.0, 0.4]]),
    "grouped": GROUPS,
    "one-group": Grouped(((2, 0, 1),), (Dense.ternary(0.1, 0.25),)),
    "groups-of-groups": Grouped(
        ((1, 2, 6), (0, 3, 4, 5)),
        (
            Grouped(((0,), (1, 2)), (None, SWAP)),
            Grouped(((0, 1, 3), (2,)), (Dense.ternary(0.2, 0.1), None)),
        ),
    ),
    "mixture": Mixture.from_gamma(6, 7.0),
    "mixture-identity": Mixture(4, 1 << 64),
    "withheld": Withheld(4),
    "sampled": Sampled(
        (2, 3),
        (
            Choice((0, 1), HALF, Symmetric.from_gamma(6, 9.0)),
            Choice((0,), QUARTER, Dense.binary(0.1, 0.25)),
            Choice((1,), QUARTER, Symmetric.from_gamma(3, 9.0)),
        ),
    ),
    "sampled-some-silent": Sampled(
        (2, 2, 2),
        (
            Choice((0, 2), QUARTER, Mixture.from_gamma(4, 5.0)),
            Choice((1,), HALF, Symmetric.from_probability(2, 0.2)),
        ),
    ),
    "sampled-twice": Sampled(
        (2, 3),
        (
            Choice((0,), QUARTER, Symmetric.from_probability(2, 0.1)),
            Choice((0,), HALF, Symmetric.from_probability(2, 0.7)),
            Choice((1,), QUARTER, Dense.ternary(0.1, 0.2)),
        ),
    ),
    "sampled-twice-unlike": Sampled(
        (2, 3),
        (
            Choice((1,), HALF, Symmetric.from_probability(3, 0.1)),
            Choice((1,), HALF, Dense.ternary(0.3, 0.2)),
        ),
    ),
    "subsets": SubsetSelection.from_gamma(6, 1.5),
    "one-hot": OneHot.from_probability(4, 0.8),
    "one-hot-turned": OneHot.from_probability(3, 0.3),
    "one-hot-exact": OneHot.from_probability(3, 1.0),
    "cut-and-paste": CutAndPaste.from_probability((2, 3), 1, 0.4),
    "cut-and-paste-all": CutAndPaste.from_probability((2, 2), 4, 0.3),
}

Law = dict[Hashable, float]


def law(channel: Transition, truth: int) -> Law:
    """The distribution of the report of a truth, by what the mechanism does."""
    match channel:
        case Identity():
            return {truth: 1.0}
        case Symmetric(size, off):
            others = {m: off / 2**32 for m in range(size) if m != truth}
            return {truth: 1 - sum(others.values()), **others}
        case Mixture(size, keep):
            a = keep / 2**64
            return {m: a * (m == truth) + (1 - a) / size for m in range(size)}
        case Dense(rows):
            return {m: units / 2**32 for m, units in enumerate(rows[truth])}
        case Withheld():
            return {"": 1.0}
        case Grouped(groups, channels):
            group, part = next(p for p in zip(groups, channels, strict=True) if truth in p[0])
            inner = {0: 1.0} if part is None else law(part, group.index(truth))
            return {group[m]: p for m, p in inner.items()}  # type: ignore[index]
        case SubsetSelection():
            return subset_law(channel, truth)
        case OneHot():
            return one_hot_law(channel, truth)
        case CutAndPaste():
            return cut_and_paste_law(channel, truth)
        case Sampled():
            return sampled_law(channel, truth)
    raise AssertionError(channel)


def subset_law(channel: SubsetSelection, truth: int) -> Law:
    inside = channel.inside_units / 2**32 / channel.chosen / 64
    outside = (1 - channel.inside_units / 2**32) / (channel.size - channel.chosen) / 64
    found: Law = {}
    for subset, shifts in enumerate(channel.shifts.tolist()):
        for place, shift in enumerate(shifts):
            report = subset, (truth + shift) % channel.size
            found[report] = inside if place < channel.chosen else outside
    return found


def one_hot_law(channel: OneHot, truth: int) -> Law:
    flip = channel.flip_units / 2**32
    found: Law = {}
    for bits in itertools.product((0, 1), repeat=channel.size):
        flipped = [bit != (item == truth) for item, bit in enumerate(bits)]
        found[bits] = math.prod(flip if f else 1 - flip for f in flipped)
    return found


def cut_and_paste_law(channel: CutAndPaste, truth: int) -> Law:
    """Choose j, cut min(j, M) items, paste every other item with probability rho."""
    cell = np.unravel_index(truth, channel.sizes)
    items = list(enumerate(int(c) for c in cell))
    universe = [(v, c) for v, size in enumerate(channel.sizes) for c in range(size)]
    found: Law = defaultdict(float)
    for j in range(channel.cut + 1):
        cuts = list(itertools.combinations(items, min(j, len(items))))
        for cut in cuts:
            rest = [item for item in universe if item not in cut]
            for pasted in itertools.product((False, True), repeat=len(rest)):
                chance = math.prod(channel.rho if p else 1 - channel.rho for p in pasted)
                added = {item for item, p in zip(rest, pasted, strict=True) if p}
                found[frozenset(cut) | added] += chance / len(cuts) / (channel.cut + 1)
    return found


def sampled_law(channel: Sampled, truth: int) -> Law:
    cell = [int(c) for c in np.unravel_index(truth, channel.sizes)]
    found: Law = defaultdict(float)
    for choice in channel.choices:
        sizes = [channel.sizes[a] for a in choice.axes]
        part = int(np.ravel_multi_index([cell[a] for a in choice.axes], sizes))
        for report, chance in law(choice.channel, part).items():
            found[choice.axes, report] += chance * choice.weight / 2**32
    found["nothing"] += 1 - sum(c.weight for c in channel.choices) / 2**32
    return found


@dataclass(frozen=True)
class Known:
    """A channel listed by its law."""

    size: int
    laws: dict[int, Law]

    @classmethod
    def of(cls, channel: Transition) -> Known:
        return cls(channel.shape[0], {k: law(channel, k) for k in range(channel.shape[0])})

    def posteriors(self) -> list[tuple[float, dict[int, float]]]:
        """Each report that can occur: its probability and the posterior of every truth."""
        found = []
        for report in {m for one in self.laws.values() for m in one}:
            joint = {k: one.get(report, 0.0) / self.size for k, one in self.laws.items()}
            total = sum(joint.values())
            if total > 0:
                found.append((total, {k: j / total for k, j in joint.items()}))
        return found

    def gamma(self) -> float:
        worst = 1.0
        for report in {m for one in self.laws.values() for m in one}:
            column = [one.get(report, 0.0) for one in self.laws.values()]
            if max(column) > 0:
                worst = max(worst, max(column) / min(column) if min(column) else math.inf)
        return worst

    def entropy(self) -> float:
        return -sum(
            total * p * math.log2(p)
            for total, posterior in self.posteriors()
            for p in posterior.values()
            if p > 0
        )

    def anonymity(self, threshold: float) -> tuple[int, float, float]:
        counts, divergences = [], []
        for _, posterior in self.posteriors():
            left = [p for p in posterior.values() if p > threshold]
            counts.append(len(left))
            shares = [p / sum(left) for p in left]
            divergences.append(sum(q * math.log2(q * len(left)) for q in shares))
        return min(counts), min(divergences), max(divergences)

    def highest(self) -> list[float]:
        posteriors = [p for _, p in self.posteriors()]
        return [max(p.get(k, 0.0) for p in posteriors) for k in range(self.size)]

    def accuracy(self) -> float:
        return sum(total * max(posterior.values()) for total, posterior in self.posteriors())


def close(expected: object) -> object:
    # Posteriors of less than 1e-12 are lost in the rounding of the reports' probabilities.
    return pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS.keys())
def test_every_measure_is_that_of_its_definition(channel: Transition):
    known = Known.of(channel)
    assert gamma(channel) == pytest.approx(known.gamma(), rel=1e-12)
    assert epsilon(channel) == pytest.approx(math.log(known.gamma()))
    assert conditional_entropy(channel) == close(known.entropy())
    found = worst_posterior(channel)
    assert found.tolist() == close(known.highest())
    assert found.max() <= Amplification.of(channel).grown(1 / known.size) * (1 + 1e-12)
    accuracy = attacker_accuracy(channel)
    assert accuracy.expected == close(known.accuracy())
    assert accuracy.worst == close(max(known.highest()))
    assert accuracy.blind == close(1 / known.size)
    for threshold in (0.0, 0.0123, 0.0789, 0.234):
        expected = known.anonymity(threshold)
        if expected[0] == 0:
            with pytest.raises(OptionError):
                k_anonymity(channel, threshold)
            continue
        left = k_anonymity(channel, threshold)
        assert left.categories == expected[0]
        assert left.least_divergence == close(expected[1])
        assert left.worst_divergence == close(expected[2])


@pytest.mark.parametrize("p", [0.05, 0.3, 0.45])
def test_entropy_has_the_closed_forms_behind_ma_figure_3_1(p: float):
    def h(q: float) -> float:
        return -q * math.log2(q) - (1 - q) * math.log2(1 - q)

    assert conditional_entropy(Symmetric.from_probability(2, p)) == pytest.approx(h(p), abs=1e-8)
    six = conditional_entropy(Symmetric.from_probability(6, p))
    assert six == pytest.approx(h(p) + p * math.log2(5), abs=1e-8)
    grouped = conditional_entropy(Grouped.from_probability([[0, 1, 2], [3, 4, 5]], p))
    assert grouped == pytest.approx(h(p) + p, abs=1e-8)
    assert grouped < six


def test_the_threshold_drops_the_hardly_possible():
    """Ma 8 (b): five categories are possible after each report, but four of them hardly."""
    channel = Symmetric.from_probability(5, 0.004)
    assert k_anonymity(channel).categories == 5
    assert k_anonymity(channel, threshold=0.01).categories == 1
    assert k_anonymity(channel).worst_divergence > 2.2
    assert k_anonymity(channel, threshold=0.01).worst_divergence < 1e-15


def test_frapps_posterior_range():
    """FRAPP 4.1: gamma = 19, rho_1 = 5 %, alpha = gamma x / 2 gives [33 %, 60 %]."""
    channel = RandomSymmetric.around_gamma(2000, 19.0, 0.5)
    low, high = posterior_range(channel, 0.05)
    assert (round(low, 2), round(high, 2)) == (0.33, 0.60)
    fixed = RandomSymmetric(2000, channel.off_units, 0)
    assert posterior_range(fixed, 0.05) == pytest.approx((0.5, 0.5), abs=1e-4)


# Size


def peak_bytes(ask: object) -> int:
    tracemalloc.start()
    ask()  # type: ignore[operator]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_a_trillion_cells():
    size = 10**12
    channel = Mixture.from_gamma(size, 1e12)
    keep = float(1e12 / (1e12 + size - 1))

    def ask() -> None:
        assert gamma(channel) == pytest.approx(1e12, rel=1e-6)
        entropy = -keep * math.log2(keep) - (1 - keep) * math.log2((1 - keep) / (size - 1))
        assert conditional_entropy(channel) == pytest.approx(entropy, rel=1e-9)
        accuracy = attacker_accuracy(channel)
        assert (accuracy.expected, accuracy.worst) == pytest.approx((keep, keep), rel=1e-9)
        assert accuracy.blind == pytest.approx(1e-12)
        assert k_anonymity(channel).categories == size
        assert k_anonymity(channel, threshold=0.1).categories == 1

    assert peak_bytes(ask) < 1 << 20


WIDE = CutAndPaste.from_probability((12, 12), 1, 0.3)
SPARSE = Sampled(
    (100, 100, 100, 100),
    tuple(
        Choice((axis,), QUARTER, Grouped.from_probability([range(40), range(40, 100)], 0.3))
        for axis in range(4)
    ),
)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: conditional_entropy(WIDE),
        lambda: worst_posterior(WIDE),
        lambda: attacker_accuracy(WIDE),
        lambda: k_anonymity(WIDE),
        lambda: worst_posterior(SPARSE),
        lambda: worst_posterior(Mixture.from_gamma(1 << 60, 10.0)),
    ],
)
def test_what_cannot_be_listed_is_refused_at_once(ask: object):
    def refused() -> None:
        with pytest.raises(LimitExceeded):
            ask()  # type: ignore[operator]

    assert peak_bytes(refused) < 1 << 24


# Bad input


@pytest.mark.parametrize("belief", [0.0, 1.0, -0.5, math.nan])
def test_impossible_beliefs_are_refused(belief: float):
    with pytest.raises(OptionError):
        posterior_range(RandomSymmetric(4, HALF // 4, 0), belief)


@pytest.mark.parametrize("threshold", [-0.1, 1.0, math.nan])
def test_impossible_thresholds_are_refused(threshold: float):
    with pytest.raises(OptionError):
        k_anonymity(Identity(2), threshold=threshold)


def test_sampled_blocks_of_hundreds_of_variables():
    """gamma and its like at any size; beliefs in cells where a computer has numbers for them."""
    for count, listed in ((70, False), (700, True)):
        pairs = list(itertools.combinations(range(count), 2))[:2000]
        channel = Sampled(
            (3,) * count,
            tuple(Choice(p, RESOLUTION // 2000, Symmetric.from_gamma(9, 19.0)) for p in pairs),
        )
        assert gamma(channel) == pytest.approx(19)
        if listed:
            with pytest.raises(LimitExceeded):
                conditional_entropy(channel)
            continue
        bits = count * math.log2(3)
        assert bits - 2.5 < conditional_entropy(channel) < bits
        assert k_anonymity(channel).categories == 3**count
        with pytest.raises(LimitExceeded):
            worst_posterior(channel)


def test_the_gamma_within_groups_of_a_sampled_block():
    groups = Grouped.from_probability([[0, 1], [2, 3]], 0.25)
    channel = Sampled(
        (4, 2), (Choice((0,), HALF, groups), Choice((1,), HALF, Symmetric(2, QUARTER)))
    )
    assert gamma(channel) == math.inf
    assert gamma_within_groups(channel) == pytest.approx(3)
