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
from pramana_core.privacy.structures import ColumnsStructure, structure_of

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
    for weight, chosen in pieces(parts):
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


@pytest.mark.parametrize("prior", [None, np.array([0.4, 0.3, 0.2, 0.1])])
def test_it_is_measured_as_seen_by_who_knows_the_choice(prior):
    """Two of its choices differ by their channels alone, which a report does not tell apart."""
    by_parts, by_list = structure_of(ONE), ColumnsStructure(known().shape, known)
    assert by_parts.gamma == pytest.approx(by_list.gamma, rel=1e-12)
    assert by_parts.gamma == pytest.approx(7, rel=1e-9)
    assert by_parts.information(prior) == pytest.approx(by_list.information(prior))
    assert by_parts.bayes_mass(prior) == pytest.approx(by_list.bayes_mass(prior))
    for one, other in zip(by_parts.extremes(prior), by_list.extremes(prior), strict=True):
        np.testing.assert_allclose(np.broadcast_to(one, 4), other, rtol=1e-12)
    found, wanted = (s.plausible(prior, 0.2) for s in (by_parts, by_list))
    assert found.fewest == wanted.fewest
    assert (found.least, found.most) == pytest.approx((wanted.least, wanted.most))
    # The control: the sampled channel, whose report hides the choice, is measured as weaker.
    assert structure_of(Sampled(ONE.sizes, ONE.choices)).gamma < 6


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"starts": ONE.starts[:3]}, "3 starts for 4 choices"),
        ({"starts": (EIGHTH, 2 * EIGHTH, 4 * EIGHTH, 6 * EIGHTH)}, "overlap"),
        ({"starts": (3 * EIGHTH, EIGHTH, 4 * EIGHTH, 6 * EIGHTH)}, "overlap"),
        ({"starts": (EIGHTH, 3 * EIGHTH, 4 * EIGHTH, 7 * EIGHTH)}, "overlap"),
        ({"starts": (-1, 3 * EIGHTH, 4 * EIGHTH, 6 * EIGHTH)}, "overlap"),
        ({"coin": "A" * 64}, "64 hex digits"),
        ({"coin": "a" * 63}, "64 hex digits"),
    ],
)
def test_starts_and_names_that_cannot_be_are_refused(changed, words):
    with pytest.raises(ChannelError, match=words):
        replace(ONE, **changed)


def test_it_refuses_what_a_sampled_channel_does():
    with pytest.raises(ChannelError):
        replace(OTHER, choices=(Choice((0,), 0, WEAK), OTHER.choices[1]))
