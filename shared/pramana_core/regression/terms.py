"""What is regressed on what: the masked copies, checked, and records to predict of.

Also here:

* The terms of least squares: columns, their powers and products, and coefficients in their units.
  Numeric columns are standardized before they are multiplied, and the coefficients of the products
  carried back, which is exact: each product of standardized columns is a sum of such products of
  the columns themselves. For that a term stays only if all terms that divide it stay.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from math import comb

import numpy as np

from pramana_core.errors import EstimationError, LimitExceeded, OptionError, TableError
from pramana_core.mixed import (
    CategoricalColumn,
    Column,
    Floats,
    MixedTable,
    NumericColumn,
    coded_as,
    design_of,
)
from pramana_core.regression.options import RegressionOptions

LARGEST = 1e40
"""Fits and diagnostics take up to sixth powers, which must stay within floating-point numbers."""


@dataclass(frozen=True)
class Feature:
    """A column that explains the target: its name, and its categories unless it is numeric."""

    name: str
    categories: tuple[str, ...] | None = None


@dataclass(frozen=True, eq=False)
class Copies:
    """The features and the target of each masked copy, record by record the same.

    Attributes:
        target: the name of what is explained.
        features: what explains it.
        tables: the features of each copy.
        targets: the target of each copy: m x n.
    """

    target: str
    features: tuple[Feature, ...]
    tables: tuple[MixedTable, ...]
    targets: Floats

    @property
    def records(self) -> int:
        """n, the records of each copy."""
        return self.tables[0].records


def read_copies(
    tables: Sequence[MixedTable], target: str, features: Sequence[str] | None
) -> Copies:
    """Return the copies of a regression, checked.

    Args:
        tables: one for each masked copy, of the same records and columns.
        target: the name of a numeric column.
        features: the names of other columns; None for all others.

    Raises:
        MissingColumn: there is no column of a name.
        OptionError: the target is among the features, or one is named twice, or there is none.
        TableError: the target has categories, or the copies differ in columns or records.
        EstimationError: the target has the same value in every record, or a column's numbers are
            too large or too close together for their powers.
    """
    if not tables:
        raise TableError("There are no tables to learn from; one for each masked copy is needed.")
    first = tables[0]
    _require_alike(tables)
    if not isinstance(first[target], NumericColumn):
        raise TableError(
            f"The target {target!r} has categories; a regression explains a number.",
            where=target,
            remedy="Name a numeric column, or learn a classifier of it from a randomized release.",
        )
    names = [n for n in first.names if n != target] if features is None else list(features)
    require_features(names, target)
    values = np.stack([table.project([target]).matrix()[:, 0] for table in tables])
    if (np.ptp(values, axis=1) == 0).any():
        raise EstimationError(
            f"The target {target!r} has the same value in every record.", where=target
        )
    chosen = tuple(table.project(names) for table in tables)
    for table in tables:
        _require_moderate(table.project([*names, target]))
    return Copies(target, tuple(map(_feature, chosen[0].columns)), chosen, values)


def as_learned(table: MixedTable, features: Sequence[Feature]) -> MixedTable:
    """Return the features of records to predict of, their categories coded as they were learned.

    Raises:
        MissingColumn: a feature is not there.
        TableError: it has categories in place of numbers, or numbers in place of categories.
        UnknownCategory: it has a category that was not there when the model was learned.
    """
    return MixedTable(
        tuple(coded_as(table[f.name], f.categories, "model") for f in features), table.records
    )


def _feature(column: Column) -> Feature:
    known = column.categories if isinstance(column, CategoricalColumn) else None
    return Feature(column.name, known)


def require_features(names: Sequence[str], target: str) -> None:
    """Check that a target is explained by other columns, each named once.

    Raises:
        OptionError: it is not.
    """
    if target in names:
        raise OptionError(
            f"The target {target!r} is among the features.",
            where="features",
            remedy="A column cannot explain itself; name others.",
        )
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise OptionError(f"Features are named twice: {twice}.", where="features")
    if not names:
        raise OptionError(
            f"There is no column but the target {target!r} to explain it by.", where="features"
        )


def _require_moderate(table: MixedTable) -> None:
    """Check that no power of a number that a fit or its diagnostics take over- or underflows.

    Raises:
        EstimationError: one would.
    """
    for column in table.columns:
        if not isinstance(column, NumericColumn) or not table.records:
            continue
        spread = float(np.ptp(column.values))
        if np.abs(column.values).max() > LARGEST or 0 < spread < 1 / LARGEST:
            raise EstimationError(
                f"The numbers of column {column.name!r} go beyond {LARGEST:g}, or differ by less"
                f" than {1 / LARGEST:g} in all: powers of them cannot be reckoned with.",
                where=column.name,
                remedy="Measure the column in another unit.",
            )


def _require_alike(tables: Sequence[MixedTable]) -> None:
    first = tables[0]
    kinds = list(map(_feature, first.columns))
    for place, table in enumerate(tables[1:], 2):
        if list(map(_feature, table.columns)) != kinds or table.records != first.records:
            raise TableError(
                f"Copy {place} differs from the first in its columns or its number of records.",
                remedy="Pass the masked copies of one table, with the same columns in one order.",
            )


MOST_TERMS = 500
"""More are not fitted: the covariances of all pairs are needed, and nobody reads them."""

MOST_NUMBERS = 60_000_000
"""The most numbers of a matrix of records by terms, half a gigabyte."""

TOLERANCE = 1e-5
"""A term whose part that others do not tell is smaller than this share is told by them."""


@dataclass(frozen=True)
class Factor:
    """A column in a term: a numeric one to a power, or the indicator of a category."""

    column: str
    power: int = 1
    category: str | None = None

    @property
    def label(self) -> str:
        """How it is told: `age`, `age^2`, `sex=male`."""
        if self.category is not None:
            return f"{self.column}={self.category}"
        return self.column if self.power == 1 else f"{self.column}^{self.power}"


Term = tuple[Factor, ...]
"""A product of factors, each column once, in the order of the features."""


def label_of(term: Term) -> str:
    """Return how a term is told; the constant is `(intercept)`."""
    return " * ".join(factor.label for factor in term) or "(intercept)"


@dataclass(frozen=True)
class Terms:
    """The terms of a model besides the constant, and how columns are standardized in them.

    Attributes:
        terms: those that are fitted, a term after all that divide it.
        centres: of each numeric column.
        scales: of each numeric column, above 0.
    """

    terms: tuple[Term, ...]
    centres: dict[str, float]
    scales: dict[str, float]

    def matrix(self, table: MixedTable) -> Floats:
        """Return the constant and the terms of a table's records: n x (1 + k)."""
        made = np.empty((table.records, 1 + len(self.terms)), order="F")
        made[:, 0] = 1.0
        factors: dict[Factor, Floats] = {}
        for place, term in enumerate(self.terms, 1):
            made[:, place] = 1.0
            for factor in term:
                if factor not in factors:
                    factors[factor] = self._values(table, factor)
                made[:, place] *= factors[factor]
        return made

    def _values(self, table: MixedTable, factor: Factor) -> Floats:
        column = table[factor.column]
        if isinstance(column, NumericColumn):
            standard = (column.values - self.centres[column.name]) / self.scales[column.name]
            return np.asarray(standard**factor.power, dtype=np.float64)
        code = column.categories.index(str(factor.category))
        return np.asarray(column.codes == code, dtype=np.float64)

    def deviations(self, matrix: Floats) -> list[float]:
        """Return the standard deviation of each centred term in its own unit.

        Args:
            matrix: what `matrix` returned.
        """
        units = [
            float(np.prod([self.scales.get(f.column, 1.0) ** f.power for f in term]))
            for term in self.terms
        ]
        return [unit * float(sd) for unit, sd in zip(units, matrix[:, 1:].std(axis=0), strict=True)]

    def to_own_units(self) -> Floats:
        """Return what takes weights of standardized terms to those of the columns' own units.

        A (1 + k) x (1 + k) matrix; row and column 0 are the constant's.
        """
        places: dict[Term, int] = {(): 0} | {term: k for k, term in enumerate(self.terms, 1)}
        made = np.zeros((len(places), len(places)))
        for term, place in places.items():
            for part, share in self._expanded(term):
                made[places[part], place] += share
        return made

    def _expanded(self, term: Term) -> Iterator[tuple[Term, float]]:
        """Yield the terms of the columns themselves that a standardized one is a sum of."""
        choices = []
        for factor in term:
            if factor.category is not None:
                choices.append([(factor, 1.0)])
                continue
            centre, scale = self.centres[factor.column], self.scales[factor.column]
            choices.append(
                [
                    (
                        Factor(factor.column, power),
                        comb(factor.power, power)
                        * (-centre) ** (factor.power - power)
                        / scale**factor.power,
                    )
                    for power in range(factor.power + 1)
                ]
            )
        for chosen in product(*choices):
            kept = tuple(f for f, _ in chosen if f.power)
            yield kept, float(np.prod([share for _, share in chosen]))


@dataclass(frozen=True)
class SelectedTerms:
    """The terms that can be fitted, and what was left out.

    Attributes:
        terms: those that are fitted.
        constant: columns, or categories of them, without variation.
        redundant: terms that others tell exactly.
    """

    terms: Terms
    constant: tuple[str, ...]
    redundant: tuple[str, ...]


def choose_terms(
    tables: Sequence[MixedTable], features: Sequence[Feature], options: RegressionOptions
) -> SelectedTerms:
    """Return the terms of least squares that all copies support.

    Raises:
        LimitExceeded: there would be more than `MOST_TERMS`, or a matrix beyond `MOST_NUMBERS`.
    """
    degree = options.degree if options.model == "polynomial" else 1
    count = count_terms(features, degree, interactions=options.interactions)
    records = tables[0].records
    if count > MOST_TERMS or count * records > MOST_NUMBERS:
        raise LimitExceeded(
            f"The regression would have {count:,} terms of {records:,} records; {MOST_TERMS} terms"
            f" and {MOST_NUMBERS:,} numbers are allowed.",
            where="degree" if degree > 1 else "features",
            remedy="Name fewer features, those of fewer categories, or a lower degree.",
        )
    design = design_of(tables[0])
    known = dict(zip(design.labels, zip(design.centres, design.scales, strict=True), strict=True))
    numeric = [f.name for f in features if f.categories is None and f.name in known]
    centres = {name: float(known[name][0]) for name in numeric}
    scales = {name: float(known[name][1]) for name in numeric}
    every = Terms(
        tuple(t for t in _terms(features, degree, options) if _known(t, known)), centres, scales
    )
    kept, dropped = every.terms, []
    for table in tables:
        kept, independent = _independent(Terms(kept, centres, scales).matrix(table), kept)
        dropped += [label_of(term) for term in independent]
    return SelectedTerms(
        Terms(kept, centres, scales),
        design.constant,
        tuple(dict.fromkeys((*design.redundant, *dropped))),
    )


def count_terms(features: Sequence[Feature], degree: int, *, interactions: bool) -> int:
    """Return how many terms there are, without making them."""
    sizes = [None if f.categories is None else len(f.categories) - 1 for f in features]
    if degree == 1 or not interactions:
        return sum(degree if size is None else size for size in sizes)
    # The number of terms by their degree, one feature after another.
    counts = [1] + [0] * degree
    for size in sizes:
        own = [1] * (degree + 1) if size is None else [1, size] + [0] * (degree - 1)
        counts = [sum(counts[k] * own[d - k] for k in range(d + 1)) for d in range(degree + 1)]
    return sum(counts) - 1


def _terms(features: Sequence[Feature], degree: int, options: RegressionOptions) -> list[Term]:
    """Return all terms, by their degree and then in the order of the features."""
    singles = [
        factor
        for f in features
        for factor in (
            [Factor(f.name)]
            if f.categories is None
            else [Factor(f.name, 1, label) for label in f.categories[1:]]
        )
    ]
    if degree == 1 or not options.interactions:
        powers = [
            (Factor(f.name, power),)
            for power in range(2, degree + 1)
            for f in features
            if f.categories is None
        ]
        return [*((factor,) for factor in singles), *powers]
    found = []
    for size in range(1, degree + 1):
        for chosen in combinations_with_replacement(singles, size):
            term = _product(chosen)
            if term is not None:
                found.append(term)
    return found


def _product(factors: Sequence[Factor]) -> Term | None:
    """Return a product of factors; None if it has two indicators of one column."""
    powers: dict[str, Factor] = {}
    for factor in factors:
        before = powers.get(factor.column)
        if before is not None and factor.category is not None:
            return None
        power = 1 + (before.power if before else 0)
        powers[factor.column] = Factor(factor.column, power, factor.category)
    return tuple(powers.values())


def _known(term: Term, labels: Collection[str]) -> bool:
    """Whether no factor of a term was left out for itself."""
    return all(Factor(f.column, 1, f.category).label in labels for f in term)


def _independent(matrix: Floats, terms: tuple[Term, ...]) -> tuple[tuple[Term, ...], list[Term]]:
    """Return the terms that those before them do not tell, and those that they do or constants.

    Left out with a term are all that it divides.
    """
    kept: list[Term] = []
    independent: list[Term] = []
    basis = np.empty((len(matrix), matrix.shape[1]), order="F")
    basis[:, 0] = 1 / np.sqrt(len(matrix))
    size = 1
    for place, term in enumerate(terms, 1):
        values = matrix[:, place]
        inside = basis[:, :size]
        rest = values - inside @ (inside.T @ values)
        rest -= inside @ (inside.T @ rest)
        length, before = np.linalg.norm(rest), np.linalg.norm(values - values.mean())
        # The square of a standardized column of two values is constant but for rounding.
        constant = before <= TOLERANCE**2 * np.linalg.norm(values)
        if (
            constant
            or any(_divides(gone, term) for gone in independent)
            or length <= TOLERANCE * before
        ):
            independent.append(term)
        else:
            basis[:, size] = rest / length
            size += 1
            kept.append(term)
    return tuple(kept), independent


def _divides(small: Term, large: Term) -> bool:
    return all(
        any(f.column == g.column and f.category == g.category and f.power <= g.power for g in large)
        for f in small
    )
