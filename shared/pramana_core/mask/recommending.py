"""The choice of the simplest method that keeps a table's relationships (AlAhmadi, appendix A).

EGADP keeps linear relationships, copula methods keep monotonic relationships, and NMEGADP keeps any
E(X|S). A relationship is called linear if a kernel explains no more of left-out records than lines
do, and monotonic if it explains no more of their normal scores. `lost` names the relationships that
no method keeps: those among the columns of X that are nonlinear or change with S.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pramana_core.mask.core.copula import normal_scores
from pramana_core.mask.core.inputs import Inputs, inputs
from pramana_core.mask.core.noise import Randomness
from pramana_core.mask.measures.expectations import Kind as Fit
from pramana_core.mask.measures.expectations import expectation
from pramana_core.mixed import Floats, MixedTable, numeric_table, raw_columns
from pramana_core.progress import Progress, unwatched
from pramana_core.ties import exceeds, first_largest, reaches

Kind = Literal["none", "linear", "monotonic", "non-monotonic"]
KINDS: tuple[Kind, ...] = ("none", "linear", "monotonic", "non-monotonic")

SURE = 3.0
"""The minimum advantage of a more flexible fit, in standard errors."""

MATTERS, MATTERS_OF_REST = 0.02, 0.05
"""The minimum share of variance that a more flexible fit must explain beyond the simpler one. The
first is a share of a column's variance, the second of its residual variance given S, in which a
trace of S remains."""

RECORDS = 2000
"""The maximum number of records that are examined."""

LANDMARKS = 200

METHODS: dict[Kind, str] = {
    "none": "egadp",
    "linear": "egadp",
    "monotonic": "cgadp",
    "non-monotonic": "nmegadp",
}
"""The method that keeps each kind of relationship between S and X."""


@dataclass(frozen=True)
class ExplainedVariance:
    """A share of variance explained out of sample, with its standard error over records."""

    share: float
    error: float

    def matters(self, least: float = MATTERS) -> bool:
        """Return whether the share is significant and large enough to matter."""
        return reaches(self.share, least) and exceeds(self.share, SURE * self.error)


def gained(target: Floats, simple: Floats | float, flexible: Floats) -> ExplainedVariance:
    """Return how far n flexible predictions' R2 exceeds that of simple ones (delta method)."""
    around = np.square(target - target.mean())
    mean = float(around.mean())
    if mean <= 0:
        return ExplainedVariance(0.0, 0.0)
    better = np.square(target - simple) - np.square(target - flexible)
    share = float(better.mean()) / mean
    influence = (better - share * around) / mean
    return ExplainedVariance(share, float(influence.std() / np.sqrt(len(target))))


def _left_out(fit: Fit, features: Floats, target: Floats, rng: Randomness) -> Floats:
    found = expectation(fit, features, target[:, None], rng, most=RECORDS, landmarks=LANDMARKS)
    return found.left_out[:, 0]


@dataclass(frozen=True)
class Evidence:
    """How well other columns explain a column out of sample.

    `about` names the columns, as in "age, gender -> debt". `kind` is the simplest kind of
    relationship that explains as much as any other. `linear` and `curved` are the R2 of least
    squares and of a kernel, in the units of the columns.
    """

    about: str
    kind: Kind
    linear: ExplainedVariance
    curved: ExplainedVariance


def features_of(table: MixedTable, *, scored: bool = False) -> Floats:
    """Return numbers, or their normal scores, and indicators of categories as a matrix, n x k."""
    empty = np.empty((table.records, 0))
    columns = (
        normal_scores(values[:, None]) if scored and name in table.numeric else values
        for name, values in raw_columns(table)
        if np.ptp(values)
    )
    return np.column_stack([empty, *columns])


def dependence(
    about: str,
    table: MixedTable,
    target: Floats,
    rng: Randomness,
    *,
    beside: Floats | None = None,
    least: float = MATTERS,
) -> Evidence:
    """Return how a column of n numbers depends on the columns of a table.

    Only the kernel uses the columns `beside`, n x i. `least` is the share of variance that a kernel
    must explain beyond a monotonic fit.
    """
    scores = normal_scores(target[:, None])[:, 0]
    explained = []
    for values, features in (
        (target, features_of(table)),
        (scores, features_of(table, scored=True)),
    ):
        more = features if beside is None else np.column_stack([features, beside])
        lines, curves = (
            _left_out("linear", features, values, rng),
            _left_out("kernel", more, values, rng),
        )
        mean = values.mean()
        explained.append((gained(values, mean, lines), gained(values, mean, curves),
                          gained(values, lines, curves)))  # fmt: skip
    (linear, curved, more_curved), (ranks, free_ranks, more_free) = explained
    kind: Kind = "none"
    if any(one.matters() for one in (linear, curved, ranks, free_ranks)):
        kind = "linear"
        if more_curved.matters():
            kind = "non-monotonic" if more_free.matters(least) else "monotonic"
    return Evidence(about, kind, linear, curved)


@dataclass(frozen=True)
class Recommendation:
    """A recommended method for a table, with the reasons.

    Attributes:
        method, kind: the simplest method that keeps the relationships found, and the kind of
            relationship that is hardest to keep.
        evidence: for each column of X, how it depends on all of S and on each column of S; then,
            for each pair of columns of X, how they depend on each other given S.
        sentence, lost: texts on the reason, and on the relationships that no method keeps.
    """

    method: str
    kind: Kind
    evidence: tuple[Evidence, ...]
    sentence: str
    lost: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the method, the reason and the lost relationships as text."""
        return "\n".join([f"Mask by {self.method}. {self.sentence}", *self.lost])


def recommend(
    S: Any,  # noqa: N803 - the papers' names
    X: Any,  # noqa: N803
    rng: Randomness,
    *,
    on_step: Progress = unwatched,
) -> Recommendation:
    """Find the relationships of a table and name the simplest method that keeps them.

    S and X are as for `inputs`. `rng` draws landmarks and, from a larger table, `RECORDS` records.
    """
    given = inputs(S, X)
    if given.records > RECORDS:
        chosen = np.sort(rng.permutation(given.records)[:RECORDS])
        given = inputs(given.s.rows(chosen), given.x.rows(chosen))
    q, known = given.columns, len(given.s.columns)
    total = q * (known + (known > 1)) + q * (q - 1)
    over_s, among = [], []
    for row in _over_s(given, rng):
        over_s.append(row)
        on_step(len(over_s), total)
    base = _hardest(over_s)
    for row in _among(given, base, rng):
        among.append(row)
        on_step(len(over_s) + len(among), total)
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


def _over_s(given: Inputs, rng: Randomness) -> Iterator[Evidence]:
    names = given.s.names
    for target, name in zip(given.matrix.T, given.x.names, strict=True):
        sets = [names, *((other,) for other in names)] if len(names) > 1 else [names] * len(names)
        for others in sets:
            about = f"{', '.join(others)} -> {name}"
            yield dependence(about, given.s.project(others), target, rng)


def _among(given: Inputs, base: Kind, rng: Randomness) -> Iterator[Evidence]:
    ranks = base == "monotonic"
    values = normal_scores(given.matrix) if ranks else given.matrix
    known, features = features_of(given.s), features_of(given.s, scored=ranks)
    fit: Fit = "kernel" if base == "non-monotonic" else "linear"
    rest = [target - _left_out(fit, features, target, rng) for target in values.T]
    suffix = " given S" if given.s.columns else ""
    for first, name in enumerate(given.x.names):
        pair = numeric_table([name], rest[first][:, None])
        for second, other in enumerate(given.x.names):
            if first != second:
                about = f"{name} -> {other}{suffix}"
                yield dependence(
                    about, pair, rest[second], rng, beside=known, least=MATTERS_OF_REST
                )


def _sentence(method: str, kind: Kind, evidence: tuple[Evidence, ...]) -> str:
    if kind == "none":
        return "egadp, which keeps means and covariances, keeps all relationships that were found."
    shown = [row for row in evidence if row.kind == kind] or list(evidence)
    clearest = [
        one.linear.share if kind == "linear" else one.curved.share - one.linear.share
        for one in shown
    ]
    row = shown[first_largest(clearest, scale=1.0)]
    shape = _SHAPES.get(kind, "linear")
    return (
        f"The hardest relationship is {shape}, {row.about}: lines explain"
        f" {max(row.linear.share, 0):.0%} of the variance and curves {row.curved.share:.0%};"
        f" {method} is the simplest method that keeps all that can be kept."
    )
