"""The interface of all channels, and the default methods of a matrix.

A family is a frozen dataclass whose fields are integers, tuples of integers, other channels, or
tuples of dataclasses of the same kind. Its canonical document has a key for each field. Messages on
the wire have the same fields with the same ranges (`pramana_core.wire.channels`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from functools import cache, cached_property
from numbers import Integral, Real
from typing import Annotated, Any, ClassVar, get_args, get_type_hints

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Le, Len

from pramana_core.domain import CATEGORIES, VARIABLES
from pramana_core.errors import ChannelError, LimitExceeded, SingularChannel

RESOLUTION = 1 << 32
"""The denominator of all probabilities, which are integers divided by it."""

Code = Annotated[int, Ge(0)]
Size = Annotated[int, Ge(2), Le(RESOLUTION)]
Probability = Annotated[int, Ge(0), Le(RESOLUTION)]
Sizes = Annotated[tuple[Annotated[int, Ge(2), Le(CATEGORIES)], ...], Len(1, VARIABLES)]


@cache
def keys_of(declared: Any) -> dict[str, str]:
    """Return the document key of each field of a family: the field's name without `_units`."""
    return {field.name: field.name.removesuffix("_units") for field in fields(declared)}


def document(declared: Any) -> Any:
    """Return the JSON form of a channel or of a parameter."""
    if isinstance(declared, tuple):
        # A matrix has millions of numbers, so only the first is checked.
        numbers = all(isinstance(first, int) for first in declared[:1])
        return list(declared) if numbers else [document(item) for item in declared]
    if not is_dataclass(declared):
        return declared
    kind: Any = type(declared)
    named = {"family": kind.family} if hasattr(kind, "family") else {}
    return named | {key: document(getattr(declared, name)) for name, key in keys_of(kind).items()}


Tensor = npt.NDArray[np.float64]
Units = npt.NDArray[np.int64]

CONDITION_LIMIT = 1e8
"""The condition number above which a matrix counts as singular: beyond it, the rounding of the
published probabilities to 2^-32 determines the inverse.
"""

LISTED_ENTRIES = 1 << 26
"""The maximum number of entries of a matrix that is listed (half a gigabyte)."""


class Transition(ABC):
    """A row-stochastic channel from K true to L reported categories.

    A family is a frozen dataclass of its published parameters (see `pramana_core.channels.base`).
    """

    family: ClassVar[str]
    """The family's name in documents and messages."""

    choices: tuple[Choice, ...] = ()
    """The subsets of the variables among which a sampled channel chooses."""

    kind: ClassVar[str] = ""
    """The name of a designed channel in a site file, if it differs from the family."""

    alone: ClassVar[bool] = False
    """Whether a design gives each variable a channel, not one channel to the whole record."""

    items: ClassVar[bool] = False
    """Whether a variable's report is a set of its categories instead of a single category."""

    tags: ClassVar[int] = 0
    """The number of tags in reports coded as `tag * K + cell`; 0 for reports without tags."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """(K, L): the numbers of true and reported categories."""

    @abstractmethod
    def apply(self, tensor: Tensor, axis: int) -> Tensor:
        """Return P' x along `axis` (length K in, L out)."""

    @abstractmethod
    def apply_adjoint(self, tensor: Tensor, axis: int) -> Tensor:
        """Return P x along `axis` (length L in, K out)."""

    @abstractmethod
    def solve(self, tensor: Tensor, axis: int) -> Tensor:
        """Return D x along `axis` (length L in, K out), with D P' = I: the moment estimate.

        D is P'^-1 for a square matrix, and a left inverse of P' if there are more reports than true
        categories. Raises SingularChannel if D does not exist.
        """

    @abstractmethod
    def solve_adjoint(self, tensor: Tensor, axis: int) -> Tensor:
        """Return D' x along `axis` (length K in, L out). Raises SingularChannel."""

    @abstractmethod
    def solve_square(self, tensor: Tensor, axis: int) -> Tensor:
        """Return (D squared elementwise) x along `axis`. Raises SingularChannel."""

    @property
    @abstractmethod
    def condition_number(self) -> float:
        """The 2-norm condition number of P, infinite if the true counts cannot be estimated."""

    def as_dict(self) -> dict[str, Any]:
        """Return the canonical JSON form: a family name and integers only."""
        form: dict[str, Any] = document(self)
        return form

    def describe(self) -> str:
        """Return the family and its strength in a few words."""
        return type(self).__name__.lower()

    @property
    def factors(self) -> tuple[tuple[slice, Transition], ...]:
        """The channels of a product, each with the slice of its variables."""
        return ()

    @property
    def told(self) -> str:
        """A sentence that describes how a design of this family randomizes a record."""
        each = "each variable is randomized separately."
        return each if self.alone else "the whole record is randomized together."

    def site_keys(self, gamma: float, share: float) -> dict[str, Any]:
        """Return a designed channel's site-file keys; `share` is the gamma of a variable alone."""
        return {"kind": self.kind or self.family, "gamma": share if self.alone else gamma}

    @abstractmethod
    def restrict(self, sizes: Sequence[int], kept: Sequence[bool]) -> Transition | None:
        """Return the channel of some of the variables, in their order, or None.

        The channel exists only if P is lumpable: the distribution of reports on the kept variables
        must not depend on the true values of the others (Ma prop. 7.2; FRAPP eq. 28).

        Args:
            sizes: the number of true categories of each variable; their product is K.
            kept: for each variable, whether to keep it; at least one is kept.
        """

    def report_sizes(self, sizes: Sequence[int]) -> tuple[int, ...] | None:
        """Return the number of reported codes of each variable, or None if the sizes do not fit.

        The product of the numbers is L.
        """
        true, reported = self.shape
        if math.prod(sizes) != true:
            return None
        if len(sizes) == 1:
            return (reported,)
        return tuple(sizes) if reported == true else None

    def fits_set(self, sizes: Sequence[int]) -> bool:
        """Return whether this channel can report a sampled set of variables of these sizes."""
        reported = self.report_sizes(sizes)
        return reported is not None and (bool(self.tags) or reported == tuple(sizes))

    @property
    def is_identity(self) -> bool:
        """Whether every category is reported unchanged with certainty."""
        return False

    @property
    def deterministic(self) -> bool:
        """Whether the report is a fixed function of the true category."""
        return self.is_identity

    @property
    def withheld(self) -> bool:
        """Whether all true categories have the same report, so that nothing is reported."""
        return self.shape[1] == 1

    @property
    def mixture(self) -> tuple[float, float] | None:
        """(a, b) with P = a I + b 11', or None if P does not have this form."""
        return None

    @property
    def inverse_mixture(self) -> tuple[float, float] | None:
        """(a, b) with P^-1 = a I + b 11', or None if P has no `mixture`. Raises SingularChannel."""
        return None

    @property
    def estimate_noise(self) -> tuple[float, float] | None:
        """(C, D), which describe the covariance of the estimates of the K cells from one report.

        If the cells have probabilities m, the covariance is

            diag(C m + D) - m m' + k (m 1' + 1 m' - 11' / K) - D 11' / K,  k = (1 - C) / K.

        The value is None if the covariance does not have this form.
        """
        if self.mixture is None or not self.mixture[0]:
            return None
        a, b = self.mixture
        return 1 / a, b / a**2

    @property
    def exact_mixture(self) -> tuple[Fraction, Fraction] | None:
        """The probabilities of the true report and of each other one, or None without a `mixture`.

        A withheld variable has two equal probabilities, because its report reveals nothing.
        """
        return None

    @property
    def amplification(self) -> float | None:
        """The exact gamma, or None if only a search of the columns of P can find it."""
        return None

    @property
    def replaced(self) -> float | None:
        """The probability that a category is replaced, or None if it differs between categories."""
        return None

    @property
    def truthful(self) -> float:
        """The probability of a true report, or NaN if undefined.

        This is the largest probability of any true category; for items, it is the probability that
        an item is unchanged.
        """
        if self.replaced is not None:
            return 1 - self.replaced
        true, reported = self.shape
        if self.withheld or true != reported or true * reported > LISTED_ENTRIES:
            return math.nan
        return float(np.diagonal(self.matrix()).max())

    def reports_together(self, axes: Collection[int]) -> bool:  # noqa: ARG002 - all of them
        """Return whether a record may report all of these variables."""
        return True

    def together(self, variables: int) -> int:
        """Return the largest number of the channel's variables that a record reports together."""
        return 0 if self.withheld else variables

    @property
    def uniform_mean_square(self) -> float:
        """A cell estimate's mean square from one report, if all cells are equally frequent."""
        uniform = np.full(self.shape[0], 1 / self.shape[0])
        return float(np.mean(self.solve_square(self.apply(uniform, 0), 0)))

    @property
    def listed_rows(self) -> int:
        """The number of rows of the largest matrix that the estimates keep in memory."""
        return self.shape[0]

    def share_reported(self, axis: int) -> float:  # noqa: ARG002 - of the variables all alike
        """Return the probability that a record reports the variable at `axis` of the product."""
        return 0.0 if self.withheld else 1.0

    @property
    def normalized(self) -> bool:
        """Whether the estimates of all categories always sum to the number of reports."""
        return True

    def matrix(self) -> Tensor:
        """Return the K x L matrix of probabilities. Raises LimitExceeded."""
        self._require_listable()
        return self.apply(np.eye(self.shape[0]), 1)

    def decoder(self) -> Tensor:
        """Return D, K x L: the estimator of each category as a function of the report.

        Raises:
            SingularChannel: D does not exist.
            LimitExceeded: D is too large to list.
        """
        self._require_listable()
        return self.solve(np.eye(self.shape[1]), 0)

    def _require_listable(self) -> None:
        true, reported = self.shape
        if true * reported > LISTED_ENTRIES:
            raise LimitExceeded(
                f"A {true} x {reported} transition matrix is too large to list.",
                remedy="Randomize fewer variables together, or use a symmetric or sampled channel,"
                " which is not listed.",
            )


@dataclass(frozen=True)
class Choice:
    """One subset of a sampled channel's variables, with its probability and its channel.

    `axes` are the variables' indices, ascending. The choice has probability `weight` / 2^32.
    `channel` acts on the product of these variables and reports a category of each.
    """

    axes: Annotated[tuple[Code, ...], Len(1, VARIABLES)]
    weight: Probability
    channel: Transition


class UnitTransition(Transition):
    """A channel whose probabilities are multiples of 2^-32; a report takes one 32-bit draw."""

    @abstractmethod
    def units(self) -> Units:
        """Return the K x L matrix times `RESOLUTION`, as integers with this sum in each row."""

    def matrix(self) -> Tensor:
        """Return the K x L matrix of probabilities, exact in binary floating point."""
        self._require_listable()
        return self.units() / RESOLUTION

    @property
    def is_identity(self) -> bool:
        """Whether every category is reported unchanged with certainty."""
        rows, columns = self.shape
        return rows == columns and bool(np.all(np.diagonal(self.units()) == RESOLUTION))

    @property
    def deterministic(self) -> bool:
        return bool(np.all(self.units().max(axis=1) == RESOLUTION))


class DecodedTransition(Transition):
    """A channel whose estimates are computed with its decoder, listed as a matrix."""

    @property
    @abstractmethod
    def _decoder(self) -> Tensor:
        """The K x L matrix D of `solve`. Raises SingularChannel."""

    def solve(self, tensor: Tensor, axis: int) -> Tensor:
        return along_axis(self._decoder, tensor, axis)

    def solve_adjoint(self, tensor: Tensor, axis: int) -> Tensor:
        return along_axis(self._decoder.T, tensor, axis)

    def solve_square(self, tensor: Tensor, axis: int) -> Tensor:
        return along_axis(np.square(self._decoder), tensor, axis)

    def decoder(self) -> Tensor:
        return self._decoder


class ListedTransition(DecodedTransition):
    """A channel that is also applied as a listed matrix."""

    @property
    @abstractmethod
    def _matrix(self) -> Tensor:
        """The K x L matrix of probabilities."""

    def matrix(self) -> Tensor:
        self._require_listable()
        return self._matrix.copy()

    def apply(self, tensor: Tensor, axis: int) -> Tensor:
        return along_axis(self._matrix.T, tensor, axis)

    def apply_adjoint(self, tensor: Tensor, axis: int) -> Tensor:
        return along_axis(self._matrix, tensor, axis)

    @cached_property
    def _decoder(self) -> Tensor:
        true, reported = self.shape
        if self.condition_number > CONDITION_LIMIT:
            rank = int(np.linalg.matrix_rank(self._matrix))
            raise SingularChannel(
                f"The {true} x {reported} transition matrix is singular (rank {rank}, condition"
                f" above {CONDITION_LIMIT:.0e}): reports cannot separate some categories.",
                remedy="Change the rows so that no row is a mixture of the others.",
            )
        return left_inverse(self._matrix)

    @cached_property
    def _condition_number(self) -> float:
        return condition_number(self._matrix)

    @property
    def condition_number(self) -> float:
        return self._condition_number


class ComposedTransition(Transition):
    """A channel that is applied and inverted through the channels of its parts."""

    @abstractmethod
    def _act(self, turn: str, tensor: Tensor, axis: int) -> Tensor:
        """Apply the method `turn` of each part to the tensor and return the combined result."""

    def apply(self, tensor: Tensor, axis: int) -> Tensor:
        return self._act("apply", tensor, axis)

    def apply_adjoint(self, tensor: Tensor, axis: int) -> Tensor:
        return self._act("apply_adjoint", tensor, axis)

    def solve(self, tensor: Tensor, axis: int) -> Tensor:
        return self._act("solve", tensor, axis)

    def solve_adjoint(self, tensor: Tensor, axis: int) -> Tensor:
        return self._act("solve_adjoint", tensor, axis)

    def solve_square(self, tensor: Tensor, axis: int) -> Tensor:
        return self._act("solve_square", tensor, axis)


def left_inverse(matrix: Tensor) -> Tensor:
    """Return D with D P' = I for a K x L matrix P of rank K; for a square P it is P'^-1.

    Otherwise it is the generalized least-squares inverse

        D = (P W^-1 P')^-1 P W^-1,  W = diag(P'u),  u uniform,

    the linear unbiased estimator of least variance if all categories are equally frequent. Its
    columns sum to 1, so the estimates sum to the number of reports.

    Raises:
        SingularChannel: the rank of P is below K.
    """
    true, reported = matrix.shape
    try:
        if true == reported:
            return np.asarray(np.linalg.inv(matrix).T, dtype=np.float64)
        return _least_squares(matrix)
    except np.linalg.LinAlgError:
        raise SingularChannel(
            f"The {true} x {reported} matrix is singular: reports cannot separate some categories.",
            remedy="Change the rows so that no row is a mixture of the others.",
        ) from None


def _least_squares(matrix: Tensor) -> Tensor:
    expected = matrix.mean(axis=0)
    weighted = np.divide(matrix, expected, out=np.zeros_like(matrix), where=expected > 0)
    decoder: Tensor = np.linalg.solve(weighted @ matrix.T, weighted)
    return decoder


def condition_number(matrix: Tensor) -> float:
    """Return the 2-norm condition number, infinite if there are fewer reports than categories."""
    true, reported = matrix.shape
    return math.inf if reported < true else float(np.linalg.cond(matrix))


def along_axis(matrix: Tensor, tensor: Tensor, axis: int) -> Tensor:
    """Return the mode-wise product of `matrix` (m x n) and `tensor` along an axis of length n."""
    return np.moveaxis(np.tensordot(matrix, tensor, axes=(1, axis)), 0, axis)


def require_size(size: int) -> None:
    """Check that a channel has two or more categories. Raises ChannelError."""
    if not isinstance(size, Integral) or size < 2:
        raise ChannelError(f"A channel needs two or more categories, not {size!r}.")


@cache
def _ranges(kind: type[Transition]) -> dict[str, tuple[int, int]]:
    """Return the smallest and the largest permitted value of each integer field of a family."""
    found = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        if get_args(hint)[:1] == (int,) and hasattr(hint, "__metadata__"):
            lows: list[Any] = [limit.ge for limit in hint.__metadata__ if isinstance(limit, Ge)]
            highs: list[Any] = [limit.le for limit in hint.__metadata__ if isinstance(limit, Le)]
            found[name] = (max(lows), min(highs, default=RESOLUTION))
    return found


def require_ranges(channel: Transition) -> None:
    """Check that a channel's integers lie in their declared ranges. Raises ChannelError."""
    for name, (low, high) in _ranges(type(channel)).items():
        value = getattr(channel, name)
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if not whole or not low <= int(value) <= high:
            raise ChannelError(
                f"{name} of a {channel.family} channel must be a whole number from {low} to {high},"
                f" not {value!r}.",
                where=name,
                remedy="Constructors such as from_gamma and from_probability accept decimals.",
            )


def require_probability(what: str, p: float) -> None:
    """Check that `p` is a probability. Raises ChannelError."""
    if not isinstance(p, Real) or not 0 <= p <= 1:
        raise ChannelError(f"{what} must be between 0 and 1, not {p!r}.")


def require_gamma(gamma: float) -> None:
    """Check that `gamma` is a finite amplification. Raises ChannelError."""
    if not (isinstance(gamma, Real) and gamma >= 1 and math.isfinite(gamma)):
        raise ChannelError(f"gamma must be a finite number that is at least 1, not {gamma!r}.")


def require_sizes(sizes: object) -> None:
    """Check that `sizes` is a list of numbers of categories. Raises ChannelError."""
    if not isinstance(sizes, Sequence):
        raise ChannelError(
            f"sizes must list each variable's number of categories, such as (2, 3), not {sizes!r}."
        )


def lump(units: Units, sizes: Sequence[int], kept: Sequence[bool]) -> Units | None:
    """Return a square joint channel with the reports of dropped variables summed over, or None.

    It is None if the sums depend on the true values of dropped variables. Integers make it exact.

    Args:
        units: an n x n matrix times 2^32, where n is the product of `sizes`.
        sizes: the number of categories of each variable.
        kept: for each variable, whether to keep it.
    """
    shape = tuple(sizes)
    dropped = [axis for axis, keep in enumerate(kept) if not keep]
    rank = len(shape)
    summed = units.reshape(shape + shape).sum(axis=tuple(rank + axis for axis in dropped))
    size = math.prod(s for s, keep in zip(shape, kept, strict=True) if keep)
    candidates = np.moveaxis(summed, dropped, range(len(dropped))).reshape(-1, size, size)
    if np.any(candidates != candidates[0]):
        return None
    lumped: Units = candidates[0]
    return lumped


def kept_size(sizes: Sequence[int], kept: Sequence[bool]) -> int:
    """Return the number of cells over the kept variables."""
    return math.prod(size for size, keep in zip(sizes, kept, strict=True) if keep)
