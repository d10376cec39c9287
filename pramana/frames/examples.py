"""Public example tables: published counts expanded to one row per person, and a drawn table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pramana.frames.sentences import checked_options
from pramana_core.learn.common.options import require_limit

if TYPE_CHECKING:
    import pandas as pd

_BERKELEY = {
    "A": (512, 313, 89, 19),
    "B": (353, 207, 17, 8),
    "C": (120, 205, 202, 391),
    "D": (138, 279, 131, 244),
    "E": (53, 138, 94, 299),
    "F": (22, 351, 24, 317),
}
"""By department: counts of men admitted and rejected, women admitted and rejected."""

_TITANIC = {
    "1st": ((0, 5), (118, 57), (0, 1), (4, 140)),
    "2nd": ((0, 11), (154, 14), (0, 13), (13, 80)),
    "3rd": ((35, 13), (387, 75), (17, 14), (89, 76)),
    "crew": ((0, 0), (670, 192), (0, 0), (3, 20)),
}
"""By class, for boys, men, girls and women: the counts who died and who survived."""

SEED = 2006
"""The seed of the drawn store table, which never changes."""

Example = Literal["berkeley", "titanic", "store"]


@checked_options
def example(name: Example) -> pd.DataFrame:
    """Return an example table, public or drawn at random, with one row per person.

    Args:
        name: `berkeley`, the 4,526 applicants to the six largest departments of Berkeley's graduate
            school in 1973: department, sex, admitted (Bickel, Hammel and O'Connell, Science 187,
            1975). `titanic`, the 2,201 people aboard: class, age, sex, survived (Dawson, Journal of
            Statistics Education 3, 1995). `store`, 1,000 customers with age, gender, and the
            confidential expenditure and debt in dollars, **drawn** with a fixed seed to resemble
            AlAhmadi's motivation example (2006), whose records are unpublished.

    Returns:
        A frame of n rows: text in a public table, numbers in a drawn one. The index `person`
        numbers the rows from 1.

    Raises:
        OptionError: no table has this name.

    Examples:
        >>> import pramana as pm
        >>> pm.example("berkeley").shape
        (4526, 3)
    """
    import pandas as pd

    from pramana.setups import store

    require_limit(name, Example, "name")
    if name == "berkeley":
        columns: tuple[str, ...] = ("department", "sex", "admitted")
        who = [("male", "yes"), ("male", "no"), ("female", "yes"), ("female", "no")]
        cells: list[tuple[tuple[str, ...], int]] = [
            ((department, *of), count)
            for department, counts in _BERKELEY.items()
            for of, count in zip(who, counts, strict=True)
        ]
    elif name == "titanic":
        columns = ("class", "age", "sex", "survived")
        kinds = [("child", "male"), ("adult", "male"), ("child", "female"), ("adult", "female")]
        cells = [
            ((of, *kind, fate), count)
            for of, counts in _TITANIC.items()
            for kind, fates in zip(kinds, counts, strict=True)
            for fate, count in zip(("no", "yes"), fates, strict=True)
        ]
    else:
        frame = store(SEED)
        return frame.set_axis(frame.index.rename("person") + 1)
    rows = [labels for labels, count in cells for _ in range(count)]
    index = pd.RangeIndex(1, len(rows) + 1, name="person")
    return pd.DataFrame(rows, columns=list(columns), index=index)
