"""What a call asks for: which columns are confidential or told, and the methods by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pramana.frames.identifying import require_no_id
from pramana.frames.sentences import one_sentence, quoted
from pramana.frames.tables import Frame, as_frame, names_of, require_columns, shown
from pramana_core.alike import did_you_mean
from pramana_core.errors import OptionError, TableError
from pramana_core.mixed import MixedTable, read_mixed

if TYPE_CHECKING:
    import pandas as pd

    from pramana_core.mask.core.masked import Method


@dataclass(frozen=True, eq=False)
class Columns:
    """A frame's columns as masking sees them, all rows complete.

    Attributes:
        table: the told and the confidential columns alone, in the frame's order; n rows.
        told: the names of S, released as they are.
        confidential: the names of X, masked.
        dropped: the names of the frame's other columns, which are not released.
    """

    table: pd.DataFrame
    told: tuple[str, ...]
    confidential: tuple[str, ...]
    dropped: tuple[str, ...]

    @property
    def s(self) -> MixedTable:
        """S: n records."""
        return read_mixed(self.table[list(self.told)], "frame")

    @property
    def x(self) -> MixedTable:
        """X: n records, all columns numeric."""
        return read_mixed(self.table[list(self.confidential)], "frame")


def columns_of(
    frame: Frame, confidential: str | Sequence[str], tell: str | Sequence[str] | None
) -> Columns:
    """Return the columns of a call.

    Args:
        frame: the true records.
        confidential: the columns to mask.
        tell: the columns to release as they are; None for all others.

    Raises:
        TableError: no table, cells that are missing, or a column that cannot be masked or told.
        MissingColumn: a name that the frame lacks.
        OptionError: no confidential column, or one that is among the told ones, too.
    """
    table = as_frame(frame, "frame")
    hidden = _once(confidential, "confidential")
    if not hidden:
        raise OptionError(
            "confidential must name at least one column to mask, not none.", where="confidential"
        )
    require_columns(table, hidden, "confidential")
    if tell is None:
        told = [name for name in table.columns if name not in hidden]
    else:
        told = _once(tell, "tell")
        require_columns(table, told, "tell")
    if both := [name for name in told if name in hidden]:
        raise OptionError(
            f"tell and confidential must be different columns; {quoted(both)} is in both.",
            where="tell",
        )
    _require_numbers(table, hidden)
    for name in told:
        require_no_id(table[name], name, "tell")
    kept = [name for name in table.columns if name in {*told, *hidden}]
    found = Columns(
        table=table[kept],
        told=tuple(told),
        confidential=tuple(hidden),
        dropped=tuple(name for name in table.columns if name not in kept),
    )
    with one_sentence("frame"):
        _ = found.s, found.x
    return found


def _once(given: object, argument: str) -> list[str]:
    names = names_of(given, argument)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise OptionError(f"{argument} names {quoted(twice)} more than once.", where=argument)
    return names


def _require_numbers(table: pd.DataFrame, names: Sequence[str]) -> None:
    import pandas as pd

    kind = pd.api.types
    for name in names:
        given = table[name].dtype
        if not kind.is_numeric_dtype(given) or kind.is_bool_dtype(given):
            raise TableError(
                f"confidential must name columns of numbers, and {name!r} holds {_holds(given)}.",
                where=name,
            )


def _holds(given: Any) -> str:
    """Return what a column holds beside numbers, and what to do about it."""
    import pandas as pd

    kind = pd.api.types
    if kind.is_datetime64_any_dtype(given):
        return "times; make them numbers, such as days"
    instead = "categories are randomized by pm.randomize instead"
    if kind.is_bool_dtype(given):
        return f"true and false; {instead}"
    return f"text or categories; pd.to_numeric reads numbers written as text, and {instead}"


AUTO = "auto"
"""The name that stands for what `recommend_masking` recommends."""


def methods() -> Mapping[str, Method]:
    """Return every method by its name."""
    from pramana_core.mask import METHODS

    return METHODS


def method_of(name: object) -> str:
    """Return a method's name. Raises OptionError for one that is unknown."""
    known = [AUTO, *methods()]
    if not isinstance(name, str) or name not in known:
        raise OptionError(
            f"method must be one of {', '.join(map(repr, known))}, not"
            f" {shown(name)}{did_you_mean([name], known)}.",
            where="method",
        )
    return name


def options_of(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a method; those of a kernel may be written beside them.

    Raises:
        OptionError: an option that the method has not, or one out of its range.
    """
    from pramana_core.kernel_regression.options import KernelOptions

    known = dict(methods()[name].options)
    inner = (
        {field.name for field in dataclasses.fields(KernelOptions)} if "kernel" in known else set()
    )
    unknown = sorted(set(given) - set(known) - inner)
    if unknown:
        has = f"it has {quoted(sorted({*known, *inner} - {'kernel'}))}" if known else "it has none"
        raise OptionError(
            f"method {name!r} has no option"
            f" {quoted(unknown)}{did_you_mean(unknown, [*known, *inner])}; {has}.",
            where=unknown[0],
        )
    found = {key: value for key, value in given.items() if key not in inner}
    kernel = {key: value for key, value in given.items() if key in inner}
    if kernel:
        if "kernel" in found:
            raise OptionError(
                f"kernel must not be given beside {quoted(sorted(kernel))}, which it holds.",
                where="kernel",
            )
        with one_sentence():
            found["kernel"] = KernelOptions(**kernel)
    return found


def copies_of(copies: object) -> int:
    """Return how many copies are wanted. Raises OptionError unless it is a number from 1 to 100."""
    if isinstance(copies, bool) or not isinstance(copies, int) or not 1 <= copies <= MOST_COPIES:
        raise OptionError(
            f"copies must be a whole number from 1 to {MOST_COPIES}, not {shown(copies)}.",
            where="copies",
        )
    return copies


MOST_COPIES = 100
