"""Bayesian networks: learning the parameters of a given structure, or the structure as well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import ClassVar, TypeVar

from miner_service.kinds.base import Content, render
from miner_service.kinds.bounds import Extent, require_families, require_search
from miner_service.kinds.counts import CountsKind
from miner_service.settings import Limits
from pramana_core.domain import Domain
from pramana_core.errors import OptionError
from pramana_core.learn.common.worth import Worth
from pramana_core.learn.networks.bayes_net import LearnedBayesNet, learn_parameters
from pramana_core.learn.networks.bif import write_bif
from pramana_core.learn.networks.documents import NetworkDocument, network_json, network_of_json
from pramana_core.learn.networks.drawing import draw_structure
from pramana_core.learn.networks.structure import Structure
from pramana_core.learn.networks.structure_learning import LearnedLink, learn_structure
from pramana_core.learn.worth import structure_worth
from pramana_core.marginals.counts import Marginals
from pramana_core.progress import Progress, part_of
from pramana_core.ties import descending
from pramana_core.wire.jobs import BayesNetParametersSpec, BayesNetStructureSpec
from pramana_core.wire.models import BayesNetMessage

NetworkSpecT = TypeVar("NetworkSpecT", BayesNetParametersSpec, BayesNetStructureSpec)

PARAMETERS_SHOWN = 2_000
"""The maximum number of parameters on the page; the JSON has all parameters."""

_SEARCH_STEPS, _PARAMETER_STEPS = 90, 10
"""Percentages of a job's progress for the search of a structure, and for its parameters."""


def document_of(model: BayesNetMessage) -> NetworkDocument:
    """Return a model as a network document, with its learned links."""
    return network_of_json(model.model_dump(mode="json"))


def _parameters(
    spec: BayesNetParametersSpec | BayesNetStructureSpec,
    marginals: Marginals,
    structure: Structure,
    on_step: Progress,
) -> LearnedBayesNet:
    return learn_parameters(marginals, structure, **asdict(spec.parameters()), on_node=on_step)


def _content(learned: LearnedBayesNet, links: Sequence[LearnedLink]) -> Content:
    document = network_json(learned, links)
    return {name: part for name, part in document.items() if name != "kind"}


def _draw(model: BayesNetMessage) -> str:
    document = document_of(model)
    return draw_structure(document.network.structure, confidence=document.confidence).svg()


_OVERVIEW_LINKS = 12
"""The maximum number of links in the overview of a large network."""


def _overview(document: NetworkDocument) -> str:
    """Return a picture of the links with the highest gain; "" for a small network."""
    structure = document.network.structure
    if len(structure.nodes) <= _OVERVIEW_LINKS or len(structure.links) <= _OVERVIEW_LINKS:
        return ""
    worth = document.links
    if not worth:
        return ""
    order = descending([link.gain for link in worth]).tolist()[:_OVERVIEW_LINKS]
    links = [(worth[at].parent, worth[at].child) for at in order]
    parents = {
        node: tuple(parent for parent, child in links if child == node)
        for node in structure.nodes
        if any(node in link for link in links)
    }
    known = document.confidence
    return draw_structure(Structure.of(parents), confidence=known, title="Some of the links").svg()


def _page(model: BayesNetMessage) -> str:
    document = document_of(model)
    spec = model.spec if isinstance(model.spec, BayesNetStructureSpec) else None
    return render(
        "network.html.j2",
        model,
        picture=_draw(model),
        overview=_overview(document),
        links=document.links,
        score=spec.score.name if spec else None,
        draws=spec.draws if spec else 0,
        parameters=model.parameters[:PARAMETERS_SHOWN],
        free=sum(t.size - t.size // t.shape[-1] for t in document.network.tables.values()),
    )


class _NetworkKind(CountsKind[NetworkSpecT, BayesNetMessage]):
    message = BayesNetMessage
    views: ClassVar = {
        "page": _page,
        "svg": _draw,
        "bif": lambda m: write_bif(document_of(m).network, m.study),
    }

    def worth(self, spec: NetworkSpecT, marginals: Marginals, content: Content) -> Worth | None:  # noqa: ARG002
        parents = {node["name"]: node["parents"] for node in content["nodes"]}
        return structure_worth(marginals, Structure.of(parents))


class ParametersKind(_NetworkKind[BayesNetParametersSpec]):
    """Jobs that learn the parameters of a network with given structure."""

    spec = BayesNetParametersSpec

    def check(self, spec: BayesNetParametersSpec) -> None:
        spec.parameters()
        Structure.of(spec.structure)

    def variables(self, spec: BayesNetParametersSpec, _reported: Domain) -> tuple[str, ...]:
        return tuple(spec.structure)

    def require_affordable(
        self, spec: BayesNetParametersSpec, extent: Extent, limits: Limits
    ) -> None:
        require_families(spec, extent.layout, limits)

    def learn(
        self, spec: BayesNetParametersSpec, marginals: Marginals, on_step: Progress
    ) -> Content:
        return _content(_parameters(spec, marginals, Structure.of(spec.structure), on_step), ())


class StructureKind(_NetworkKind[BayesNetStructureSpec]):
    """Jobs that learn the structure and then the parameters of a network."""

    spec = BayesNetStructureSpec

    def check(self, spec: BayesNetStructureSpec) -> None:
        spec.search.options()
        spec.score.options()
        spec.parameters()

    def require_affordable(
        self, spec: BayesNetStructureSpec, extent: Extent, limits: Limits
    ) -> None:
        require_search(spec, extent.variables, extent.layout, limits)

    def variables(self, spec: BayesNetStructureSpec, reported: Domain) -> tuple[str, ...]:
        """Return the nodes of a search, by default all reported variables."""
        nodes = tuple(spec.variables or reported.names)
        if len(set(nodes)) < len(nodes):
            raise OptionError("A variable is listed twice.", where="variables")
        order = spec.search.options().order
        if order is not None and set(order) != set(nodes):
            missing, unknown = sorted(set(nodes) - set(order)), sorted(set(order) - set(nodes))
            raise OptionError(
                f"The order must list each variable once: missing {missing}, unknown {unknown}.",
                where="search.order",
                remedy="List the same variables in `order` as in `variables`.",
            )
        return nodes

    def learn(
        self, spec: BayesNetStructureSpec, marginals: Marginals, on_step: Progress
    ) -> Content:
        found = learn_structure(
            marginals,
            spec.score.options(),
            spec.search.options(),
            draws=spec.draws,
            seed=spec.seed,
            on_step=part_of(on_step, 0, _SEARCH_STEPS),
        )
        last = part_of(on_step, _SEARCH_STEPS, _PARAMETER_STEPS)
        return _content(_parameters(spec, marginals, found.structure, last), found.links)
