"""The simplest masking method that keeps what relationships a table has (AlAhmadi, appendix A).

The match is his: linear relationships are kept by EGADP, monotonic ones by the copula methods,
others by NMEGADP. Two things decide: how the confidential columns X depend on S, and how they
depend on each other given S. NMEGADP keeps any E(X|S), but of what S does not tell only the
covariance (or, in its copula form, rank dependence): a relationship among the confidential columns
that is neither, or that changes with S, is kept by no method here. Nor is a spread that depends on
S: what lies beyond E(X|S) is drawn alike for all. `lost` then says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pramana_core.mask.advice.dependence import (
    KINDS,
    MATTERS_OF_REST,
    Evidence,
    Features,
    Kind,
    Spread,
    by_curves,
    by_lines,
    dependence,
    scores_of,
    spread,
)
from pramana_core.mask.core.inputs import Inputs, inputs
from pramana_core.mask.core.noise import Randomness
from pramana_core.mixed.table import CategoricalColumn, Floats, MixedTable
from pramana_core.progress import Progress, unwatched
from pramana_core.ties import first_largest

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
        spreads: for each column of X, whether its spread depends on S; in normal scores where the
            method is of the copula, which keeps a spread that grows with the value.
    """

    method: str
    kind: Kind
    evidence: tuple[Evidence, ...]
    sentence: str
    alternatives: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    spreads: tuple[Spread, ...] = ()


def recommend(
    S: Any,  # noqa: N803 - the papers' names
    X: Any,  # noqa: N803
    rng: Randomness,
    *,
    on_step: Progress = unwatched,
) -> Recommendation:
    """Find out what relationships a table has and name the simplest method that keeps them.

    Relationships are told apart by what lines, monotonic curves and kernels explain out of sample
    (`pramana_core.mask.advice.dependence`). A kernel must explain 2 % of a column's variance more
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
    counted = _Counted(on_step, q * (1 + len(given.s.columns)) + 2 * q * (q - 1))
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
    spreads = _spreads(given, told, method, rng)
    lost += tuple(
        f"How widely a column scatters differs with S ({row.about}: S explains {row.share:.0%} of"
        " how far values lie from the curve); no method here keeps that, masked values scatter"
        " alike everywhere."
        for row in spreads
        if row.varies
    )
    shuffled = (SHUFFLED[method],) if method in SHUFFLED else ()
    sentence = _sentence(method, kind, evidence)
    return Recommendation(method, kind, evidence, sentence, shuffled, lost, spreads)


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


class _Counted:
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
    given: Inputs, told: Features, base: Kind, rng: Randomness, counted: _Counted
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


def _spreads(given: Inputs, told: Features, method: str, rng: Randomness) -> tuple[Spread, ...]:
    """Return whether columns' spreads depend on S, in the scale in which a method draws them."""
    if not told.matrix.shape[1]:
        return ()
    copula = method == "cgadp"
    values, features = (scores_of(given.matrix), told.scored) if copula else (given.matrix, told)
    names = ", ".join(given.s.names)
    return tuple(
        spread(f"{names} -> spread of {name}", features, values[:, place], rng)
        for place, name in enumerate(given.x.names)
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
