"""What is no channel: refused with its class and, where one field is wrong, with the field."""

from __future__ import annotations

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
)
from pramana_core.errors import ChannelError, OptionError

UNITS = {
    "off_units": lambda u: Symmetric(2, u),
    "spread_units": lambda u: RandomSymmetric(2, 1 << 30, u),
    "flip_units": lambda u: OneHot(3, u),
    "paste_units": lambda u: CutAndPaste((2, 2), 1, u, 2),
    "chosen": lambda u: SubsetSelection(9, u, RESOLUTION),
    "inside_units": lambda u: SubsetSelection(9, 2, u),
    "keep": lambda u: Mixture(9, u),
}


@pytest.mark.parametrize("field", UNITS)
@pytest.mark.parametrize("units", [0.1, True, "0.1", None, -1, 1 << 65])
def test_units_are_whole_numbers_in_their_range(field: str, units: object):
    """A probability passed for units would be next to nothing."""
    with pytest.raises(ChannelError) as error:
        UNITS[field](units)
    assert error.value.where == field


@pytest.mark.parametrize(
    "build",
    [
        lambda: Dense.from_probabilities([[0.5, 0.49], [0.1, 0.9]]),
        lambda: Dense.from_probabilities([[0.5, 0.5], [-0.1, 1.1]]),
        lambda: Dense.from_probabilities([[0.5, float("nan")], [1, 0]]),
        lambda: Dense.from_probabilities([[1e-11, 1 - 1e-11], [0, 1]]),
        lambda: Dense.from_probabilities([[1, 0], [1]]),
        lambda: Dense(((RESOLUTION, 0), (RESOLUTION, 1))),
        lambda: Symmetric.from_probability(3, 1.2),
        lambda: Symmetric.from_probability(3, -0.1),
        lambda: Symmetric.from_probability(2, 1e-12),
        lambda: Symmetric(3, RESOLUTION),
        lambda: Symmetric.from_gamma(3, 0.5),
        lambda: Symmetric.from_gamma(3, float("inf")),
        lambda: Identity(1),
        lambda: Grouped(((0, 1), (1,)), (None, None)),
        lambda: Grouped(((0, 1),), (None,)),
        lambda: Grouped(((0,), (1,)), (None,)),
        lambda: Grouped(((0, 1), (2, 3)), (RandomSymmetric(2, 9, 1), None)),
        lambda: Mixture.from_gamma(6, 0.9),
        lambda: Mixture(2**63, 1),
        lambda: RandomSymmetric(3, 10, 11),
        lambda: OneHot.from_probability(17, 0.8),
        lambda: OneHot.from_probability(3, 1.8),
        lambda: SubsetSelection(4, 4, RESOLUTION),
        lambda: SubsetSelection(4, 2, RESOLUTION // 2),
        lambda: SubsetSelection.from_gamma(4, 0.5),
        lambda: CutAndPaste((2, 2), -1, 5, 2),
        lambda: CutAndPaste((2, 2, 2), 1, 5, 2),
        lambda: CutAndPaste.from_probability((2, 2), 1, 0.0),
        lambda: CutAndPaste.from_probability((2, 2), 1, 3.0),
        lambda: Sampled((2, 2), ()),
        lambda: Sampled((2, 2), (Choice((1, 0), 5, Mixture(4, 3)),)),
        lambda: Sampled((2, 2), (Choice((2,), 5, Mixture(2, 3)),)),
        lambda: Sampled((2, 2), (Choice((1,), 5, Mixture(4, 3)),)),
        lambda: Sampled((2, 2), (Choice((1,), RESOLUTION + 1, Mixture(2, 3)),)),
    ],
)
def test_what_is_no_channel_is_refused(build):
    with pytest.raises(ChannelError):
        build()


def test_a_share_of_the_probability_to_keep_is_a_share():
    with pytest.raises(OptionError) as error:
        RandomSymmetric.around_gamma(4, 19, 1.5)
    assert error.value.where == "share"
