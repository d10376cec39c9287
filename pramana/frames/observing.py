"""What the columns of a table hold, as the categories that a domain is made of.

Also here:

* The randomness that people pass: none, a seed, or a generator of numpy's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pramana.frames.codes import label_of
from pramana.frames.sentences import options_told
from pramana.frames.tables import Frame, as_frame, names_of, require_columns, shown
from pramana_core.errors import OptionError, TableError
from pramana_core.learn.prediction import interval_cuts

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from pramana_core.domain import Variable


_PLACES = 3
"""Intervals of one width are cut where so many digits of the width say."""


class ObservedCategories(dict[str, list[str] | dict[str, Any]]):
    """Categories by column, as they were found in a table.

    Attributes:
        left_out: the columns that can be no variable, each with the reason; `pm.domain` leaves
            them out, too.
    """

    def __init__(self, found: Mapping[str, list[str] | dict[str, Any]], left_out: dict[str, str]):
        super().__init__(found)
        self.left_out = left_out


@options_told
def observed_categories(
    frame: Frame, columns: Sequence[str] | None = None, *, intervals: int | None = None
) -> ObservedCategories:
    """Return the categories that are found in a table, for `pm.domain`.

    The result reveals something of the data that no epsilon counts: a category says that somebody
    has it, and a cut says that there are numbers on both sides. It is for public tables and
    experiments; an owner of private data makes the list from public knowledge.

    A column of many different numbers is cut; empty cells are a category `(empty)`; of a column of
    more than 20 different values the rare ones are put together as `(other)`.

    Args:
        frame: the table; see `pm.domain`.
        columns: which columns; if None, all but those that are constant, or name or number the
            records.
        intervals: into how many intervals of one width, at rounded cuts, such columns are cut,
            2 to 64. None cuts columns of more than 8 into 3 to 8 intervals of nearly equal numbers
            of records, fewer where records are few.

    Returns:
        By column, a list of labels, or `{"cuts": [...], "representatives": [...]}`: a dict that can
        be saved as JSON, and that `pm.domain` takes. Its `left_out` says by column what could not
        be used and why.

    Raises:
        TableError: no table, or no column of it, or one that was asked for, can be used.
        MissingColumn: a column that is not there.
        OptionError: intervals outside 2 to 64.

    Examples:
        >>> import pramana as pm
        >>> people = {"age": [23, 31, 64, 40] * 25, "sex": ["f", "m", "f", "f"] * 25}
        >>> pm.observed_categories(people)
        {'age': ['23', '31', '40', '64'], 'sex': ['f', 'm']}
    """
    from pramana.simulate.columns import ColumnChanges, listed, made
    from pramana.simulate.tables import MOST_INTERVALS

    table = as_frame(frame, "frame")
    names = list(table.columns) if columns is None else names_of(columns, "columns")
    require_columns(table, names, "columns")
    whole = isinstance(intervals, int) and not isinstance(intervals, bool)
    if intervals is not None and not (whole and 2 <= intervals <= MOST_INTERVALS):
        raise OptionError(
            f"intervals must be a whole number from 2 to {MOST_INTERVALS}, not {shown(intervals)}.",
            where="intervals",
        )
    done = ColumnChanges(len(table), intervals)
    found = [made(_texts(table[n]), n, done, asked=columns is not None) for n in names]
    variables = [one[0] for one in found if one is not None]
    if done.left_out and (columns is not None or not variables):
        raise TableError(
            f"Columns of frame cannot be categories: {listed(done.left_out)}.",
            where=next(iter(done.left_out)),
        )
    return ObservedCategories({v.name: _as_listed(v, intervals) for v in variables}, done.left_out)


def _texts(column: pd.Series) -> pd.Series[str]:
    """Return a column's cells as text, empty ones as empty text."""
    import pandas as pd

    places, values = pd.factorize(column, use_na_sentinel=True)
    texts = np.array([*(label_of(value).strip() for value in values), ""], dtype=object)
    return pd.Series(texts[places], index=column.index, dtype=object)


def _as_listed(variable: Variable, intervals: int | None) -> list[str] | dict[str, Any]:
    """Return a variable's categories as `pm.domain` takes them; `intervals` are of one width."""
    cuts = interval_cuts(variable)
    if cuts is None:
        return list(variable.categories)
    numbers = variable.representatives
    listed: dict[str, Any] = {"cuts": list(cuts)}
    if numbers is not None:
        listed["representatives"] = list(numbers)
    if intervals is not None and (len(cuts) > 1 or numbers is not None):
        width = cuts[1] - cuts[0] if len(cuts) > 1 else numbers[1] - numbers[0]  # type: ignore[index]
        places = _PLACES - math.ceil(math.log10(width))
        listed = {key: [round(n, places) for n in found] for key, found in listed.items()}
    if variable.size > len(cuts) + 1:
        listed["missing"] = variable.categories[-1]
    return listed


# The randomness that people pass: none, a seed, or a generator of numpy's.

Rng = Any
"""None for fresh randomness, a seed, or a generator of numpy's."""


def generator_of(rng: Rng) -> np.random.Generator:
    """Return a generator: fresh, of a seed, or the one passed. Raises OptionError."""
    import numpy as np

    if isinstance(rng, np.random.Generator):
        return rng
    whole = isinstance(rng, int | np.integer) and not isinstance(rng, bool)
    if rng is not None and not (whole and rng >= 0):
        raise OptionError(
            f"rng must be None, a seed of 0 or more, or a numpy Generator, not {shown(rng)}.",
            where="rng",
        )
    return np.random.default_rng(rng)
