"""Bounds of masked columns: masked values beyond them are cut to them, at the cost of moments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pramana_core.errors import OptionError
from pramana_core.mask.core.cautions import Caution
from pramana_core.mixed import Floats

Bounds = Mapping[str, tuple[float | None, float | None]]
"""A lower and an upper bound of columns, by their names; None for none."""


def require_within(bounds: Bounds, names: Sequence[str], true: Floats, where: str) -> None:
    """Check that bounds hold all true values, n x q, of named columns.

    `where` is the name of the bounds where they were given.

    Raises:
        OptionError: true values lie beyond them.
    """
    for name in bounds:
        values = true[:, list(names).index(name)]
        if np.any(_cut(values, *bounds[name]) != values):
            raise OptionError(
                f"bounds of {name!r} must hold all its true values; some lie beyond them.",
                where=where,
            )


def bounded(names: Sequence[str], bounds: Bounds, masked: Floats) -> Floats:
    """Return masked values, n x q, cut to the bounds of their columns."""
    found = masked.copy()
    for place, name in enumerate(names):
        found[:, place] = _cut(masked[:, place], *bounds.get(name, (None, None)))
    return found


def cut_cautions(
    names: Sequence[str], bounds: Bounds, true: Floats, masked: Floats
) -> tuple[Caution, ...]:
    """Return what bounds cost: true and masked values, before they are cut, are n x q."""
    found = []
    cut = bounded(names, bounds, masked)
    for place, name in enumerate(names):
        before, after = masked[:, place], cut[:, place]
        if count := int(np.count_nonzero(after != before)):
            moved = abs(float(after.mean() - before.mean())) / float(true[:, place].std())
            shrunk = 1 - float(after.std() / before.std())
            values = f"{count:,} masked values of {name!r} were"
            one = f"1 masked value of {name!r} was"
            said = (
                f"{one if count == 1 else values} cut to its bounds: that moves its mean by"
                f" {moved:.2g} standard deviations and narrows its spread by {shrunk:.1%}:"
                " moments are not exact then."
            )
            found.append(Caution(said))
    return tuple(found)


def _cut(values: Floats, low: float | None, high: float | None) -> Floats:
    found: Floats = values
    if low is not None:
        found = np.maximum(found, low)
    if high is not None:
        found = np.minimum(found, high)
    return found
