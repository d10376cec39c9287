"""Estimated tables as the frames that people see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pramana.frames.sentences import one_sentence
from pramana_core.estimation.tables.estimates import column_of
from pramana_core.estimation.tables.modelled import ModelledTable
from pramana_core.estimation.tables.pooled import PooledTable
from pramana_core.learn.common.options import InnerShare, require_limit
from pramana_core.learn.common.projection import project_to_simplex
from pramana_core.marginals.counts import LEVEL

if TYPE_CHECKING:
    import pandas as pd

    from pramana_core.estimation.estimated import EstimatedMarginals

ERRORS = ("se_records", "se_population", "low", "high")
"""The columns of a table that say how far its counts can be trusted."""

_COUNTED = ("count", *ERRORS)


def tabulated(
    marginals: EstimatedMarginals,
    names: Sequence[str],
    level: float = LEVEL,
    *,
    shares: bool = False,
    projected: bool = False,
) -> pd.DataFrame:
    """Return a table as `EstimatedCounts.table` does, and raise what it does."""
    import pandas as pd

    with one_sentence():
        require_limit(level, InnerShare, "level")
        found = marginals.marginal(names)
        frame = found.frame(level)
    for variable in found.domain:
        kind = pd.CategoricalDtype(list(variable.categories))
        column = column_of(variable.name)
        frame[column] = frame[column].astype(kind)
    if projected:
        cells = project_to_simplex(found.counts.reshape(1, -1) / marginals.records)
        frame.insert(len(names) + 1, "projected", cells.ravel() * marginals.records)
    if shares:
        numbers = frame.columns[len(names) : len(names) + len(_COUNTED) + projected]
        frame[numbers] = frame[numbers] / marginals.records
        frame = frame.rename(columns={"count": "share"})
    if isinstance(found, ModelledTable | PooledTable):
        frame["filled_in"] = found.filled_in
    return frame


def tabulated_each(
    marginals: EstimatedMarginals,
    names: Sequence[str],
    level: float = LEVEL,
    *,
    shares: bool = False,
) -> pd.DataFrame:
    """Return the tables of single variables below each other, as `EstimatedCounts.to_frame`."""
    import pandas as pd

    tables = []
    for name in names:
        table = tabulated(marginals, [name], level, shares=shares)
        table = table.rename(columns={column_of(name): "category"})
        table["category"] = table["category"].astype(object)
        table.insert(0, "variable", name)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)
