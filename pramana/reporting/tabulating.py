"""Estimated tables as the frames that people see.

Also here:

* Which draws reports were made by, so that the same draws are counted once.
* Warnings of what does not fit: reports their plan, or the model of counts the reports.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pramana.frames.sentences import one_sentence, warn_caller
from pramana_core.estimation.plausibility import examine
from pramana_core.estimation.table_estimates import column_of
from pramana_core.estimation.tables_modelled import ModelledTable, PooledTable
from pramana_core.learn.common.documents import project_to_simplex
from pramana_core.learn.common.options import InnerShare, require_limit
from pramana_core.marginals.counts import LEVEL, Codes
from pramana_core.plan import Block, Plan

if TYPE_CHECKING:
    import pandas as pd

    from pramana_core.estimation.estimated import EstimatedMarginals


ERRORS = ("low", "high", "se_records", "se_population")
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
    # Where a terminal has no room for all, the interval is beside its count.
    frame = frame[[*map(column_of, found.domain.names), *_COUNTED]].copy()
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


# Which draws reports were made by, so that the same draws are counted once.


@dataclass(frozen=True)
class BlockDraw:
    """One block of one owner, as it was drawn.

    Attributes:
        owner: whose; the fingerprint of the draw key.
        block: the variables and their channel, as the owner drew them.
        draw: the identity of the draws: equal exactly if every record's draw is the same.
        people: which records were drawn for, by their pseudonyms' digest; a part of them, or what
            they were joined to, is of the same.
    """

    owner: str
    block: Block
    draw: str
    people: str = ""


# Warnings of what does not fit: reports their plan, or the model of counts the reports.


def warn_of_misfits(codes: Mapping[str, Codes], plan: Plan) -> None:
    """Warn of reports that a plan can hardly have made of any true records.

    The evidence is that by which the miner examines a release (`examine`): it warns of at most one
    frame of honest reports in 1,000.

    Args:
        codes: the reported codes by variable, N of each.
        plan: how they are said to have been randomized.
    """
    if all(block.channel.is_identity for block in plan.blocks):
        return
    # Whoever made the frame may have sorted it by what was reported.
    order = np.random.default_rng(0).permutation(len(next(iter(codes.values()))))
    found = examine({name: column[order] for name, column in codes.items()}, plan)
    if found.inconsistent:
        warn_caller(
            f"frame does not look as if plan had randomized it (p = {found.p_value:.0e}, by"
            f" {' and '.join(found.worst)}); it may hold true values, or be of another plan."
        )


def warn_of_lack_of_fit(sentences: Iterable[str]) -> None:
    """Warn of each model of counts that the reports contradict."""
    for words in sentences:
        warn_caller(words)
