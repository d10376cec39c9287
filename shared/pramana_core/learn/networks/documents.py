"""Bayesian networks as JSON: nodes with their parents, links, and a list of parameters.

The miner's models, sessions between owners and saved estimators use this form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from pramana_core.domain import Domain, Variable
from pramana_core.errors import InputError
from pramana_core.learn.common.documents import faults, finite, variable_json
from pramana_core.learn.networks.bayes_net import LearnedBayesNet, LearnedFamily, Parameter
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.structure import Structure
from pramana_core.learn.networks.structure_learning import LearnedLink

_EVIDENCE = ("gain", "inflation", "confidence", "compelled")
_NUMBERS = ("probability", "estimate", "se", "se_records", "low", "high")


@dataclass(frozen=True)
class NetworkDocument:
    """A network's parameters and, if its structure was learned, the links."""

    learned: LearnedBayesNet
    links: tuple[LearnedLink, ...] = ()

    @cached_property
    def network(self) -> BayesNet:
        """The network with the learned probabilities of its nodes."""
        return self.learned.network()

    @property
    def confidence(self) -> dict[tuple[str, str], float | None]:
        """The confidence of each link, by (parent, child)."""
        return {(link.parent, link.child): link.confidence for link in self.links}


def given_network(network: BayesNet) -> LearnedBayesNet:
    """Return a given network in the form of a learned network, with errors of 0."""
    families = []
    for node, parents in network.structure.families:
        table = network.tables[node]
        unknown, nothing, whole = (np.full(table.shape, value) for value in (np.nan, 0.0, 1.0))
        numbers = (unknown, table, unknown, unknown, nothing, whole)
        families.append(LearnedFamily(node, parents, *numbers))
    domain = network.domain.project(network.structure.nodes)
    return LearnedBayesNet(domain, network.structure, 0, tuple(families))


def network_json(learned: LearnedBayesNet, links: Sequence[LearnedLink] = ()) -> dict[str, Any]:
    """Return a network and its learned links as JSON data, in full precision."""
    evidence = {
        (link.parent, link.child): asdict(link) | {"inflation": finite(link.inflation)}
        for link in links
    }
    return {
        "kind": "bayes-net",
        "nodes": [
            variable_json(learned.domain[name]) | {"parents": list(parents)}
            for name, parents in learned.structure.families
        ],
        "links": [
            dict.fromkeys(_EVIDENCE)
            | {"parent": parent, "child": child}
            | evidence.get((parent, child), {})
            for parent, child in learned.structure.links
        ],
        "parameters": [asdict(parameter) for parameter in learned.parameters()],
    }


class _Part(BaseModel):
    model_config = ConfigDict(allow_inf_nan=False)


class _Link(_Part):
    parent: str
    child: str
    gain: float | None
    inflation: float | None
    confidence: float | None
    compelled: bool | None


class _Node(_Part):
    name: str
    categories: tuple[str, ...]
    representatives: tuple[float, ...] | None = None
    parents: list[str]


class _Document(_Part):
    kind: Literal["bayes-net"]
    nodes: list[_Node]
    parameters: list[Parameter]
    links: list[_Link] = []


def network_of_json(body: object) -> NetworkDocument:
    """Read a network from the JSON data of `network_json`, ignoring unknown fields.

    Raises InputError: the data are not such a document, or parameters are missing. StructureError,
    DomainError, ChannelError: the content does not describe a network.
    """
    try:
        document = _Document.model_validate(body)
    except ValidationError as error:
        raise InputError(
            f"The text is not a Bayesian network in JSON: {faults(error)}.",
            remedy="Give the JSON of a network from a session between owners, or from the miner.",
        ) from None
    nodes = document.nodes
    domain = Domain(tuple(Variable(n.name, n.categories, n.representatives) for n in nodes))
    structure = Structure.of({node.name: node.parents for node in nodes})
    arrays = {
        node: np.full((len(_NUMBERS), *domain.project((*parents, node)).shape), np.nan)
        for node, parents in structure.families
    }
    for parameter in document.parameters:
        low, high = parameter.interval
        numbers = {**vars(parameter), "low": low, "high": high}
        cell = _cell(parameter, domain, structure)
        for place, name in enumerate(_NUMBERS):
            number = numbers[name]
            arrays[parameter.node][place, *cell] = np.nan if number is None else number
    for node, own in arrays.items():
        if np.isnan(own[0]).any():
            raise InputError(f"Not all parameters of node {node!r} are in the network.", where=node)
    families = tuple(
        LearnedFamily(node, parents, **dict(zip(_NUMBERS, arrays[node], strict=True)))
        for node, parents in structure.families
    )
    learned = LearnedBayesNet(domain, structure, 0, families)
    learned.network()
    return NetworkDocument(learned, _links(structure, document))


def _cell(parameter: Parameter, domain: Domain, structure: Structure) -> tuple[int, ...]:
    node = domain[parameter.node]
    parents = structure.parents[node.name]
    if set(parameter.parents) != set(parents):
        raise InputError(
            f"A parameter of node {node.name!r} has values for {list(parameter.parents)}, but the"
            f" node's parents are {list(parents)}.",
            where=node.name,
        )
    given = (domain[name].code(parameter.parents[name]) for name in parents)
    return (*given, node.code(parameter.value))


def _links(structure: Structure, document: _Document) -> tuple[LearnedLink, ...]:
    links = []
    for link in document.links:
        if (link.parent, link.child) not in structure.links:
            raise InputError(
                f"The document has a link from {link.parent!r} to {link.child!r}, but"
                f" {link.parent!r} is not a parent of {link.child!r}.",
                where="links",
            )
        if link.gain is not None:
            inflation = np.inf if link.inflation is None else link.inflation
            known = {**vars(link), "inflation": inflation, "compelled": bool(link.compelled)}
            links.append(LearnedLink(**known))
    return tuple(links)
