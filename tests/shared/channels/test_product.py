"""Independent channels side by side, against the Kronecker product of their matrices."""

from __future__ import annotations

import itertools
from functools import reduce

import numpy as np
import pytest

from pramana_core.channels import (
    RESOLUTION,
    Choice,
    Dense,
    Mixture,
    Product,
    Sampled,
    Symmetric,
    Transition,
    Withheld,
)
from pramana_core.errors import ChannelError
from pramana_core.privacy import gamma

TALL = Dense.from_probabilities([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])
SIZES = (2, 3, 2, 2)
SQUARE = Product(
    (2, 1, 1),
    (Mixture.from_gamma(6, 9.0), Dense.binary(0.1, 0.25), Symmetric.from_gamma(2, 3.0)),
)
PRODUCTS = {
    "square": (SQUARE, SIZES),
    "one alone": (Product((2,), (Mixture.from_gamma(6, 4.0),)), (2, 3)),
    "more reports than truths": (Product((1, 1), (TALL, Symmetric.from_gamma(2, 3.0))), (2, 2)),
    "nested": (Product((4, 1), (SQUARE, Symmetric.from_gamma(2, 2.0))), (*SIZES, 2)),
}


@pytest.fixture(params=PRODUCTS)
def case(request) -> tuple[Product, tuple[int, ...]]:
    return PRODUCTS[request.param]


def kronecker(channel: Transition) -> np.ndarray:
    if isinstance(channel, Product):
        return reduce(np.kron, map(kronecker, channel.channels))
    return channel.matrix()


def test_condition_numbers_and_gammas_multiply(case):
    channel, _ = case
    assert channel.condition_number == pytest.approx(np.linalg.cond(kronecker(channel)), rel=1e-9)
    law = kronecker(channel)
    heard = law[:, law.max(axis=0) > 0]
    worst = float((heard.max(axis=0) / heard.min(axis=0)).max())
    assert gamma(channel) == pytest.approx(worst, rel=1e-9)


@pytest.mark.parametrize("kept", list(itertools.product([False, True], repeat=4))[1:])
def test_restricted_it_is_the_law_of_the_reports_on_what_is_kept(kept: tuple[bool, ...]):
    """Summed over the reports of the others; whatever the others' truth."""
    left = SQUARE.restrict(SIZES, kept)
    assert left is not None
    law = kronecker(SQUARE).reshape(SIZES + SIZES)
    gone = tuple(i for i in range(4) if not kept[i])
    told = law.sum(axis=tuple(4 + i for i in gone))
    size = int(np.prod([s for s, k in zip(SIZES, kept, strict=True) if k]))
    for others in itertools.product(*(range(SIZES[i]) for i in gone)):
        place: list[object] = [slice(None)] * told.ndim
        for axis, value in zip(gone, others, strict=True):
            place[axis] = value
        np.testing.assert_allclose(left.matrix(), told[tuple(place)].reshape(size, size))
    sizes = tuple(s for s, k in zip(SIZES, kept, strict=True) if k)
    assert left.report_sizes(sizes) == sizes


def test_it_restricts_only_where_its_channels_do():
    stubborn = Dense.from_probabilities(
        [[0.7, 0.1, 0.1, 0.1], [0.1, 0.6, 0.2, 0.1], [0.3, 0.3, 0.2, 0.2], [0, 0, 0.5, 0.5]]
    )
    product = Product((2, 1), (stubborn, Symmetric.from_gamma(2, 3.0)))
    assert product.restrict((2, 2, 2), (True, False, True)) is None
    assert product.restrict((2, 2, 2), (False, False, True)) == Symmetric.from_gamma(2, 3.0)
    assert product.restrict((2, 2, 3), (True, False, True)) is None


def test_variables_are_reported_as_often_as_their_channel_reports_them():
    half = Sampled((2,), (Choice((0,), RESOLUTION // 2, Symmetric.from_gamma(2, 3.0)),))
    product = Product((2, 1, 1), (Mixture.from_gamma(6, 9.0), half, Withheld(2)))
    assert [product.share_reported(axis) for axis in range(4)] == [1, 1, 0.5, 0]
    with pytest.raises(ChannelError):
        product.share_reported(4)


def test_each_channel_needs_a_width():
    with pytest.raises(ChannelError):
        Product((1,), (Symmetric(2, 0), Symmetric(2, 0)))
    with pytest.raises(ChannelError):
        Product((), ())
