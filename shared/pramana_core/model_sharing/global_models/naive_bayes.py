"""Naive Bayes on numeric and categorical attributes.

As in CategoricalNB and GaussianNB of scikit-learn, categories have smoothed shares, and numbers
have normal densities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from pramana_core.errors import EmptyTable, ModelError
from pramana_core.mixed import LARGEST, CategoricalColumn, Column, Floats, MixedTable, NumericColumn
from pramana_core.model_sharing.attributes import Attribute, CategoricalAttribute, TreeSchema
from pramana_core.ties import first_largest_of_rows

Codes = npt.NDArray[np.intp]

_SMOOTHING = 1.0
"""The pseudo-count that is added to each category in each class."""

_OWN_WIDTH = 1e-9
"""The share of the largest variance added to each, because a class may have one value."""

LEAST_VARIANCE = 1e-100
"""The minimum variance; the densities of smaller variances would overflow."""


@dataclass(frozen=True)
class CategoryShares:
    """The probability of each category in each class, as `probabilities[class][category]`."""

    probabilities: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Normal:
    """The mean and the variance of a numeric attribute in each class."""

    means: tuple[float, ...]
    variances: tuple[float, ...]


Density = CategoryShares | Normal


@dataclass(frozen=True)
class NaiveBayesModel:
    """A classifier that treats attributes as independent within each class.

    `densities` are in the order of the schema's attributes. Raises ModelError: a number is out of
    its range, or the densities do not fit the schema.
    """

    schema: TreeSchema
    prior: tuple[float, ...]
    densities: tuple[Density, ...]
    kind: Literal["naive-bayes"] = "naive-bayes"

    def __post_init__(self) -> None:
        if len(self.prior) != self.schema.classes or not _is_distribution(self.prior):
            raise ModelError("`prior` must have a share for each class, with sum 1.", where="prior")
        if len(self.densities) != len(self.schema.attributes):
            raise ModelError("`densities` needs one density per attribute.", where="densities")
        for attribute, density in zip(self.schema.attributes, self.densities, strict=True):
            if not _fits(attribute, density, self.schema.classes):
                raise ModelError(
                    f"{attribute.name!r} needs a density for each class: shares above 0 that add up"
                    f" to 1, or a mean with a variance of {LEAST_VARIANCE:g} or more.",
                    where=attribute.name,
                )

    def predict(self, table: MixedTable) -> Codes:
        """Return the code of the most probable class (the first, if equal) of each of n records.

        Raises the errors of `GlobalModel.predict`.
        """
        return first_largest_of_rows(self.probabilities(table))

    def probabilities(self, table: MixedTable) -> Floats:
        """Return class probabilities, n x classes. Raises the errors of `GlobalModel.predict`."""
        records = self.schema.read(table)
        with np.errstate(divide="ignore", over="ignore"):
            prior = np.log(np.array(self.prior))
            scores = np.tile(prior, (records.records, 1))
            for column, density in zip(records.columns, self.densities, strict=True):
                scores += _log_density(column, density)
        # Numbers so far out that every density is 0 are uninformative: only the prior remains.
        lost = np.isneginf(scores.max(axis=1, initial=-np.inf))
        scores[lost] = prior
        shares = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-np.inf))
        found: Floats = shares / shares.sum(axis=1, keepdims=True)
        return found


def learn_naive_bayes(schema: TreeSchema, table: MixedTable, classes: Codes) -> NaiveBayesModel:
    """Learn naive Bayes from n records, with arguments and errors as for `learn_global`."""
    records = schema.read(table)
    if not records.records:
        raise EmptyTable("There are no records to learn naive Bayes from.")
    counts = np.bincount(classes, minlength=schema.classes)
    numbers = [column.values for column in records.columns if isinstance(column, NumericColumn)]
    width = _OWN_WIDTH * max((float(np.var(values)) for values in numbers), default=0.0)
    densities = tuple(
        _shares(column.codes, len(column.categories), classes, counts)
        if isinstance(column, CategoricalColumn)
        else _normal(column.values, classes, counts, width)
        for column in records.columns
    )
    prior = tuple(float(share) for share in counts / counts.sum())
    return NaiveBayesModel(schema, prior, densities)


def _shares(codes: Codes, size: int, classes: Codes, counts: Codes) -> CategoryShares:
    cells = np.bincount(classes * size + codes, minlength=len(counts) * size)
    raised = cells.reshape(len(counts), size) + _SMOOTHING
    shares = raised / raised.sum(axis=1, keepdims=True)
    return CategoryShares(tuple(tuple(float(share) for share in row) for row in shares))


def _normal(values: Floats, classes: Codes, counts: Codes, width: float) -> Normal:
    means, variances = [], []
    for code, count in enumerate(counts):
        own = values[classes == code] if count else values
        means.append(float(own.mean()))
        # Without any variation, any width is equally good.
        variances.append(max(float(own.var()) + width, LEAST_VARIANCE) if width else 1.0)
    return Normal(tuple(means), tuple(variances))


def _log_density(column: Column, density: Density) -> Floats:
    if isinstance(density, CategoryShares) and isinstance(column, CategoricalColumn):
        found: Floats = np.log(np.array(density.probabilities)).T[column.codes]
        return found
    if isinstance(density, CategoryShares) or isinstance(column, CategoricalColumn):
        raise ModelError(f"{column.name!r} has a density of the wrong kind.", where=column.name)
    means, variances = np.array(density.means), np.array(density.variances)
    apart = (column.values[:, None] - means) ** 2 / variances
    densities: Floats = -0.5 * (np.log(2 * np.pi * variances) + apart)
    return densities


def _fits(attribute: Attribute, density: Density, classes: int) -> bool:
    if isinstance(attribute, CategoricalAttribute):
        return (
            isinstance(density, CategoryShares)
            and len(density.probabilities) == classes
            and all(
                len(row) == len(attribute.categories) and min(row) > 0 and _is_distribution(row)
                for row in density.probabilities
            )
        )
    return (
        isinstance(density, Normal)
        and len(density.means) == len(density.variances) == classes
        and all(abs(mean) <= LARGEST for mean in density.means)
        and all(LEAST_VARIANCE <= variance < np.inf for variance in density.variances)
    )


def _is_distribution(shares: tuple[float, ...]) -> bool:
    return all(0 <= share <= 1 for share in shares) and abs(sum(shares) - 1) < 1e-6
