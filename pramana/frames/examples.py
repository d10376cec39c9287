"""Public tables to try things on: counts that were published, as one row per person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pramana.frames.sentences import checked_options
from pramana.frames.tables import shown
from pramana_core.alike import did_you_mean
from pramana_core.errors import OptionError

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
"""By department: men admitted and rejected, women admitted and rejected."""

_TITANIC = {
    "1st": ((0, 5), (118, 57), (0, 1), (4, 140)),
    "2nd": ((0, 11), (154, 14), (0, 13), (13, 80)),
    "3rd": ((35, 13), (387, 75), (17, 14), (89, 76)),
    "crew": ((0, 0), (670, 192), (0, 0), (3, 20)),
}
"""By class: boys, men, girls, women; of each how many died and how many survived."""

_STORE = "store"
SEED = 2006
"""Of the store and its companions, which are drawn: the same table every time."""

Example = Literal[
    "berkeley",
    "titanic",
    "store",
    "ME.L.S1",
    "ME.L.MV1",
    "ME.L.MV2",
    "NM.01",
    "NM.02",
    "NM.03",
    "NM.04",
    "NM.05",
    "NM.01.S1",
    "MNL.01",
    "MNL.02",
    "MNL.03",
]


@checked_options
def example(name: Example) -> pd.DataFrame:
    """Return a public table, or a made one, one row per person.

    Args:
        name: `berkeley`: the 4,526 applicants to the six largest departments of Berkeley's graduate
            school in 1973: department, sex, admitted (Bickel, Hammel and O'Connell, Science 187,
            1975). `titanic`: the 2,201 people aboard: class, age, sex, survived (Dawson, Journal of
            Statistics Education 3, 1995). `store`: 1,000 customers with age, gender, and the
            confidential expenditure and debt in dollars, **drawn** with a fixed seed in the
            likeness of AlAhmadi's motivation example (2006), whose own records are not published;
            `ME.L.S1` and the other names are companions of it, with relationships of other shapes
            (`pramana.setups`). The index, called `person`, numbers them from 1.

    Returns:
        A frame, n rows: of text, or of numbers where it is drawn.

    Raises:
        OptionError: no such table.

    Examples:
        >>> import pramana as pm
        >>> people = pm.example("berkeley")
        >>> people.shape
        (4526, 3)
    """
    import pandas as pd

    if not isinstance(name, str):
        raise OptionError(f"name must be text such as 'titanic', not {shown(name)}.", where="name")
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
        return _drawn(name)
    rows = [labels for labels, count in cells for _ in range(count)]
    index = pd.RangeIndex(1, len(rows) + 1, name="person")
    return pd.DataFrame(rows, columns=list(columns), index=index)


def _drawn(name: str) -> pd.DataFrame:
    from pramana.setups import DATASETS

    made = {_STORE: DATASETS["ME.L"], **{key: d for key, d in DATASETS.items() if key != "ME.L"}}
    if name not in made:
        raise OptionError(
            f"name must be 'berkeley', 'titanic', 'store' or one of its companions"
            f" {', '.join(list(made)[1:])}, not"
            f" {shown(name)}{did_you_mean([name], ['berkeley', 'titanic', *made])}.",
            where="name",
        )
    frame = made[name].make(SEED)
    return frame.set_axis(frame.index.rename("person") + 1)
