"""The limit of randomization: against listed reports, and what maximum likelihood reaches."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import numpy as np
import pytest

from pramana_core.design import (
    Goal,
    Requirements,
    bound,
    by_moments,
    families,
    reference,
)
from pramana_core.design.choose import Problem, bounded, option
from pramana_core.domain import Domain
from pramana_core.marginals.counts import Tensor
from pramana_core.plan import Plan

DOMAIN = Domain.of(a="xyz", b="pq", c="01")
REFERENCE = reference(DOMAIN, {"a": [0.5, 0.3, 0.2], "c": [0.7, 0.3]})
NEEDS = Requirements(DOMAIN, {"a": 9.0, "b": 5.0, "c": 9.0}, 9.0)
PUBLIC = Requirements(DOMAIN, {"a": 6.0, "c": 6.0})
PAIRS = (("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c"))
TRIPLES = (*PAIRS, ("a", "b", "c"))
RECORDS = 5000


def law_of(plan: Plan, shares: Mapping[str, Tensor]) -> tuple[Tensor, Tensor, list[str]]:
    """Return the shares of all cells, the listed chances of all reports, and the cells' order."""
    law, chances, order = np.ones(1), np.ones((1, 1)), list[str]()
    for block in plan.blocks:
        for name in block.names:
            law = np.kron(law, shares[name])
        chances = np.kron(chances, block.channel.matrix())
        order += block.names
    return law, chances, order


def effects_of(sizes: list[int], order: int) -> np.ndarray:
    """An indicator for each combination of later categories of up to `order` variables."""
    cells = list(np.ndindex(*sizes))
    columns = [
        [float(all(cell[a] == c for a, c in zip(axes, codes, strict=True))) for cell in cells]
        for size in range(1, order + 1)
        for axes in itertools.combinations(range(len(sizes)), size)
        for codes in itertools.product(*(range(1, sizes[a]) for a in axes))
    ]
    return np.array(columns).T


def squares(
    plan: Plan, names: tuple[str, ...], order: int | None, shares: Mapping[str, Tensor]
) -> Tensor | None:
    """Return N times the bound of the variance of each cell of a table; None where it has none.

    All changes of the law that keep its sum, or those of the log-linear model, by lists alone.
    """
    law, chances, found = law_of(plan, shares)
    sizes = [plan.domain[name].size for name in found]
    if order is None or order >= len(sizes):
        slopes = np.eye(law.size)[:, 1:] - np.eye(law.size)[:, :1]
    else:
        effects = effects_of(sizes, order)
        slopes = law[:, None] * (effects - law @ effects)
    reports = law @ chances
    told = chances.T @ slopes
    seen = reports > 0
    held = (told[seen].T / reports[seen]) @ told[seen]
    gone = tuple(i for i, n in enumerate(found) if n not in names)
    moved = slopes.reshape(*sizes, -1).sum(axis=gone)
    left = [n for n in found if n in names]
    moved = np.transpose(moved, [*(left.index(n) for n in names), len(names)])
    moved = moved.reshape(-1, slopes.shape[1])
    inverse = np.linalg.pinv(held, rcond=1e-10, hermitian=True)
    if not np.allclose(moved @ inverse @ held, moved, atol=1e-6 * np.abs(moved).max()):
        return None
    shape = [plan.domain[name].size for name in names]
    return np.einsum("ip,pq,iq->i", moved, inverse, moved).reshape(shape)


def score(plan: Plan, wanted: Goal, order: int | None, shares: Mapping[str, Tensor]) -> float:
    """Return the root of the mean over lengths of the cells' mean relative variances, by loops."""
    means = []
    for sets in wanted.by_length().values():
        each = []
        for names in sets:
            variances = squares(plan, names, order, shares)
            if variances is None:
                return math.inf
            of_cells = np.ones(())
            for name in names:
                of_cells = np.multiply.outer(of_cells, shares[name])
            there = of_cells > 0
            each.append(np.mean(variances[there] / of_cells[there] ** 2 / RECORDS))
        means.append(np.mean(each))
    return math.sqrt(np.mean(means))


def agree(plan: Plan, wanted: Goal, order: int | None, shares: Mapping[str, Tensor]) -> float:
    made = bound(plan, wanted, shares, RECORDS, order)
    assert made.score == pytest.approx(score(plan, wanted, order, shares), rel=1e-6)
    assert bool(made.missing) == math.isinf(made.score)
    return made.score


@pytest.mark.parametrize("order", [1, 2, None])
@pytest.mark.parametrize("sets", [PAIRS[:3], PAIRS, TRIPLES], ids=["counts", "pairs", "triples"])
@pytest.mark.parametrize(
    ("family", "needs"),
    [
        pytest.param(name, needs, id=f"{name}-{len(needs.variables)}-sensitive")
        for needs in (NEEDS, PUBLIC)
        for name, _ in families(needs, TRIPLES)
    ],
)
def test_the_bound_is_the_inverse_of_the_listed_information(family, needs, sets, order):
    """Beside it: no estimator predicted is better than the bound of what it assumes."""
    plan = dict(families(needs, TRIPLES))[family](needs)
    wanted = Goal(sets, order or 3)
    least = agree(plan, wanted, order, REFERENCE)
    if order is None:
        moments = by_moments(plan, wanted, REFERENCE, RECORDS).score
        assert moments == pytest.approx(least) or moments > least
        if family in ("independent", "gamma-diagonal", "random-gamma-diagonal"):
            assert moments == pytest.approx(least)


def test_where_moments_leave_something_and_where_an_assumption_helps():
    """Figures of the families above, so that the inequalities are not empty."""
    made = {name: option(Problem(NEEDS, Goal(PAIRS, 2), REFERENCE, RECORDS), name, build)
            for name, build in families(NEEDS, PAIRS)}  # fmt: skip
    problem = Problem(NEEDS, Goal(PAIRS, 2), REFERENCE, RECORDS)
    mask = bounded(made["mask"], problem)
    assert mask.efficiency(mask.moments) < 0.999
    diagonal = bounded(made["gamma-diagonal"], problem)
    # Of three variables as one, what is no interaction of three helps for pairs, too.
    assert diagonal.efficiency(diagonal.moments) < 0.995
    unable = bounded(made["sampled-1"], problem)
    assert unable.efficiency() is None
    assert "no unbiased estimator" in unable.bound.missing


def test_categories_that_never_occur_move_nothing():
    shares = {**REFERENCE, "a": np.array([0.6, 0.0, 0.4])}
    for name in ("gamma-diagonal", "mask", "sampled-2", "cut-and-paste-2"):
        plan = dict(families(NEEDS, PAIRS))[name](NEEDS)
        law, chances, order = law_of(plan, shares)
        assert law.min() == 0
        # The same without the category, whose reports stay.
        there = law > 0
        reports = law @ chances
        seen = chances[there][:, reports > 0]
        held = (seen / reports[reports > 0]) @ seen.T
        inverse = np.linalg.pinv(held, rcond=1e-10, hermitian=True)
        cells = np.array(list(np.ndindex(*(DOMAIN[n].size for n in order))))[there]
        made = bound(plan, Goal((("a",),), 3), shares, RECORDS)
        total = 0.0
        for code in (0, 2):
            picked = (cells[:, order.index("a")] == code).astype(float)
            share = shares["a"][code]
            total += (picked @ inverse @ picked - share**2) / share**2 / RECORDS / 2
        assert made.score == pytest.approx(math.sqrt(total), rel=1e-6)


def test_what_is_certain_beforehand_costs_nothing():
    """A variable that can have one category only: its tables are those of the others."""
    shares = {**REFERENCE, "a": np.array([1.0, 0.0, 0.0])}
    for name in ("independent", "gamma-diagonal", "mask", "sampled-2"):
        plan = dict(families(NEEDS, PAIRS))[name](NEEDS)
        assert bound(plan, Goal((("a",),), 1), shares, RECORDS, 2).score == pytest.approx(0.0)
        alone, both = (
            bound(plan, Goal((names,), 2), shares, RECORDS, 2).score
            for names in (("b",), ("a", "b"))
        )
        assert both == pytest.approx(alone)
        assert alone > 0
