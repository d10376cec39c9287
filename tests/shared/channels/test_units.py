"""Units of probability: whole numbers, so that a probability passed for them is no tiny one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pramana_core.channels import (
    CutAndPaste,
    Mixture,
    OneHot,
    RandomSymmetric,
    Symmetric,
    Transition,
)
from pramana_core.errors import ChannelError


@pytest.mark.parametrize(
    "made",
    [
        lambda p: Symmetric(2, p),
        lambda p: RandomSymmetric(2, 1 << 30, p),
        lambda p: OneHot(3, p),
        lambda p: CutAndPaste((2, 2), 1, p, 2),
        lambda p: Mixture(9, p),
    ],
)
@pytest.mark.parametrize("p", [0.1, True, "0.1", None])
def test_a_probability_is_not_taken_for_units(made: Callable[[object], Transition], p: object):
    with pytest.raises(ChannelError):
        made(p)
