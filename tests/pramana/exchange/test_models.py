"""Networks as models of other libraries and back: names, tables and answers are kept."""

from __future__ import annotations

import numpy as np
import pytest

import pramana as pm
from pramana import exchange
from pramana.exchange import load
from pramana_core.domain import Domain, Variable
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.structure import Structure

LABELS: dict[str, tuple[str, ...]] = {
    "numbers": ("1", "2.50", "-3", "1e5"),
    "a name, with (marks)": ("<= 10", "10 to 20", '"quoted"', "it's"),
    "Größe": ("groß", "klein|", "{other}"),
    "yes/no": ("True", "no"),
}
"""Labels that look like something else, in the order given and not sorted."""


@pytest.fixture
def network() -> BayesNet:
    """Random tables over awkward names, the parents of a node not in the nodes' order."""
    rng = np.random.default_rng(5)
    domain = Domain(tuple(Variable(name, labels) for name, labels in LABELS.items()))
    names = list(LABELS)
    parents = {names[3]: [], names[1]: [names[3]], names[0]: [names[3], names[1]], names[2]: []}
    parents[names[2]] = [names[0], names[3], names[1]]
    tables = {
        node: rng.dirichlet(np.ones(domain[node].size), size=domain.project(given).shape)
        for node, given in parents.items()
    }
    return BayesNet(domain, Structure.of(parents), tables)


def assert_same(found: BayesNet, wanted: BayesNet, tolerance: float = 1e-12) -> None:
    """The same categories in the same order, links, and tables, in whatever order of parents."""
    assert set(found.structure.nodes) == set(wanted.structure.nodes)
    assert set(found.structure.links) == set(wanted.structure.links)
    for node, parents in wanted.structure.families:
        assert found.domain[node].categories == wanted.domain[node].categories
        listed = [*found.structure.parents[node], node]
        table = found.tables[node].transpose([listed.index(name) for name in (*parents, node)])
        np.testing.assert_allclose(table, wanted.tables[node], atol=tolerance)


@pytest.fixture
def ours(network: BayesNet) -> pm.BayesNet:
    return pm.BayesNet.from_pgmpy(exchange.to_pgmpy(network))


def test_through_pgmpy(network: BayesNet):
    model = exchange.to_pgmpy(network)
    assert model.check_model()
    assert_same(exchange.of_pgmpy(model), network)


def test_through_bif_and_json_and_each_other(ours: pm.BayesNet, network: BayesNet, tmp_path):
    for back in (
        pm.BayesNet.from_bif(ours.to_bif()),
        pm.BayesNet.from_json(ours.to_json()),
        pm.BayesNet.from_pgmpy(ours.to_pgmpy()),
    ):
        assert_same(back.network_, network)
    assert ours.to_bif(tmp_path / "net.bif") is None
    assert_same(pm.BayesNet.from_bif(tmp_path / "net.bif").network_, network)
    assert_same(pm.BayesNet.from_bif(str(tmp_path / "net.bif")).network_, network)


def test_categories_of_pgmpy_that_are_no_text_become_text():
    factors = load("pgmpy.factors.discrete", "pgmpy")
    model = load("pgmpy.models", "pgmpy").DiscreteBayesianNetwork([("a", "b")])
    model.add_cpds(
        factors.TabularCPD("a", 2, [[0.25], [0.75]], state_names={"a": [0, 1]}),
        # The parent's categories are in another order in its child's table.
        factors.TabularCPD(
            "b", 2, [[0.1, 0.2], [0.9, 0.8]], ["a"], [2], {"b": [True, False], "a": [1, 0]}
        ),
    )
    net = pm.BayesNet.from_pgmpy(model)
    assert net.network_.domain["b"].categories == ("True", "False")
    np.testing.assert_allclose(net.network_.tables["b"], [[0.2, 0.8], [0.1, 0.9]])
    assert net.predict({"a": [0, 1]}, "b").tolist() == ["False", "False"]


def test_structures_through_networkx(ours: pm.BayesNet, network: BayesNet):
    graph = ours.to_networkx()
    assert set(graph.edges) == set(network.structure.links)
    again = pm.BayesNet(graph)
    assert set(again.structure_.links) == set(network.structure.links)
    nodes, links = exchange.links_of_networkx(graph, "graph")
    assert set(nodes) == set(network.structure.nodes)
    assert set(links) == set(network.structure.links)
