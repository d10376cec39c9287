"""Structures as graphs of networkx, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pramana.exchange.libraries import load
from pramana.frames.tables import shown
from pramana_core.errors import StructureError
from pramana_core.learn.networks.structure import Structure

if TYPE_CHECKING:
    from pramana_core.learn.networks.search.structure_learning import LearnedLink


def to_graph(structure: Structure, links: tuple[LearnedLink, ...] = ()) -> Any:
    """Return a structure as a `networkx.DiGraph`; links have what was learned of them.

    Raises:
        NotInstalled: networkx is not installed.
    """
    library = load("networkx", "networkx")
    graph = library.DiGraph()
    graph.add_nodes_from(structure.nodes)
    graph.add_edges_from(structure.links)
    for link in links:
        told = {"gain": link.gain, "confidence": link.confidence, "compelled": link.compelled}
        graph.edges[link.parent, link.child].update(told)
    return graph


def is_graph(given: object) -> bool:
    """Return whether something is a graph of networkx, or of what builds on it, as pgmpy does."""
    return any(kind.__module__.startswith("networkx.") for kind in type(given).__mro__)


def links_of(graph: Any, argument: str) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the nodes and links of a graph, called by text.

    Raises:
        StructureError: its links have no direction.
    """
    if not graph.is_directed():
        raise StructureError(
            f"{argument} must be a directed graph, networkx.DiGraph, not {shown(graph)}, whose"
            " links have no direction.",
            where=argument,
        )
    return [str(node) for node in graph.nodes], [(str(a), str(b)) for a, b in graph.edges()]
