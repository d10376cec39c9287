"""Estimated tables as data frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pramana.frames.sentences import listed, one_sentence
from pramana_core.domain import Variable
from pramana_core.errors import OptionError
from pramana_core.estimation.table_estimates import FactoredTable
from pramana_core.learn.common.distributions import project_to_simplex
from pramana_core.learn.common.options import InnerShare, require_limit
from pramana_core.marginals.score_interval import normal_quantile
from pramana_core.marginals.tables import LEVEL, column_of

if TYPE_CHECKING:
    import pandas as pd

    from pramana_core.estimation.estimated import EstimatedMarginals


ERRORS = ("low", "high", "se_records", "se_population")
"""The columns of a table with the errors of its counts."""

_COUNTED = ("count", *ERRORS)


def tabulated(
    marginals: EstimatedMarginals,
    names: Sequence[str],
    level: float = LEVEL,
    *,
    shares: bool = False,
    projected: bool = False,
) -> pd.DataFrame:
    """Return a table in the form of `EstimatedCounts.table`."""
    import pandas as pd

    with one_sentence():
        require_limit(level, InnerShare, "level")
        found = marginals.marginal(names)
        frame = found.frame(level)
    for variable in found.domain:
        kind = pd.CategoricalDtype(list(variable.categories))
        column = column_of(variable.name)
        frame[column] = frame[column].astype(kind)
    # A narrow terminal still shows the interval next to the count.
    frame = frame[[*map(column_of, found.domain.names), *_COUNTED]].copy()
    if projected:
        cells = project_to_simplex(found.counts.reshape(1, -1) / marginals.records)
        frame.insert(len(names) + 1, "projected", cells.ravel() * marginals.records)
    if shares:
        numbers = frame.columns[len(names) : len(names) + len(_COUNTED) + projected]
        frame[numbers] = frame[numbers] / marginals.records
        frame = frame.rename(columns={"count": "share"})
    if isinstance(found, FactoredTable):
        frame["filled_in"] = found.filled_in
    return frame


def tabulated_each(
    marginals: EstimatedMarginals,
    names: Sequence[str],
    level: float = LEVEL,
    *,
    shares: bool = False,
) -> pd.DataFrame:
    """Return the tables of single variables in the form of `EstimatedCounts.to_frame`."""
    import pandas as pd

    tables = []
    for name in names:
        table = tabulated(marginals, [name], level, shares=shares)
        table = table.rename(columns={column_of(name): "category"})
        table["category"] = table["category"].astype(object)
        table.insert(0, "variable", name)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def tabulated_means(
    marginals: EstimatedMarginals,
    variable: str,
    by: Sequence[str],
    values: Sequence[float] | None,
    level: float = LEVEL,
) -> pd.DataFrame:
    """Return means in the form of `EstimatedCounts.means`.

    A mean is S / n, where S, the sum of the values, and n, the number of records, are linear in the
    counts. Its error is the error of S - (S / n) n, divided by n (the delta method).
    """
    import pandas as pd

    with one_sentence():
        require_limit(level, InnerShare, "level")
        found = marginals.marginal([variable, *by]).unshrunk
    numbers = _values_of(found.domain[variable], values)
    counts = found.counts.reshape(len(numbers), -1)
    z = normal_quantile(level)
    sizes = counts.sum(axis=0)
    means = np.full(len(sizes), np.nan)
    np.divide(numbers @ counts, sizes, out=means, where=sizes > 0)
    errors = np.full((2, len(sizes)), np.nan)
    for at in np.flatnonzero(sizes > 0):
        # The count of the group's records, and the sum of the values' distances from its mean.
        functions = np.zeros((2, *counts.shape))
        functions[0, :, at], functions[1, :, at] = 1.0, numbers - means[at]
        functions = functions.reshape(2, *found.counts.shape)
        for row, population in enumerate((False, True)):
            squares = np.diag(found.covariance_of(functions, population=population))
            size_error, error = np.sqrt(np.maximum(squares, 0.0))
            errors[row, at] = error / sizes[at]
        if sizes[at] <= z * size_error:  # this group may be empty, and then has no mean
            means[at] = np.nan
    errors[:, np.isnan(means)] = np.nan
    shape = [len(found.domain[name].categories) for name in by]
    cells = np.indices(shape).reshape(len(by), len(sizes))
    frame = pd.DataFrame(index=range(len(sizes)))
    for name, codes in zip(by, cells, strict=True):
        kind = pd.CategoricalDtype(list(found.domain[name].categories))
        frame[column_of(name)] = pd.Categorical.from_codes(codes, dtype=kind)
    frame["mean"] = means
    # By moments a cell, and so a mean, may lie outside the possible range; the interval may not.
    for end, sign in (("low", -1), ("high", 1)):
        frame[end] = np.clip(means + sign * z * errors[1], numbers.min(), numbers.max())
    frame["se_records"], frame["se_population"] = errors
    return frame


def _values_of(variable: Variable, values: Sequence[float] | None) -> npt.NDArray[np.float64]:
    """Return the number for each category of a variable. Raises OptionError."""
    given = variable.representatives if values is None else values
    if given is None:
        raise OptionError(
            f"The categories of {variable.name!r} are not numbers: pass values, one for each of"
            f" {listed(variable.categories)}, or give representatives in the domain.",
            where="values",
        )
    try:
        numbers = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.shape != (len(variable.categories),) or not np.isfinite(numbers).all():
        raise OptionError(
            f"values must have {len(variable.categories)} finite numbers, one for each category of"
            f" {variable.name!r} in order: {listed(variable.categories)}.",
            where="values",
        )
    return numbers
