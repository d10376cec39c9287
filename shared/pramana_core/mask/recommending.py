"""The simplest masking method that keeps what relationships a table has (AlAhmadi, appendix A).

The match is his: linear relationships are kept by EGADP, monotonic ones by the copula methods,
others by NMEGADP. Two things decide: how the confidential columns X depend on S, and how they
depend on each other given S. NMEGADP keeps any E(X|S), but of what S does not tell only the
covariance (or, in its copula form, rank dependence): a relationship among the confidential columns
that is neither, or that changes with S, is kept by no method here, and `lost` then says so. Nor is
a spread that depends on S: what lies beyond E(X|S) is drawn alike for all.

Also here:

* What kind of dependence there is between columns: none, linear, monotonic, or neither.
* Predictions of each record by a fit without it: by lines, by monotonic curves, by any curve.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import optimize

from pramana_core.kernel_regression.fitting import fit_kernel
from pramana_core.kernel_regression.options import KernelOptions
from pramana_core.mask.core.inputs import Inputs, inputs, normal_scores
from pramana_core.mask.core.noise import Randomness
from pramana_core.mixed import (
    CategoricalColumn,
    Floats,
    MixedTable,
    basis_of,
    leverages,
    residual,
    with_constant,
)
from pramana_core.progress import Progress, unwatched
from pramana_core.ties import FITTED_TIE, exceeds, first_largest, reaches

# What kind of dependence there is between columns: none, linear, monotonic, or neither.
#
# Each fit's R2 is out of sample. A more flexible fit counts only if it explains more by `SURE`
# standard errors of the difference and by a share of variance that matters; noise passes that
# rarely (the tests count it).

# Predictions of each record by a fit without it: by lines, by monotonic curves, by any curve.

FOLDS = 5
ROUNDS = 4
"""How often additive monotonic curves are fitted again, each given the others."""

CURVES = KernelOptions(landmarks=200)


@dataclass(frozen=True)
class ExplainedVariance:
    """A share of variance, out of sample, with its standard error over records."""

    share: float
    error: float


def explained(target: Floats, predicted: Floats) -> ExplainedVariance:
    """Return R2 = 1 - mean (y - f)^2 / mean (y - mean)^2 and its error by the delta method."""
    return _ratio(target, np.square(target - target.mean()) - np.square(target - predicted))


def gained(target: Floats, simple: Floats, flexible: Floats) -> ExplainedVariance:
    """Return by how much R2 of a flexible fit exceeds a simple one's, on the same records."""
    return _ratio(target, np.square(target - simple) - np.square(target - flexible))


def _ratio(target: Floats, better: Floats) -> ExplainedVariance:
    around = np.square(target - target.mean())
    mean = float(around.mean())
    if mean <= 0:
        return ExplainedVariance(0.0, 0.0)
    share = float(better.mean()) / mean
    influence = (better - share * around) / mean
    return ExplainedVariance(share, float(influence.std() / np.sqrt(len(target))))


def by_lines(features: Floats, target: Floats) -> Floats:
    """Return linear least-squares predictions, each record left out in turn: n."""
    basis = basis_of(with_constant(features))
    rest = residual(target[:, None], basis)[:, 0]
    found: Floats = target - rest / np.maximum(1 - leverages(basis), 1e-9)
    return found


def by_curves(features: Floats, target: Floats, rng: Randomness) -> Floats:
    """Return kernel predictions, each record left out in turn: n.

    Args:
        features: n x k, standardized here.
        target: n.
        rng: draws landmarks.
    """
    return fit_kernel(standardized(features), target, CURVES, rng).left_out[:, 0]


def by_monotonic_curves(
    ordered: Floats, others: Floats, target: Floats, rng: Randomness
) -> tuple[Floats, ...]:
    """Return predictions by three kinds of monotonic fit, out of fold: n each.

    The first is a sum of curves: each ordered feature has one of its own (isotonic least squares,
    rising or falling as the line of the feature does), fitted given the others' in turn; other
    features, indicators of categories, have lines. The second is a rising curve of that sum, the
    third a rising curve of a sum of lines, as a growth that saturates has.

    Args:
        ordered: n x k numbers.
        others: n x j indicators.
        target: n.
        rng: draws the folds.
    """
    n = len(target)
    fold = np.empty(n, dtype=np.intp)
    fold[rng.permutation(n)] = np.arange(n) % FOLDS
    found = np.empty((3, n))
    for number in range(FOLDS):
        asked = fold == number
        found[:, asked] = _additive(
            ordered[~asked], others[~asked], target[~asked], ordered[asked], others[asked]
        )
    return tuple(found)


def _additive(
    ordered: Floats, others: Floats, target: Floats, new_ordered: Floats, new_others: Floats
) -> Floats:
    """Fit a sum of monotonic curves and lines, and curves of sums; return them for new records."""
    design = with_constant(np.column_stack([ordered, others]))
    slopes = np.linalg.lstsq(design, target)[0]
    k = ordered.shape[1]
    inner = with_constant(others)
    new_inner = with_constant(new_others)
    curves, new_curves = ordered * slopes[1 : k + 1], new_ordered * slopes[1 : k + 1]
    weights = slopes[[0, *range(k + 1, design.shape[1])]]
    for _ in range(ROUNDS if k + others.shape[1] > 1 else 1):
        for place in range(k):
            rest = target - inner @ weights - curves.sum(axis=1) + curves[:, place]
            curves[:, place], new_curves[:, place] = _monotonic(
                ordered[:, place], rest, new_ordered[:, place], slopes[place + 1] >= 0
            )
        weights = np.linalg.lstsq(inner, target - curves.sum(axis=1))[0]
    new_sum = new_inner @ weights + new_curves.sum(axis=1)
    linked = _linked(inner @ weights + curves.sum(axis=1), target, new_sum)
    new_design = with_constant(np.column_stack([new_ordered, new_others]))
    return np.stack([new_sum, linked, _linked(design @ slopes, target, new_design @ slopes)])


def _linked(index: Floats, target: Floats, new: Floats) -> Floats:
    """Return a rising curve of an index, at new values of it."""
    found: Floats = _monotonic(index, target, new, True)[1] + target.mean()
    return found


def _monotonic(feature: Floats, target: Floats, new: Floats, rising: bool) -> tuple[Floats, Floats]:
    """Return an isotonic fit at the feature's values and, interpolated, at new ones; centred."""
    places, inverse = np.unique(feature, return_inverse=True)
    sizes = np.bincount(inverse)
    means = np.bincount(inverse, target) / sizes
    heights = optimize.isotonic_regression(means, weights=sizes, increasing=rising).x
    centre = float(np.average(heights, weights=sizes))
    return heights[inverse] - centre, np.interp(new, places, heights) - centre


def standardized(matrix: Floats) -> Floats:
    """Return columns with mean 0 and standard deviation 1; those without variation are 0."""
    scale = matrix.std(axis=0)
    found: npt.NDArray[np.float64] = (matrix - matrix.mean(axis=0)) / np.where(scale > 0, scale, 1)
    return found


Kind = Literal["none", "linear", "monotonic", "non-monotonic"]
KINDS: tuple[Kind, ...] = ("none", "linear", "monotonic", "non-monotonic")

SURE = 3.0
"""Standard errors by which a more flexible fit must be better."""

MATTERS = 0.02
"""The share of a column's variance that it must explain beyond the simpler fit."""

MATTERS_OF_REST = 0.05
"""The same for what S leaves of columns and monotonic fits: of S a trace remains in the rest."""


@dataclass(frozen=True)
class Evidence:
    """How well a column is explained out of sample by others, by three kinds of fit.

    Attributes:
        about: which columns, such as "age, gender -> debt" or "x1 -> x2 given S".
        kind: the simplest kind of relationship that explains as much as any.
        linear: R2 of linear least squares, in the columns' units.
        curved: R2 of a kernel fit, in the columns' units.
        monotonic: R2 of the best monotonic fit, of the column's normal scores: lines in normal
            scores as a normal copula has them, sums of monotonic curves, and curves of sums.
        any_shape: R2 of a kernel fit in normal scores.
        beyond_linear: curved - linear, on the same records.
        beyond_monotonic: any_shape - monotonic.
    """

    about: str
    kind: Kind
    linear: ExplainedVariance
    curved: ExplainedVariance
    monotonic: ExplainedVariance
    any_shape: ExplainedVariance
    beyond_linear: ExplainedVariance
    beyond_monotonic: ExplainedVariance


@dataclass(frozen=True)
class Features:
    """What a column is explained by.

    Attributes:
        ordered: the numbers, n x k.
        others: indicators of categories, n x j.
        beside: columns that only the flexible fit may use, n x i: whether a relationship changes
            with them is then part of the question.
    """

    ordered: Floats
    others: Floats
    beside: Floats | None = None

    @property
    def matrix(self) -> Floats:
        """Numbers and indicators, n x (k + j)."""
        return np.column_stack([self.ordered, self.others])

    @property
    def flexible(self) -> Floats:
        """All that the flexible fit uses, n x (k + j + i)."""
        return self.matrix if self.beside is None else np.column_stack([self.matrix, self.beside])

    @property
    def scored(self) -> Features:
        """The same with normal scores in the place of numbers."""
        return Features(scores_of(self.ordered), self.others, self.beside)


def dependence(
    about: str, features: Features, target: Floats, rng: Randomness, *, least: float = MATTERS
) -> Evidence:
    """Return how a column depends on others.

    Args:
        about: how the evidence is called.
        features: of n records.
        target: the column, n.
        rng: draws folds and landmarks.
        least: the share of variance that a kernel must explain beyond monotonic fits.
    """
    scores = scores_of(target[:, None])[:, 0]
    lines = by_lines(features.matrix, target)
    curves = by_curves(features.flexible, target, rng)
    scored = features.scored
    score_lines = by_lines(scored.matrix, scores)
    rising = by_monotonic_curves(scored.ordered, scored.others, scores, rng)
    fits = (score_lines, *rising)
    shares = [explained(scores, fit).share for fit in fits]
    best = fits[first_largest(shares, scale=1.0, tie=FITTED_TIE)]
    free = by_curves(scored.flexible, scores, rng)
    beyond_linear = gained(target, lines, curves)
    beyond_monotonic = gained(scores, best, free)
    linear, curved = explained(target, lines), explained(target, curves)
    monotonic, any_shape = explained(scores, best), explained(scores, free)
    found = any(map(matters, (linear, curved, monotonic, any_shape)))
    kind = _kind(found, matters(beyond_linear), matters(beyond_monotonic, least))
    return Evidence(
        about, kind, linear, curved, monotonic, any_shape, beyond_linear, beyond_monotonic
    )


def matters(gain: ExplainedVariance, least: float = MATTERS) -> bool:
    """Whether a gain is neither chance nor too small to matter."""
    return reaches(gain.share, least) and exceeds(gain.share, SURE * gain.error)


def _kind(found: bool, beyond_linear: bool, beyond_monotonic: bool) -> Kind:
    if not found:
        return "none"
    if beyond_linear:
        return "non-monotonic" if beyond_monotonic else "monotonic"
    return "linear"


def scores_of(values: Floats) -> Floats:
    """Return normal scores of columns; there may be none."""
    return normal_scores(values) if values.shape[1] else values


RECORDS = 2000
"""Of larger tables, so many records are looked at."""

SHUFFLED = {
    "cgadp": "shuffle",
    "nmegadp": "nmegadp-shuffle",
    "nmegadp-copula": "nmegadp-copula-shuffle",
}
"""The form of a method that releases the true values, reordered."""


_LOST = {
    "monotonic": "monotonic but not linear",
    "non-monotonic": "not monotonic, or changes with S",
}


@dataclass(frozen=True)
class Recommendation:
    """A method for a table, and why.

    Attributes:
        method: the simplest that keeps the relationships found, by its name in METHODS.
        kind: the hardest relationship found over S: "none", "linear", "monotonic" or
            "non-monotonic"; where those over S are linear, of those among X given S too.
        evidence: a row for all of S and each column of S, to each column of X; and for each two
            columns of X given S.
        sentence: the reason in words.
        alternatives: methods that keep the same and release true values, reordered.
        lost: sentences on what no method keeps.
    """

    method: str
    kind: Kind
    evidence: tuple[Evidence, ...]
    sentence: str
    alternatives: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the method, why, and what is lost; the evidence is left to who asks for it."""
        said = [f"Mask by {self.method}. {self.sentence}"]
        if self.alternatives:
            others = ", ".join(self.alternatives)
            said.append(f"The same is kept, by true values reordered, by {others}.")
        rows = len(self.evidence)
        looked = f"{rows} relationship{'' if rows == 1 else 's'} looked at: see `evidence`."
        return "\n".join([*said, *self.lost, looked])


def recommend(
    S: Any,  # noqa: N803 - the papers' names
    X: Any,  # noqa: N803
    rng: Randomness,
    *,
    on_step: Progress = unwatched,
) -> Recommendation:
    """Find out what relationships a table has and name the simplest method that keeps them.

    Relationships are told apart by what lines, monotonic curves and kernels explain out of sample
    (`pramana_core.mask.recommending`). A kernel must explain 2 % of a column's variance more
    than the simpler fit, by three standard errors of the difference.

    Args:
        S, X: as of `inputs`.
        rng: draws folds, landmarks and, of more than 2,000 records, those looked at.
        on_step: told of each row of evidence.

    Raises: as `inputs`.
    """
    given = inputs(S, X)
    if given.records > RECORDS:
        chosen = np.sort(rng.permutation(given.records)[:RECORDS])
        given = inputs(given.s.rows(chosen), given.x.rows(chosen))
    told = features_of(given.s)
    q = given.matrix.shape[1]
    counted = _RowProgress(on_step, q * (1 + len(given.s.columns)) + 2 * q * (q - 1))
    over_s = tuple(counted(_over_s(given, told, rng)))
    base = hardest(over_s)
    among, method, kind = _among(given, told, base, rng, counted)
    counted.end()
    evidence = (*over_s, *among)
    lost = tuple(
        f"The relationship {row.about} is {_LOST[row.kind]}; no method here keeps it exactly."
        for row in among
        if row.kind == "non-monotonic"
        or (row.kind == "monotonic" and method not in ("cgadp", "nmegadp-copula"))
    )
    shuffled = (SHUFFLED[method],) if method in SHUFFLED else ()
    sentence = _sentence(method, kind, evidence)
    return Recommendation(method, kind, evidence, sentence, shuffled, lost)


def hardest(rows: tuple[Evidence, ...]) -> Kind:
    """Return the kind of relationship among the rows that is hardest to keep."""
    return max((row.kind for row in rows), key=KINDS.index, default="none")


def features_of(table: MixedTable) -> Features:
    """Return columns as features: numbers, and indicators of all categories but the first."""
    ordered: list[Floats] = []
    others: list[Floats] = []
    for column in table.columns:
        if isinstance(column, CategoricalColumn):
            codes = range(1, len(column.categories))
            others += [(column.codes == code).astype(np.float64) for code in codes]
        else:
            ordered.append(column.values)
    kept = [[c for c in part if np.ptp(c) > 0] for part in (ordered, others)]
    empty = np.empty((table.records, 0))
    first, second = (np.column_stack(part) if part else empty for part in kept)
    return Features(first, second)


class _RowProgress:
    """Tells progress of rows as they come."""

    def __init__(self, on_step: Progress, total: int):
        self._on_step, self._total, self._done = on_step, total, 0

    def __call__(self, rows: Iterator[Evidence]) -> Iterator[Evidence]:
        for row in rows:
            self._done += 1
            self._on_step(self._done, self._total)
            yield row

    def end(self) -> None:
        self._on_step(self._total, self._total)


def _over_s(given: Inputs, told: Features, rng: Randomness) -> Iterator[Evidence]:
    """Yield how each column of X depends on all of S and on each of its columns."""
    if not given.s.columns:
        return
    for place, name in enumerate(given.x.names):
        target = given.matrix[:, place]
        yield dependence(f"{', '.join(given.s.names)} -> {name}", told, target, rng)
        if len(given.s.columns) > 1:
            for other in given.s.names:
                alone = features_of(given.s.project([other]))
                yield dependence(f"{other} -> {name}", alone, target, rng)


def _among(
    given: Inputs, told: Features, base: Kind, rng: Randomness, counted: _RowProgress
) -> tuple[tuple[Evidence, ...], str, Kind]:
    """Return how columns of X depend on each other given S, the method and the hardest kind."""
    rows: tuple[Evidence, ...] = ()
    kind: Kind = "none"
    if base in ("none", "linear"):
        rows = tuple(counted(_given_s(given, given.matrix, told, rng, straight=True)))
        kind = hardest(rows)
        if kind in ("none", "linear"):
            return rows, "egadp", base if base != "none" else kind
    if base != "non-monotonic":
        scores = tuple(
            counted(_given_s(given, scores_of(given.matrix), told.scored, rng, straight=True))
        )
        if hardest(scores) in ("none", "linear"):
            # Lines between normal scores are what a normal copula keeps.
            return rows or scores, "cgadp", "monotonic"
    if base in ("monotonic", "non-monotonic"):
        rows = tuple(counted(_given_s(given, given.matrix, told, rng, straight=False)))
        kind = hardest(rows)
    hard = max(base, kind, key=KINDS.index) if base in ("none", "linear") else base
    if kind == "monotonic":
        return rows, "nmegadp-copula", hard
    simple = {"none": "egadp", "linear": "egadp", "monotonic": "cgadp"}
    return rows, simple.get(base, "nmegadp"), hard


def _given_s(
    given: Inputs, values: Floats, told: Features, rng: Randomness, *, straight: bool
) -> Iterator[Evidence]:
    """Yield how each two columns depend on each other once S is taken out.

    `straight` takes S out by lines, as methods of lines do; otherwise by a kernel.
    """
    q = values.shape[1]
    if q == 1:
        return
    rest = np.empty_like(values)
    for place in range(q):
        target = values[:, place]
        fit = by_lines(told.matrix, target) if straight else by_curves(told.matrix, target, rng)
        rest[:, place] = target - fit
    beside = told.matrix if told.matrix.shape[1] else None
    suffix = " given S" if given.s.columns else ""
    none = np.empty((len(values), 0))
    for first, name in enumerate(given.x.names):
        for second, other in enumerate(given.x.names):
            if first != second:
                alone = Features(rest[:, [first]], none, beside)
                yield dependence(
                    f"{name} -> {other}{suffix}", alone, rest[:, second], rng, least=MATTERS_OF_REST
                )


def _sentence(method: str, kind: Kind, evidence: tuple[Evidence, ...]) -> str:
    if kind == "none":
        return (
            "No relationship was found that a method could lose; egadp keeps means and covariances"
            " exactly."
        )
    shown = [row for row in evidence if row.kind == kind] or list(evidence)
    row = shown[first_largest([one.beyond_linear.share for one in shown], scale=1.0)]
    if kind == "linear":
        row = shown[first_largest([one.linear.share for one in shown], scale=1.0)]
        return (
            f"All relationships found are linear, as {row.about}, where lines explain"
            f" {row.linear.share:.0%} of the variance and curves no more; {method} keeps them"
            " exactly."
        )
    shape = "monotonic but not linear" if kind == "monotonic" else "not monotonic"
    return (
        f"The relationship {row.about} is {shape}: lines explain {max(row.linear.share, 0):.0%} of"
        f" the variance and curves {row.curved.share:.0%}; {method} is the simplest method that"
        " keeps what can be kept."
    )
