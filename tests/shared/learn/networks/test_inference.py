"""Inference equals brute force over the whole joint distribution; invalid questions are refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pramana_core.domain import Domain, Variable
from pramana_core.errors import LimitExceeded, OptionError, UnknownVariable
from pramana_core.learn.networks import inference
from pramana_core.learn.networks.inference import infer
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.structure import Structure


def random_network(seed: int, nodes: int = 6) -> BayesNet:
    """A network of 2 to 4 categories per node, whose table axes are not in the nodes' order."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 5, nodes)
    names = [f"node {i}" for i in range(nodes)]
    domain = Domain(
        tuple(
            Variable(n, tuple(f"{n}={k}" for k in range(s)))
            for n, s in zip(names, sizes, strict=True)
        )
    )
    parents = {
        name: list(rng.permutation(names[:i])[: rng.integers(0, 3)]) for i, name in enumerate(names)
    }
    # Listed children first, so that codes, nodes and order of the structure all differ.
    structure = Structure.of({name: parents[name] for name in reversed(names)})
    tables = {
        name: rng.dirichlet(np.ones(domain[name].size), size=domain.project(parents[name]).shape)
        for name in names
    }
    return BayesNet(domain, structure, tables)


def by_enumeration(network: BayesNet, query: list[str], evidence: dict[str, str]):
    """Sum the product of all tables over every cell of the joint domain, one by one."""
    domain = network.domain
    found = np.zeros(domain.project(query).shape)
    for cell in itertools.product(*(range(size) for size in domain.shape)):
        code = dict(zip(domain.names, cell, strict=True))
        if any(domain[n].categories[code[n]] != label for n, label in evidence.items()):
            continue
        probability = 1.0
        for node, parents in network.structure.families:
            probability *= network.tables[node][tuple(code[p] for p in (*parents, node))]
        found[tuple(code[n] for n in query)] += probability
    return found / found.sum(), found.sum()


ZERO = BayesNet(
    Domain.of(a="xy", b="uv", c="pq"),
    Structure.of({"a": [], "b": ["a"], "c": ["a"]}),
    {
        "a": np.array([1.0, 0.0]),
        "b": np.array([[0.5, 0.5], [0.0, 1.0]]),
        "c": np.array([[1.0, 0.0], [0.5, 0.5]]),
    },
)


@pytest.mark.parametrize("sizes", [(2,), (4, 3, 3), (9,) * 25, (70_000,) * 9])
def test_distinct_rows_are_those_of_numpy_however_many_there_could_be(sizes: tuple[int, ...]):
    rows = np.random.default_rng(1).integers(0, sizes, (300, len(sizes)))
    rows[200:] = rows[:100]
    for one in (rows, rows[:0]):
        wanted, where = np.unique(one, axis=0, return_inverse=True)
        found, place = inference._distinct(one, sizes)
        assert found.tolist() == wanted.tolist()
        assert place.tolist() == where.ravel().tolist()


def test_a_node_that_is_queried_twice_or_unknown_is_refused():
    codes = {"a": np.zeros(1, int)}
    for nodes, error in ((["b", "b"], OptionError), (["z"], UnknownVariable)):
        with pytest.raises(error):
            infer(ZERO, nodes, codes)


def test_too_large_tables_are_refused_before_they_are_made(monkeypatch: pytest.MonkeyPatch):
    network = random_network(1)
    monkeypatch.setattr(inference, "MARGINAL_LIMIT", network.domain.size - 1)
    with pytest.raises(LimitExceeded):
        infer(network, list(network.structure.nodes), records_of(network, 1))
    shares, _ = infer(network, ["node 0"], records_of(network, 1))
    assert shares.shape[1:] == (network.domain["node 0"].size,)


def records_of(network: BayesNet, seed: int, n: int = 25) -> dict[str, np.ndarray]:
    """Records, a third of whose cells are missing."""
    rng = np.random.default_rng(seed)
    drawn = network.sample(n, rng)
    return {
        name: np.where(rng.random(n) < 1 / 3, network.domain[name].size, codes).astype(np.uint8)
        for name, codes in drawn.items()
    }


def evidence_of(network: BayesNet, codes: dict[str, np.ndarray], row: int) -> dict[str, str]:
    return {
        name: network.domain[name].categories[column[row]]
        for name, column in codes.items()
        if column[row] < network.domain[name].size
    }


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(
    "asked", [["node 0"], ["node 5", "node 2"], ["node 5", "node 0", "node 3", "node 1"]]
)
def test_posteriors_and_likelihoods_equal_enumeration(seed: int, asked: list[str]):
    network = random_network(seed)
    codes = records_of(network, seed)
    shown = {name: column for name, column in codes.items() if name not in asked}
    (shares, _), (_, logs) = infer(network, asked, codes), infer(network, (), shown)
    for row in range(6):
        wanted, probability = by_enumeration(network, asked, evidence_of(network, shown, row))
        np.testing.assert_allclose(shares[row], wanted, atol=1e-13)
        assert logs[row] == pytest.approx(np.log(probability), abs=1e-12)


def test_hundreds_of_nodes_do_not_underflow():
    names = [f"x{i}" for i in range(500)]
    domain = Domain.of(**{name: list("abcdefgh") for name in names})
    structure = Structure.of({name: names[i - 1 : i] if i else [] for i, name in enumerate(names)})
    rng = np.random.default_rng(0)
    tables = {
        name: rng.dirichlet(np.ones(8), size=(8,) if i else ()) for i, name in enumerate(names)
    }
    network = BayesNet(domain, structure, tables)
    codes = network.sample(3, rng)
    _, logs = infer(network, (), codes)
    assert (logs < np.log(np.finfo(float).tiny)).all()
    last, _ = infer(network, ["x0"], codes)
    np.testing.assert_allclose(last.sum(axis=1), 1.0)


def test_records_of_probability_zero_have_no_posterior():
    codes = {"a": np.array([0, 1], np.uint8)}
    np.testing.assert_array_equal(infer(ZERO, (), codes)[1], [0.0, -np.inf])
    shares, _ = infer(ZERO, ["b"], codes)
    np.testing.assert_array_equal(shares, [[0.5, 0.5], [np.nan, np.nan]])
