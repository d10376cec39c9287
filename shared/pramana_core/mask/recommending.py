"""The simplest masking method that keeps what relationships a table has (AlAhmadi, appendix A).

The match is his: linear relationships are kept by EGADP, monotonic ones by the copula methods,
others by NMEGADP. Two things decide: how the confidential columns X depend on S, and how they
depend on each other given S. NMEGADP keeps any E(X|S), but of what S does not tell only the
covariance (or, in its copula form, rank dependence): a relationship among the confidential columns
that is neither, or that changes with S, is kept by no method here, and `lost` then says so. Nor is
a spread that depends on S: what lies beyond E(X|S) is drawn alike for all.

A relationship is linear if a kernel explains no more of the column than lines do, and monotonic if
a kernel explains no more of its normal scores than lines between normal scores do, which are what a
normal copula keeps. All shares are of records left out. A kernel must explain more by `SURE`
standard errors and by a share of variance that matters; noise passes that rarely.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pramana_core.kernel_regression.fitting import fit_kernel
from pramana_core.kernel_regression.options import KernelOptions
from pramana_core.mask.core.copula import normal_scores
from pramana_core.mask.core.inputs import Inputs, inputs
from pramana_core.mask.core.noise import Randomness
from pramana_core.mixed import (
    Floats,
    MixedTable,
    basis_of,
    leverages,
    raw_columns,
    residual,
    standardized,
    with_constant,
)
from pramana_core.progress import Progress, unwatched
from pramana_core.ties import exceeds, first_largest, reaches

Kind = Literal["none", "linear", "monotonic", "non-monotonic"]
KINDS: tuple[Kind, ...] = ("none", "linear", "monotonic", "non-monotonic")

SURE = 3.0
"""Standard errors by which a more flexible fit must be better."""

MATTERS = 0.02
"""The share of a column's variance that it must explain beyond the simpler fit."""

MATTERS_OF_REST = 0.05
"""The same for what S leaves of columns: of S a trace remains in the rest."""

RECORDS = 2000
"""Of larger tables, so many records are looked at."""

CURVES = KernelOptions(landmarks=200)

SHUFFLED = {
    "cgadp": "shuffle",
    "nmegadp": "nmegadp-shuffle",
    "nmegadp-copula": "nmegadp-copula-shuffle",
}
"""The form of a method that releases the true values, reordered."""


@dataclass(frozen=True)
class ExplainedVariance:
    """A share of variance, out of sample, with its standard error over records."""

    share: float
    error: float

    def matters(self, least: float = MATTERS) -> bool:
        """Return whether it is neither chance nor too small to matter."""
        return reaches(self.share, least) and exceeds(self.share, SURE * self.error)


def gained(target: Floats, simple: Floats | float, flexible: Floats) -> ExplainedVariance:
    """Return by how much R2 of a fit exceeds a simpler one's; its error is by the delta method.

    Args:
        target: n numbers.
        simple: n predictions, or one number for all.
        flexible: n predictions.
    """
    around = np.square(target - target.mean())
    mean = float(around.mean())
    if mean <= 0:
        return ExplainedVariance(0.0, 0.0)
    better = np.square(target - simple) - np.square(target - flexible)
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
    """Return kernel predictions of features n x k, each record left out in turn: n."""
    return fit_kernel(standardized(features)[0], target, CURVES, rng).left_out[:, 0]


@dataclass(frozen=True)
class Evidence:
    """How well a column is explained out of sample by others.

    Attributes:
        about: which columns, such as "age, gender -> debt" or "x1 -> x2 given S".
        kind: the simplest kind of relationship that explains as much as any.
        linear: R2 of linear least squares, in the columns' units.
        curved: R2 of a kernel fit, in the columns' units.
        beyond_linear: curved - linear, on the same records.
        beyond_monotonic: by how much a kernel explains more of the column's normal scores than
            lines between normal scores.
    """

    about: str
    kind: Kind
    linear: ExplainedVariance
    curved: ExplainedVariance
    beyond_linear: ExplainedVariance
    beyond_monotonic: ExplainedVariance


@dataclass(frozen=True)
class Features:
    """What a column is explained by.

    Attributes:
        matrix: the numbers, and the indicators of categories, n x k.
        scored: the same with normal scores in the place of numbers.
        beside: columns that only the kernel may use, n x i: whether a relationship changes with
            them is then part of the question.
    """

    matrix: Floats
    scored: Floats
    beside: Floats

    @classmethod
    def of(cls, table: MixedTable) -> Features:
        """Return the columns of a table as features; those without variation are left out."""
        columns = [(name, values) for name, values in raw_columns(table) if np.ptp(values)]
        empty = np.empty((table.records, 0))
        matrix = np.column_stack([empty, *(values for _, values in columns)])
        scored = [scores_of(v) if name in table.numeric else v for name, v in columns]
        return cls(matrix, np.column_stack([empty, *scored]), empty)


def scores_of(values: Floats) -> Floats:
    """Return the normal scores of n numbers."""
    found: Floats = normal_scores(values[:, None])[:, 0]
    return found


def dependence(
    about: str, features: Features, target: Floats, rng: Randomness, *, least: float = MATTERS
) -> Evidence:
    """Return how a column of n numbers depends on others.

    `least` is the share of variance that a kernel must explain beyond a monotonic fit.
    """
    scores = scores_of(target)
    lines = by_lines(features.matrix, target)
    curves = by_curves(np.column_stack([features.matrix, features.beside]), target, rng)
    rising = by_lines(features.scored, scores)
    free = by_curves(np.column_stack([features.scored, features.beside]), scores, rng)
    linear, curved = (gained(target, target.mean(), fit) for fit in (lines, curves))
    ranks = [gained(scores, scores.mean(), fit) for fit in (rising, free)]
    beyond_linear, beyond_monotonic = gained(target, lines, curves), gained(scores, rising, free)
    kind: Kind = "none"
    if any(one.matters() for one in (linear, curved, *ranks)):
        kind = "linear"
        if beyond_linear.matters():
            kind = "non-monotonic" if beyond_monotonic.matters(least) else "monotonic"
    return Evidence(about, kind, linear, curved, beyond_linear, beyond_monotonic)


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
        return "\n".join([*said, *self.lost])


def recommend(
    S: Any,  # noqa: N803 - the papers' names
    X: Any,  # noqa: N803
    rng: Randomness,
    *,
    on_step: Progress = unwatched,
) -> Recommendation:
    """Find out what relationships a table has and name the simplest method that keeps them.

    Args:
        S, X: as of `inputs`.
        rng: draws landmarks and, of more than 2,000 records, those looked at.
        on_step: told of each row of evidence.

    Raises: as `inputs`.
    """
    given = inputs(S, X)
    if given.records > RECORDS:
        chosen = np.sort(rng.permutation(given.records)[:RECORDS])
        given = inputs(given.s.rows(chosen), given.x.rows(chosen))
    told, q = Features.of(given.s), given.columns
    total = q * (1 + len(given.s.columns)) + 2 * q * (q - 1)
    over_s: list[Evidence] = []
    for row in _over_s(given, told, rng):
        over_s.append(row)
        on_step(len(over_s), total)
    base = hardest(over_s)
    among, method, kind = _among(given, told, base, rng)
    on_step(total, total)
    evidence = (*over_s, *among)
    lost = tuple(
        f"The relationship {row.about} is {_LOST[row.kind]}; no method here keeps it exactly."
        for row in among
        if row.kind == "non-monotonic"
        or (row.kind == "monotonic" and method not in ("cgadp", "nmegadp-copula"))
    )
    shuffled = (SHUFFLED[method],) if method in SHUFFLED else ()
    return Recommendation(method, kind, evidence, _sentence(method, kind, evidence), shuffled, lost)


_LOST = {
    "monotonic": "monotonic but not linear",
    "non-monotonic": "not monotonic, or changes with S",
}


def hardest(rows: list[Evidence]) -> Kind:
    """Return the kind of relationship among the rows that is hardest to keep."""
    return max((row.kind for row in rows), key=KINDS.index, default="none")


def _over_s(given: Inputs, told: Features, rng: Randomness) -> Iterator[Evidence]:
    """Yield how each column of X depends on all of S and on each of its columns."""
    names = given.s.names
    for target, name in zip(given.matrix.T, given.x.names, strict=True):
        if names:
            yield dependence(f"{', '.join(names)} -> {name}", told, target, rng)
        for other in names if len(names) > 1 else ():
            alone = Features.of(given.s.project([other]))
            yield dependence(f"{other} -> {name}", alone, target, rng)


def _among(
    given: Inputs, told: Features, base: Kind, rng: Randomness
) -> tuple[list[Evidence], str, Kind]:
    """Return how columns of X depend on each other given S, the method and the hardest kind."""
    rows: list[Evidence] = []
    straight, simple = base in ("none", "linear"), ("none", "linear")
    if straight:
        by_line = [by_lines(told.matrix, target) for target in given.matrix.T]
        rows = list(_given_s(given, given.matrix, by_line, told, rng))
        if (kind := hardest(rows)) in simple:
            return rows, "egadp", base if base != "none" else kind
    if base != "non-monotonic":
        scores = normal_scores(given.matrix)
        by_score = [by_lines(told.scored, target) for target in scores.T]
        scored = list(_given_s(given, scores, by_score, told, rng))
        if hardest(scored) in simple:
            return rows or scored, "cgadp", "monotonic"
    if not straight:
        by_curve = [by_curves(told.matrix, target, rng) for target in given.matrix.T]
        rows = list(_given_s(given, given.matrix, by_curve, told, rng))
    kind = hardest(rows)
    hard = max(base, kind, key=KINDS.index) if straight else base
    if kind == "monotonic":
        return rows, "nmegadp-copula", hard
    return rows, {"monotonic": "cgadp", "non-monotonic": "nmegadp"}.get(base, "egadp"), hard


def _given_s(
    given: Inputs, values: Floats, fits: list[Floats], told: Features, rng: Randomness
) -> Iterator[Evidence]:
    """Yield how each two columns depend on each other once the fits by S are taken out."""
    rest = values - np.column_stack(fits)
    suffix = " given S" if given.s.columns else ""
    for first, name in enumerate(given.x.names):
        alone = rest[:, first]
        features = Features(alone[:, None], scores_of(alone)[:, None], told.matrix)
        for second, other in enumerate(given.x.names):
            if first != second:
                about = f"{name} -> {other}{suffix}"
                yield dependence(about, features, rest[:, second], rng, least=MATTERS_OF_REST)


def _sentence(method: str, kind: Kind, evidence: tuple[Evidence, ...]) -> str:
    if kind == "none":
        return (
            "No relationship was found that a method could lose; egadp keeps means and covariances"
            " exactly."
        )
    shown = [row for row in evidence if row.kind == kind] or list(evidence)
    if kind == "linear":
        row = shown[first_largest([one.linear.share for one in shown], scale=1.0)]
        return (
            f"All relationships found are linear, as {row.about}, where lines explain"
            f" {row.linear.share:.0%} of the variance and curves no more; {method} keeps them"
            " exactly."
        )
    row = shown[first_largest([one.beyond_linear.share for one in shown], scale=1.0)]
    shape = "monotonic but not linear" if kind == "monotonic" else "not monotonic"
    return (
        f"The relationship {row.about} is {shape}: lines explain {max(row.linear.share, 0):.0%} of"
        f" the variance and curves {row.curved.share:.0%}; {method} is the simplest method that"
        " keeps what can be kept."
    )
