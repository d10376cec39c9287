"""The columns of the records that a model predicts from, checked before they index anything."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shared.domain import Domain, Variable
from shared.errors import DomainError, UnknownVariable
from shared.marginals.counts import Codes


def record_columns(inputs: Domain, codes: Mapping[str, Codes]) -> tuple[Codes, ...]:
    """Return the codes of n records, a column of n for each input.

    False and true count as the codes 0 and 1.

    Raises:
        UnknownVariable: an input is not there.
        DomainError: a column is not a list of whole numbers, columns have different lengths, or a
            code is outside its variable.
    """
    for name in inputs.names:
        if name not in codes:
            raise UnknownVariable(
                f"The records have no codes of {name!r}.",
                where=name,
                remedy=f"A prediction needs {list(inputs.names)}.",
            )
    columns = tuple(_column(variable, np.asarray(codes[variable.name])) for variable in inputs)
    lengths = sorted({len(column) for column in columns})
    if len(lengths) > 1:
        raise DomainError(f"The columns have different lengths: {lengths}.")
    return columns


def _column(variable: Variable, column: Codes) -> Codes:
    if column.dtype == np.bool_:
        # As an index truth values would choose records instead of categories.
        column = column.astype(np.uint8)
    if column.ndim != 1 or not np.issubdtype(column.dtype, np.integer):
        raise DomainError(
            f"The codes of {variable.name!r} are {column.ndim}-dimensional {column.dtype}.",
            where=variable.name,
            remedy="Give one whole number for each record.",
        )
    if len(column) and not 0 <= int(column.min()) <= int(column.max()) < variable.size:
        raise DomainError(
            f"A code of {variable.name!r} is outside its {variable.size} categories.",
            where=variable.name,
        )
    return column
