"""A sampled block reveals no more than its strongest choice: enumerated, in exact fractions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from pramana_core.channels import RESOLUTION, Choice, Sampled, Symmetric
from pramana_core.privacy import Amplification, gamma

SIZES = (2, 3, 2)
CELLS = list(itertools.product(*map(range, SIZES)))
PAIRS = list(itertools.combinations(range(3), 2))
WITHHELD = None
Law = dict[tuple[int | None, ...], Fraction]


def channel_of(gammas: list[float], weights: list[int]) -> Sampled:
    return Sampled(
        SIZES,
        tuple(
            Choice(axes, weight, Symmetric.from_gamma(SIZES[axes[0]] * SIZES[axes[1]], g))
            for axes, weight, g in zip(PAIRS, weights, gammas, strict=True)
        ),
    )


def law(channel: Sampled, truth: tuple[int, ...], tilt: int = 0) -> Law:
    """The probability of every report of a record, from the mechanism's description alone.

    `tilt` moves weight from the first choice to the second if the record's first value is 1: a
    choice that depends on the data, for the control.
    """
    made: Law = {}
    shift = tilt if truth[0] == 1 else 0
    for index, choice in enumerate(channel.choices):
        weight = choice.weight + shift * (index == 1) - shift * (index == 0)
        symmetric = choice.channel
        assert isinstance(symmetric, Symmetric)
        for values in itertools.product(*(range(SIZES[a]) for a in choice.axes)):
            same = all(truth[a] == v for a, v in zip(choice.axes, values, strict=True))
            units = symmetric.keep_units if same else symmetric.off_units
            report: list[int | None] = [WITHHELD] * 3
            for axis, value in zip(choice.axes, values, strict=True):
                report[axis] = value
            made[tuple(report)] = Fraction(weight * units, RESOLUTION**2)
    return made


def ratios(channel: Sampled, tilt: int = 0) -> Iterator[Fraction]:
    """How much likelier each report is under one record than under another, for all pairs."""
    laws = [law(channel, cell, tilt) for cell in CELLS]
    for made in laws:
        assert sum(made.values()) == 1
    for one, other in itertools.product(laws, repeat=2):
        for report, chance in one.items():
            yield chance / other[report]


THIRD = RESOLUTION // 3


@pytest.mark.parametrize(
    ("gammas", "weights"),
    [
        ([19.0, 19.0, 19.0], [THIRD, THIRD, RESOLUTION - 2 * THIRD]),
        ([19.0, 19.0, 19.0], [RESOLUTION // 2, RESOLUTION // 4, RESOLUTION // 4]),
        ([3.0, 7.0, 5.0], [RESOLUTION // 8, RESOLUTION // 8, 3 * (RESOLUTION // 4)]),
    ],
    ids=["equal", "weighted", "different-gammas"],
)
def test_the_whole_record_is_amplified_by_the_largest_choice_and_no_more(gammas, weights):
    channel = channel_of(gammas, weights)
    largest = max(ratios(channel))
    assert largest <= Fraction(max(gammas))
    assert float(largest) == pytest.approx(max(gammas), rel=1e-7)
    assert gamma(channel) == pytest.approx(float(largest), rel=1e-12)


def test_a_choice_that_looks_at_the_data_would_reveal_more():
    """The control: the enumeration sees a leak through the choice of the subset."""
    channel = channel_of([19.0] * 3, [THIRD, THIRD, RESOLUTION - 2 * THIRD])
    assert max(ratios(channel, tilt=RESOLUTION // 20)) > 20


def test_no_prior_of_any_property_grows_beyond_the_bound():
    """FRAPP 2.1 over enumerated reports: random priors over records, random properties of them."""
    channel = channel_of([19.0] * 3, [THIRD, THIRD, RESOLUTION - 2 * THIRD])
    laws = [law(channel, cell) for cell in CELLS]
    matrix = np.array([[float(made[r]) for r in laws[0]] for made in laws])
    rng = np.random.default_rng(12)
    closest = 0.0
    for _ in range(3000):
        prior = rng.dirichlet(np.full(len(CELLS), 10.0 ** rng.uniform(-2, 1)))
        has = rng.random(len(CELLS)) < rng.random()
        before = float(prior[has].sum())
        if not 1e-6 < before < 1 - 1e-6:
            continue
        after = (prior[has] @ matrix[has]) / (prior @ matrix)
        bound = Amplification.of_gamma(19.0).grown(before)
        assert after.max() <= bound + 1e-12
        closest = max(closest, float(after.max() / bound))
    assert closest > 0.95
