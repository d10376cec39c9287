"""How private trees are grown, and what they may cost; loaded in no time."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Annotated

from annotated_types import Ge, Le

from pramana_core.errors import OptionError
from pramana_core.learn.common.options import InnerShare, require_limits

EPSILONS = (1e-6, 1e3)
"""The least and the largest epsilon: below there is only noise, above no privacy."""

DEEPEST = 12
"""The most questions on a way of a private tree."""


@dataclass(frozen=True)
class PrivateOptions:
    """How a private tree is grown; chosen without looking at the records.

    Attributes:
        depth: the questions of each path; None for as many as leave the counts of the leaves well
            above their noise (`depth_for`).
        splits: the share of epsilon for the choice of the questions; the counts take the rest.
        grid: into how many equal steps thresholds divide the declared range of a number.

    Raises:
        OptionError: an option is out of its range.
    """

    depth: Annotated[int, Ge(1), Le(DEEPEST)] | None = None
    splits: InnerShare = 0.5
    grid: Annotated[int, Ge(2), Le(1000)] = 16

    def __post_init__(self) -> None:
        require_limits(self)


def require_epsilon(epsilon: float) -> None:
    """Check that an epsilon is one that trees can be released with. Raises OptionError."""
    least, most = EPSILONS
    if not isinstance(epsilon, Real) or not least <= epsilon <= most:
        raise OptionError(
            f"epsilon must be from {least:g} to {most:g}, not {epsilon}.", where="epsilon"
        )
