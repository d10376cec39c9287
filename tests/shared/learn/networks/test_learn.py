"""Network parameters: equal to an independent library on exact counts, honest on noisy ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana_core.channels import Dense, Symmetric
from pramana_core.domain import Domain
from pramana_core.errors import ChannelError, DomainError, StructureError
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.common.distributions import project_to_simplex
from pramana_core.learn.networks.bayes_net import learn_parameters
from pramana_core.learn.networks.bif import read_bif, write_bif
from pramana_core.learn.networks.network import BayesNet, cross_entropy, kl_divergence
from pramana_core.learn.networks.structure import Structure
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Block, Plan
from tests.shared.learn.cases import expected

DOMAIN = Domain.of(a="xy", b="123", c="pq")
STRUCTURE = Structure.of({"a": [], "b": ["a"], "c": ["b", "a"]})
NET = BayesNet(
    DOMAIN,
    STRUCTURE,
    {
        "a": np.array([0.3, 0.7]),
        "b": np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]]),
        "c": np.array(
            [[[0.9, 0.1], [0.4, 0.6]], [[0.25, 0.75], [0.5, 0.5]], [[0.8, 0.2], [0.35, 0.65]]]
        ),
    },
)
PLAN = Plan(
    (
        Block((DOMAIN["a"],), Dense.binary(0.1, 0.25)),
        Block((DOMAIN["b"], DOMAIN["c"]), Symmetric.from_gamma(6, 12.0)),
    )
)


def expected_marginals(records: int = 1000, estimator: str = "moment") -> EstimatedMarginals:
    seen = expected(NET.marginal(DOMAIN.names) * records, PLAN)
    return EstimatedMarginals(seen, PLAN, estimator=estimator)  # type: ignore[arg-type]


@pytest.mark.parametrize("estimator", ["moment", "ml"])
def test_expected_reports_return_the_network(estimator: str):
    learned = learn_parameters(expected_marginals(estimator=estimator), STRUCTURE)
    for family in learned.families:
        np.testing.assert_allclose(family.estimate, NET.tables[family.node], atol=1e-10)
        np.testing.assert_allclose(family.probability, NET.tables[family.node], atol=1e-10)
        assert (
            (family.low < NET.tables[family.node]) & (NET.tables[family.node] < family.high)
        ).all()


@pytest.mark.parametrize("method", ["ml", "map"])
def test_standard_errors_are_the_delta_method_of_the_dense_covariance(method: str):
    """Ma 5.4 through another door: a numerical Jacobian times the full covariance matrix."""
    marginals = expected_marginals()
    alpha = {"alpha": 2.0} if method == "map" else {}
    learned = learn_parameters(marginals, STRUCTURE, method=method, **alpha)
    for family in learned.families:
        table = marginals.marginal([*family.parents, family.node])
        prior = 2.0 if method == "map" else 0.0

        def ratio(flat: np.ndarray, prior: float = prior, shape=table.counts.shape) -> np.ndarray:
            cells = flat.reshape(shape) + prior
            return (cells / cells.sum(axis=-1, keepdims=True)).ravel()

        flat = table.counts.ravel()
        jacobian = np.empty((flat.size, flat.size))
        for i in range(flat.size):
            move = np.zeros(flat.size)
            move[i] = 1e-3
            jacobian[:, i] = (ratio(flat + move) - ratio(flat - move)) / 2e-3
        for population, claimed in [(True, family.se), (False, family.se_records)]:
            covariance = jacobian @ table.covariance(population=population) @ jacobian.T
            np.testing.assert_allclose(claimed.ravel() ** 2, np.diag(covariance), rtol=1e-5)


def test_raw_estimates_stay_raw_and_probabilities_are_valid():
    """Few records and much noise: raw values leave [0, 1], the network stays one."""
    columns = {
        "a": np.array([0, 1, 1, 1, 1, 1, 1, 1], dtype=np.uint8),
        "b": np.array([0, 1, 2, 2, 1, 0, 2, 2], dtype=np.uint8),
        "c": np.array([0, 1, 1, 0, 1, 1, 1, 1], dtype=np.uint8),
    }
    marginals = EstimatedMarginals(ReportedCounts(columns, PLAN.reported_sizes), PLAN)
    learned = learn_parameters(marginals, STRUCTURE)
    parameters = list(learned.parameters())
    raw = [p.estimate for p in parameters if p.estimate is not None]
    assert min(raw) < 0 or max(raw) > 1
    unknown = [p for p in parameters if p.estimate is None]
    assert unknown, "some configurations of parents have no positive count here"
    for parameter in unknown:
        assert (parameter.se, parameter.se_records, parameter.interval) == (None, None, (0.0, 1.0))
        assert parameter.probability == pytest.approx(1 / DOMAIN[parameter.node].size)
    for node, parents in learned.network().structure.families:
        table = learned.network().tables[node]
        assert table.min() >= 0
        np.testing.assert_allclose(table.sum(axis=-1), 1)
        assert table.ndim == len(parents) + 1


def test_projection_is_the_nearest_distribution():
    rng = np.random.default_rng(10)
    rows = rng.normal(size=(200, 4))
    rows += (1 - rows.sum(axis=1, keepdims=True)) / 4
    projected = project_to_simplex(rows)
    np.testing.assert_allclose(projected.sum(axis=1), 1)
    rivals = rng.dirichlet(np.full(4, 0.4), size=4000)
    for row, point in zip(rows, projected, strict=True):
        distance = ((row - point) ** 2).sum()
        assert (((rivals - row) ** 2).sum(axis=1) >= distance - 1e-12).all()
    valid = rng.dirichlet(np.ones(4), size=5)
    np.testing.assert_allclose(project_to_simplex(valid), valid, atol=1e-15)


# Structures and networks --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parents",
    [
        {},
        {"a": ["b"]},
        {"a": ["b", "b"], "b": []},
        {"a": ["a"]},
        {"a": ["c"], "b": ["a"], "c": ["b"]},
    ],
)
def test_an_invalid_structure_is_refused(parents: dict[str, list[str]]):
    with pytest.raises(StructureError):
        Structure.of(parents)


def joint(network: BayesNet) -> np.ndarray:
    """The joint distribution by its definition, cell by cell."""
    names = network.domain.names
    cells = np.zeros(network.domain.shape)
    for cell in np.ndindex(*network.domain.shape):
        at = dict(zip(names, cell, strict=True))
        cells[cell] = np.prod(
            [
                network.tables[n][(*(at[p] for p in ps), at[n])]
                for n, ps in network.structure.families
            ]
        )
    return cells


def test_divergence_equals_the_enumerated_sum():
    other = BayesNet(
        DOMAIN,
        Structure.of({"c": [], "a": ["c"], "b": []}),
        {
            "c": np.array([0.5, 0.5]),
            "a": np.array([[0.1, 0.9], [0.6, 0.4]]),
            "b": np.array([0.2, 0.3, 0.5]),
        },
    )
    p, q = joint(NET), joint(other)
    assert kl_divergence(NET, other) == pytest.approx(float(np.sum(p * np.log(p / q))))
    assert cross_entropy(NET, other) == pytest.approx(float(-np.sum(p * np.log(q))))
    assert kl_divergence(NET, NET) == 0
    alone = BayesNet(DOMAIN.project(["a"]), Structure.of({"a": []}), {"a": np.array([0.3, 0.7])})
    with pytest.raises(DomainError):
        kl_divergence(NET, alone)
    turned = BayesNet(Domain.of(a="yx"), Structure.of({"a": []}), {"a": np.array([0.7, 0.3])})
    with pytest.raises(DomainError):
        kl_divergence(alone, turned)
    sure = BayesNet(DOMAIN.project(["a"]), Structure.of({"a": []}), {"a": np.array([1.0, 0.0])})
    even = BayesNet(DOMAIN.project(["a"]), Structure.of({"a": []}), {"a": np.array([0.5, 0.5])})
    assert kl_divergence(even, sure) == np.inf
    assert kl_divergence(sure, even) == pytest.approx(np.log(2))


def test_an_invalid_network_is_refused():
    one = DOMAIN.project(["a"])
    with pytest.raises(DomainError):
        BayesNet(one, Structure.of({"a": []}), {"a": np.array([0.2, 0.3, 0.5])})
    with pytest.raises(DomainError):
        BayesNet(one, Structure.of({"a": []}), {})
    with pytest.raises(ChannelError):
        BayesNet(one, Structure.of({"a": []}), {"a": np.array([0.2, 0.7])})


# BIF ----------------------------------------------------------------------------------------------


@given(st.lists(st.text(min_size=1, max_size=8), min_size=2, max_size=4, unique=True))
def test_any_label_survives_bif(labels: list[str]):
    network = BayesNet(
        Domain.of(v=labels), Structure.of({"v": []}), {"v": np.full(len(labels), 1 / len(labels))}
    )
    assert read_bif(write_bif(network, "n")).domain == network.domain
