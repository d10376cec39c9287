"""The structured families against their mechanisms written out by brute force."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from pramana_core.channels import (
    RESOLUTION,
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
    Withheld,
)
from pramana_core.errors import (
    LimitExceeded,
    OptionError,
    SingularChannel,
)

HALF = RESOLUTION // 2

PAIRS = Sampled(
    (2, 3, 2),
    (
        Choice((0, 1), HALF // 2, Symmetric.from_gamma(6, 5.0)),
        Choice((1, 2), HALF // 4, Dense.from_units(Symmetric.from_probability(6, 0.5).units())),
        Choice((0, 2), HALF, Mixture.from_gamma(4, 7.0)),
    ),
)
WHOLE = Sampled(
    (2, 3),
    (
        Choice((0, 1), HALF, Symmetric.from_gamma(6, 5.0)),
        Choice((1,), HALF, Symmetric.from_gamma(3, 5.0)),
    ),
)


def mixture() -> tuple[Transition, np.ndarray]:
    channel = Mixture.from_gamma(6, 19.0)
    a = Fraction(channel.keep, 2**64)
    rows = [[float(a * (i == j) + (1 - a) / 6) for j in range(6)] for i in range(6)]
    return channel, np.array(rows)


def random_symmetric() -> tuple[Transition, np.ndarray]:
    channel = RandomSymmetric(4, 10**8, 2)
    total = np.zeros((4, 4))
    for off in range(10**8 - 2, 10**8 + 3):
        total += Symmetric(4, off).matrix() / 5
    return channel, total


def one_hot() -> tuple[Transition, np.ndarray]:
    q = Fraction(OneHot.from_probability(3, 0.8).flip_units, RESOLUTION)
    matrix = np.zeros((3, 8))
    for truth in range(3):
        for flips in itertools.product([0, 1], repeat=3):
            bits = [int(c == truth) ^ f for c, f in enumerate(flips)]
            y = sum(bit << c for c, bit in enumerate(bits))
            matrix[truth, y] += float(math.prod(q if f else 1 - q for f in flips))
    return OneHot.from_probability(3, 0.8), matrix


def cut_and_paste(cut: int = 1) -> tuple[Transition, np.ndarray]:
    channel = CutAndPaste.from_probability((2, 3), cut, 0.3)
    rho = Fraction(channel.paste_units, RESOLUTION)
    universe = [(v, c) for v, size in enumerate((2, 3)) for c in range(size)]
    matrix = np.zeros((6, 32))
    for row, cell in enumerate(itertools.product(range(2), range(3))):
        record = list(enumerate(cell))
        for j in range(cut + 1):
            subsets = list(itertools.combinations(record, min(j, 2)))
            for kept in subsets:
                others = [item for item in universe if item not in kept]
                for pasted in itertools.product([0, 1], repeat=len(others)):
                    report = {*kept, *(o for o, p in zip(others, pasted, strict=True) if p)}
                    a = sum(1 << c for v, c in report if v == 0)
                    b = sum(1 << c for v, c in report if v == 1)
                    weight = math.prod(rho if p else 1 - rho for p in pasted)
                    matrix[row, a * 8 + b] += float(weight / (cut + 1) / len(subsets))
    return channel, matrix


def sampled(channel: Sampled) -> np.ndarray:
    reports = [size + 1 for size in channel.sizes]
    matrix = np.zeros((math.prod(channel.sizes), math.prod(reports)))
    for row, cell in enumerate(itertools.product(*map(range, channel.sizes))):
        for choice in channel.choices:
            shape = [channel.sizes[a] for a in choice.axes]
            truth = int(np.ravel_multi_index([cell[a] for a in choice.axes], shape))
            for report, chance in enumerate(choice.channel.matrix()[truth]):
                codes = list(channel.sizes)
                for axis, code in zip(choice.axes, np.unravel_index(report, shape), strict=True):
                    codes[axis] = int(code)
                matrix[row, np.ravel_multi_index(codes, reports)] += (
                    chance * choice.weight / RESOLUTION
                )
        matrix[row, -1] += channel.silent / RESOLUTION
    return matrix


FAMILIES: dict[str, Callable[[], tuple[Transition, np.ndarray]]] = {
    "mixture": mixture,
    "random-symmetric": random_symmetric,
    "one-hot": one_hot,
    "cut-and-paste": cut_and_paste,
    "cut-and-paste-2": lambda: cut_and_paste(2),
    "cut-and-paste-all": lambda: cut_and_paste(3),
    "sampled": lambda: (PAIRS, sampled(PAIRS)),
    "sampled-whole": lambda: (WHOLE, sampled(WHOLE)),
    "withheld": lambda: (Withheld(3), np.ones((3, 1))),
    "rectangular": lambda: (
        Dense.from_probabilities([[0.5, 0.3, 0.2], [0.25, 0.25, 0.5]]),
        np.array([[0.5, 0.3, 0.2], [0.25, 0.25, 0.5]]),
    ),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_the_matrix_is_the_mechanism(name: str):
    channel, matrix = FAMILIES[name]()
    assert channel.shape == matrix.shape
    np.testing.assert_allclose(channel.matrix(), matrix, atol=1e-9)
    np.testing.assert_allclose(channel.matrix().sum(axis=1), 1, atol=1e-12)


@pytest.mark.parametrize("name", sorted(FAMILIES.keys() - {"sampled", "withheld", "cut-and-paste"}))
def test_the_decoder_is_unbiased_for_every_truth(name: str):
    """E[D | truth l] is the indicator of l: sum over all reports with their probabilities."""
    channel, matrix = FAMILIES[name]()
    decoder = channel.decoder()
    np.testing.assert_allclose(decoder @ matrix.T, np.eye(channel.shape[0]), atol=1e-6)


@pytest.mark.parametrize("name", ["mixture", "random-symmetric", "cut-and-paste", "sampled"])
def test_restriction_is_the_margin_of_the_mechanism(name: str):
    channel, matrix = FAMILIES[name]()
    sizes = {"mixture": (2, 3), "random-symmetric": (2, 2)}.get(name) or channel.sizes
    reports = channel.report_sizes(sizes)
    assert reports is not None
    full = matrix.reshape(*sizes, *reports)
    for kept in itertools.product([True, False], repeat=len(sizes)):
        if not any(kept):
            continue
        part = channel.restrict(sizes, kept)
        assert part is not None
        gone = [i for i, keep in enumerate(kept) if not keep]
        margin = full.sum(axis=tuple(len(sizes) + i for i in gone))
        any_truth = tuple(slice(None) if keep else 0 for keep in kept)
        size = math.prod(s for s, keep in zip(sizes, kept, strict=True) if keep)
        np.testing.assert_allclose(
            part.matrix(), margin[any_truth].reshape(size, -1), atol=1e-9, err_msg=str(kept)
        )


def test_a_sampled_channel_is_not_lumpable_where_a_choice_is_not():
    swaps = Grouped(((0, 5), (1,), (2,), (3,), (4,)), (Symmetric(2, HALF // 2), *[None] * 4))
    channel = Sampled((2, 3), (Choice((0, 1), RESOLUTION, swaps),))
    assert channel.restrict((2, 3), (True, False)) is None


def test_pairs_cannot_tell_the_joint_counts_of_three():
    assert PAIRS.condition_number == math.inf
    with pytest.raises(SingularChannel):
        PAIRS.solve(np.ones(PAIRS.shape[1]), 0)
    part = PAIRS.restrict((2, 3, 2), (True, True, False))
    assert part is not None
    assert part.condition_number < 10


def test_mixtures_over_huge_domains_keep_their_gamma_and_margins():
    size = 5**20
    channel = Mixture.from_gamma(size, 19.0)
    a = Fraction(channel.keep, 2**64)
    realized = (a + (1 - a) / size) / ((1 - a) / size)
    assert 18.9 < realized <= 19
    part = channel.restrict((5,) * 20, [i < 2 for i in range(20)])
    assert part.shape == (25, 25)
    assert part.as_dict()["keep"] == channel.keep
    with pytest.raises(LimitExceeded):
        channel.matrix()


@pytest.mark.parametrize("cut", [0, 1, 2, 3, 5])
def test_the_amplification_of_cut_and_paste_is_the_largest_ratio(cut: int):
    channel, matrix = cut_and_paste(cut)
    assert channel.amplification == pytest.approx((matrix.max(0) / matrix.min(0)).max(), rel=1e-6)


def test_cut_and_paste_reaches_a_gamma_from_below():
    channel = CutAndPaste.from_gamma((4, 5, 5, 5, 2, 2), 3, 19.0)
    finer = CutAndPaste(channel.sizes, 3, channel.paste_units - 1, 6)
    assert channel.amplification <= 19 < finer.amplification
    with pytest.raises(OptionError):
        CutAndPaste.from_gamma((2, 2), 5, 2.0)


def test_singular_choices_of_everything_are_refused():
    """A choice that reports all variables, but says nothing of them together."""
    off = RESOLUTION // 4
    channel = Sampled(
        (2, 2),
        (
            Choice((0, 1), HALF, Symmetric(4, off)),
            Choice((0,), HALF // 2, Symmetric(2, 9)),
            Choice((1,), HALF // 2, Symmetric(2, 9)),
        ),
    )
    assert channel.condition_number > 1e7
    with pytest.raises(SingularChannel):
        channel.decoder()
    big = Sampled((2,) * 13, (Choice(tuple(range(13)), RESOLUTION, Mixture(2**13, 1 << 60)),))
    with pytest.raises(LimitExceeded):
        _ = big.condition_number


@pytest.mark.parametrize(
    "useless",
    [
        Mixture(6, 0),
        CutAndPaste.from_probability((2, 2), 0, 0.5),
        OneHot.from_probability(3, 0.5),
        Withheld(3),
    ],
)
def test_what_says_nothing_cannot_be_solved(useless: Transition):
    with pytest.raises(SingularChannel):
        useless.solve(np.ones(useless.shape[1]), 0)
