"""The input of masking: non-confidential columns S and confidential numeric columns X."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from annotated_types import Gt, Le, Lt

from pramana_core.errors import MaskingError, TableError
from pramana_core.learn.common.options import require_limits
from pramana_core.mixed import (
    DesignMatrix,
    Floats,
    MixedTable,
    NumericColumn,
    basis_of,
    design_of,
    leverages,
    read_mixed,
    residual,
    standardized,
    with_constant,
)
from pramana_core.ties import first_largest_of_rows

TOLD = 1e-8
"""If the residual of a column is at most this, in standard deviations, S determines the column."""

ROUNDING = 1e-13
"""Residuals shorter than this, in standard deviations, are rounding errors."""


@dataclass(frozen=True)
class Limits:
    """Limits on the influence of a record on its own masked value.

    `max_leverage` is the largest weight that a record's own value may have in its prediction; 1
    means no limit. `max_told` is the largest share of a record's variance given S that its masked
    value may reveal; with None, the custodian is only warned. Raises OptionError: a limit is out of
    its range.
    """

    max_leverage: Annotated[float, Gt(0), Le(1)] = 0.8
    max_told: Annotated[float, Gt(0), Lt(1)] | None = None

    def __post_init__(self) -> None:
        require_limits(self)


@dataclass(frozen=True)
class Inputs:
    """The checked inputs: non-confidential columns S, if any, and confidential numbers X."""

    s: MixedTable
    x: MixedTable

    @property
    def records(self) -> int:
        """The number of records, n."""
        return self.x.records

    @property
    def columns(self) -> int:
        """The number of confidential columns, q."""
        return len(self.x.columns)

    @cached_property
    def matrix(self) -> Floats:
        """The matrix X in its own units, n x q."""
        return self.x.matrix()

    @cached_property
    def centres(self) -> Floats:
        """The means of the columns of X, q numbers."""
        return standardized(self.matrix)[1]

    @cached_property
    def scales(self) -> Floats:
        """The standard deviations of the columns of X, with n in the denominator, q numbers."""
        return standardized(self.matrix)[2]

    @cached_property
    def standard(self) -> Floats:
        """X standardized, n x q. All computations use it, to limit rounding errors."""
        return standardized(self.matrix)[0]

    @cached_property
    def design(self) -> DesignMatrix:
        """The design matrix that codes S, without constant and redundant columns."""
        return design_of(self.s)

    @cached_property
    def told(self) -> Floats:
        """S as a matrix of standardized columns, n x p."""
        return self.design.matrix

    @cached_property
    def basis(self) -> Floats:
        """An orthonormal basis of the constant and S, n x (1 + p)."""
        return basis_of(with_constant(self.told))

    @cached_property
    def leverages(self) -> Floats:
        """The weight of each record's own value in its linear prediction, n numbers, 0 to 1."""
        return leverages(self.basis)

    @cached_property
    def standard_residuals(self) -> Floats:
        """The residuals of standardized X in its linear regression on S, n x q."""
        return residual(self.standard, self.basis)

    @cached_property
    def residuals(self) -> Floats:
        """The residuals r of X in its linear regression on S, in the units of X, n x q."""
        return self.standard_residuals * self.scales

    @cached_property
    def both(self) -> Floats:
        """An orthonormal basis of the constant, S and X, n x (1 + p + rank of r)."""
        lengths = np.linalg.norm(self.standard_residuals, axis=0)
        varied = lengths > ROUNDING * np.sqrt(self.records)
        # Scaling up short residuals also scales their rounding error: orthogonalize again.
        rest = residual(self.standard_residuals[:, varied] / lengths[varied], self.basis)
        return np.column_stack([self.basis, basis_of(rest)])

    def in_units(self, standard: Floats) -> Floats:
        """Return standardized values in the units of X, n x q."""
        return self.centres + standard * self.scales


def inputs(S: Any, X: Any) -> Inputs:  # noqa: N803 - the papers' names
    """Return the checked inputs; S has n x p columns or is None, X has n x q numbers.

    Raises EmptyTable, TableError: there are no records, values are missing or infinite, S and X
    have different numbers of records, or X has categories. MaskingError: there is only one record,
    or a column of X is constant.
    """
    x = read_mixed(X, "X")
    if not x.columns:
        raise TableError("X has no columns.", where="X", remedy="Name the confidential columns.")
    s = MixedTable((), x.records) if S is None else read_mixed(S, "S")
    if s.records != x.records:
        raise TableError(
            f"S has {s.records} records and X has {x.records}.",
            where="S",
            remedy="Row i of both must be the same record.",
        )
    if wrong := [name for name in x.names if name not in x.numeric]:
        raise TableError(
            f"Columns {wrong} of X are not numeric; only numbers can be masked.",
            where=", ".join(wrong),
            remedy="Randomize such columns, or exclude them from the release.",
        )
    if x.records == 1:
        raise MaskingError(
            "A single record cannot be masked, because masking keeps means, which are its values.",
            where="X",
            remedy="Add records of more people.",
        )
    for column in x.columns:
        if isinstance(column, NumericColumn) and column.is_constant:
            raise MaskingError(
                f"Column {column.name!r} of X has only one value, which masking cannot hide.",
                where=column.name,
                remedy="Exclude the column from the release.",
            )
    return Inputs(s, x)


def require_maskable(given: Inputs, columns: int, limits: Limits) -> None:
    """Raise MaskingError if there are too few records to predict X from S and hide it by noise.

    The noise is orthogonal to `columns` columns.
    """
    least = columns + given.columns + 1
    if given.records < least:
        raise MaskingError(
            f"{given.records} records are too few for these columns; at least {least} are needed.",
            where="X",
            remedy="Mask fewer columns at a time, or remove columns from S.",
        )
    require_leverages(given.leverages, limits, given)
    require_secret(given)


def require_secret(given: Inputs) -> None:
    """Raise MaskingError if S determines a column of X exactly."""
    lengths = np.sqrt(np.mean(given.standard_residuals**2, axis=0))
    rounding = 16 * np.finfo(float).eps * (1 + np.abs(given.centres) / given.scales)
    exact = [
        name
        for name, length, least in zip(given.x.names, lengths, rounding, strict=True)
        if length <= max(TOLD, least)
    ]
    if exact:
        raise MaskingError(
            f"S determines columns {exact} of X exactly; masking cannot hide them if S is public.",
            where=", ".join(exact),
            remedy="Remove from S the columns they can be computed from, or mask those as well.",
        )


def require_leverages(found: Floats, limits: Limits, given: Inputs) -> None:
    """Raise MaskingError if a record's fitted value is mostly its own true value.

    `found` has the weight of each record's own value, n numbers, 0 to 1.
    """
    most = limits.max_leverage
    lone = found > most
    if most < 1 and lone.any():
        count = int(np.count_nonzero(lone))
        records = "1 record stands" if count == 1 else f"{count} records stand"
        by = ", ".join(map(repr, _standing_out(given, lone)))
        raise MaskingError(
            f"{records} nearly alone in S{f', mostly by {by}' if by else ''}: in the masked value"
            f" of such a record its own true value would weigh more than {most:g}.",
            where="S",
            remedy="Merge rare categories, cut outlying numbers off, remove those records or raise"
            " max_leverage.",
        )


def _standing_out(given: Inputs, chosen: npt.NDArray[np.bool_]) -> list[str]:
    """Return at most three columns of S in which these records are farthest from the mean."""
    if not given.told.shape[1]:
        return []
    places = first_largest_of_rows(np.abs(given.told[chosen]))
    names = [given.design.sources[place][0] for place in places]
    return sorted(set(names), key=lambda name: (-names.count(name), name))[:3]
