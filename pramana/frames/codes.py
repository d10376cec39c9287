"""The columns of a frame as codes of a domain's variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pramana.frames.absent import lacking
from pramana.frames.sentences import quoted
from pramana.frames.tables import Frame, as_frame
from pramana_core.domain import Domain, Variable
from pramana_core.errors import MissingColumn, UnknownCategory
from pramana_core.learn.prediction import CategoryReader
from pramana_core.marginals.counts import Codes
from pramana_core.wire.parts import code_dtype

if TYPE_CHECKING:
    import pandas as pd

EMPTY, OTHER = "(empty)", "(other)"
"""A category of this name takes the empty cells, or what none of the others takes."""

_UNKNOWN, _NOTHING = -1, -2

_SHOWN = 3


def encode(
    frame: Frame,
    domain: Domain,
    argument: str,
    *,
    missing: bool = False,
    reported: bool = False,
) -> dict[str, Codes]:
    """Return the codes of a domain's variables from a table's columns, n of each.

    A cell holds a label of its variable, a number or date that is written so, or, where the
    categories are intervals, a number. A category called `(empty)`, or one more after intervals,
    takes empty cells; one called `(other)` takes what no other does. Further columns are left
    alone.

    Args:
        frame: the table; see `Frame`.
        domain: the variables.
        argument: the parameter that the table was passed as.
        missing: whether columns may be absent and cells empty; the code of an empty cell that no
            category takes is the variable's number of categories then.
        reported: whether cells are reports, which hold labels alone: no category takes an empty
            cell, which was withheld, or one that holds something else.

    Raises:
        TableError: no such table.
        MissingColumn: a column is not there, or none is.
        UnknownCategory: a cell holds none of the variable's categories, or nothing.
    """
    table = as_frame(frame, argument)
    absent = [name for name in domain.names if name not in table.columns]
    if absent and (not missing or len(absent) == len(domain)):
        raise MissingColumn(
            f"{lacking(table, domain.names, argument)}; it has {quoted(table.columns)}.",
            where=argument,
        )
    return {
        v.name: _codes(table[v.name], _Cells.of(v, missing=missing, reported=reported), argument)
        for v in domain
        if v.name in table.columns
    }


def takes_empty(variable: Variable) -> bool:
    """Return whether a category of a variable takes empty cells."""
    return _Cells.of(variable, missing=False, reported=False).empty >= 0


def decode(codes: Mapping[str, Codes], domain: Domain) -> pd.DataFrame:
    """Return codes as a frame of labels; a code beyond the categories is missing (NaN)."""
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
    """Return a value of numpy's or pandas' as Python's own."""
    return value.item() if isinstance(value, np.generic) else value


def texts_of(value: object) -> tuple[str | int | float, ...]:
    """Return what a value may be written as: numbers and text as they are, others as text.

    True is `True`, `true` or 1; 1.0 is also `1.0`; a moment at midnight may be a date alone.
    """
    value = plain(value)
    if isinstance(value, bool):
        return str(value), str(value).lower(), int(value)
    if isinstance(value, float):
        return value, repr(value)
    if isinstance(value, str | int):
        return (value,)
    text = str(value)
    return (text, text.removesuffix(" 00:00:00"))


def label_of(value: object) -> str:
    """Return the label that a value is written as: 1.0 as 1, a midnight as its date."""
    text = texts_of(value)[-1 if hasattr(value, "isoformat") else 0]
    return str(int(text)) if isinstance(text, float) and text.is_integer() else str(text)


@dataclass(frozen=True)
class _Cells:
    """How the cells of a column are read, with codes for empty and for unknown ones."""

    variable: Variable
    reader: CategoryReader
    empty: int
    other: int
    type: np.dtype[np.unsignedinteger]
    reported: bool

    @classmethod
    def of(cls, variable: Variable, *, missing: bool, reported: bool) -> _Cells:
        categories, reader = variable.categories, CategoryReader(variable)
        empty = variable.size if missing else _NOTHING
        if not reported:
            if reader.cuts is not None and variable.size > len(reader.cuts) + 1:
                empty = variable.size - 1
            if EMPTY in categories:
                empty = variable.code(EMPTY)
        takes_others = OTHER in categories and not reported
        other = variable.code(OTHER) if takes_others else _UNKNOWN
        kind = code_dtype(variable.size + missing)
        return cls(variable, reader, empty, other, kind, reported)

    def code(self, value: object) -> int:
        for text in texts_of(value):
            if (code := self.reader.code(text)) is not None:
                return code
        return self.empty if isinstance(value, str) and not value.strip() else self.other


def _codes(column: pd.Series, cells: _Cells, argument: str) -> Codes:
    import pandas as pd

    kind = column.dtype
    numeric = pd.api.types.is_float_dtype(kind) or pd.api.types.is_integer_dtype(kind)
    if cells.reader.cuts is not None and numeric:
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
        codes = np.searchsorted(cells.reader.cuts, numbers, side="right").astype(np.int64)
        codes[np.isinf(numbers)] = cells.other
        codes[np.isnan(numbers)] = cells.empty
    else:
        places, values = pd.factorize(column, use_na_sentinel=True)
        known = np.array([*map(cells.code, values), cells.empty], dtype=np.int64)
        codes = known[places]
    if len(codes) and codes.min() < 0:
        _refuse(column, codes, cells, argument)
    return codes.astype(cells.type)


def _refuse(column: pd.Series, codes: npt.NDArray[np.int64], cells: _Cells, argument: str) -> None:
    variable, rows = cells.variable, f"of {len(column):,} rows"
    unknown = codes == _UNKNOWN
    wanted = f"its categories are {quoted(variable.categories)}"
    if cells.reader.cuts is not None:
        wanted += ", and it takes numbers"
    if unknown.any():
        found = [plain(value) for value in column[unknown].drop_duplicates().head(_SHOWN + 1)]
        more = ", ..." if len(found) > _SHOWN else ""
        said = f"holds {quoted(found[:_SHOWN])}{more} in {int(unknown.sum()):,} {rows}; {wanted}"
    else:
        remedy = (
            f"fill these cells, drop these rows, or add the category {EMPTY!r}, which takes them"
        )
        if cells.reported:
            remedy = "fill these cells or drop these rows: its plan withholds it from no record"
        said = f"is empty in {int((codes == _NOTHING).sum()):,} {rows}; {wanted}, so {remedy}"
    raise UnknownCategory(f"Column {variable.name!r} of {argument} {said}.", where=variable.name)
