"""The inputs of classifiers: variables, and columns of records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pramana_core.domain import Domain, Variable
from pramana_core.errors import DomainError, OptionError, UnknownVariable
from pramana_core.marginals.counts import Codes


def inputs_of(domain: Domain, target: str, names: Sequence[str] | None, where: str) -> Domain:
    """Return the inputs of a classifier: the variables `names` or, if None, all except the class.

    Raises UnknownVariable: a name is not in the domain. OptionError: the names are empty, repeat a
    variable or include the class; `where` is then the option's name.
    """
    domain.axis(target)
    chosen = [name for name in domain.names if name != target] if names is None else list(names)
    inputs = tuple(domain[name] for name in chosen)
    if not inputs or target in chosen or len(set(chosen)) < len(chosen):
        raise OptionError(
            f"The {where} must be one or more distinct variables other than the class"
            f" {target!r}, not {chosen}.",
            where=where,
        )
    return Domain(inputs)


def require_inputs(inputs: Domain, target: Variable) -> None:
    """Raise DomainError if there are no inputs, or if the class is among the inputs."""
    if not len(inputs) or target.name in inputs:
        raise DomainError(
            f"A model of {target.name!r} needs one or more other variables as inputs.",
            where=target.name,
        )


def record_columns(
    inputs: Domain, codes: Mapping[str, Codes], *, missing: bool = False
) -> tuple[Codes, ...]:
    """Return the codes of n records, one vector of length n per input; booleans become 0 and 1.

    With `missing`, a code equal to the number of categories means a missing value, and inputs
    without a column are missing in all records. Raises UnknownVariable: an input has no column; or,
    with `missing`, no input has one. DomainError: a column does not contain whole numbers, has
    another length, or contains a code outside its variable.
    """
    absent = [name for name in inputs.names if name not in codes]
    if absent and (not missing or len(absent) == len(inputs)):
        raise UnknownVariable(
            f"The records have no column {absent[0]!r}.",
            where=absent[0],
            remedy=(
                "A prediction needs columns for"
                f" {'one or more of ' if missing else ''}{list(inputs.names)}."
            ),
        )
    known = {
        v.name: _column(v, np.asarray(codes[v.name]), missing=missing)
        for v in inputs
        if v.name in codes
    }
    lengths = sorted({len(column) for column in known.values()})
    if len(lengths) > 1:
        raise DomainError(f"The columns have different lengths: {lengths}.")
    for v in inputs:
        if v.name not in known:
            known[v.name] = np.full(lengths[0], v.size, np.min_scalar_type(v.size))
    return tuple(known[name] for name in inputs.names)


def _column(variable: Variable, column: Codes, *, missing: bool) -> Codes:
    if column.dtype == np.bool_:
        # Used as an index, booleans would select records instead of categories.
        column = column.astype(np.uint8)
    if column.ndim != 1 or not np.issubdtype(column.dtype, np.integer):
        raise DomainError(
            f"The codes of {variable.name!r} must be a vector of whole numbers, not a"
            f" {column.ndim}-dimensional array of {column.dtype}.",
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
