"""The choice of confidential columns and of columns that are released unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pramana.frames.identifying import require_no_id
from pramana.frames.sentences import one_sentence, quoted
from pramana.frames.tables import Frame, as_frame, names_of, require_columns
from pramana_core.alike import repeated_in
from pramana_core.errors import OptionError, TableError
from pramana_core.mixed import MixedTable, read_mixed

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a frame for masking, n complete rows.

    `table` has the columns released unchanged (`told`, S) and the `confidential` columns (X) in the
    frame's order; `dropped` names the columns in neither group. `s` and `x` are the values of S and
    X; x is numeric.
    """

    table: pd.DataFrame
    unchanged: tuple[str, ...]
    confidential: tuple[str, ...]
    dropped: tuple[str, ...]
    s: MixedTable
    x: MixedTable


def columns_of(
    frame: Frame, confidential: str | Sequence[str], tell: str | Sequence[str] | None
) -> Columns:
    """Return the columns that arguments of `pm.mask` select; `tell` None selects all others.

    Raises TableError, MissingColumn, OptionError.
    """
    table = as_frame(frame, "frame")
    hidden = names_of(confidential, "confidential")
    if not hidden:
        raise OptionError(
            "confidential must name at least one column to mask.", where="confidential"
        )
    require_columns(table, hidden, "confidential")
    unchanged = [name for name in table.columns if name not in hidden]
    if tell is not None:
        unchanged = names_of(tell, "tell")
        require_columns(table, unchanged, "tell")
    for names, argument in ((hidden, "confidential"), ([*unchanged, *hidden], "tell")):
        if twice := repeated_in(names):
            raise OptionError(
                f"tell and confidential both name {quoted(twice)}, or one of them does twice; name"
                " each column once.",
                where=argument,
            )
    for name in hidden:
        _require_numbers(table[name], name)
    for name in unchanged:
        require_no_id(table[name], name, "tell")
    kept = [name for name in table.columns if name in {*unchanged, *hidden}]
    dropped = tuple(name for name in table.columns if name not in kept)
    with one_sentence("frame"):
        s, x = (read_mixed(table[names], "frame") for names in (unchanged, hidden))
    return Columns(table[kept], tuple(unchanged), tuple(hidden), dropped, s, x)


def _require_numbers(column: Any, name: str) -> None:
    import pandas as pd

    kind, given = pd.api.types, column.dtype
    if kind.is_numeric_dtype(given) and not kind.is_bool_dtype(given):
        return
    holds = "text, categories or truth values, which pm.randomize randomizes"
    if kind.is_datetime64_any_dtype(given):
        holds = "times; make them numbers, such as days"
    raise TableError(
        f"confidential must name numeric columns, but {name!r} contains {holds}.", where=name
    )
