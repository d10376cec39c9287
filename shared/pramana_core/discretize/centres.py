"""Several numeric columns grouped together, each group told by its centre (Ma 2.3).

The groups of `mgas_joint` are sets of the points they were made from. Here a group is all points
that are nearest to its centre, so that centres alone say where any point belongs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pramana_core.discretize.binnings import NumberGrid, require_enough, require_requirements
from pramana_core.discretize.discretization import Floats, number_label
from pramana_core.discretize.mgas import GRID_STEPS, JOINT_LIMIT, mgas_joint
from pramana_core.errors import OptionError
from pramana_core.ties import exceeds, first_largest_of_rows

_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class CentredGroups:
    """k groups of points of d coordinates: a point belongs to the nearest centre, the first of two.

    `centres` are k rows of d numbers; `units` the d widths in which distances are measured;
    `counts` the k numbers of records found in the groups, which are for the owner's eyes.

    Raises:
        OptionError: units that are not positive, or centres of another length or named twice.
    """

    centres: tuple[tuple[float, ...], ...]
    units: tuple[float, ...]
    counts: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not all(math.isfinite(unit) and unit > 0 for unit in self.units):
            raise OptionError("Units must be positive numbers.", where="units")
        if any(len(centre) != len(self.units) for centre in self.centres):
            raise OptionError(
                f"Each centre needs {len(self.units)} numbers, one for each unit.", where="centres"
            )
        if len(set(self.centres)) < len(self.centres):
            raise OptionError("A centre is named twice.", where="centres")

    @property
    def size(self) -> int:
        """The number of groups, k."""
        return len(self.centres)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the groups: `(32, 41.5)`."""
        return tuple(f"({', '.join(map(number_label, centre))})" for centre in self.centres)

    def codes(self, points: Floats) -> npt.NDArray[np.int64]:
        """Return the group of each of n finite points, shape (n, d) to (n,).

        Of centres that are as near the first is taken.
        """
        scaled, centres = points / self.units, np.array(self.centres) / self.units
        found = np.empty(len(points), dtype=np.int64)
        rows = max(1, _AT_ONCE // centres.size)
        for start in range(0, len(points), rows):
            apart = scaled[start : start + rows, None] - centres
            squares = np.square(apart).sum(axis=2)
            found[start : start + rows] = first_largest_of_rows(-squares)
        return found


def mgas_centres(
    points: npt.ArrayLike,
    *,
    minimum_count: int,
    granularities: Sequence[float],
    grids: Sequence[float] | None = None,
) -> CentredGroups:
    """Group points of several columns by the modified agglomerative scheme (Ma 2.3).

    Distances are measured in granularities: of each column as many units as its differences hold
    its granularity. Every group holds `minimum_count` records or more (K), and the box around them
    has a diagonal of 1 or more, as Ma asks of a group. Clusters are made by `mgas_joint`, of at
    most `JOINT_LIMIT` records at even distances in the order of their values; their centres take
    all records that are nearest to them, and move once to the means of these. A centre that has too
    few, or too near to each other, is given up, the one with the fewest first.

    **What the result reveals.** Of each column what `mgas` says of one: values are first rounded to
    a public grid, by default granularity / 64, and a centre is the mean of K records or more,
    rounded to the grid too. Which records are nearest to which centre is decided by the values as
    they are, of which only the counts are told. It is not differentially private.

    Args:
        points: shape (n, d), finite.
        minimum_count: the fewest records in a group, K.
        granularities: of each column, in its own unit; positive.
        grids: the steps that the columns' values are rounded to.

    Raises:
        OptionError: points that are not finite numbers, too few, or within less than the
            granularities; a requirement outside its range.
    """
    given, units = np.asarray(points, dtype=np.float64), tuple(map(float, granularities))
    for unit in units:
        require_requirements(minimum_count, unit)
    if not all(units):
        raise OptionError(
            "Columns that are grouped together need granularities above 0: distances are measured"
            " in them.",
            where="granularity",
        )
    require_enough(len(given), minimum_count)
    steps = [NumberGrid(step) for step in grids or [unit / GRID_STEPS for unit in units]]
    rounded = _on_grid(given, steps)
    chosen = rounded[np.lexsort(rounded.T[::-1])]
    if len(chosen) > JOINT_LIMIT:
        chosen = chosen[(np.arange(JOINT_LIMIT) + 0.5).astype(int) * len(chosen) // JOINT_LIMIT]
    least = max(1, math.ceil(minimum_count * len(chosen) / len(rounded)))
    found = mgas_joint(chosen / units, minimum_count=least, granularity=1.0)
    return _settled(given, units, _on_grid(found.means * units, steps), steps, minimum_count)


def _settled(
    points: Floats,
    units: tuple[float, ...],
    centres: Floats,
    steps: Sequence[NumberGrid],
    least: int,
) -> CentredGroups:
    """Give centres up, and move them once, until each has records enough."""
    moved = False
    while True:
        groups = CentredGroups(tuple(dict.fromkeys(map(tuple, centres.tolist()))), units)
        centres = np.array(groups.centres)
        centres, codes = _kept(points, groups, groups.codes(points), least)
        if moved:
            break
        rounded = _on_grid(points, steps)
        sums = [np.bincount(codes, column, len(centres)) for column in rounded.T]
        centres = _on_grid(np.column_stack(sums) / np.bincount(codes)[:, None], steps)
        moved = True
    counts = np.bincount(codes, minlength=len(centres))
    return CentredGroups(tuple(map(tuple, centres.tolist())), units, tuple(counts.tolist()))


def _kept(
    points: Floats, groups: CentredGroups, codes: npt.NDArray[np.int64], least: int
) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return the centres that keep records enough, and the records' places among them."""
    centres, left = np.array(groups.centres), np.arange(groups.size)
    while len(left) > 1:
        counts = np.bincount(codes, minlength=groups.size)[left]
        narrow = np.array([exceeds(1.0, _diagonal(points[codes == g], groups.units)) for g in left])
        wanting = np.flatnonzero((counts < least) | narrow)
        if not len(wanting):
            break
        gone = left[wanting[counts[wanting].argmin()]]
        left = left[left != gone]
        lost = codes == gone
        nearest = CentredGroups(tuple(groups.centres[g] for g in left), groups.units)
        codes = codes.copy()
        codes[lost] = left[nearest.codes(points[lost])]
    return centres[left], np.searchsorted(left, codes)


def _diagonal(points: Floats, units: tuple[float, ...]) -> float:
    return float(np.linalg.norm(np.ptp(points, axis=0) / units)) if len(points) else 0.0


def _on_grid(points: Floats, steps: Sequence[NumberGrid]) -> Floats:
    """Return points rounded to the grids of their columns."""
    columns = [
        step.at(step.cells(column).astype(float))
        for step, column in zip(steps, points.T, strict=True)
    ]
    return np.column_stack(columns)
