"""What is masked: non-confidential columns S and confidential numeric columns X of n records."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from shared.errors import MaskingError, TableError
from shared.mixed.design import Design, basis_of, design_of, leverages, residual, with_constant
from shared.mixed.table import Floats, MixedTable, NumericColumn, read_mixed

MAX_LEVERAGE = 0.5
"""A record whose own value weighs more than this in its fitted value is nearly released plain."""


@dataclass(frozen=True)
class Inputs:
    """S and X, checked; `restore` gives a matrix the form that X was given in.

    Attributes:
        s: the non-confidential columns; there may be none.
        x: the confidential columns, all numeric.
        matrix: X as n x q numbers, in its own units.
        design: how S becomes an n x p matrix.
    """

    s: MixedTable
    x: MixedTable
    given: Any = field(repr=False)

    @property
    def records(self) -> int:
        """n, the number of records."""
        return self.x.records

    @cached_property
    def matrix(self) -> Floats:
        """X: n x q."""
        return self.x.matrix()

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
    def residuals(self) -> Floats:
        """r: what S does not tell linearly of X, n x q."""
        return residual(self.matrix, self.basis)

    def restore(self, values: Floats) -> Any:
        """Return an n x q matrix as X was given: a vector, an array or a frame with its index."""
        if hasattr(self.given, "columns") and hasattr(self.given, "iloc"):
            import pandas as pd

            return pd.DataFrame(values, index=self.given.index, columns=self.given.columns)
        if hasattr(self.given, "to_frame"):
            import pandas as pd

            return pd.Series(values[:, 0], index=self.given.index, name=self.given.name)
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
            holds categories, or no variation.
        MaskingError: fewer records than the columns' moments need.
    """
    x = read_mixed(X, "X")
    s = MixedTable((), x.records) if S is None else read_mixed(S, "S")
    if s.records != x.records:
        raise TableError(f"S has {s.records} records and X has {x.records}.", where="S")
    if not x.columns:
        raise TableError("X has no columns.", where="X")
    x.matrix()
    for column in x.columns:
        if isinstance(column, NumericColumn) and np.ptp(column.values) == 0:
            raise MaskingError(
                f"Column {column.name!r} has the same value in every record; nothing of it can be"
                " kept secret by masking.",
                where=column.name,
                remedy="Leave it out of the release.",
            )
    return Inputs(s, x, X)


def require_records(given: Inputs, columns: int) -> None:
    """Check that noise can be orthogonal to some columns and have q columns of its own.

    Raises:
        MaskingError: there are too few records.
    """
    q = given.matrix.shape[1]
    least = columns + q + 1
    if given.records < least:
        raise MaskingError(
            f"{given.records} records are too few for these columns; at least {least} are needed.",
            where="X",
            remedy="Mask fewer columns at a time, or tell fewer columns of S.",
        )


def require_no_lone_record(basis: Floats, most: float) -> None:
    """Check that no record's fitted value is mostly its own true value.

    A record that stands alone in S, by a rare category or an outlying number, decides its own
    fitted value; the residual is then nearly zero, and its masked value nearly the true one.

    Args:
        basis: an orthonormal basis of what values are fitted by, n x k.
        most: the largest leverage allowed, above 0 and at most 1.

    Raises:
        MaskingError: some records' leverage is larger.
    """
    if not 0 < most <= 1:
        raise MaskingError(f"max_leverage must be above 0 and at most 1, not {most}.")
    lone = int(np.count_nonzero(leverages(basis) > min(most, 1 - 1e-12) if most < 1 else 0))
    if lone:
        raise MaskingError(
            f"{lone} records stand nearly alone in S: each one's own value would weigh more than"
            f" {most:g} in its masked value.",
            where="S",
            remedy="Merge rare categories, cut outlying numbers off or leave those records out;"
            " max_leverage moves the bound.",
        )
