"""The terms of a regression: columns, indicators of categories, and powers of columns.

Powers are computed from standardized columns, and coefficients are converted back exactly to the
columns' own units. If a power is left out, so are all higher powers of its column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from pramana_core.errors import LimitExceeded
from pramana_core.mixed import Floats, MixedTable, NumericColumn, design_of
from pramana_core.regression.records import Feature

MOST_TERMS = 500
"""The maximum number of terms in a fit."""

MOST_NUMBERS = 60_000_000
"""The maximum number of entries of a matrix of records by terms, half a gigabyte in total."""

TOLERANCE = 1e-5
"""A term is redundant if other terms explain all of its variance except this share."""

INTERCEPT = "(intercept)"


@dataclass(frozen=True)
class Term:
    """A power of a numeric column, or the indicator of a category."""

    column: str
    power: int = 1
    category: str | None = None

    @property
    def label(self) -> str:
        """The name of the term, such as `age`, `age^2` or `sex=male`."""
        if self.category is not None:
            return f"{self.column}={self.category}"
        return self.column if self.power == 1 else f"{self.column}^{self.power}"


@dataclass(frozen=True)
class Terms:
    """The terms after the constant, lower powers first; and the means and deviations of columns."""

    terms: tuple[Term, ...]
    centres: dict[str, float]
    scales: dict[str, float]

    def matrix(self, table: MixedTable) -> Floats:
        """Return the constant and the terms for the records of a table, n x (1 + k)."""
        matrix = np.ones((table.records, 1 + len(self.terms)), order="F")
        for place, term in enumerate(self.terms, 1):
            column = table[term.column]
            if isinstance(column, NumericColumn):
                standard = (column.values - self.centres[column.name]) / self.scales[column.name]
                matrix[:, place] = standard**term.power
            else:
                matrix[:, place] = column.codes == column.categories.index(str(term.category))
        return matrix

    def deviations(self, matrix: Floats) -> list[float]:
        """Return the standard deviation of each term of `matrix`, in the term's own unit."""
        units = [self.scales.get(term.column, 1.0) ** term.power for term in self.terms]
        return [unit * float(sd) for unit, sd in zip(units, matrix[:, 1:].std(axis=0), strict=True)]

    def to_own_units(self) -> Floats:
        """Return the matrix that converts standardized weights to coefficients, constant first."""
        places = {term: place for place, term in enumerate(self.terms, 1)}
        made = np.zeros((1 + len(places), 1 + len(places)))
        made[0, 0] = 1.0
        for term, place in places.items():
            if term.category is not None:
                made[place, place] = 1.0
                continue
            centre, scale = self.centres[term.column], self.scales[term.column]
            for power in range(term.power + 1):
                part = places[Term(term.column, power)] if power else 0
                share = comb(term.power, power) * (-centre) ** (term.power - power)
                made[part, place] += share / scale**term.power
        return made


@dataclass(frozen=True)
class SelectedTerms:
    """The terms to fit, and the terms left out because they are constant or redundant."""

    terms: Terms
    constant: tuple[str, ...]
    redundant: tuple[str, ...]


def choose_terms(table: MixedTable, features: Sequence[Feature], degree: int) -> SelectedTerms:
    """Return the terms up to a degree that are independent of each other. Raises LimitExceeded."""
    count, records = count_terms(features, degree), table.records
    if count > MOST_TERMS or count * records > MOST_NUMBERS:
        raise LimitExceeded(
            f"The regression would have {count:,} terms of {records:,} records; the limits are"
            f" {MOST_TERMS} terms and {MOST_NUMBERS:,} numbers.",
            where="degree" if degree > 1 else "features",
            remedy="Choose fewer features, features with fewer categories, or a lower degree.",
        )
    design = design_of(table)
    known = dict(zip(design.labels, zip(design.centres, design.scales, strict=True), strict=True))
    numeric = [f.name for f in features if f.categories is None and f.name in known]
    centres = {name: float(known[name][0]) for name in numeric}
    scales = {name: float(known[name][1]) for name in numeric}
    first: list[Term] = []
    for f in features:
        first += [Term(f.name)] if f.categories is None else []
        first += [Term(f.name, 1, label) for label in (f.categories or ())[1:]]
    powers = [Term(name, power) for power in range(2, degree + 1) for name in numeric]
    every = (*(term for term in first if term.label in known), *powers)
    kept, dropped = _independent(Terms(every, centres, scales).matrix(table), every)
    left_out = dict.fromkeys((*design.redundant, *(term.label for term in dropped)))
    return SelectedTerms(Terms(kept, centres, scales), design.constant, tuple(left_out))


def count_terms(features: Sequence[Feature], degree: int) -> int:
    """Return the number of terms that the features have up to a degree."""
    return sum(degree if f.categories is None else len(f.categories) - 1 for f in features)


def _independent(matrix: Floats, terms: tuple[Term, ...]) -> tuple[tuple[Term, ...], list[Term]]:
    kept: list[Term] = []
    redundant: list[Term] = []
    basis = np.empty((len(matrix), matrix.shape[1]), order="F")
    basis[:, 0] = 1 / np.sqrt(len(matrix))
    for place, term in enumerate(terms, 1):
        values, inside = matrix[:, place], basis[:, : 1 + len(kept)]
        rest = values - inside @ (inside.T @ values)
        rest -= inside @ (inside.T @ rest)
        length, before = np.linalg.norm(rest), np.linalg.norm(values - values.mean())
        # The square of a standardized column of two values is constant up to rounding.
        constant = before <= TOLERANCE**2 * np.linalg.norm(values)
        lower = term.category is None and any(gone.column == term.column for gone in redundant)
        if constant or lower or length <= TOLERANCE * before:
            redundant.append(term)
        else:
            basis[:, 1 + len(kept)] = rest / length
            kept.append(term)
    return tuple(kept), redundant
