"""The columns of a frame as codes of a domain's variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pramana.frames.tables import Frame, as_frame
from shared.domain import Domain, Variable
from shared.errors import MissingColumn, PramanaError, UnknownCategory
from shared.learn.prediction import encode_records, interval_cuts
from shared.marginals.counts import Codes
from shared.wire.parts import code_dtype

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 3


def encode(
    frame: Frame, domain: Domain, argument: str, *, missing: bool = False
) -> dict[str, Codes]:
    """Return the codes of a domain's variables from a table's columns, n of each.

    A cell holds a label of its variable, a number that is written so, or, where the categories are
    intervals, a number. Further columns are left alone.

    Args:
        frame: the table; see `Frame`.
        domain: the variables.
        argument: the parameter that the table was passed as.
        missing: whether columns may be absent and cells empty; an empty cell's code is the
            variable's number of categories then.

    Raises:
        TableError: no such table.
        MissingColumn: a column is not there, or none is.
        UnknownCategory: a cell holds none of the variable's categories, or nothing.
    """
    table = as_frame(frame, argument)
    absent = [name for name in domain.names if name not in table.columns]
    if absent and (not missing or len(absent) == len(domain)):
        raise MissingColumn(
            f"{argument} has no column {', '.join(map(repr, absent))}; it has"
            f" {list(table.columns)}.",
            where=argument,
        )
    return {
        v.name: _codes(table[v.name], v, argument, missing=missing)
        for v in domain
        if v.name in table.columns
    }


def decode(codes: Mapping[str, Codes], domain: Domain) -> pd.DataFrame:
    """Return codes as a frame of labels; a code beyond the categories is missing (NaN)."""
    import pandas as pd

    return pd.DataFrame(
        {
            v.name: pd.Categorical.from_codes(
                np.where(codes[v.name] < v.size, codes[v.name], -1).astype(np.int64),
                dtype=pd.CategoricalDtype(list(v.categories)),
            )
            for v in domain
            if v.name in codes
        }
    )


def _codes(column: pd.Series, variable: Variable, argument: str, *, missing: bool) -> Codes:
    import pandas as pd

    places, values = pd.factorize(column, use_na_sentinel=True)
    known = np.full(len(values) + 1, -1, dtype=np.int64)
    cuts = interval_cuts(variable)
    if cuts is not None and pd.api.types.is_numeric_dtype(column.dtype):
        known[:-1] = np.searchsorted(cuts, np.asarray(values, dtype=float), side="right")
    else:
        known[:-1] = [_code(variable, value) for value in values]
    if missing:
        known[-1] = variable.size
    codes = known[places]
    if (codes < 0).any():
        _refuse(column, codes, variable, argument)
    return codes.astype(code_dtype(variable.size + missing))


def _code(variable: Variable, value: object) -> int:
    """Return the code of a value, -1 where it is none of the variable's."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, bool) or not isinstance(plain, str | int | float):
        plain = str(plain)
    try:
        return int(encode_records(Domain((variable,)), [{variable.name: plain}])[variable.name][0])
    except PramanaError:
        return -1


def _refuse(
    column: pd.Series, codes: npt.NDArray[np.int64], variable: Variable, argument: str
) -> None:
    wrong = column[codes < 0]
    found = [repr(value) for value in wrong.drop_duplicates().head(_SHOWN + 1)]
    told = ", ".join(found[:_SHOWN]) + (", ..." if len(found) > _SHOWN else "")
    raise UnknownCategory(
        f"Column {variable.name!r} of {argument} holds {told} in {len(wrong)} of"
        f" {len(column)} rows; its categories are {list(variable.categories)}.",
        where=variable.name,
    )
