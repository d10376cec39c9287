"""Networks as `BayesNet`s of pyAgrum, and back: category names and tables are kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from pramana.exchange.libraries import load
from pramana.frames.tables import shown
from pramana_core.domain import Domain, Variable
from pramana_core.errors import InputError
from pramana_core.learn.networks.network import BayesNet, peer
from pramana_core.learn.networks.structure import Structure


def to_model(network: BayesNet) -> Any:
    """Return a network as pyAgrum's `BayesNet`, categories as labels.

    Raises:
        NotInstalled: pyAgrum is not installed.
    """
    domain = network.domain.project(network.structure.nodes)
    return peer(load("pyagrum", "pyagrum"), network, domain, labelled=True)


def is_model(given: object) -> bool:
    """Return whether something is a network of pyAgrum."""
    return type(given).__module__.startswith("pyagrum") and hasattr(given, "arcs")


def links_of(model: Any) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the nodes and links of a network of pyAgrum."""
    names = {node: model.variable(node).name() for node in model.nodes()}
    return list(names.values()), [(names[a], names[b]) for a, b in sorted(model.arcs())]


def of_model(model: Any, argument: str = "model") -> BayesNet:
    """Return the network of a `BayesNet` of pyAgrum; of numbers and ranges, their labels.

    Raises:
        InputError: it is no such network.
        DomainError, NotStochastic, StructureError: it describes no network.
    """
    if not is_model(model) or not hasattr(model, "cpt"):
        raise InputError(
            f"{argument} must be a BayesNet of pyAgrum, not {shown(model)}.", where=argument
        )
    variables = [model.variable(node) for node in model.nodes()]
    domain = Domain(tuple(Variable(v.name(), tuple(map(str, v.labels()))) for v in variables))
    parents, tables = {}, {}
    for node in model.nodes():
        table = model.cpt(node)
        # The library names its axes from the last to the first; the first name is the node's own.
        own, *others = table.names
        parents[own] = others[::-1]
        tables[own] = np.array(table.toarray(), dtype=np.float64)
    return BayesNet(domain, Structure.of(parents), tables)
