"""How pseudo-data are generated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Ge, Gt

from pramana_core.learn.common.options import require_limits
from pramana_core.mixed.table import Floats

Method = Literal["pgen", "basegen"]
Numeric = Literal["uniform", "middle", "end", "marginal"]
Absent = Literal["uniform", "marginal"]
Misses = Literal["uniform", "marginal"]
Spread = Literal["independent", "even"]

Quantiles = Sequence[float] | Callable[[Floats], Floats]
"""A distribution of numbers: its quantiles at evenly spaced probabilities from 0 to 1, or the
function that gives the quantiles at probabilities, vectorized."""


@dataclass(frozen=True)
class GenerationOptions:
    """How pseudo-data are generated; the defaults are the paper's.

    Attributes:
        method: "pgen", from the paths, as many records as each counts (figure 3); or "basegen",
            drawn evenly from the range of each attribute and labelled by the tree.
        records: how many in all; None for as many as the tree counts, times `scale`.
        scale: what the counts are multiplied by; without effect on a given number of records.
        numeric: which number an interval gives: one drawn evenly, its "middle", its upper "end",
            or one from the tree's own estimate of the attribute's distribution ("marginal").
        absent: which value an attribute takes that a path does not ask for: one drawn evenly from
            its range (line 9 of figure 3); or one from the tree's own estimate of its distribution
            ("marginal"). Where a path leaves several categories, one of them is drawn in the same
            way.
        misses: which classes the misses of a path take, where its leaf tells only hit and miss:
            all others evenly (section 2.2), or by the tree's own estimate of the class's
            distribution ("marginal"). Where a leaf tells all counts, those decide.
        quantiles: by attribute, a distribution that decides in place of `numeric` and `absent`.
        spread: whether the values of a path's records are "independent" of one another, or
            spread more "even"ly than chance does, with the same distribution for each record: the
            same number of pseudo-data then tells more of the tree.
        shuffle: whether records come in random order, or path by path.

    Raises:
        OptionError: an option is out of range.
    """

    method: Method = "pgen"
    records: Annotated[int, Ge(1)] | None = None
    scale: Annotated[float, Gt(0)] = 1.0
    numeric: Numeric = "uniform"
    absent: Absent = "uniform"
    misses: Misses = "uniform"
    quantiles: Mapping[str, Quantiles] = field(default_factory=dict)
    spread: Spread = "independent"
    shuffle: bool = True

    def __post_init__(self) -> None:
        require_limits(self)
