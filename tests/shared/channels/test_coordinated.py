"""An owner's part of a study plan: its spans of the coin, alone and beside others."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from pramana_core.channels import (
    RESOLUTION,
    Choice,
    Coordinated,
    Sampled,
    Symmetric,
    Withheld,
    pieces,
)
from pramana_core.errors import ChannelError
from pramana_core.privacy import (
    attacker_accuracy,
    conditional_entropy,
    gamma,
    k_anonymity,
    worst_posterior,
)

EIGHTH = RESOLUTION // 8
COIN = "0123456789abcdef" * 4
WEAK, STRONG = Symmetric.from_gamma(2, 3.0), Symmetric.from_gamma(2, 7.0)
ONE = Coordinated(
    (2, 2),
    (
        Choice((0, 1), 2 * EIGHTH, Symmetric.from_gamma(4, 5.0)),
        Choice((0,), EIGHTH, WEAK),
        Choice((0,), EIGHTH, STRONG),
        Choice((1,), 2 * EIGHTH, WEAK),
    ),
    (EIGHTH, 3 * EIGHTH, 4 * EIGHTH, 6 * EIGHTH),
    COIN,
)
OTHER = Coordinated(
    (2,),
    (Choice((0,), 2 * EIGHTH, WEAK), Choice((0,), EIGHTH, STRONG)),
    (2 * EIGHTH, 7 * EIGHTH),
    COIN,
)


def at(part: Coordinated, coin: int) -> int | None:
    """The choice of a part where the coin has fallen, looked for from its beginning."""
    for number, (start, choice) in enumerate(zip(part.starts, part.choices, strict=True)):
        if start <= coin < start + choice.weight:
            return number
    return None


@pytest.mark.parametrize("parts", [(ONE,), (ONE, OTHER), (OTHER, ONE, OTHER)])
def test_pieces_are_what_every_value_of_the_coin_has_the_owners_report(parts):
    # No span begins or ends between two multiples of an eighth: one coin of each stands for all.
    found: dict[tuple[int | None, ...], int] = {}
    for coin in range(0, RESOLUTION, EIGHTH):
        chosen = tuple(at(part, coin) for part in parts)
        assert chosen == tuple(at(part, coin + EIGHTH - 1) for part in parts)
        if any(c is not None for c in chosen):
            found[chosen] = found.get(chosen, 0) + EIGHTH
    told: dict[tuple[int | None, ...], int] = {}
    for weight, chosen in pieces([part.spans for part in parts]):
        told[chosen] = told.get(chosen, 0) + weight
    assert told == found


def test_alone_it_is_a_sampled_channel():
    sampled = Sampled(ONE.sizes, ONE.choices)
    np.testing.assert_array_equal(ONE.matrix(), sampled.matrix())
    for kept in ((True, False), (False, True)):
        assert ONE.restrict((2, 2), kept) == sampled.restrict((2, 2), kept)
    assert ONE.restrict((2, 2), (True, True)) is ONE
    only = replace(ONE, choices=ONE.choices[:1], starts=ONE.starts[:1], sizes=(2, 2, 3))
    assert only.restrict((2, 2, 3), (False, False, True)) == Withheld(3)


def known() -> np.ndarray:
    """The law of the report and the choice together, cell by cell."""
    rows = []
    for cell in itertools.product(range(2), repeat=2):
        row = [ONE.silent / RESOLUTION]
        for choice in ONE.choices:
            part = 0
            for axis in choice.axes:
                part = 2 * part + cell[axis]
            row += list(choice.channel.matrix()[part] * (choice.weight / RESOLUTION))
        rows.append(row)
    return np.array(rows)


def test_it_is_measured_as_seen_by_who_knows_the_choice():
    """Two of its choices differ by their channels alone, which a report does not tell apart."""
    matrix = known()
    posteriors = matrix / matrix.sum(axis=0)
    assert gamma(ONE) == pytest.approx((matrix.max(axis=0) / matrix.min(axis=0)).max(), rel=1e-12)
    assert gamma(ONE) == pytest.approx(7, rel=1e-9)
    left = -(matrix / 4 * np.log2(posteriors)).sum()
    assert conditional_entropy(ONE) == pytest.approx(left)
    accuracy = attacker_accuracy(ONE)
    assert accuracy.expected == pytest.approx(matrix.max(axis=0).sum() / 4)
    np.testing.assert_allclose(worst_posterior(ONE), posteriors.max(axis=1), rtol=1e-12)
    assert k_anonymity(ONE, 0.2).categories == (posteriors > 0.2).sum(axis=0).min()
    # The control: the sampled channel, whose report hides the choice, is measured as weaker.
    assert gamma(Sampled(ONE.sizes, ONE.choices)) < 6


@pytest.mark.parametrize(
    "changed",
    [
        {"starts": ONE.starts[:3]},
        {"starts": (EIGHTH, 2 * EIGHTH, 4 * EIGHTH, 6 * EIGHTH)},
        {"starts": (3 * EIGHTH, EIGHTH, 4 * EIGHTH, 6 * EIGHTH)},
        {"starts": (EIGHTH, 3 * EIGHTH, 4 * EIGHTH, 7 * EIGHTH)},
        {"starts": (-1, 3 * EIGHTH, 4 * EIGHTH, 6 * EIGHTH)},
        {"coin": "A" * 64},
        {"coin": "a" * 63},
        {"choices": (replace(ONE.choices[0], weight=0), *ONE.choices[1:])},
    ],
)
def test_parts_that_cannot_be_are_refused(changed):
    with pytest.raises(ChannelError):
        replace(ONE, **changed)
