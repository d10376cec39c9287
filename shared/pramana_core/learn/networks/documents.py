"""Bayesian networks as JSON: nodes with their parents, links, and parameters one by one.

Parameters have their errors, and links their evidence, where these were learned. It is the form of
the miner's models, of sessions of peers and of saved estimators.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
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
from pramana_core.marginals.counts import Tensor

_LEARNED = ("gain", "inflation", "confidence", "compelled")
_NUMBERS = ("probability", "estimate", "se", "se_records", "low", "high")


@dataclass(frozen=True)
class NetworkDocument:
    """A network with its learned links and families; these are empty if they were given."""

    network: BayesNet
    links: tuple[LearnedLink, ...] = ()
    families: tuple[LearnedFamily, ...] = ()

    @property
    def confidence(self) -> dict[tuple[str, str], float | None]:
        """The probability of each link, by (parent, child)."""
        return {(link.parent, link.child): link.confidence for link in self.links}


def network_json(
    network: BayesNet, links: Sequence[LearnedLink] = (), families: Sequence[LearnedFamily] = ()
) -> dict[str, Any]:
    """Return a network, its learned links and families as JSON data, without loss."""
    evidence = {
        (link.parent, link.child): asdict(link) | {"inflation": finite(link.inflation)}
        for link in links
    }
    learned = families or [without_errors(network, *own) for own in network.structure.families]
    every = LearnedBayesNet(network.domain, network.structure, 0, tuple(learned)).parameters()
    return {
        "kind": "bayes-net",
        "nodes": [
            variable_json(network.domain[name]) | {"parents": list(parents)}
            for name, parents in network.structure.families
        ],
        "links": [
            dict.fromkeys(_LEARNED)
            | {"parent": parent, "child": child}
            | evidence.get((parent, child), {})
            for parent, child in network.structure.links
        ],
        "parameters": [asdict(parameter) for parameter in every],
    }


def read_network_json(text: str) -> NetworkDocument:
    """Read a network from the JSON text of `network_json`; other fields are ignored.

    Raises:
        InputError: the text is no such document, or it lacks parameters.
        StructureError, DomainError, ChannelError: the document describes no network.
    """
    try:
        return network_of_json(json.loads(text))
    except (ValueError, RecursionError):
        raise _not_one("it is not JSON") from None


def network_of_json(body: object) -> NetworkDocument:
    """Read a network from JSON data; see `read_network_json`."""
    try:
        document = _Document.model_validate(body)
    except ValidationError as error:
        raise _not_one(faults(error)) from None
    domain = Domain(tuple(node.variable() for node in document.nodes))
    structure = Structure.of({node.name: node.parents for node in document.nodes})
    shapes = {node: domain.project((*parents, node)).shape for node, parents in structure.families}
    arrays = {
        node: {name: np.full(shape, np.nan) for name in _NUMBERS} for node, shape in shapes.items()
    }
    for parameter in document.parameters:
        domain.axis(parameter.node)
        cell = _cell(parameter, domain, structure)
        low, high = parameter.interval
        numbers = {**vars(parameter), "low": low, "high": high}
        for name, array in arrays[parameter.node].items():
            array[cell] = np.nan if numbers[name] is None else numbers[name]
    short = [node for node, own in arrays.items() if np.isnan(own["probability"]).any()]
    if short:
        raise InputError(f"The network lacks parameters of the nodes {short}.", where=short[0])
    network = BayesNet(domain, structure, {n: own["probability"] for n, own in arrays.items()})
    families = tuple(
        LearnedFamily(node=node, parents=parents, **arrays[node])
        for node, parents in structure.families
    )
    learned = any(not np.isnan(family.estimate).all() for family in families)
    return NetworkDocument(network, _links(structure, document), families if learned else ())


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

    def variable(self) -> Variable:
        return Variable(self.name, self.categories, self.representatives)


def _cell(parameter: Parameter, domain: Domain, structure: Structure) -> tuple[int, ...]:
    """Return the cell of a parameter in its node's table."""
    parents = structure.parents[parameter.node]
    if set(parameter.parents) != set(parents):
        raise InputError(
            f"A parameter of node {parameter.node!r} gives values of {list(parameter.parents)}; the"
            f" node's parents are {list(parents)}.",
            where=parameter.node,
        )
    given = (domain[name].code(parameter.parents[name]) for name in parents)
    return (*given, domain[parameter.node].code(parameter.value))


class _Document(_Part):
    kind: Literal["bayes-net"]
    nodes: list[_Node]
    parameters: list[Parameter]
    links: list[_Link] = []


def without_errors(network: BayesNet, node: str, parents: tuple[str, ...]) -> LearnedFamily:
    """Return the parameters of a node that were not learned."""
    table = network.tables[node]
    unknown: Tensor = np.full(table.shape, np.nan)
    nothing, whole = np.zeros(table.shape), np.ones(table.shape)
    return LearnedFamily(node, parents, unknown, table, unknown, unknown, nothing, whole)


def _links(structure: Structure, document: _Document) -> tuple[LearnedLink, ...]:
    """Return the learned links; those of a given structure have no gain."""
    for link in document.links:
        if (link.parent, link.child) not in structure.links:
            raise InputError(
                f"The document has a link from {link.parent!r} to {link.child!r}, which the parents"
                " do not have.",
                where="links",
            )
    known = (link for link in document.links if link.gain is not None)
    return tuple(
        LearnedLink(
            **vars(link)
            | {
                "inflation": np.inf if link.inflation is None else link.inflation,
                "compelled": bool(link.compelled),
            }
        )
        for link in known
    )


def _not_one(why: str) -> InputError:
    return InputError(
        f"The text is not a Bayesian network in JSON: {why}.",
        remedy="Give a network of a session of peers or a model of the miner.",
    )
