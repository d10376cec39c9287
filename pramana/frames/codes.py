"""Conversion of a frame's columns to codes of a domain's variables, or to numbers."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from pramana.frames.sentences import quoted, warn_caller
from pramana.frames.tables import Frame, as_frame, shown
from pramana_core import encoding as cells
from pramana_core.alike import did_you_mean
from pramana_core.cells import series_cells
from pramana_core.domain import Domain, Variable
from pramana_core.errors import MissingColumn, OptionError, TableError, UnknownCategory
from pramana_core.marginals.counts import Codes
from pramana_core.mixed import MixedTable, read_mixed
from pramana_core.wire.parts import code_dtype

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

MissingColumns = Literal["warn", "error", "ignore"]
"""The treatment of columns that a model uses and a table lacks."""


def lacking(
    table: pd.DataFrame, used: Sequence[str], argument: str, known: Sequence[str] = ()
) -> str:
    """Return a sentence on a table's missing columns, with suggestions for those not in `known`."""
    absent = [name for name in dict.fromkeys(used) if name not in table.columns]
    if not absent:
        return ""
    others = [name for name in table.columns if name not in used and name not in known]
    return f"{argument} has no column {quoted(absent)}{did_you_mean(absent, others)}"


def report_missing_columns(
    table: pd.DataFrame,
    used: Sequence[str],
    known: Sequence[str],
    missing_columns: MissingColumns,
) -> None:
    """Warn of columns that a model uses but a table lacks. Raises MissingColumn, OptionError."""
    if missing_columns not in get_args(MissingColumns):
        raise OptionError(
            f"missing_columns must be 'warn', 'error' or 'ignore', not {shown(missing_columns)}.",
            where="missing_columns",
        )
    words = lacking(table, used, "frame", known)
    if words and missing_columns == "error":
        raise MissingColumn(
            f"{words}, which the model uses; it has {quoted(table.columns)}.", where="frame"
        )
    # A table without any of these columns is rejected elsewhere.
    some = any(name in table.columns for name in used)
    if words and some and missing_columns == "warn":
        warn_caller(
            f"{words}, which the model uses, so predictions average over the values of missing"
            " columns; missing_columns='error' rejects such a frame, 'ignore' omits this warning."
        )


EMPTY, OTHER = "(empty)", "(other)"
"""A category of this name takes empty cells, or values that no other category takes."""

_SHOWN = 3


def encode(
    frame: Frame,
    domain: Domain,
    argument: str,
    *,
    missing: bool = False,
    reported: bool = False,
) -> dict[str, Codes]:
    """Return the codes of a domain's variables from a table's columns, (n,) each.

    A cell contains a label of its variable, a number or date written like a label, or, for interval
    categories, a number. Empty cells belong to a category `(empty)`, or to an extra category after
    the intervals. Values that belong to no other category belong to a category `(other)`. Columns
    that are not variables are ignored.

    Args:
        frame: the table; see `Frame`.
        domain: the variables.
        argument: the name of the table's parameter.
        missing: whether columns may be absent and cells empty. The code of an empty cell that
            belongs to no category is then the variable's count of categories.
        reported: whether cells are reports. Reports have only labels; an empty cell means withheld.

    Raises TableError, MissingColumn, UnknownCategory.
    """
    table = as_frame(frame, argument)
    absent = [name for name in domain.names if name not in table.columns]
    if absent and (not missing or len(absent) == len(domain)):
        raise MissingColumn(
            f"{lacking(table, domain.names, argument)}; it has {quoted(table.columns)}.",
            where=argument,
        )
    return {
        v.name: _codes(table[v.name], v, argument, missing=missing, reported=reported)
        for v in domain
        if v.name in table.columns
    }


def _codes(
    column: pd.Series, variable: Variable, argument: str, *, missing: bool, reported: bool
) -> Codes:
    empty, other = (None, None) if reported else _takes(variable)
    places, texts = distinct_texts(column, f"Column {variable.name!r} of {argument}")
    codes = cells.encode(
        texts,
        variable.categories,
        empty=empty if empty is not None else variable.size if missing else cells.EMPTY_CELL,
        unknown=cells.UNKNOWN if other is None else other,
    )[places]
    if len(codes) and codes.min() < 0:
        _refuse(column, codes, variable, argument, reported=reported)
    return codes.astype(code_dtype(variable.size + missing))


def _takes(variable: Variable) -> tuple[int | None, int | None]:
    known = {label: code for code, label in enumerate(variable.categories)}
    cuts = cells.interval_cuts(variable.categories)
    last = variable.size - 1 if cuts is not None and variable.size > len(cuts) + 1 else None
    return known.get(EMPTY, last), known.get(OTHER)


def takes_empty(variable: Variable) -> bool:
    """Return whether a variable has a category for empty cells."""
    return _takes(variable)[0] is not None


def label_codes(table: pd.DataFrame, target: Variable, y: Any) -> Codes:
    """Return the codes of the true classes, from `y` or, if `y` is None, from the table's column.

    Raises MissingColumn, TableError, UnknownCategory.
    """
    alone = Domain((target,))
    if y is None and target.name not in table.columns:
        raise MissingColumn(
            f"frame has no column {target.name!r} of true classes; pass y, or add the column.",
            where="frame",
        )
    if y is None:
        return encode(table, alone, "frame")[target.name]
    labels = None if isinstance(y, str) else np.asarray(y, dtype=object)
    if labels is None or labels.shape not in ((len(table),), (len(table), 1)):
        raise TableError(
            f"y must have {len(table)} labels, one for each row of frame, not {shown(y)}.",
            where="y",
        )
    return encode({target.name: labels.ravel()}, alone, "y")[target.name]


def decode(codes: Mapping[str, Codes], domain: Domain) -> pd.DataFrame:
    """Return a frame of the labels for codes; codes beyond the categories become missing (NaN)."""
    import pandas as pd

    return pd.DataFrame(
        {
            v.name: pd.Categorical.from_codes(
                np.where(codes[v.name] < v.size, codes[v.name].astype(np.int64), -1),
                dtype=pd.CategoricalDtype(list(v.categories)),
            )
            for v in domain
            if v.name in codes
        }
    )


def plain(value: object) -> object:
    """Return a numpy or pandas value as a Python value."""
    return value.item() if isinstance(value, np.generic) else value


def distinct_texts(column: pd.Series, what: str) -> tuple[npt.NDArray[np.intp], list[str]]:
    import pandas as pd

    try:
        places, values = pd.factorize(column, use_na_sentinel=True)
    except TypeError:
        found = next((v for v in column if not isinstance(v, Hashable)), None)
        raise TableError(
            f"{what} must contain a text, a number or a date in each row, not a"
            f" {type(found).__name__}.",
            where=str(column.name),
        ) from None
    return places, [*series_cells(pd.Series(values), what).to_pylist(), ""]


def _refuse(
    column: pd.Series,
    codes: npt.NDArray[np.int64],
    variable: Variable,
    argument: str,
    *,
    reported: bool,
) -> None:
    rows = f"of {len(column):,} rows"
    unknown = codes == cells.UNKNOWN
    wanted = f"its categories are {quoted(variable.categories)}"
    if cells.interval_cuts(variable.categories) is not None:
        wanted += ", and it takes numbers"
    if unknown.any():
        found = [plain(value) for value in column[unknown].drop_duplicates().head(_SHOWN + 1)]
        more = ", ..." if len(found) > _SHOWN else ""
        problem = f"holds {quoted(found[:_SHOWN])}{more} in {int(unknown.sum()):,} {rows}; {wanted}"
    else:
        remedy = (
            "fill these cells or drop these rows: the plan reports this variable for all records"
            if reported
            else f"fill these cells, drop these rows, or add a category {EMPTY!r} for them"
        )
        problem = (
            f"is empty in {int((~unknown & (codes < 0)).sum()):,} {rows}; {wanted}, so {remedy}"
        )
    raise UnknownCategory(f"Column {variable.name!r} of {argument} {problem}.", where=variable.name)


def mixed_columns(
    table: Frame, names: Sequence[str] | None, argument: str, needed: Sequence[str] = ()
) -> MixedTable:
    """Return columns of a table, with numeric columns unchanged and all others as categories.

    Args:
        table: see `as_frame`.
        names: the columns, in this order; None for all.
        argument: the name of the table's parameter.
        needed: further columns that must exist.

    Raises TableError, MissingColumn.
    """
    frame = as_frame(table, argument)
    chosen = list(map(str, frame.columns)) if names is None else list(names)
    absent = [name for name in dict.fromkeys([*chosen, *needed]) if name not in frame.columns]
    if absent:
        raise MissingColumn(
            f"{lacking(frame, [*chosen, *needed], argument)}; it has {quoted(frame.columns)}.",
            where=absent[0],
        )
    return read_mixed(frame[chosen], argument)


def is_masked(data: object) -> bool:
    """Return whether an object is a result of `pm.mask`."""
    return hasattr(data, "frame") and hasattr(data, "method")


def numbers_of(values: Any, records: int, argument: str) -> npt.NDArray[np.float64]:
    """Return one finite number for each row of a frame. Raises TableError."""
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.shape not in ((records,), (records, 1)) or not np.isfinite(found).all():
        raise TableError(
            f"{argument} must have {records} finite numbers, one per row, not {shown(values)}.",
            where=argument,
        )
    return found.ravel()
