"""PRAM reports by the measures of masking: what randomized records give away, and what they keep.

A randomized record is told apart from a masked one by its bound: the plan says what one record
tells at most (gamma), whatever the table is. The measures answer another question, for this table:
what S and the reports together tell of X on average, and what an analyst finds who takes reports
as they are. Estimates from a plan's inverted counts are not what is measured; they are without
that bias, and their errors are those of `pramana_core.estimation`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pramana_core.errors import MissingColumn, OptionError, TableError
from pramana_core.mask.core.noise import Randomness
from pramana_core.mask.measures import Measures, measure_all
from pramana_core.mixed.table import (
    CategoricalColumn,
    Column,
    MixedTable,
    NumericColumn,
    read_mixed,
)
from pramana_core.plan import Plan
from pramana_core.progress import Progress, unwatched

RAW = (
    "Usefulness is that of raw reports, taken as if they were true: what is estimated from inverted"
    " counts is not weakened so, but has larger errors."
)

BOUND = "These are averages over this table; what one record tells at most is the plan's gamma."


def measure_reports(
    S: Any,  # noqa: N803 - the papers' names
    X: Any,  # noqa: N803
    plan: Plan,
    reports: Mapping[str, npt.ArrayLike],
    *,
    rng: Randomness,
    on_step: Progress = unwatched,
    brief: bool = True,
) -> Measures:
    """Measure randomized records as masked ones are measured.

    Args:
        S: columns that everybody knows, n x p numbers or a frame; None for none. They are not
            part of the plan.
        X: the true columns that were randomized, before they were discretized: a frame whose
            columns have the names of the plan's variables; numbers or categories.
        plan: what was done. Variables of numbers have representatives, by which their reports are
            read as numbers.
        reports: the reported codes of each column of X, n integers each.
        rng: draws folds and landmarks.
        on_step: told of each step; may raise to stop.
        brief: measure models given all of S and given all others alone.

    Returns:
        The measures; `notes` say what they are not.

    Raises:
        UnknownVariable: a column of X is no variable of the plan.
        MissingColumn: a column of X has no reports.
        OptionError: a variable is reported in other categories than its own, or not at all, or a
            variable of numbers has no representatives.
        TableError: codes of another number of records, or that are none of the plan's.
        MaskingError: see `measure_all`.
    """
    table = read_mixed(X, "X")
    released = tuple(_released(column, plan, reports) for column in table.columns)
    reported = MixedTable(released, len(released[0]) if released else table.records)
    found = measure_all(S, table, reported, rng=rng, on_step=on_step, brief=brief)
    return replace(found, notes=(*found.notes, RAW, BOUND))


def _released(column: Column, plan: Plan, reports: Mapping[str, npt.ArrayLike]) -> Column:
    """Return a column's reports as a column of its own kind."""
    name = column.name
    variable = plan.domain[name]
    if name not in reports:
        raise MissingColumn(f"Column {name!r} has no reports.", where=name)
    if plan.reported_sizes[name] != variable.size:
        raise OptionError(
            f"Variable {name!r} is reported in {plan.reported_sizes[name]} categories and has"
            f" {variable.size}; such reports are no values of it.",
            where=name,
            remedy="Measure variables whose channel reports their own categories.",
        )
    codes = np.asarray(reports[name])
    if codes.dtype.kind not in "iu" or np.any((codes < 0) | (codes >= variable.size)):
        raise TableError(
            f"The reports of {name!r} must be codes 0 to {variable.size - 1}.", where=name
        )
    if isinstance(column, CategoricalColumn):
        return CategoricalColumn(name, codes.astype(np.intp), variable.categories)
    if variable.representatives is None:
        raise OptionError(
            f"Variable {name!r} has no representatives, so its reports are no numbers.",
            where=name,
            remedy="Discretize the column (`Discretization.variable`) or pass it as categories.",
        )
    return NumericColumn(name, np.array(variable.representatives)[codes])
