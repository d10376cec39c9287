"""The columns of the records that a model predicts from, checked before they index anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pramana_core.domain import Domain, Variable
from pramana_core.errors import DomainError, UnknownVariable
from pramana_core.marginals.counts import Codes


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
    _one_length(columns)
    return columns


def record_columns_or_missing(inputs: Domain, codes: Mapping[str, Codes]) -> tuple[Codes, ...]:
    """Return the same where values are missing: their code is the number of categories.

    An input that is not among the codes is missing of all records.

    Raises:
        UnknownVariable: no input is there, so that nothing tells the number of records.
        DomainError: as `record_columns`.
    """
    there = [variable for variable in inputs if variable.name in codes]
    if not there:
        raise UnknownVariable(
            "The records have codes of none of the inputs.",
            remedy=f"A prediction needs some of {list(inputs.names)}.",
        )
    known = {v.name: _column(v, np.asarray(codes[v.name]), missing=True) for v in there}
    length = _one_length(list(known.values()))
    return tuple(
        known[v.name] if v.name in known else np.full(length, v.size, np.min_scalar_type(v.size))
        for v in inputs
    )


def _one_length(columns: Sequence[Codes]) -> int:
    lengths = sorted({len(column) for column in columns})
    if len(lengths) > 1:
        raise DomainError(f"The columns have different lengths: {lengths}.")
    return lengths[0]


def _column(variable: Variable, column: Codes, *, missing: bool = False) -> Codes:
    if column.dtype == np.bool_:
        # As an index truth values would choose records instead of categories.
        column = column.astype(np.uint8)
    if column.ndim != 1 or not np.issubdtype(column.dtype, np.integer):
        raise DomainError(
            f"The codes of {variable.name!r} are {column.ndim}-dimensional {column.dtype}.",
            where=variable.name,
            remedy="Give one whole number for each record.",
        )
    most = variable.size if missing else variable.size - 1
    if len(column) and not 0 <= int(column.min()) <= int(column.max()) <= most:
        raise DomainError(
            f"A code of {variable.name!r} is outside its {variable.size} categories.",
            where=variable.name,
        )
    return column
