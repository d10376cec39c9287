"""The options of a regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le

from pramana_core.learn.common.options import InnerShare, Seed, require_limits


@dataclass(frozen=True)
class RegressionOptions:
    """How a regression is fitted.

    Args:
        degree: the highest power of a numeric column; 1 fits lines.
        confidence: of all intervals.
        seed: decides which records are left out together when the model is scored on records that
            it was not fitted to.

    Raises:
        OptionError: a number out of its range.
    """

    degree: Annotated[int, Ge(1), Le(6)] = 1
    confidence: InnerShare = 0.95
    seed: Seed = 0

    def __post_init__(self) -> None:
        require_limits(self)
