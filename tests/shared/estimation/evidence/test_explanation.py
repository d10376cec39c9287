"""How well networks explain whole records, against an optimizer that knows no EM."""

from __future__ import annotations

import numpy as np
import pytest
from pramana_core.learn.networks.comparing import on_one_table
from scipy.optimize import minimize
from scipy.special import softmax

from pramana_core.channels import Dense, Symmetric
from pramana_core.domain import Domain
from pramana_core.errors import UnknownVariable
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Block, Plan

DOMAIN = Domain.of(a="01", b="012", c="01")
CHAIN = {"a": [], "b": ["a"], "c": ["b"]}
COLLIDER = {"a": [], "c": [], "b": ["a", "c"]}


def sources(seed, p, records=4000, *, joint=False):
    """Records of the chain a -> b -> c, reported with noise; b and c in one block if `joint`."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 2, records)
    b = np.where(rng.random(records) < 0.7, a, rng.integers(0, 3, records))
    c = np.where(rng.random(records) < 0.8, b > 0, rng.integers(0, 2, records)).astype(int)
    channels = {
        "a": Symmetric.from_probability(2, p),
        "b": Symmetric.from_probability(3, p),
        "c": Dense.binary(p, p / 2),
    }
    if joint:
        matrix = np.kron(channels["b"].matrix(), channels["c"].matrix())
        whole = Block((DOMAIN["b"], DOMAIN["c"]), Dense.from_probabilities(matrix.tolist()))
        plan = Plan((Block((DOMAIN["a"],), channels["a"]), whole))
    else:
        plan = Plan(tuple(Block((v,), channels[v.name]) for v in DOMAIN))
    columns = {}
    for name, true in (("a", a), ("b", b), ("c", c)):
        rows = np.cumsum(channels[name].matrix(), axis=1)[true]
        columns[name] = (rng.random(records)[:, None] >= rows[:, :-1]).sum(1).astype(np.uint8)
    reports = ReportedCounts(columns, plan.reported_sizes)
    matrices = [channels[v.name].matrix() for v in DOMAIN]
    return (reports, plan), reports.table(DOMAIN.names), matrices


def network(parameters, parents):
    """The joint distribution over a, b, c of softmax parameters, and how many were used."""
    joint, used = np.ones(DOMAIN.shape), 0
    for node in DOMAIN.names:
        order = [*parents[node], node]
        shape = [DOMAIN[n].size for n in order]
        size = int(np.prod(shape))
        table = softmax(parameters[used : used + size].reshape(shape), axis=-1)
        used += size
        axes = [DOMAIN.axis(n) for n in order]
        spread = np.transpose(table, np.argsort(axes))
        joint = joint * spread.reshape([DOMAIN.shape[i] if i in axes else 1 for i in range(3)])
    return joint, used


def optimum(strata, parents):
    """The largest log-likelihood that a quasi-Newton optimizer finds from several starts."""

    def loss(parameters):
        joint, _ = network(parameters, parents)
        value = 0.0
        for counts, matrices in strata:
            expected = joint
            for axis, matrix in enumerate(matrices):
                expected = np.moveaxis(np.tensordot(expected, matrix, (axis, 0)), -1, axis)
            value -= float((counts * np.log(expected)).sum())
        return value

    size = network(np.zeros(100), parents)[1]
    rng = np.random.default_rng(0)
    found = [minimize(loss, rng.normal(0, 0.5, size), method="L-BFGS-B") for _ in range(2)]
    return -min(f.fun for f in found)


@pytest.mark.slow
@pytest.mark.parametrize("parents", [CHAIN, COLLIDER])
@pytest.mark.parametrize("p", [0.1, 0.3])
def test_the_likelihood_is_the_optimizers(parents, p):
    source, counts, matrices = sources(1, p)
    explained = EstimatedMarginals(*source).explanation(parents)
    assert explained.log_likelihood == pytest.approx(
        optimum([(counts, matrices)], parents), abs=0.02
    )


def test_strata_and_joint_blocks_are_explained_together():
    first, counts, matrices = sources(2, 0.2)
    second, more, others = sources(3, 0.3, joint=True)
    explained = EstimatedMarginals.of([first, second]).explanation(CHAIN)
    best = optimum([(counts, matrices), (more, others)], CHAIN)
    assert explained.log_likelihood == pytest.approx(best, abs=0.02)


def test_parameters_are_counted():
    marginals = EstimatedMarginals(*sources(1, 0.1)[0])
    assert marginals.explanation(CHAIN).parameters == 1 + 2 * 2 + 3 * 1
    assert marginals.explanation(COLLIDER).parameters == 1 + 1 + 2 * 2 * 2


def never(first, second):
    raise AssertionError("one table is small enough")


def test_the_true_structure_is_better_and_equivalent_ones_are_alike():
    better = on_one_table(EstimatedMarginals(*sources(4, 0.2)[0]), never)
    chain = {"a": frozenset(), "b": frozenset("a"), "c": frozenset("b")}
    turned = {"c": frozenset(), "b": frozenset("c"), "a": frozenset("b")}
    collider = {"a": frozenset(), "c": frozenset(), "b": frozenset("ac")}
    empty = dict.fromkeys("abc", frozenset())
    assert better(chain, turned) == pytest.approx(0, abs=0.05)
    assert better(chain, collider) > 5
    assert better(collider, empty) > 5
    assert better(chain, collider) == -better(collider, chain)


def test_a_node_that_nobody_reports_is_named():
    source = sources(1, 0.1)[0]
    for marginals in (EstimatedMarginals(*source), EstimatedMarginals.of([source])):
        with pytest.raises(UnknownVariable):
            marginals.explanation({"z": []})
