"""Options of private trees; the module imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Annotated

from annotated_types import Ge, Le

from pramana_core.errors import OptionError
from pramana_core.learn.common.options import InnerShare, require_limits

EPSILONS = (1e-6, 1e3)
"""The least and the largest epsilon; a smaller one leaves only noise, a larger one no privacy."""

DEEPEST = 12
"""The most questions on a path of a private tree."""


@dataclass(frozen=True)
class PrivateOptions:
    """How to grow a private tree; choose the options without looking at the records.

    Attributes:
        depth: the questions of each path; None for the largest depth that leaves the counts of the
            leaves well above their noise (`depth_for`).
        splits: the share of epsilon for the choice of the questions; the counts take the rest.
        grid: the count of equal steps into which thresholds divide the declared range of a number.

    Raises:
        OptionError: an option is out of its range.
    """

    depth: Annotated[int, Ge(1), Le(DEEPEST)] | None = None
    splits: InnerShare = 0.5
    grid: Annotated[int, Ge(2), Le(1000)] = 16

    def __post_init__(self) -> None:
        require_limits(self)


def require_epsilon(epsilon: float) -> None:
    """Check that trees can be released with an epsilon. Raises OptionError."""
    least, most = EPSILONS
    if not isinstance(epsilon, Real) or not least <= epsilon <= most:
        raise OptionError(
            f"epsilon must be from {least:g} to {most:g}, not {epsilon}.", where="epsilon"
        )
