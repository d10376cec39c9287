"""A network as files and as models of other libraries, and back."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pramana.exchange import networkx_graphs, pgmpy_models, pyagrum_models
from pramana.exchange.files import text_of, written
from pramana.frames.sentences import one_sentence
from pramana.networks.structures import structure_of
from pramana_core.learn.networks.exchange.bif import read_bif, write_bif
from pramana_core.learn.networks.exchange.dot import write_dot
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.structure import Structure

if TYPE_CHECKING:
    from pramana_core.learn.networks.search.structure_learning import LearnedLink


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
