"""Structures of networks as people give them: parents by child, links, graphs, models.

Also here:

* A network as files and as models of other libraries, and back.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from pramana.exchange import networkx_graphs, pgmpy_models, pyagrum_models
from pramana.exchange.libraries import text_of, written
from pramana.frames.sentences import one_sentence
from pramana.frames.tables import shown
from pramana_core.alike import did_you_mean
from pramana_core.errors import OptionError, StructureError
from pramana_core.learn.networks.bayes_net import LearnedFamily
from pramana_core.learn.networks.exchange.bif import read_bif, write_bif, write_dot
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.structure import ParameterOptions, Scoring, Search, Structure

if TYPE_CHECKING:
    from pramana_core.learn.networks.search.structure_learning import LearnedLink


StructureLike: TypeAlias = Any
"""A dict of each child's parents, a list of (parent, child), a graph of networkx, or a network of
ours, pgmpy's or pyAgrum's."""

WANTED = (
    "a dict of each node's parents, a list of links (parent, child), a networkx.DiGraph, or a"
    " network of pramana, pgmpy or pyAgrum"
)


@dataclass(frozen=True)
class NetworkTask:
    """What a `BayesNet` is asked to learn, checked: what jobs of the miner are made of.

    Attributes:
        structure: the structure given; None if it is to be learned.
        variables: the nodes to learn it over; None for all.
        parameters: how parameters are learned.
        scoring, search, draws, seed: how the structure is learned.
    """

    structure: Structure | None
    variables: tuple[str, ...] | None
    parameters: ParameterOptions
    scoring: Scoring
    search: Search
    draws: int
    seed: int


def structure_of(given: StructureLike, variables: Sequence[str] | None = None) -> Structure:
    """Return a structure as it was given; `variables` without a link are nodes of it, too.

    Raises:
        StructureError: it is in none of the forms above, or has a cycle, a link twice, or no link
            where the nodes are not named.
    """
    parents = _parents(given)
    for name in variables or ():
        parents.setdefault(name, [])
    with one_sentence():
        return Structure.of(parents)


def scoring_of(scoring: object) -> Scoring:
    """Return a score by its name, or by a dict of its name and options. Raises OptionError."""
    if isinstance(scoring, Scoring):
        return scoring
    given = {"name": scoring} if isinstance(scoring, str) else scoring
    if not isinstance(given, Mapping) or "name" not in given:
        raise OptionError(
            "scoring must be a name, such as 'bic', or a dict such as"
            f" {{'name': 'bic', 'c_star': 2.0}}, not {shown(scoring)}.",
            where="scoring",
        )
    known = Scoring.__dataclass_fields__
    for option in given:
        if option not in known:
            raise OptionError(
                f"scoring has no option {option!r}{did_you_mean([option], known)}; it has"
                f" {', '.join(known)}.",
                where="scoring",
            )
    with one_sentence():
        return Scoring(**given)


def without_errors(network: BayesNet, node: str, parents: tuple[str, ...]) -> LearnedFamily:
    """Return a node's table as a family whose errors are unknown."""
    table = network.tables[node]
    unknown = np.full(table.shape, np.nan)
    return LearnedFamily(node, parents, unknown, table, unknown, unknown, unknown, unknown)


def _parents(given: StructureLike) -> dict[str, list[str]]:
    if isinstance(given, Structure):
        return given.as_dict()
    network = getattr(given, "network_", None)
    if network is not None:
        return _parents(network.structure)
    if isinstance(given, Mapping):
        return _of_mapping(given)
    if networkx_graphs.is_graph(given):
        return _of_links(*networkx_graphs.links_of(given, "structure"))
    if pyagrum_models.is_model(given):
        return _of_links(*pyagrum_models.links_of(given))
    if isinstance(given, list | tuple | set):
        links = [_link(link) for link in given]
        nodes = dict.fromkeys(name for link in links for name in link)
        return _of_links(list(nodes), links)
    raise StructureError(f"structure must be {WANTED}, not {shown(given)}.", where="structure")


def _of_mapping(given: Mapping[Any, Any]) -> dict[str, list[str]]:
    parents: dict[str, list[str]] = {}
    for child, listed in given.items():
        if isinstance(listed, str):
            raise StructureError(
                f"structure must give {child!r} a list of its parents, such as [{listed!r}], not"
                f" the text {listed!r}.",
                where="structure",
            )
        if not isinstance(listed, list | tuple | set | frozenset):
            raise StructureError(
                f"structure must give {child!r} a list of its parents, not {shown(listed)}.",
                where="structure",
            )
        parents[_name(child)] = [_name(parent) for parent in listed]
    for name in [name for listed in parents.values() for name in listed]:
        parents.setdefault(name, [])
    return parents


def _of_links(nodes: list[str], links: list[tuple[str, str]]) -> dict[str, list[str]]:
    parents: dict[str, list[str]] = {node: [] for node in nodes}
    for parent, child in links:
        parents[child].append(parent)
    return parents


def _link(link: object) -> tuple[str, str]:
    if not isinstance(link, list | tuple) or len(link) != 2:
        raise StructureError(
            f"structure must list links as (parent, child), not as {link!r}.", where="structure"
        )
    return _name(link[0]), _name(link[1])


def _name(given: object) -> str:
    if not isinstance(given, str):
        raise StructureError(
            f"structure must name its nodes by text, not by {shown(given)}.", where="structure"
        )
    return given


# A network as files and as models of other libraries, and back.


class NetworkForms:
    """The forms of anything that has a network."""

    @property
    @abstractmethod
    def network_(self) -> BayesNet:
        """The network itself: its structure and a valid table of each node."""

    @property
    @abstractmethod
    def learned_links_(self) -> tuple[LearnedLink, ...]:
        """What was learned of each link; nothing where the structure was given."""

    def to_bif(self, path: str | Path | None = None, *, name: str = "network") -> str | None:
        """Write the network in the Bayesian Interchange Format (BIF 0.15).

        bnlearn, pgmpy, pyAgrum and GeNIe read it; no digit is lost. BIF knows only words: other
        characters of a label are written as `_xHEX_`, which `from_bif` turns back.

        Args:
            path: the file; without one the text is returned.
            name: the network's.

        Raises:
            NotFitted: nothing was learned.
            InputError: the file cannot be written.
        """
        return written(write_bif(self.network_, name), path)

    def to_dot(self, path: str | Path | None = None, *, name: str = "network") -> str | None:
        """Write the structure in the language of Graphviz, with how sure each link is.

        Args:
            path: the file; without one the text is returned.
            name: the graph's.

        Raises:
            NotFitted: nothing was learned.
            InputError: the file cannot be written.
        """
        structure = self.network_.structure
        confidence = {(k.parent, k.child): k.confidence for k in self.learned_links_}
        return written(write_dot(structure, name, confidence), path)

    def to_networkx(self) -> Any:
        """Return the structure as a `networkx.DiGraph`.

        Learned links have the attributes gain, confidence and compelled.

        Raises:
            NotFitted: nothing was learned.
            NotInstalled: networkx is not installed.
        """
        return networkx_graphs.to_graph(self.network_.structure, self.learned_links_)

    def to_pgmpy(self) -> Any:
        """Return the network as a pgmpy `DiscreteBayesianNetwork`, categories as state names.

        Raises:
            NotFitted: nothing was learned.
            NotInstalled: pgmpy is not installed.
        """
        return pgmpy_models.to_model(self.network_)

    def to_pyagrum(self) -> Any:
        """Return the network as a pyAgrum `BayesNet`, categories as labels.

        Raises:
            NotFitted: nothing was learned.
            NotInstalled: pyAgrum is not installed.
        """
        return pyagrum_models.to_model(self.network_)

    @classmethod
    def from_bif(cls, source: str | Path) -> Self:
        """Return the network of a BIF file, or of its text.

        Raises:
            InputError: the file cannot be read, or is no network in BIF.
        """
        with one_sentence():
            return cls._of(read_bif(text_of(source, "source")))

    @classmethod
    def from_pgmpy(cls, model: Any) -> Self:
        """Return the network of a pgmpy `DiscreteBayesianNetwork` that has its parameters.

        Raises:
            InputError: it is no such model, or has no parameters.
        """
        with one_sentence():
            return cls._of(pgmpy_models.of_model(model))

    @classmethod
    def from_pyagrum(cls, model: Any) -> Self:
        """Return the network of a pyAgrum `BayesNet`.

        Raises:
            InputError: it is no such network.
        """
        with one_sentence():
            return cls._of(pyagrum_models.of_model(model))

    @classmethod
    def from_networkx(cls, graph: Any) -> Self:
        """Return an estimator of the structure of a `networkx.DiGraph`, to be fitted.

        Raises:
            StructureError: the graph has no directions, or a cycle.
        """
        return cls._of_structure(structure_of(graph))

    @classmethod
    @abstractmethod
    def _of(cls, network: BayesNet) -> Self:
        """Return a network that was not learned here."""

    @classmethod
    @abstractmethod
    def _of_structure(cls, structure: Structure) -> Self:
        """Return an estimator of a given structure."""
