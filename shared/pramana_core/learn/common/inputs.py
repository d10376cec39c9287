"""The inputs of classifiers: their variables, and columns of records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pramana_core.domain import Domain, Variable
from pramana_core.errors import DomainError, OptionError, UnknownVariable
from pramana_core.marginals.counts import Codes


def inputs_of(domain: Domain, target: str, names: Sequence[str] | None, where: str) -> Domain:
    """Return the inputs of a classifier: the named variables, by default all others.

    Raises UnknownVariable: a name that is not in the domain. OptionError: no variables, one twice,
    or the class among them; `where` names the option.
    """
    domain.axis(target)
    chosen = [name for name in domain.names if name != target] if names is None else list(names)
    inputs = tuple(domain[name] for name in chosen)
    if not inputs or target in chosen or len(set(chosen)) < len(chosen):
        raise OptionError(
            f"The {where} {chosen} must be one or more distinct variables, without the class"
            f" {target!r}.",
            where=where,
        )
    return Domain(inputs)


def require_inputs(inputs: Domain, target: Variable) -> None:
    """Raise DomainError if a model has no inputs, or the class among them."""
    if not len(inputs) or target.name in inputs:
        raise DomainError(
            f"{target.name!r} needs one or more other variables to be predicted from.",
            where=target.name,
        )


def record_columns(
    inputs: Domain, codes: Mapping[str, Codes], *, missing: bool = False
) -> tuple[Codes, ...]:
    """Return the codes of n records, a column of n for each input; false and true are 0 and 1.

    With `missing`, the number of categories codes a missing value, and inputs without a column are
    missing in all records. Raises UnknownVariable: an input has no column; with `missing`, none
    has. DomainError: a column has no whole numbers, another length, or a code outside its variable.
    """
    absent = [name for name in inputs.names if name not in codes]
    if absent and (not missing or len(absent) == len(inputs)):
        raise UnknownVariable(
            f"The records have no codes of {absent[0]!r}.",
            where=absent[0],
            remedy=f"A prediction needs {'some of ' if missing else ''}{list(inputs.names)}.",
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
