"""Where a numeric variable is cut, and which number stands for each group."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pramana_core.domain import Variable
from pramana_core.errors import OptionError

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Discretization:
    """k groups of numbers: intervals closed on the left, the outer ones without end.

    `cuts` are the k - 1 interior boundaries, ascending; `representatives` the k numbers that stand
    for the groups, each inside its own; `counts` the k numbers of records found in them, which are
    for the owner's eyes; `method` says how the cuts were chosen.

    Raises:
        OptionError: cuts that do not ascend or are not finite, a representative outside its group,
            or counts that are negative or of another number.
    """

    cuts: tuple[float, ...]
    representatives: tuple[float, ...]
    counts: tuple[int, ...]
    method: str

    def __post_init__(self) -> None:
        require_ascending(self.cuts)
        require_inside(self.representatives, self.cuts)
        if len(self.counts) != self.size or min(self.counts) < 0:
            raise OptionError(
                f"{self.size} groups need {self.size} counts of zero or more.", where="counts"
            )

    @property
    def size(self) -> int:
        """The number of groups, k."""
        return len(self.cuts) + 1

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the groups, in order."""
        return interval_labels(self.cuts) if self.cuts else ("all",)

    def codes(self, values: npt.ArrayLike) -> npt.NDArray[np.unsignedinteger]:
        """Replace values by the order of their groups (Ma 2.3 b).

        Takes any number of finite values, returns as many codes 0..k-1 in the narrowest unsigned
        type. Raises OptionError for values that are not finite numbers.
        """
        found = np.searchsorted(np.array(self.cuts), finite(values), side="right")
        return found.astype(np.min_scalar_type(self.size - 1))

    def means(self, values: npt.ArrayLike) -> Floats:
        """Replace values by their groups' representatives (Ma 2.3 a). Raises OptionError."""
        replaced: Floats = np.array(self.representatives)[self.codes(values)]
        return replaced

    def variable(self, name: str) -> Variable:
        """Return the variable of the groups, with their numbers.

        Raises DomainError for a single group: a variable needs two.
        """
        return Variable(name, self.labels, self.representatives)


def interval_labels(cuts: tuple[float, ...]) -> tuple[str, ...]:
    """Return the labels of the intervals between cut points, each closed on the left.

    >>> interval_labels((30, 45))
    ('<30', '30-45', '>=45')
    """
    texts = [number_label(cut) for cut in cuts]
    between = [f"{low}-{high}" for low, high in itertools.pairwise(texts)]
    return (f"<{texts[0]}", *between, f">={texts[-1]}")


def finite(values: npt.ArrayLike) -> Floats:
    """Return values as a vector of floats.

    Raises OptionError where there are none, they are not a vector, or not all are finite.
    """
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1 or numbers.size == 0:
        raise OptionError(
            f"A vector of one or more values is needed, not an array of shape {numbers.shape}.",
            where="values",
        )
    wrong = int(numbers.size - np.isfinite(numbers).sum())
    if wrong:
        raise OptionError(
            f"{wrong} of {numbers.size} values are not finite numbers.",
            where="values",
            remedy="Leave records without a number out, or give them a category of their own.",
        )
    return numbers


def require_ascending(cuts: tuple[float, ...]) -> None:
    """Raise OptionError unless cuts are finite and each is larger than the one before."""
    if not all(map(math.isfinite, cuts)) or any(b <= a for a, b in itertools.pairwise(cuts)):
        raise OptionError(
            "Cuts must be finite numbers, each larger than the one before.", where="cuts"
        )


def require_inside(representatives: tuple[float, ...], cuts: tuple[float, ...]) -> None:
    """Raise OptionError unless there is one finite number inside each interval between cuts."""
    if len(representatives) != len(cuts) + 1:
        raise OptionError(
            f"{len(cuts) + 1} groups need {len(cuts) + 1} representatives, not"
            f" {len(representatives)}.",
            where="representatives",
        )
    for group, number in enumerate(representatives):
        if not math.isfinite(number) or bisect_right(cuts, number) != group:
            raise OptionError(
                f"Representative {group + 1} is not inside its interval.",
                where="representatives",
                remedy="List one number from each interval, in the intervals' order.",
            )


def number_label(value: float) -> str:
    """Return a number as labels of groups have it."""
    return str(int(value)) if value == int(value) else repr(value)
