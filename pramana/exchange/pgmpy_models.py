"""Networks as models of pgmpy, and back: category names, parents' order and tables are kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from pramana.exchange.libraries import load
from pramana.frames.tables import shown
from pramana_core.domain import Domain, Variable
from pramana_core.errors import InputError
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.structure import Structure


def to_model(network: BayesNet) -> Any:
    """Return a network as pgmpy's `DiscreteBayesianNetwork`.

    Raises:
        NotInstalled: pgmpy is not installed.
    """
    model = load("pgmpy.models", "pgmpy").DiscreteBayesianNetwork()
    factors = load("pgmpy.factors.discrete", "pgmpy")
    model.add_nodes_from(network.structure.nodes)
    model.add_edges_from(network.structure.links)
    for node, parents in network.structure.families:
        domain = network.domain.project([node, *parents])
        # A row per category of the node, the parents' combinations from left to right.
        table = network.tables[node].reshape(-1, domain[node].size).T
        model.add_cpds(
            factors.TabularCPD(
                node,
                domain[node].size,
                table,
                evidence=list(parents) or None,
                evidence_card=[domain[name].size for name in parents] or None,
                state_names={v.name: list(v.categories) for v in domain},
            )
        )
    return model


def of_model(model: Any, argument: str = "model") -> BayesNet:
    """Return the network of a `DiscreteBayesianNetwork` that has its parameters.

    Categories are in the order of the model's own tables; names that are no text become text.

    Raises:
        InputError: it is no such model, or a node has no table.
        DomainError, NotStochastic, StructureError: it describes no network.
    """
    if not callable(getattr(model, "get_cpds", None)):
        raise InputError(
            f"{argument} must be a DiscreteBayesianNetwork of pgmpy, not {shown(model)}.",
            where=argument,
        )
    tables = {str(cpd.variable): cpd for cpd in model.get_cpds()}
    missing = [str(node) for node in model.nodes() if str(node) not in tables]
    if missing or not tables:
        told = f"node {missing[0]!r} has" if missing else "its nodes have"
        raise InputError(
            f"{argument} has no parameters: {told} no table, add_cpds or fit comes first.",
            where=argument,
        )
    categories = {name: _categories(cpd) for name, cpd in tables.items()}
    domain = Domain(tuple(Variable(name, labels) for name, labels in categories.items()))
    structure = Structure.of(
        {name: [str(p) for p in cpd.variables[1:]] for name, cpd in tables.items()}
    )
    return BayesNet(domain, structure, {name: _table(cpd, domain) for name, cpd in tables.items()})


def _categories(cpd: Any) -> tuple[str, ...]:
    return tuple(map(str, cpd.state_names[cpd.variable]))


def _table(cpd: Any, domain: Domain) -> Any:
    """Return a node's table, its own axis last, parents' categories in their nodes' order."""
    values = np.asarray(cpd.values, dtype=np.float64)
    for axis, parent in enumerate(cpd.variables[1:], start=1):
        listed = list(map(str, cpd.state_names[parent]))
        wanted = [listed.index(label) for label in domain[str(parent)].categories]
        values = np.take(values, wanted, axis=axis)
    return np.moveaxis(values, 0, -1)
