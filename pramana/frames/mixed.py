"""Frames as tables of numbers and categories, and masked copies as several of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pramana.frames.absent import lacking
from pramana.frames.sentences import quoted
from pramana.frames.tables import Frame, as_frame, shown
from pramana_core.errors import MissingColumn, TableError
from pramana_core.mixed.table import MixedTable, read_mixed

if TYPE_CHECKING:
    import numpy.typing as npt


def mixed_columns(
    table: Frame, names: Sequence[str] | None, argument: str, needed: Sequence[str] = ()
) -> MixedTable:
    """Return columns of a table: numbers as they are, all else as categories.

    Args:
        table: see `as_frame`.
        names: which columns, in this order; None for all.
        argument: the name of the parameter it was passed as.
        needed: columns that must be there in any case.

    Raises:
        TableError: it is no table, or a column has empty cells or holds times.
        MissingColumn: there is no column of a name.
    """
    frame = as_frame(table, argument)
    asked = list(map(str, frame.columns)) if names is None else list(names)
    absent = [name for name in dict.fromkeys([*asked, *needed]) if name not in frame.columns]
    if absent:
        raise MissingColumn(
            f"{lacking(frame, [*asked, *needed], argument)}; it has {quoted(frame.columns)}.",
            where=absent[0],
        )
    return read_mixed(frame[asked], argument)


def is_masked(data: object) -> bool:
    """Whether something is what `pm.mask` returns."""
    return hasattr(data, "copies") and hasattr(data, "frame") and hasattr(data, "method")


def copies_of(data: Any) -> tuple[list[Frame], str]:
    """Return the masked copies that were passed, and in words how they were masked.

    Args:
        data: what `pm.mask` returned; a list of frames; or one table, which is not taken for a
            masked one: of it the words are empty.
    """
    if is_masked(data):
        return list(data.copies), masked_by(data.method, len(data.copies))
    if isinstance(data, list | tuple) and data and all(hasattr(one, "columns") for one in data):
        return list(data), masked_by("an unknown method", len(data)) if len(data) > 1 else ""
    return [data], ""


def masked_by(method: str, copies: int, owner: str = "") -> str:
    """Return in words how records were masked."""
    of = f" at {owner}" if owner else ""
    return f"{method}{of}{f', {copies} copies' if copies > 1 else ''}"


def numbers_of(values: Any, records: int, argument: str) -> npt.NDArray[np.float64]:
    """Return one finite number for each row of a frame. Raises TableError."""
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.shape not in ((records,), (records, 1)) or not np.isfinite(found).all():
        raise TableError(
            f"{argument} must be {records} finite numbers, one for each row of frame, not"
            f" {shown(values)}.",
            where=argument,
        )
    return found.ravel()
