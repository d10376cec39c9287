"""Predicted errors against enumeration of all reports and an information matrix of all cells."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import special_ortho_group

from pramana_core.channels import RESOLUTION
from pramana_core.design import (
    Goal,
    PredictedErrors,
    Requirements,
    best_weights,
    by_moments,
    by_pooling,
    families,
    goal,
)
from pramana_core.design.families import gamma_diagonal, independent, sampled, subsets_of
from pramana_core.domain import Domain
from pramana_core.plan import Plan
from tests.shared.design.designs import demands, sized

DOMAIN = Domain.of(a="xyz", b="pq", c="01")
NEEDS = Requirements(DOMAIN, 9.0)
PUBLIC = Requirements(DOMAIN, 6.0, ("b",))
SETS = (("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c"))
RECORDS = 5000


def agree(made: PredictedErrors, variances: dict[tuple[str, ...], np.ndarray]) -> None:
    """Compare with relative variances of all cells of each table."""
    lengths = sorted({len(names) for names in variances})
    each = [[v for n, v in variances.items() if len(n) == k] for k in lengths]
    errors = [np.concatenate([np.sqrt(v).ravel() for v in some]).mean() for some in each]
    squares = [np.mean([v.mean() for v in some]) for some in each]
    assert made.by_length == pytest.approx(dict(zip(lengths, errors, strict=True)), rel=1e-8)
    assert made.score == pytest.approx(math.sqrt(np.mean(squares)), rel=1e-8)


def listed(plan: Plan, names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The Kronecker products of the listed matrices and decoders."""
    matrix, decoder = np.ones((1, 1)), np.ones((1, 1))
    for block in plan.blocks:
        kept = tuple(n for n in block.names if n in names)
        if kept:
            channel = block.restrict(kept)
            assert channel is not None
            matrix = np.kron(matrix, channel.matrix())
            decoder = np.kron(decoder, channel.decoder())
    return matrix, decoder


@pytest.mark.parametrize(
    ("family", "needs"),
    [
        pytest.param(name, needs, id=f"{name}-{len(needs.sensitive)}-sensitive")
        for needs in (NEEDS, PUBLIC)
        for name, _ in families(needs)
    ],
)
def test_moment_errors_are_those_of_all_reports(family: str, needs: Requirements):
    """Every possible report with its probability: the estimator's exact mean and variance."""
    plan = dict(families(needs))[family](needs)
    told = {"sampled-1": 1, "sampled-2": 2, "cut-and-paste-1": 1, "cut-and-paste-2": 2}
    longest = told.get(family, 3) if needs is NEEDS else 3
    sets = tuple(names for names in SETS if len(names) <= longest)
    if needs is PUBLIC:
        sets = (("a",), ("b",), ("a", "b"), ("b", "c"))
    variances = {}
    for names in sets:
        matrix, decoder = listed(plan, names)
        theta = np.full(len(matrix), 1 / len(matrix))
        law = matrix.T @ theta
        np.testing.assert_allclose(decoder @ law, theta, rtol=1e-9)
        variances[names] = (decoder**2 @ law - theta**2) / RECORDS / theta**2
    found = by_moments(plan, Goal(sets, 2), RECORDS)
    agree(found, variances)
    assert found.missing == ""
    left_out = by_moments(plan, Goal(SETS, 2), RECORDS)
    assert set(left_out.by_length) >= set(range(1, longest + 1)) or needs is PUBLIC
    assert math.isinf(left_out.score) == bool(left_out.missing)


def information_bound(
    plan: Plan, wanted: Goal, records: int, order: int
) -> dict[tuple[str, ...], np.ndarray]:
    """Return the Cramer-Rao bounds of cells, by the information about all cells' directions."""
    domain = plan.domain
    cells = np.array(list(np.ndindex(*domain.shape)))
    functions = []
    for v in domain:
        turn = special_ortho_group.rvs(v.size - 1, random_state=1) if v.size > 2 else np.eye(1)
        base = np.linalg.qr(np.column_stack([np.ones(v.size), np.eye(v.size)[:, 1:]]))[0][:, 1:]
        functions.append(base @ turn * math.sqrt(v.size))
    slopes = np.column_stack(
        [
            math.prod(functions[a][cells[:, a], k] for a, k in zip(axes, ks, strict=True))
            for size in range(1, order + 1)
            for axes in itertools.combinations(range(len(domain)), size)
            for ks in itertools.product(*(range(domain.shape[a] - 1) for a in axes))
        ]
    )
    law, information = 1 / len(cells), np.zeros((slopes.shape[1],) * 2)
    for chosen in itertools.product(
        *(
            [(c.axes, c.channel, c.weight / RESOLUTION) for c in block.channel.choices]
            or [(tuple(range(len(block.names))), block.channel, 1.0)]
            for block in plan.blocks
        )
    ):
        weight, places, matrix = 1.0, np.zeros(len(cells), dtype=int), np.ones((1, 1))
        for (axes, channel, share), block in zip(chosen, plan.blocks, strict=True):
            weight *= share
            for axis in axes:
                at = domain.axis(block.names[axis])
                places = places * domain.shape[at] + cells[:, at]
            matrix = np.kron(matrix, channel.matrix())
        reports = matrix[places]
        q, moved = law * reports.sum(axis=0), law * reports.T @ slopes
        information += weight * (moved.T / q) @ moved
    covariance = np.linalg.inv(information) / records
    variances = {}
    for names in wanted.sets:
        axes = tuple(domain.axis(name) for name in names)
        of_cell = np.unique(cells[:, axes], axis=0, return_inverse=True)[1].ravel()
        mean = np.stack([slopes[of_cell == cell].mean(axis=0) for cell in range(of_cell.max() + 1)])
        variances[names] = np.einsum("ci,ij,cj->c", mean, covariance, mean)
    return variances


@pytest.mark.parametrize("owners", [1, 2])
def test_the_pooled_error_is_the_cramer_rao_bound(owners: int):
    """By two routes: sums over interactions, and the inverse of an information matrix."""
    domain = sized(3, 2, 2, 3)
    needs, wanted = demands(domain, owners=owners), goal(domain, "pairs")
    builds = [
        sampled(subsets_of(needs, 2)),
        sampled(subsets_of(needs, 3), np.array([0.4, 0.3, 0.2, 0.1])),
        sampled([("v0",), ("v0", "v1"), ("v1", "v2", "v3"), ("v0", "v2", "v3")]),
        *([independent, gamma_diagonal] if owners == 1 else []),
    ]
    for build in builds:
        plan = build(needs)
        agree(by_pooling(plan, wanted, 1000), information_bound(plan, wanted, 1000, 2))


def test_what_no_report_tells_is_said():
    domain = sized(3, 2, 2)
    needs, wanted = demands(domain), goal(domain, "pairs")
    made = by_pooling(sampled(subsets_of(needs, 1))(needs), wanted, 500)
    assert math.isinf(made.score)
    assert made.missing
    assert 0 < made.kept < 0.5
    assert by_pooling(dict(families(needs))["mask"](needs), wanted, 500).missing


def test_a_rare_cell_counts_as_the_minimum_support():
    domain = sized(10, 10)
    plan = gamma_diagonal(demands(domain))
    plain = by_pooling(plan, Goal((("v0", "v1"),), 2), 5000)
    frequent = by_pooling(plan, Goal((("v0", "v1"),), 2, 0.05), 5000)
    assert frequent.score == plain.score
    noise = [next(iter(made.noise.values()))[1] for made in (plain, frequent)]
    assert noise[1] == pytest.approx(noise[0] * (0.01 / 0.05) ** 2)


def test_a_symmetric_problem_has_equal_weights():
    domain = sized(3, 3, 3, 3)
    needs = demands(domain, 9.0)
    made = best_weights(needs, goal(domain, "pairs"), 1000, subsets_of(needs, 2))
    np.testing.assert_allclose(made, 1 / 6, rtol=1e-9)
