"""Questions to a network: equal to brute force over the whole joint distribution, else refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pramana_core.domain import Domain, Variable
from pramana_core.errors import (
    LimitExceeded,
    OptionError,
    PramanaError,
    UnknownCategory,
    UnknownVariable,
)
from pramana_core.learn.networks import network as inference
from pramana_core.learn.networks.network import BayesNet, posterior
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


QUESTIONS = [
    (["node 0"], {}),
    (["node 5", "node 2"], {}),
    (["node 3"], {"node 5": "node 5=1"}),
    (["node 1", "node 4", "node 0"], {"node 5": "node 5=0", "node 2": "node 2=1"}),
    (["node 5", "node 0", "node 3", "node 1", "node 2"], {"node 4": "node 4=1"}),
]


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("query", "evidence"), QUESTIONS)
def test_answers_equal_enumeration(seed: int, query: list[str], evidence: dict[str, str]):
    network = random_network(seed)
    answer = posterior(network, query, evidence)
    wanted, of_evidence = by_enumeration(network, query, evidence)
    np.testing.assert_allclose(answer.probabilities, wanted, atol=1e-14)
    assert answer.evidence_probability == pytest.approx(of_evidence, abs=1e-14)
    assert answer.domain.names == tuple(query)


ZERO = BayesNet(
    Domain.of(a="xy", b="uv", c="pq"),
    Structure.of({"a": [], "b": ["a"], "c": ["a"]}),
    {
        "a": np.array([1.0, 0.0]),
        "b": np.array([[0.5, 0.5], [0.0, 1.0]]),
        "c": np.array([[1.0, 0.0], [0.5, 0.5]]),
    },
)


@pytest.mark.parametrize(
    ("query", "evidence", "error", "said"),
    [
        ([], {}, OptionError, "no node"),
        (["b", "b"], {}, OptionError, "twice"),
        (["b"], {"b": "u"}, OptionError, "both asked for and given"),
        (["z"], {}, UnknownVariable, "'z'"),
        (["b"], {"z": "u"}, UnknownVariable, "'z'"),
        (["b"], {"a": "u"}, UnknownCategory, "'u'"),
        (["b"], {"a": "y"}, OptionError, "a=y has probability zero"),
        (["b"], {"c": "q"}, OptionError, "c=q has probability zero"),
        (["b"], {"a": "x", "c": "q"}, OptionError, "a=x, c=q has probability zero"),
    ],
)
def test_questions_without_an_answer(
    query: list[str], evidence: dict[str, str], error: type[PramanaError], said: str
):
    with pytest.raises(error, match=said):
        posterior(ZERO, query, evidence)


def test_what_takes_too_large_a_table_is_refused_before_it_is_made(
    monkeypatch: pytest.MonkeyPatch,
):
    network = random_network(1)
    monkeypatch.setattr(inference, "MARGINAL_LIMIT", network.domain.size - 1)
    with pytest.raises(LimitExceeded, match=f"{network.domain.size} cells"):
        posterior(network, network.structure.nodes)
    assert posterior(network, ["node 0"]).probabilities.shape == (network.domain["node 0"].size,)
