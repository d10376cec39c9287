"""What a network says of records: equal to brute force over the whole joint distribution."""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.domain import Domain
from pramana_core.errors import LimitExceeded, OptionError, UnknownVariable
from pramana_core.learn.networks.network import BayesNet, log_likelihoods, posteriors
from pramana_core.learn.networks.structure import Structure
from tests.shared.learn.networks.test_network_inference import by_enumeration, random_network


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
@pytest.mark.parametrize("asked", [["node 0"], ["node 5", "node 2"]])
def test_posteriors_and_likelihoods_equal_enumeration(seed: int, asked: list[str]):
    network = random_network(seed)
    codes = records_of(network, seed)
    shown = {name: column for name, column in codes.items() if name not in asked}
    shares, logs = posteriors(network, asked, codes), log_likelihoods(network, shown)
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
    logs = log_likelihoods(network, codes)
    assert (logs < np.log(np.finfo(float).tiny)).all()
    last = posteriors(network, ["x0"], codes)
    np.testing.assert_allclose(last.sum(axis=1), 1.0)


def test_what_the_network_rules_out_is_impossible():
    domain = Domain.of(a=["x", "y"], b=["x", "y"])
    structure = Structure.of({"a": [], "b": ["a"]})
    network = BayesNet(
        domain, structure, {"a": np.array([1.0, 0.0]), "b": np.array([[0.5, 0.5], [1.0, 0.0]])}
    )
    codes = {"a": np.array([0, 1], np.uint8)}
    np.testing.assert_array_equal(log_likelihoods(network, codes), [0.0, -np.inf])
    shares = posteriors(network, ["b"], codes)
    np.testing.assert_array_equal(shares, [[0.5, 0.5], [np.nan, np.nan]])


def test_what_cannot_be_asked_is_refused():
    network = random_network(1)
    codes = records_of(network, 1)
    with pytest.raises(OptionError, match="distinct"):
        posteriors(network, ["node 1", "node 1"], codes)
    with pytest.raises(UnknownVariable, match="strange"):
        log_likelihoods(network, {"strange": codes["node 1"]})


def test_tables_that_would_be_too_large_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("pramana_core.learn.networks.network.MARGINAL_LIMIT", 8)
    network = random_network(1)
    with pytest.raises(LimitExceeded, match="8 are"):
        posteriors(network, list(network.structure.nodes), records_of(network, 1))
