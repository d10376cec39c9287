"""Questions to a Bayesian network: the distribution of some nodes, given what is known of others.

Exact inference is the work of pyAgrum (lazy propagation in a junction tree), which the optional
extra `inference` installs. It is imported when the first question is asked.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from pramana_core.domain import Domain
from pramana_core.errors import LimitExceeded, NotInstalled, OptionError
from pramana_core.learn.networks.network import BayesNet
from pramana_core.marginals.counts import Tensor

CLIQUE_CELLS = 1 << 22
"""Cells that all tables of the junction tree may have together; each takes about 25 bytes."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """The joint distribution of the nodes asked for, given the evidence.

    Attributes:
        domain: the nodes asked for, in the order of the question.
        evidence: the category that each known node was given to have.
        probabilities: shape `domain.shape`; sums to 1.
        evidence_probability: how probable the network holds the evidence itself; 1 without any.
    """

    domain: Domain
    evidence: Mapping[str, str]
    probabilities: Tensor
    evidence_probability: float

    def rows(self) -> Iterator[tuple[dict[str, str], float]]:
        """Yield the category of every node and the probability, the last node fastest."""
        for cell in np.ndindex(*self.domain.shape):
            labels = {v.name: v.categories[i] for v, i in zip(self.domain, cell, strict=True)}
            yield labels, float(self.probabilities[cell])


def posterior(
    network: BayesNet, query: Sequence[str], evidence: Mapping[str, str] | None = None
) -> Posterior:
    """Return P(query | evidence), jointly over all nodes of the query.

    Args:
        network: the network to ask.
        query: the names of one or more nodes.
        evidence: category by node; nodes that do not matter to the query may be among them.

    Raises:
        UnknownVariable: a node that the network does not have.
        UnknownCategory: evidence that its node cannot show.
        OptionError: an empty query, a node asked for twice, a node both asked for and known, or
            evidence that has probability zero in this network.
        LimitExceeded: the network is too densely linked for exact inference in `CLIQUE_CELLS`.
        NotInstalled: the extra `inference` is not installed.
    """
    known = dict(evidence or {})
    domain = network.domain.project(network.structure.nodes)
    _require_question(list(query), known)
    asked = domain.project(query)
    codes = {domain.axis(name): domain[name].code(label) for name, label in known.items()}
    library = load_pyagrum()
    propagation = library.LazyPropagation(peer(library, network, domain))
    for node, code in codes.items():
        propagation.addEvidence(node, code)
    targets = {domain.axis(name) for name in query}
    propagation.addJointTarget(targets)
    _require_small(propagation, domain)
    probability = _evidence_probability(library, propagation, known)
    answer = propagation.jointPosterior(targets)
    # The library names its axes from the last to the first.
    order = [int(name) for name in reversed(answer.names)]
    axes = [order.index(domain.axis(name)) for name in query]
    return Posterior(asked, known, np.transpose(answer.toarray(), axes), probability)


def load_pyagrum() -> ModuleType:
    """Import the library of the extra `inference`. Raises NotInstalled."""
    try:
        with warnings.catch_warnings():
            # Its extension types have no module name, which Python warns of at their first import.
            warnings.simplefilter("ignore", DeprecationWarning)
            import pyagrum
    except ImportError as error:
        raise NotInstalled(
            "Questions to a network need pyAgrum, which is not installed here.",
            where="inference",
            remedy="Install the extra: pip install 'pramana[inference]'.",
        ) from error
    library: ModuleType = pyagrum
    return library


def peer(library: ModuleType, network: BayesNet, domain: Domain, *, labelled: bool = False) -> Any:
    """Return the network in the library's form.

    Args:
        library: what `load_pyagrum` returned.
        network: the network.
        domain: its nodes, in the order of the library's numbers.
        labelled: whether nodes and categories are called by their names; else by their numbers.
    """
    made = library.BayesNet()
    called = {v.name: v.name if labelled else str(axis) for axis, v in enumerate(domain)}
    for variable in domain:
        name = called[variable.name]
        if labelled:
            made.add(library.LabelizedVariable(name, "", list(variable.categories)))
        else:
            made.add(library.RangeVariable(name, "", 0, variable.size - 1))
    for parent, child in network.structure.links:
        made.addArc(domain.axis(parent), domain.axis(child))
    for node, parents in network.structure.families:
        table = made.cpt(domain.axis(node))
        scope = [called[name] for name in (*parents, node)]
        axes = [scope.index(name) for name in reversed(table.names)]
        table[:] = np.ascontiguousarray(network.tables[node].transpose(axes), dtype=np.float64)
    return made


def _require_question(query: list[str], known: Mapping[str, str]) -> None:
    if not query:
        raise OptionError("The question names no node to ask for.", where="of")
    twice = sorted({name for name in query if query.count(name) > 1})
    if twice:
        raise OptionError(f"The question names {twice} twice.", where=", ".join(twice))
    both = [name for name in query if name in known]
    if both:
        raise OptionError(
            f"{both} are both asked for and given.",
            where=", ".join(both),
            remedy="Ask for other nodes, or do not give these.",
        )


def _evidence_probability(library: ModuleType, propagation: Any, known: Mapping[str, str]) -> float:
    try:
        probability = float(propagation.evidenceProbability())
    except library.IncompatibleEvidence:  # zero by the zeros of the tables alone
        probability = 0.0
    if probability <= 0:
        said = ", ".join(f"{name}={label}" for name, label in known.items())
        raise OptionError(
            f"In this network {said} has probability zero; nothing follows from it.",
            where=", ".join(known),
            remedy="Leave out or change part of what is given.",
        )
    return probability


def _require_small(propagation: Any, domain: Domain) -> None:
    tree = propagation.junctionTree()
    cliques = (tree.clique(clique) for clique in tree.nodes())
    cells = sum(math.prod(domain.shape[node] for node in clique) for clique in cliques)
    if cells > CLIQUE_CELLS:
        raise LimitExceeded(
            f"To answer this exactly takes tables of {cells} cells; {CLIQUE_CELLS} are allowed.",
            where="of",
            remedy="Ask for fewer nodes at once, give more evidence, or sample the network.",
        )
