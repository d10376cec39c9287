"""A sampled channel over products that nobody could list: by its choices, or refused at once."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
import pytest

from pramana_core.channels import (
    CHOICES,
    RESOLUTION,
    Choice,
    Coordinated,
    Sampled,
    Symmetric,
    most_accurate,
)
from pramana_core.errors import LimitExceeded, SingularChannel
from pramana_core.privacy import Amplification, gamma
from tests.shared.channels.examples import EXAMPLES

SIZES = tuple(2 + 7 * i % 29 for i in range(100))
PAIRS = tuple(itertools.combinations(range(100), 2))
WIDE = Sampled(
    SIZES,
    tuple(
        Choice(pair, RESOLUTION // 4950, most_accurate(math.prod(SIZES[a] for a in pair), 19.0))
        for pair in PAIRS
    ),
)


@functools.cache
def most() -> Sampled:
    """As many choices as there may be: it takes seconds to make."""
    pairs = itertools.islice(itertools.combinations(range(512), 2), CHOICES)
    channel = Symmetric.from_gamma(9, 19.0)
    return Sampled((3,) * 512, tuple(Choice(pair, RESOLUTION >> 16, channel) for pair in pairs))


def test_what_lists_the_product_is_refused():
    for channel in (WIDE, most()):
        for ask in (
            channel.matrix,
            lambda c=channel: c.apply(np.ones((1,)), 0),
            lambda c=channel: c.apply_adjoint(np.ones((1,)), 0),
        ):
            with pytest.raises(LimitExceeded):
                ask()
        with pytest.raises(SingularChannel):
            channel.decoder()
        assert channel.condition_number == math.inf
        assert channel.shape == (
            math.prod(channel.sizes),
            math.prod(size + 1 for size in channel.sizes),
        )


@pytest.mark.slow
def test_it_says_of_itself_what_its_choices_say():
    assert WIDE.report_sizes(SIZES) == tuple(size + 1 for size in SIZES)
    assert WIDE.report_sizes(SIZES[1:]) is None
    assert WIDE.share_reported(7) == pytest.approx(99 * (RESOLUTION // 4950) / RESOLUTION)
    assert WIDE.silent == RESOLUTION - 4950 * (RESOLUTION // 4950)
    assert WIDE.listed_rows == max(c.channel.listed_rows for c in WIDE.choices)
    assert len(WIDE.describe()) < 60
    assert gamma(WIDE) == pytest.approx(19.0, rel=1e-6)
    assert Amplification.of(most()).epsilon == pytest.approx(math.log(19.0), rel=1e-6)


def test_equal_channels_are_equal_and_hash_alike():
    again = Sampled(WIDE.sizes, tuple(Choice(c.axes, c.weight, c.channel) for c in WIDE.choices))
    assert again == WIDE
    assert hash(again) == hash(WIDE)
    other = Sampled(WIDE.sizes, WIDE.choices[:-1])
    assert other != WIDE
    first = EXAMPLES["coordinated"]
    assert isinstance(first, Coordinated)
    moved = Coordinated(
        first.sizes, first.choices, (first.starts[0] + 1, *first.starts[1:]), first.coin
    )
    assert moved != first
    assert hash(moved) != hash(first)
    assert hash(Sampled(first.sizes, first.choices)) != hash(first)


@pytest.mark.parametrize("kept", [(0, 1), (17, 80), (99,), (3, 50, 98)])
def test_some_of_its_variables_are_restricted_as_by_looking_at_every_choice(kept):
    """Against the sum over all choices, in integers."""
    asked = [axis in kept for axis in range(100)]
    found = WIDE.restrict(SIZES, asked)
    weights: dict[tuple[tuple[int, ...], object], int] = {}
    for choice in WIDE.choices:
        inside = [axis in kept for axis in choice.axes]
        if any(inside):
            own = choice.channel.restrict([SIZES[a] for a in choice.axes], inside)
            key = tuple(kept.index(a) for a in choice.axes if a in kept), own
            weights[key] = weights.get(key, 0) + choice.weight
    assert isinstance(found, Sampled)
    assert {(c.axes, c.channel): c.weight for c in found.choices} == weights
    assert found.sizes == tuple(SIZES[axis] for axis in kept)
