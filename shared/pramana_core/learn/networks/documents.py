"""Bayesian networks as JSON: written without loss, and read back.

The document lists the nodes with their categories, parents and table (parents in order, the node's
own categories last), with the parameters' errors if they were learned, and what is known of the
links if the structure was. A model as the miner gives it, which has `parameters` in place of
tables, is read too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pramana_core.domain import Domain, Variable
from pramana_core.errors import InputError
from pramana_core.learn.common.documents import DocumentPart, faults, variable_json, write_json
from pramana_core.learn.networks.bayes_net import LearnedFamily
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.structure import Structure
from pramana_core.learn.networks.structure_learning import LearnedLink
from pramana_core.marginals.counts import Tensor

_ERRORS = ("estimate", "se", "se_records", "low", "high")
"""What a family's parameters have besides their probabilities."""


@dataclass(frozen=True)
class NetworkDocument:
    """A network, and what was learned of its links and of its parameters: nothing if given."""

    network: BayesNet
    links: tuple[LearnedLink, ...] = ()
    families: tuple[LearnedFamily, ...] = ()

    @property
    def confidence(self) -> dict[tuple[str, str], float | None]:
        """The probability of each link, by (parent, child)."""
        return {(link.parent, link.child): link.confidence for link in self.links}


def write_network_json(network: BayesNet, links: Sequence[LearnedLink] = ()) -> str:
    """Return a network as JSON text; every probability is written so that none is lost."""
    return write_json(network_json(network, links))


def network_json(
    network: BayesNet, links: Sequence[LearnedLink] = (), families: Sequence[LearnedFamily] = ()
) -> dict[str, Any]:
    """Return a network as what JSON is made of, with the errors of its parameters if given."""
    errors = {family.node: {"errors": _errors(family)} for family in families}
    nodes = [
        _node(network.domain[name], parents, network.tables[name]) | errors.get(name, {})
        for name, parents in network.structure.families
    ]
    return {"kind": "bayes-net", "nodes": nodes, "links": [link_json(link) for link in links]}


def read_network_json(text: str) -> NetworkDocument:
    """Read a network from JSON text: of `write_network_json`, or a model of the miner's.

    Raises:
        InputError: the text is neither, or a table does not fit its node.
        StructureError, DomainError, NotStochastic: it is, but describes no network.
    """
    try:
        return network_of_json(json.loads(text))
    except (ValueError, RecursionError):
        raise _not_one("it is not JSON") from None


def network_of_json(body: object) -> NetworkDocument:
    """Read a network from what its JSON holds; see `read_network_json`."""
    try:
        form = _Model if isinstance(body, dict) and "parameters" in body else _Document
        document = form.model_validate(body)
    except ValidationError as error:
        raise _not_one(faults(error)) from None
    domain = Domain(tuple(node.variable() for node in document.nodes))
    structure = Structure.of({node.name: node.parents for node in document.nodes})
    network = BayesNet(domain, structure, document.tables(domain, structure))
    links = tuple(_learned(structure, document.links))
    return NetworkDocument(network, links, document.families(network))


def link_json(link: LearnedLink) -> dict[str, Any]:
    """Return a link as what JSON is made of; an infinite inflation is null."""
    finite = math.isfinite(link.inflation)
    return asdict(link) | {"inflation": link.inflation if finite else None}


class _Link(DocumentPart, strict=False):
    """Nothing but the link is said in a given structure; an infinite inflation is null."""

    parent: str
    child: str
    gain: float | None
    inflation: float | None
    confidence: float | None
    compelled: bool | None


class _Node(DocumentPart, strict=False):
    name: str
    categories: list[str]
    representatives: list[float] | None = None
    parents: list[str]

    def variable(self) -> Variable:
        numbers = None if self.representatives is None else tuple(self.representatives)
        return Variable(self.name, tuple(self.categories), numbers)


class _Errors(DocumentPart, strict=False):
    """What a learned family has besides its table, in the table's shape; null where unknown."""

    estimate: list[Any]
    se: list[Any]
    se_records: list[Any]
    low: list[Any]
    high: list[Any]


class _NodeWithTable(_Node):
    table: list[Any]
    errors: _Errors | None = None


class _Document(DocumentPart, strict=False):
    kind: Literal["bayes-net"]
    nodes: list[_NodeWithTable]
    links: Annotated[list[_Link], Field(default_factory=list)]

    def tables(self, _domain: Domain, _structure: Structure) -> dict[str, Tensor]:
        return {node.name: _numbers(node.name, node.table) for node in self.nodes}

    def families(self, network: BayesNet) -> tuple[LearnedFamily, ...]:
        """Return the parameters with their errors; none unless all nodes have them."""
        errors = [node.errors for node in self.nodes]
        if not all(errors):
            return ()
        listed = {
            node.name: {name: _numbers(node.name, getattr(node.errors, name)) for name in _ERRORS}
            for node in self.nodes
        }
        return _families(network, listed)


class _Parameter(BaseModel):
    model_config = ConfigDict(allow_inf_nan=False)

    node: str
    value: str
    parents: dict[str, str]
    probability: float
    estimate: float | None = None
    se: float | None = None
    se_records: float | None = None
    interval: tuple[float, float] = (0.0, 1.0)

    @property
    def numbers(self) -> tuple[float | None, ...]:
        return (self.estimate, self.se, self.se_records, *self.interval)


class _Model(BaseModel):
    """What is needed of a model; the rest of it is left unread."""

    kind: Literal["bayes-net"]
    nodes: list[_Node]
    parameters: list[_Parameter]
    links: list[_Link] = []

    def tables(self, domain: Domain, structure: Structure) -> dict[str, Tensor]:
        tables = {
            node: np.full(domain.project((*parents, node)).shape, np.nan)
            for node, parents in structure.families
        }
        for parameter in self.parameters:
            domain.axis(parameter.node)
            cell = _cell(domain, structure.parents[parameter.node], parameter)
            tables[parameter.node][cell] = parameter.probability
        short = [node for node, table in tables.items() if np.isnan(table).any()]
        if short:
            raise InputError(f"The model lacks parameters of the nodes {short}.", where=short[0])
        return tables

    def families(self, network: BayesNet) -> tuple[LearnedFamily, ...]:
        """Return the parameters with their errors."""
        listed = {
            node: {name: np.full(table.shape, np.nan) for name in _ERRORS}
            for node, table in network.tables.items()
        }
        for parameter in self.parameters:
            node, parents = parameter.node, network.structure.parents[parameter.node]
            cell = _cell(network.domain, parents, parameter)
            for name, number in zip(_ERRORS, parameter.numbers, strict=True):
                listed[node][name][cell] = np.nan if number is None else number
        return _families(network, listed)


def _cell(domain: Domain, parents: Sequence[str], parameter: _Parameter) -> tuple[int, ...]:
    if set(parameter.parents) != set(parents):
        raise InputError(
            f"A parameter of node {parameter.node!r} gives values of {list(parameter.parents)};"
            f" the node's parents are {list(parents)}.",
            where=parameter.node,
        )
    given = (domain[name].code(parameter.parents[name]) for name in parents)
    return (*given, domain[parameter.node].code(parameter.value))


def _node(variable: Variable, parents: Sequence[str], table: Tensor) -> dict[str, Any]:
    return variable_json(variable) | {"parents": list(parents), "table": table.tolist()}


def _errors(family: LearnedFamily) -> dict[str, Any]:
    return {name: _listed(getattr(family, name).tolist()) for name in _ERRORS}


def _listed(numbers: Any) -> Any:
    if isinstance(numbers, list):
        return [_listed(part) for part in numbers]
    return numbers if math.isfinite(numbers) else None


def _families(
    network: BayesNet, listed: Mapping[str, Mapping[str, Tensor]]
) -> tuple[LearnedFamily, ...]:
    """Return learned families. Raises InputError for errors that are not in the table's shape."""
    for node, errors in listed.items():
        if any(numbers.shape != network.tables[node].shape for numbers in errors.values()):
            raise InputError(
                f"The errors of node {node!r} are not in the shape of its table.", where=node
            )
    return tuple(
        LearnedFamily(node=node, parents=parents, probability=network.tables[node], **listed[node])
        for node, parents in network.structure.families
    )


def _numbers(node: str, table: list[Any]) -> Tensor:
    try:
        return np.array(table, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"The table of node {node!r} is not an array of numbers.", where=node
        ) from None


def _learned(structure: Structure, links: Sequence[_Link]) -> list[LearnedLink]:
    """Return the links that were learned; one of a given structure has no gain."""
    unknown = [link for link in links if (link.parent, link.child) not in structure.links]
    if unknown:
        link = unknown[0]
        raise InputError(
            f"The document speaks of a link from {link.parent!r} to {link.child!r} that the"
            " parents do not name.",
            where="links",
        )
    return [
        LearnedLink(
            link.parent,
            link.child,
            link.gain,
            math.inf if link.inflation is None else link.inflation,
            link.confidence,
            bool(link.compelled),
        )
        for link in links
        if link.gain is not None
    ]


def _not_one(why: str) -> InputError:
    return InputError(
        f"The text is not a Bayesian network in JSON: {why}.",
        remedy="Give a file of `pramana network convert --to json`, or a model of the miner.",
    )
