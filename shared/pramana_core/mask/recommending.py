"""The simplest masking method that keeps the relationships of a table (AlAhmadi, appendix A).

EGADP keeps linear relationships, the copula methods monotonic ones, NMEGADP any E(X|S). Two things
decide: how the confidential columns X depend on S, and on each other given S. Of what S does not
tell NMEGADP keeps only the covariance (in its copula form, rank dependence). Other relationships
among the columns of X, or such that change with S, are kept by no method; `lost` names them. A
spread that depends on S is not kept either.

A relationship is linear if a kernel explains no more of the column than lines do. It is monotonic
if a kernel explains no more of its normal scores than lines between normal scores do, which a
normal copula keeps. All shares are of left-out records. A kernel must explain more by `SURE`
standard errors and by a share of variance that matters; noise rarely does.
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

MATTERS, MATTERS_OF_REST = 0.02, 0.05
"""The share of a column's variance that it must explain beyond the simpler fit; in the second
case, of what S leaves of the column, where a trace of S remains."""

RECORDS = 2000
"""The most records that are examined."""

METHODS: dict[Kind, str] = {
    "none": "egadp",
    "linear": "egadp",
    "monotonic": "cgadp",
    "non-monotonic": "nmegadp",
}
"""The method that keeps a kind of relationship over S."""


@dataclass(frozen=True)
class ExplainedVariance:
    """A share of variance, out of sample, with its standard error over records."""

    share: float
    error: float

    def matters(self, least: float = MATTERS) -> bool:
        """Return whether it is neither chance nor too small to matter."""
        return reaches(self.share, least) and exceeds(self.share, SURE * self.error)


def gained(target: Floats, simple: Floats | float, flexible: Floats) -> ExplainedVariance:
    """Return by how much R2 of n predictions exceeds that of simpler ones (delta method)."""
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
    options = KernelOptions(landmarks=200)
    return fit_kernel(standardized(features)[0], target, options, rng).left_out[:, 0]


@dataclass(frozen=True)
class Evidence:
    """How well a column is explained out of sample by others.

    Attributes:
        about: which columns, such as "age, gender -> debt" or "x1 -> x2 given S".
        kind: the simplest kind of relationship that explains as much as any.
        linear: R2 of linear least squares, in the columns' units.
        curved: R2 of a kernel fit, in the columns' units.
    """

    about: str
    kind: Kind
    linear: ExplainedVariance
    curved: ExplainedVariance


@dataclass(frozen=True)
class Features:
    """What a column is explained by.

    Attributes:
        matrix: numbers and indicators of categories, n x k.
        scored: the same with normal scores in place of numbers.
        beside: columns that only the kernel uses, n x i, to see whether a relationship changes with
            them.
    """

    matrix: Floats
    scored: Floats
    beside: Floats

    @classmethod
    def of(cls, table: MixedTable) -> Features:
        """Return the columns of a table that vary as features."""
        columns = [(name, values) for name, values in raw_columns(table) if np.ptp(values)]
        empty = np.empty((table.records, 0))
        matrix = np.column_stack([empty, *(values for _, values in columns)])
        scored = [_scores(v) if name in table.numeric else v for name, v in columns]
        return cls(matrix, np.column_stack([empty, *scored]), empty)


def _scores(values: Floats) -> Floats:
    found: Floats = normal_scores(values[:, None])[:, 0]
    return found


def dependence(
    about: str, features: Features, target: Floats, rng: Randomness, *, least: float = MATTERS
) -> Evidence:
    """Return how a column of n numbers depends on others.

    `least` is the share of variance that a kernel must explain beyond a monotonic fit.
    """
    scores, beside = _scores(target), features.beside
    lines = by_lines(features.matrix, target)
    curves = by_curves(np.column_stack([features.matrix, beside]), target, rng)
    rising = by_lines(features.scored, scores)
    free = by_curves(np.column_stack([features.scored, beside]), scores, rng)
    linear, curved = (gained(target, target.mean(), fit) for fit in (lines, curves))
    ranks = [gained(scores, scores.mean(), fit) for fit in (rising, free)]
    kind: Kind = "none"
    if any(one.matters() for one in (linear, curved, *ranks)):
        kind = "linear"
        if gained(target, lines, curves).matters():
            curved_ranks = gained(scores, rising, free)
            kind = "non-monotonic" if curved_ranks.matters(least) else "monotonic"
    return Evidence(about, kind, linear, curved)


@dataclass(frozen=True)
class Recommendation:
    """A method for a table, and why.

    Attributes:
        method: the simplest that keeps the relationships found, by its name in METHODS.
        kind: the hardest relationship over S; if those are linear, of X given S too.
        evidence: a row for all of S and each column of S, to each column of X; and for each two
            columns of X given S.
        sentence: the reason in words.
        lost: sentences on what no method keeps.
    """

    method: str
    kind: Kind
    evidence: tuple[Evidence, ...]
    sentence: str
    lost: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the method, why, and what is lost."""
        return "\n".join([f"Mask by {self.method}. {self.sentence}", *self.lost])


def recommend(
    S: Any,  # noqa: N803 - the papers' names
    X: Any,  # noqa: N803
    rng: Randomness,
    *,
    on_step: Progress = unwatched,
) -> Recommendation:
    """Find the relationships of a table and name the simplest method that keeps them.

    Args:
        S, X: as of `inputs`, which also says what is raised.
        rng: draws landmarks and, of more than `RECORDS` records, those examined.
        on_step: called after each row of evidence over S.
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
    base = _hardest(over_s)
    among = list(_among(given, told, base, rng))
    on_step(total, total)
    method, kind = METHODS[base], _hardest(among)
    if kind == "monotonic":
        method = "nmegadp-copula" if base == "non-monotonic" else "cgadp"
    kept = KINDS[:3] if method in ("cgadp", "nmegadp-copula") else KINDS[:2]
    lost = tuple(
        f"The relationship {row.about} is {_SHAPES[row.kind]}; no method here keeps it exactly."
        for row in among
        if row.kind not in kept
    )
    if base in ("none", "linear"):
        base = max(base, kind, key=KINDS.index)
    evidence = (*over_s, *among)
    return Recommendation(method, base, evidence, _sentence(method, base, evidence), lost)


_SHAPES = {
    "monotonic": "monotonic but not linear",
    "non-monotonic": "not monotonic, or changes with S",
}


def _hardest(rows: list[Evidence]) -> Kind:
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


def _among(given: Inputs, told: Features, base: Kind, rng: Randomness) -> Iterator[Evidence]:
    """Yield how each two columns of X depend on each other, less their fits by S.

    The fits are those that a method for a kind of relationship over S keeps.
    """
    values = normal_scores(given.matrix) if base == "monotonic" else given.matrix
    features = told.scored if base == "monotonic" else told.matrix
    curved = base == "non-monotonic"
    rest = np.column_stack(
        [
            target - (by_curves(features, target, rng) if curved else by_lines(features, target))
            for target in values.T
        ]
    )
    suffix = " given S" if given.s.columns else ""
    for first, name in enumerate(given.x.names):
        alone = rest[:, first]
        pair = Features(alone[:, None], _scores(alone)[:, None], told.matrix)
        for second, other in enumerate(given.x.names):
            if first != second:
                about = f"{name} -> {other}{suffix}"
                yield dependence(about, pair, rest[:, second], rng, least=MATTERS_OF_REST)


def _sentence(method: str, kind: Kind, evidence: tuple[Evidence, ...]) -> str:
    if kind == "none":
        return "No relationship was found that egadp, which keeps means and covariances, loses."
    shown = [row for row in evidence if row.kind == kind] or list(evidence)
    clearest = [
        one.linear.share if kind == "linear" else one.curved.share - one.linear.share
        for one in shown
    ]
    row = shown[first_largest(clearest, scale=1.0)]
    shape = _SHAPES.get(kind, "linear")
    return (
        f"The hardest relationship is {shape}, {row.about}: lines explain"
        f" {max(row.linear.share, 0):.0%} of"
        f" the variance and curves {row.curved.share:.0%}; {method} is the simplest method that"
        " keeps what can be kept."
    )
