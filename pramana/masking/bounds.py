"""Bounds of masked columns: what they are, what cutting masked values to them costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pramana.frames.sentences import quoted
from pramana.frames.tables import shown
from pramana_core.errors import OptionError

if TYPE_CHECKING:
    import pandas as pd

    from pramana_core.mask.core.bounds import Bounds
    from pramana_core.mask.core.cautions import Caution
    from pramana_core.mixed import Floats


def bounds_of(given: object, table: pd.DataFrame, confidential: Sequence[str]) -> Bounds:
    """Return the bounds of a call.

    Raises:
        OptionError: they are of no confidential column, are no pair of a lower and an upper one, or
            true values lie beyond them.
    """
    from pramana_core.mask.core.bounds import require_within

    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise OptionError(
            "bounds must be a dict of a lower and an upper bound for each column, such as"
            f' {{"income": (0, None)}}, not {shown(given)}.',
            where="bounds",
        )
    found = {}
    for name, pair in given.items():
        if name not in confidential:
            raise OptionError(
                f"bounds must be of confidential columns, {quoted(confidential)}, not {name!r}.",
                where="bounds",
            )
        found[name] = _pair(name, pair)
    true = table[list(confidential)].to_numpy(dtype=float)
    require_within(found, confidential, true, "bounds")
    return found


def _pair(name: str, given: Any) -> tuple[float | None, float | None]:
    try:
        # Digits of a text would be taken for a pair.
        pair = () if isinstance(given, str) else given
        low, high = (None if one is None else float(one) for one in pair)
    except (TypeError, ValueError):
        low = high = float("nan")
    if (low is not None and high is not None and not low < high) or any(
        one is not None and np.isnan(one) for one in (low, high)
    ):
        raise OptionError(
            f"bounds of {name!r} must be a lower and a larger upper number, None for none, not"
            f" {shown(given)}.",
            where="bounds",
        )
    return low, high


def bound_cautions(
    names: Sequence[str], bounds: Bounds, true: Floats, masked: Floats
) -> tuple[Caution, ...]:
    """Return what bounds cost, and which columns may need some.

    Args: as of `cut_cautions`.
    """
    from pramana_core.mask.core.bounds import cut_cautions
    from pramana_core.mask.core.cautions import Caution, below_zero

    found = list(cut_cautions(names, bounds, true, masked))
    for name, fact in below_zero(names, true, masked):
        if name not in bounds:
            said = (
                f"{fact}: bounds={{{name!r}: (0, None)}} cuts them off, at the cost of exact"
                " moments; methods that shuffle need none."
            )
            found.append(Caution(said))
    return tuple(found)
