"""Regression by kernels at points that are means of small groups of records.

There are at least `TOGETHER` records of each copy in a group, so that no record is in the model;
what the points span takes the place of landmarks among the records (a Nystrom approximation).
Copies share points, bandwidth and penalty, so that their weights can be combined.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pramana_core.errors import EstimationError, LimitExceeded
from pramana_core.kernel_regression.options import KernelOptions
from pramana_core.kernel_regression.tuning import (
    Spectrum,
    decomposed,
    spanned,
    tuned,
    tuned_penalty,
)
from pramana_core.learn.common.documents import stream
from pramana_core.mixed import CategoricalColumn, Floats, MixedTable, raw_columns
from pramana_core.regression.least_squares import Fit
from pramana_core.regression.model import KernelForm, Standardization
from pramana_core.regression.options import RegressionOptions
from pramana_core.regression.records import Copies
from pramana_core.regression.terms import MOST_NUMBERS
from pramana_core.ties import TIE, descending, first_largest

Places = npt.NDArray[np.signedinteger[Any]]

TOGETHER = 5
"""A kernel's point is the mean of at least so many records."""

MOST_POINTS = 300

FEWEST_RECORDS = 50

_HOW = KernelOptions(landmarks=MOST_POINTS)
"""What is tuned: bandwidth and penalty."""


@dataclass(frozen=True, eq=False)
class KernelBasis:
    """What the fits of all copies have in common.

    Attributes:
        columns: how records become numbers.
        spectrum: the kernels over each copy's records.
        matrices: the records of each copy, n x k.
        penalty: of the squared norm, as a share of the records.
    """

    columns: Standardization
    spectrum: tuple[Spectrum, ...]
    matrices: tuple[Floats, ...]
    penalty: float

    def matrix(self, table: MixedTable) -> Floats:
        """Return the constant and the kernels' combinations of a table's records."""
        features = self.spectrum[0].span.features(self.columns.matrix(table))
        return np.column_stack([np.ones(len(features)), features])

    def form(self, weights: Floats, freedom: float) -> KernelForm:
        """Return the model of some weights of `matrix`, of its plain numbers."""
        span = self.spectrum[0].span
        return KernelForm(
            self.columns,
            float(span.bandwidth),
            float(weights[0]),
            tuple(tuple(map(float, point)) for point in span.landmarks),
            tuple(map(float, span.root @ weights[1:])),
            float(self.penalty),
            freedom,
        )


def kernel_basis(copies: Copies, options: RegressionOptions) -> KernelBasis:
    """Return points, bandwidth and penalty for some copies, the latter by leave-one-out errors.

    Bandwidth and penalty are chosen on the first copy.

    Raises:
        EstimationError: there are fewer than `FEWEST_RECORDS` records.
        LimitExceeded: records, copies and points together are too many.
    """
    if copies.records < FEWEST_RECORDS:
        raise EstimationError(
            f"{copies.records} records are too few for a kernel regression; {FEWEST_RECORDS} are"
            " needed.",
            where="model",
            remedy="Choose a linear model.",
        )
    numbers = copies.records * len(copies.tables) * MOST_POINTS
    if numbers > MOST_NUMBERS:
        raise LimitExceeded(
            f"A kernel regression of {copies.records:,} records in {len(copies.tables)} copies"
            f" would hold {numbers:,} numbers; {MOST_NUMBERS:,} are allowed.",
            where="model",
            remedy="Pass fewer copies, or choose another model.",
        )
    columns = standard_of(copies.tables)
    matrices = tuple(columns.matrix(table) for table in copies.tables)
    targets = (copies.targets[0] - copies.targets[0].mean())[:, None]
    bandwidth = tuned(matrices[0], targets, _HOW, stream(options.seed, 1))[0]
    points = np.stack(list(means_of_groups(np.concatenate(matrices), len(matrices))))
    span = spanned(points, bandwidth)
    spectra = tuple(decomposed(matrix, span, linear=False) for matrix in matrices)
    penalty = tuned_penalty(spectra[0], matrices[0], targets, _HOW).penalty
    return KernelBasis(columns, spectra, matrices, penalty)


def kernel_fits(basis: KernelBasis, copies: Copies) -> list[Fit]:
    """Return each copy's fit; weights are those of the columns of `KernelBasis.matrix`."""
    return [
        _fit(spectrum, matrix, targets, basis.penalty)
        for spectrum, matrix, targets in zip(
            basis.spectrum, basis.matrices, copies.targets, strict=True
        )
    ]


def left_out_predictions(
    basis: KernelBasis, copy: int, targets: Floats, inside: Places, outside: Places
) -> Floats:
    """Return predictions of some records of a copy by a fit to others, its penalty chosen anew.

    Args:
        basis: whose points and bandwidth are taken.
        copy: which copy.
        targets: of all its records.
        inside: the places of the records that are fitted to.
        outside: those of the records that are predicted.
    """
    matrix, span = basis.matrices[copy], basis.spectrum[0].span
    spectrum = decomposed(matrix[inside], span, linear=False)
    values = targets[inside]
    centred = (values - values.mean())[:, None]
    penalty = tuned_penalty(spectrum, matrix[inside], centred, _HOW).penalty
    weights = _fit(spectrum, matrix[inside], values, penalty).weights
    found: Floats = weights[0] + span.features(matrix[outside]) @ weights[1:]
    return found


def standard_of(tables: tuple[MixedTable, ...]) -> Standardization:
    """Return how the columns of some copies are standardized; those without variation are left out.

    Indicators are divided by the root of the number of categories besides, so that a column of many
    categories counts no more than one of numbers.

    Raises:
        EstimationError: no column has any variation.
    """
    kept = []
    many = {
        f"{column.name}={label}": len(column.categories)
        for column in tables[0].columns
        if isinstance(column, CategoricalColumn)
        for label in column.categories
    }
    for label, values in raw_columns(tables[0]):
        centre, scale = float(values.mean()), float(values.std())
        if scale > 1e-15 * max(1.0, abs(centre)):
            kept.append((label, centre, scale * many.get(label, 1) ** 0.5))
    if not kept:
        raise EstimationError("Every feature has the same value in all records.", where="features")
    labels, centres, scales = zip(*kept, strict=True)
    return Standardization(labels, centres, scales)


def means_of_groups(matrix: Floats, copies: int) -> Iterator[Floats]:
    """Yield the means of groups of near records, each of at least `TOGETHER` of every copy.

    The widest group is parted at its mean along its widest direction, as long as both parts stay
    large enough, until there are `MOST_POINTS` or none can be parted.

    Args:
        matrix: (m n) x k, the records of all copies.
        copies: m.
    """
    least, groups = TOGETHER * copies, [matrix]
    whole: list[Floats] = []
    while groups and len(groups) + len(whole) < MOST_POINTS:
        widest = first_largest([float(group.var(axis=0).sum()) for group in groups])
        group = groups.pop(widest)
        parts = _parted(group, least)
        if parts is None:
            whole.append(group)
        else:
            groups += parts
    for group in (*whole, *groups):
        yield group.mean(axis=0)


def _parted(group: Floats, least: int) -> list[Floats] | None:
    if len(group) < 2 * least:
        return None
    for direction in descending(group.var(axis=0)):
        values = group[:, direction]
        for middle in (values.mean(), np.median(values)):
            low = values <= middle + TIE * np.abs(values).max()
            if least <= low.sum() <= len(group) - least:
                return [group[low], group[~low]]
    return None


def _fit(spectrum: Spectrum, matrix: Floats, targets: Floats, penalty: float) -> Fit:
    """Return ridge regression in the eigenvectors of the centred kernel, with a free constant."""
    n = len(matrix)
    shrinkage = spectrum.values / (spectrum.values + n * penalty)
    along = spectrum.vectors.T @ targets
    fitted = targets.mean() + spectrum.vectors @ (shrinkage * along)
    leverages = 1 / n + np.square(spectrum.vectors) @ shrinkage
    residuals, freedom = targets - fitted, float(leverages.sum())
    turned = spectrum.turn * (shrinkage / np.sqrt(spectrum.values))
    slopes = turned @ along
    centre = spectrum.span.features(matrix).mean(axis=0)
    weights = np.concatenate([[targets.mean() - centre @ slopes], slopes])
    variance = float(residuals @ residuals) / (n - freedom)
    carried = np.vstack([-centre @ turned, turned])
    covariance = variance * carried @ carried.T
    covariance[0, 0] += variance / n
    return Fit(weights, covariance, None, fitted, residuals, freedom)
