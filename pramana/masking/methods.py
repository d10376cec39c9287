"""The methods by name, and what a call may pass to them: options, copies, bounds.

Also here:

* Bounds of masked columns: what they are, what cutting masked values to them costs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pramana.frames.sentences import one_sentence, quoted
from pramana.frames.tables import shown
from pramana_core.alike import did_you_mean
from pramana_core.errors import OptionError

if TYPE_CHECKING:
    import pandas as pd

    from pramana_core.mask.core.cautions import Caution
    from pramana_core.mask.core.masked import Bounds
    from pramana_core.mask.methods.registry import Method
    from pramana_core.mixed.table import Floats


AUTO = "auto"
"""The name that stands for what `recommend_masking` recommends."""


def methods() -> Mapping[str, Method]:
    """Return every method by its name: those of the paper, then the synthetic baselines."""
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


# Bounds of masked columns: what they are, what cutting masked values to them costs.


def bounds_of(given: object, table: pd.DataFrame, confidential: Sequence[str]) -> Bounds:
    """Return the bounds of a call.

    Raises:
        OptionError: they are of no confidential column, are no pair of a lower and an upper one, or
            true values lie beyond them.
    """
    from pramana_core.mask.core.masked import require_within

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
    from pramana_core.mask.core.cautions import Caution, below_zero
    from pramana_core.mask.core.masked import cut_cautions

    found = list(cut_cautions(names, bounds, true, masked))
    for name, fact in below_zero(names, true, masked):
        if name not in bounds:
            said = (
                f"{fact}: bounds={{{name!r}: (0, None)}} cuts them off, at the cost of exact"
                " moments; methods that shuffle need none."
            )
            found.append(Caution(said))
    return tuple(found)
