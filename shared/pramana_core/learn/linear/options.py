"""How a linear classifier is fitted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Ge, Le

from pramana_core.errors import OptionError
from pramana_core.learn.common.options import NotNegative, require_limits

Loss = Literal["perceptron", "least-squares", "logistic"]
Encoding = Literal["indicator", "ordinal"]
Counts = Literal["raw", "expected"]
Keep = Literal["fewest-wrong", "longest-run", "ratchet"]


@dataclass(frozen=True)
class LinearOptions:
    """How a linear classifier is fitted.

    Args:
        loss: `logistic`, `least-squares` (of targets -1 and +1), or `perceptron`: the share of
            records classified wrong, lowered by the pocket algorithm (Ma 6.2).
        l2: half of this times the sum of the squared weights is added to the mean loss, where the
            weights are those of columns scaled to standard deviation 1 and the intercept is free.
            For squared error the mean loss is half the mean square. Not for the perceptron.
        encoding: what becomes of a variable of three or more categories that has no
            representatives: a column for each category but the first (`indicator`), or one column
            of the categories' numbers 1 .. K (`ordinal`, as Ma does with the lenses; then a
            variable of two categories is 1 and 2 rather than 0 and 1).
        numeric: the number that stands for each category, by variable; takes precedence.
        counts: the counts that least squares and the logistic loss are fitted to. `raw` are the
            unbiased ones, which may be negative; `expected` are the sums of posterior
            probabilities, none negative. None takes the raw counts where the fit has a solution
            there, and otherwise the expected ones: from raw counts the weights are corrected for
            what noise adds to them and their intervals cover, while expected ones after much noise
            draw the weights to 0 by more than their error. The perceptron always takes the
            expected ones.
        steps: the most updates of the perceptron for each plane.
        sample: the records drawn from a learned network where the variables have too many cells
            together.
        keep: which of the perceptron's weights stay in the pocket. `fewest-wrong`: those that
            classify the fewest records wrong, of least squares and all met from there on.
            `longest-run`, as Ma 6.2 says it: those with the longest run of right draws, from
            weights of 0 on. `ratchet` (Gallant): the same, but only if they also classify more
            records right than those in the pocket.

    Raises:
        OptionError: an unknown name, or a number out of its range.
    """

    loss: Loss = "logistic"
    l2: NotNegative = 0.0
    encoding: Encoding = "indicator"
    numeric: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    counts: Counts | None = None
    steps: Annotated[int, Ge(1), Le(1_000_000)] = 2_000
    sample: Annotated[int, Ge(1), Le(1 << 20)] = 1 << 16
    keep: Keep = "fewest-wrong"

    def __post_init__(self) -> None:
        require_limits(self)
        if self.loss == "perceptron" and (self.l2 > 0 or self.counts is not None):
            raise OptionError(
                "The perceptron takes no l2 and no choice of counts.",
                where="l2" if self.l2 > 0 else "counts",
                remedy="Leave it out, or choose another loss.",
            )
        numeric = {name: tuple(map(float, numbers)) for name, numbers in self.numeric.items()}
        object.__setattr__(self, "numeric", numeric)
