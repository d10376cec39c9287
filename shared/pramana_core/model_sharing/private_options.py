"""Options of private trees. Importing this module is fast."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Annotated

from annotated_types import Ge, Le

from pramana_core.errors import OptionError
from pramana_core.learn.common.options import InnerShare, require_limits

EPSILONS = (1e-6, 1e3)
"""The minimum and maximum epsilon; a smaller one leaves only noise, a larger one no privacy."""

DEEPEST = 12
"""The maximum number of questions on a path of a private tree."""


@dataclass(frozen=True)
class PrivateOptions:
    """Options on how a private tree is grown; choose them without looking at the records.

    Attributes:
        depth: the number of questions on each path, or None for the largest depth at which the
            counts of leaves are well above their noise (`depth_for`).
        splits: the share of epsilon for the choice of the questions; the rest is for the counts.
        grid: the number of equal steps into which thresholds divide the declared range of an
            attribute.

    Raises:
        OptionError: an option is out of its range.
    """

    depth: Annotated[int, Ge(1), Le(DEEPEST)] | None = None
    splits: InnerShare = 0.5
    grid: Annotated[int, Ge(2), Le(1000)] = 16

    def __post_init__(self) -> None:
        require_limits(self)


def require_epsilon(epsilon: float) -> None:
    """Raise OptionError unless trees can be released with this epsilon."""
    least, most = EPSILONS
    if not isinstance(epsilon, Real) or not least <= epsilon <= most:
        raise OptionError(
            f"epsilon must be from {least:g} to {most:g}, not {epsilon}.", where="epsilon"
        )
