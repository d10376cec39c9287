"""What is masked: non-confidential columns S and confidential numeric columns X of n records.

Also here:

* Ranks: values in another order, and the normal scores behind a normal copula.
* What a custodian must know of S and X before masked values leave.
* Sentences that a custodian must read, and how grave they are: the gravest come first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from pramana_core.errors import MaskingError, OptionError, TableError
from pramana_core.mixed import (
    Design,
    Floats,
    MixedTable,
    NumericColumn,
    basis_of,
    design_of,
    leverages,
    numeric_table,
    read_mixed,
    residual,
    standardized,
    with_constant,
)
from pramana_core.ties import first_largest_of_rows

MAX_LEVERAGE = 0.8
"""A record whose own value weighs more than this in its fitted value is nearly released plain, and
is refused unless `max_leverage` says otherwise."""

TOLD = 1e-8
"""A column whose residual is this small, in standard deviations, is told by S exactly."""

ROUNDING = 1e-13
"""Residuals that are shorter, in standard deviations, are nothing but rounding."""


@dataclass(frozen=True)
class Inputs:
    """S and X, checked; `restore` gives a matrix the form that X was given in.

    Attributes:
        s: the non-confidential columns; there may be none.
        x: the confidential columns, all numeric.
        given: X as it was passed.
    """

    s: MixedTable
    x: MixedTable
    given: Any = field(repr=False)

    @property
    def records(self) -> int:
        """n, the number of records."""
        return self.x.records

    @property
    def columns(self) -> int:
        """q, the number of confidential columns."""
        return len(self.x.columns)

    @cached_property
    def matrix(self) -> Floats:
        """X in its own units: n x q."""
        return self.x.matrix()

    @cached_property
    def centres(self) -> Floats:
        """The means of X: q numbers."""
        return standardized(self.matrix)[1]

    @cached_property
    def scales(self) -> Floats:
        """The standard deviations of X, n in the denominator: q numbers."""
        return standardized(self.matrix)[2]

    @cached_property
    def standard(self) -> Floats:
        """X standardized: n x q. Everything is computed with it, against rounding."""
        return standardized(self.matrix)[0]

    @cached_property
    def design(self) -> Design:
        """How S becomes a matrix; constant and redundant columns are left out."""
        return design_of(self.s)

    @cached_property
    def told(self) -> Floats:
        """S as a standardized n x p matrix."""
        return self.design.matrix(self.s)

    @cached_property
    def basis(self) -> Floats:
        """An orthonormal basis of the constant and S: n x (1 + p)."""
        return basis_of(with_constant(self.told))

    @cached_property
    def leverages(self) -> Floats:
        """How much each record's own value weighs in its linear prediction: n numbers, 0 to 1."""
        return leverages(self.basis)

    @cached_property
    def standard_residuals(self) -> Floats:
        """What S does not tell linearly of the standardized X: n x q."""
        return residual(self.standard, self.basis)

    @cached_property
    def residuals(self) -> Floats:
        """r: what S does not tell linearly of X, in its own units: n x q."""
        return self.standard_residuals * self.scales

    @cached_property
    def both(self) -> Floats:
        """An orthonormal basis of the constant, S and X: n x (1 + p + rank of r)."""
        lengths = np.linalg.norm(self.standard_residuals, axis=0)
        varied = lengths > ROUNDING * np.sqrt(self.records)
        # Short residuals are orthogonal to S only up to rounding of their own length: once more.
        rest = residual(self.standard_residuals[:, varied] / lengths[varied], self.basis)
        return np.column_stack([self.basis, basis_of(rest)])

    def in_units(self, standard: Floats) -> Floats:
        """Return standardized values as values in the units of X: n x q."""
        return self.centres + standard * self.scales

    def restore(self, values: Floats, *, same_type: bool = False) -> Any:
        """Return an n x q matrix as X was given: a vector, an array or a frame with its index.

        Args:
            values: n x q numbers.
            same_type: give a frame's columns the types they had; for values that were theirs.
        """
        if isinstance(self.given, MixedTable):
            return numeric_table(self.given.names, values)
        if hasattr(self.given, "iloc"):
            import pandas as pd

            index = self.given.index
            if hasattr(self.given, "columns"):
                made = pd.DataFrame(values, index=index, columns=self.given.columns)
                return made.astype(self.given.dtypes) if same_type else made
            series = pd.Series(values[:, 0], index=index, name=self.given.name)
            return series.astype(self.given.dtype) if same_type else series
        return values[:, 0] if np.ndim(self.given) == 1 else values


def inputs(S: Any, X: Any) -> Inputs:  # noqa: N803 - the papers' names
    """Return S and X checked.

    Args:
        S: the non-confidential columns: n x p numbers, n numbers, a frame with columns of numbers
            and of categories, or None for no such column.
        X: the confidential columns: n x q numbers, n numbers, or a frame of numbers.

    Raises:
        EmptyTable: no records.
        TableError: values are missing or infinite, the numbers of records differ, or a column of X
            holds categories.
        MaskingError: there is one record, or a column of X has no variation.
    """
    x = read_mixed(X, "X")
    if not x.columns:
        raise TableError("X has no columns.", where="X", remedy="Name what is confidential.")
    s = MixedTable((), x.records) if S is None else read_mixed(S, "S")
    if s.records != x.records:
        raise TableError(
            f"S has {s.records} records and X has {x.records}.",
            where="S",
            remedy="Row i of both must be the same record.",
        )
    if wrong := [name for name in x.names if name not in x.numeric]:
        raise TableError(
            f"Columns {wrong} of X hold categories, truth values or text; only numbers can be"
            " masked.",
            where=", ".join(wrong),
            remedy="Randomize such columns, or leave them out of the release.",
        )
    if x.records == 1:
        raise MaskingError(
            "One record cannot be masked: its values are the means, which are kept.",
            where="X",
            remedy="Give the records of more people.",
        )
    for column in x.columns:
        if isinstance(column, NumericColumn) and column.is_constant:
            raise MaskingError(
                f"Column {column.name!r} of X has the same value in every record; masking cannot"
                " hide it.",
                where=column.name,
                remedy="Leave it out of the release.",
            )
    return Inputs(s, x, X)


def require_maskable(given: Inputs, columns: int, max_leverage: float) -> None:
    """Check that X can be predicted from S and noise be added, and that this hides X.

    Args:
        given: S and X, or their scores.
        columns: how many columns the noise is orthogonal to, the constant among them.
        max_leverage: the largest weight that a record's own value may have in its prediction.

    Raises:
        OptionError: `max_leverage` is out of its range.
        MaskingError: too few records, a record that stands alone in S, or a column of X that S
            tells exactly.
    """
    require_records(given, columns)
    require_leverages(given.leverages, max_leverage, given)
    require_secret(given)


def require_records(given: Inputs, columns: int) -> None:
    """Check that noise can be orthogonal to some columns and have q columns of its own.

    Args:
        given: S and X.
        columns: how many the noise is orthogonal to, the constant among them.

    Raises:
        MaskingError: there are too few records.
    """
    least = columns + given.columns + 1
    if given.records < least:
        raise MaskingError(
            f"{given.records} records are too few for these columns; at least {least} are needed.",
            where="X",
            remedy="Mask fewer columns at a time, or tell fewer columns of S.",
        )


def require_secret(given: Inputs) -> None:
    """Check that S does not tell a column of X exactly: its masked values would be the true ones.

    Raises:
        MaskingError: it does.
    """
    lengths = np.sqrt(np.mean(given.standard_residuals**2, axis=0))
    rounding = 16 * np.finfo(float).eps * (1 + np.abs(given.centres) / given.scales)
    told = [
        name
        for name, length, least in zip(given.x.names, lengths, rounding, strict=True)
        if length <= max(TOLD, least)
    ]
    if told:
        raise MaskingError(
            f"S tells columns {told} of X exactly; masking cannot hide them beside S.",
            where=", ".join(told),
            remedy="Take the columns they can be computed from out of S, or mask those as well.",
        )


def require_leverages(found: Floats, most: float, given: Inputs | None = None) -> None:
    """Check that no record's fitted value is mostly its own true value.

    A record that stands alone in S, by a rare category or an outlying number, decides its own
    fitted value; the residual is then nearly zero, and its masked value nearly the true one.

    Args:
        found: how much each record's own value weighs in its fitted one: n numbers, 0 to 1.
        most: the largest of them allowed, above 0 and at most 1; 1 allows all.
        given: S and X; the message then names the columns by which such records stand out.

    Raises:
        OptionError: the bound is none.
        MaskingError: some records' leverage is larger.
    """
    if not 0 < most <= 1:
        raise OptionError(
            f"max_leverage must be above 0 and at most 1, not {most}.", where="max_leverage"
        )
    lone = found > most if most < 1 else np.zeros(len(found), dtype=np.bool_)
    if lone.any():
        count = int(np.count_nonzero(lone))
        records = "1 record stands" if count == 1 else f"{count} records stand"
        by = ", ".join(map(repr, _standing_out(given, lone))) if given is not None else ""
        raise MaskingError(
            f"{records} nearly alone in S{f', most by {by}' if by else ''}: in the masked value of"
            f" such a record its own true value would weigh more than {most:g}.",
            where="S",
            remedy="Merge rare categories, cut outlying numbers off or leave those records out;"
            " max_leverage moves the bound.",
        )


def _standing_out(given: Inputs, chosen: npt.NDArray[np.bool_]) -> list[str]:
    """Return the columns of S in which chosen records are farthest from the mean, at most three."""
    if not given.told.shape[1]:
        return []
    places = first_largest_of_rows(np.abs(given.told[chosen]))
    names = [given.design.sources[place][0] for place in places]
    return sorted(set(names), key=lambda name: (-names.count(name), name))[:3]


# Ranks: values in another order, and the normal scores behind a normal copula.


def reordered(values: Floats, like: Floats) -> Floats:
    """Return each column of `values` in the order of ranks that the column of `like` has: n x q.

    The released numbers are the original ones, so their marginal is exactly the original.
    """
    found = np.empty_like(values)
    for place in range(values.shape[1]):
        found[np.argsort(like[:, place], kind="stable"), place] = np.sort(values[:, place])
    return found


def normal_scores(values: Floats) -> Floats:
    """Return the normal scores of columns, ties at their mean rank: n x k."""
    found = np.empty(values.shape)
    for place in range(values.shape[1]):
        found[:, place] = special.ndtri(stats.rankdata(values[:, place]) / (len(values) + 1))
    return found


def from_normal_scores(scores: Floats, values: Floats) -> Floats:
    """Return scores as values of the marginals of `values`, between whose order statistics it
    interpolates: n x k. Nothing lies beyond the smallest and the largest."""
    n = len(values)
    places = special.ndtr(scores) * (n + 1)
    steps = np.arange(1, n + 1)
    columns = (np.interp(p, steps, np.sort(v)) for p, v in zip(places.T, values.T, strict=True))
    return np.column_stack(list(columns))


# Sentences that a custodian must read, and how grave they are: the gravest come first.


class Gravity(IntEnum):
    """What a caution is about, the gravest first."""

    GRAVE = 0
    """Single true values may be found out."""
    WARNING = 1
    """Masked values lie near the true ones, or mislead an analyst."""
    NOTE = 2
    """Something was left out, or is kept less exactly."""


class Caution(str):
    """A sentence with its gravity; it names columns and never values.

    Attributes:
        gravity: what it is about.
    """

    __slots__ = ("gravity",)
    gravity: Gravity

    def __new__(cls, sentence: str, gravity: Gravity = Gravity.WARNING) -> Self:
        """Return a sentence of a gravity."""
        made = super().__new__(cls, sentence)
        made.gravity = gravity
        return made


def gravity_of(sentence: str) -> Gravity:
    """Return how grave a sentence is; one that does not say so is a warning."""
    return sentence.gravity if isinstance(sentence, Caution) else Gravity.WARNING


def gravest_first(sentences: Iterable[str]) -> tuple[str, ...]:
    """Return sentences by their gravity, each once; equally grave ones stay in their order."""
    return tuple(sorted(dict.fromkeys(sentences), key=gravity_of))


DOMINANT = 0.9
"""One value that holds more than this share of a column's sum of squares dominates the column."""

NEARLY_TOLD = 0.95
"""With a larger R^2 of a column on S, its masked values are close to the true ones."""

SPARE = 20
"""With fewer records beyond the columns, what is exact about the noise narrows the truth down."""

DIGITS = 45
"""Bits: about so much an equation on the true values tells of them, to rounding."""

OFFSET = 1e6
"""A column whose mean is so many standard deviations loses digits of its moments to rounding."""


def cautions(
    given: Inputs, scored: Inputs | None = None, *, predicting: bool = True
) -> tuple[Caution, ...]:
    """Return sentences on what is unusual about S and X; they name columns and never values.

    Args:
        given: S and X.
        scored: what is predicted in their place, such as their normal scores; then the size of
            single values does not matter to the noise.
        predicting: whether X is predicted from S, and the noise made to fit.
    """
    used = given if scored is None else scored
    shares = np.max(given.standard**2, axis=0) / given.records
    explained = 1 - np.mean(used.standard_residuals**2, axis=0)
    offsets = np.abs(given.centres) / given.scales
    found = []
    if same := [column.name for column in given.s.columns if column.is_constant]:
        said = f"Columns {same} of S have the same value in every record and were left out."
        found.append(Caution(said, Gravity.NOTE))
    if names := _where(given, shares > DOMINANT):
        effect = (
            "the noise of all records is of its size, and whose it is may be seen"
            if scored is None
            else "it may be recognized in what is released"
        )
        said = (
            f"One value holds more than {DOMINANT:.0%} of the variation of {names}: {effect}. Cut"
            " it off, take logarithms or leave its record out before masking."
        )
        found.append(Caution(said, Gravity.GRAVE))
    if predicting and (names := _where(given, explained > NEARLY_TOLD)):
        said = (
            f"S tells more than {NEARLY_TOLD:.0%} of the variation of {names}: masked values lie"
            " close to the true ones, as everybody's prediction from S does."
        )
        found.append(Caution(said))
    if predicting and scored is None and (names := _where(given, offsets > OFFSET)):
        said = (
            f"The mean is more than {OFFSET:g} standard deviations from 0 in {names}: moments are"
            " kept only up to the rounding of such numbers. Subtract a constant before masking."
        )
        found.append(Caution(said, Gravity.NOTE))
    if predicting and (names := _where(given, _solvable(given))):
        said = (
            f"There are so few records, or so few different values, in {names} that the exact"
            " equations of methods whose noise is orthogonal to X (egadp, nmegadp) can single out"
            " the true values, by trying. Mask more records, or use gadp or ipso."
        )
        found.append(Caution(said, Gravity.GRAVE))
    spare = given.records - used.both.shape[1]
    if predicting and spare < SPARE:
        said = (
            f"There are only {spare} more records than columns of S and X together: what is exact"
            " in the masked values narrows down the true ones. Mask more records or fewer columns."
        )
        found.append(Caution(said, Gravity.GRAVE))
    return tuple(found)


def _solvable(given: Inputs) -> npt.NDArray[np.bool_]:
    """Return which columns take fewer bits to write down than the equations on them tell.

    Only values in equal steps, such as whole numbers, are few enough to be tried.
    """
    bits = []
    for column in given.matrix.T:
        # Numbers far apart on the finest of steps overflow: they are in no equal steps.
        with np.errstate(over="ignore", invalid="ignore"):
            steps = (column - column.min()) / np.diff(np.unique(column)).min()
            equal = np.abs(steps - np.round(steps)).max() < 1e-6
        bits.append(given.records * np.log2(1 + steps.max()) if equal else np.inf)
    return np.array(bits) < DIGITS * given.columns


def _where(given: Inputs, chosen: npt.NDArray[np.bool_]) -> str:
    """Return in words which columns of X are chosen; nothing if none is."""
    names = [name for name, one in zip(given.x.names, chosen, strict=True) if one]
    return f"column{'s' if len(names) > 1 else ''} {', '.join(map(repr, names))}" if names else ""


def facts(given: Inputs) -> dict[str, Any]:
    """Return what every method tells of S and X: the largest leverage, and columns left out."""
    return {
        "records": given.records,
        "largest_leverage": float(np.max(given.leverages)),
        "left_out": (*given.design.constant, *given.design.redundant),
    }


def below_zero(names: Sequence[str], true: Floats, masked: Floats) -> Iterator[tuple[str, str]]:
    """Yield the columns that are nowhere below 0 and have masked values that are, and say so.

    Args:
        names: of the q columns.
        true: n x q.
        masked: n x q.
    """
    for name, values, released in zip(names, true.T, masked.T, strict=True):
        count = int(np.count_nonzero(released < 0))
        if count and not np.any(values < 0):
            many = f"{count:,} masked values of {name!r} are"
            one = f"1 masked value of {name!r} is"
            yield name, f"{one if count == 1 else many} below 0, and no true one is"
