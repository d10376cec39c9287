"""Conversion of models to and from pgmpy and networkx, which are loaded on use."""

from __future__ import annotations

import importlib
import warnings
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from pramana.frames.tables import shown
from pramana_core.domain import Domain, Variable
from pramana_core.errors import InputError, NotInstalled, StructureError
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.structure import Structure
from pramana_core.text_files import read_text, unreadable

if TYPE_CHECKING:
    from pramana_core.learn.networks.structure_learning import LearnedLink


def load(module: str, package: str) -> ModuleType:
    """Import a module of another library. Raises NotInstalled."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(module)
    except ImportError:
        raise NotInstalled(
            f"This function needs {package}, which is not installed; run: pip install {package}.",
            where=package,
        ) from None


def written(text: str, path: str | Path | None) -> str | None:
    """Write text to a file, or return the text if no path is given."""
    if path is None:
        return text
    file = _path(path, "path")
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"path {str(path)!r} cannot be written: {error.strerror}.", where="path"
        ) from None
    return None


def text_of(source: str | Path, argument: str) -> str:
    """Return `source` if it has several lines or braces, else the text of the file it names."""
    if isinstance(source, str) and ("\n" in source or "{" in source):
        return source
    file = _path(source, argument)
    try:
        return read_text(file)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{argument} {str(source)!r} cannot be read: {unreadable(error)}.", where=argument
        ) from None


def _path(given: object, argument: str) -> Path:
    if not isinstance(given, str | Path):
        raise InputError(
            f"{argument} must be a path or a text, not {shown(given)}.", where=argument
        )
    return Path(given)


def to_graph(structure: Structure, links: tuple[LearnedLink, ...] = ()) -> Any:
    """Return a structure as a `networkx.DiGraph`; learned links have their evidence."""
    library = load("networkx", "networkx")
    graph = library.DiGraph()
    graph.add_nodes_from(structure.nodes)
    graph.add_edges_from(structure.links)
    for link in links:
        attributes = {"gain": link.gain, "confidence": link.confidence, "compelled": link.compelled}
        graph.edges[link.parent, link.child].update(attributes)
    return graph


def is_graph(given: object) -> bool:
    """Return whether an object is a graph of networkx, or of a subclass such as pgmpy's."""
    return any(kind.__module__.startswith("networkx.") for kind in type(given).__mro__)


def links_of_networkx(graph: Any, argument: str) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the nodes and the links of a graph, with names converted to text."""
    if not graph.is_directed():
        raise StructureError(
            f"{argument} must be a directed graph, networkx.DiGraph, not {shown(graph)}, whose"
            " links have no direction.",
            where=argument,
        )
    return [str(node) for node in graph.nodes], [(str(a), str(b)) for a, b in graph.edges()]


def to_pgmpy(network: BayesNet) -> Any:
    """Return a network as pgmpy's `DiscreteBayesianNetwork`."""
    model = load("pgmpy.models", "pgmpy").DiscreteBayesianNetwork()
    factors = load("pgmpy.factors.discrete", "pgmpy")
    model.add_nodes_from(network.structure.nodes)
    model.add_edges_from(network.structure.links)
    for node, parents in network.structure.families:
        domain = network.domain.project([node, *parents])
        # One row per category of the node, the parents' combinations from left to right.
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


def of_pgmpy(model: Any, argument: str = "model") -> BayesNet:
    """Return the network of a `DiscreteBayesianNetwork` with parameters. Raises InputError.

    Categories have the order of the model's tables. Names that are not text are converted to text.
    """
    if not callable(getattr(model, "get_cpds", None)):
        raise InputError(
            f"{argument} must be a pgmpy DiscreteBayesianNetwork, not {shown(model)}.",
            where=argument,
        )
    tables = {str(cpd.variable): cpd for cpd in model.get_cpds()}
    missing = [str(node) for node in model.nodes() if str(node) not in tables]
    if missing or not tables:
        raise InputError(
            f"{argument} has nodes without parameters: {missing}; fit it first.", where=argument
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
    values = np.asarray(cpd.values, dtype=np.float64)
    for axis, parent in enumerate(cpd.variables[1:], start=1):
        listed = list(map(str, cpd.state_names[parent]))
        wanted = [listed.index(label) for label in domain[str(parent)].categories]
        values = np.take(values, wanted, axis=axis)
    return np.moveaxis(values, 0, -1)
