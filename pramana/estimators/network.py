"""Bayesian networks: parameters of a given structure, or structure and parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, asdict, fields, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pramana.estimators.base import Estimator, estimator
from pramana.estimators.saved import FORMAT, LearnedFrom, parse, plain
from pramana.frames.sentences import one_sentence
from pramana.frames.tables import names_of
from pramana.networks import NetworkAnswers, StructureLike, scoring_of, structure_of
from pramana.reporting.estimating import EstimatedCounts
from pramana_core.errors import OptionError, UnknownVariable
from pramana_core.learn.common.options import (
    DRAWS,
    Draws,
    Method,
    ParameterOptions,
    ScoreName,
    Scoring,
    Search,
    SearchName,
    Seed,
    require_limit,
)
from pramana_core.learn.common.worth import Worth
from pramana_core.learn.networks.bayes_net import LearnedBayesNet, learn_parameters
from pramana_core.learn.networks.documents import (
    NetworkDocument,
    given_network,
    network_json,
    network_of_json,
)
from pramana_core.learn.networks.drawing import draw_structure
from pramana_core.learn.networks.network import BayesNet as Network
from pramana_core.learn.networks.structure import Structure
from pramana_core.learn.networks.structure_learning import LearnedLink, learn_structure
from pramana_core.learn.worth import structure_worth
from pramana_core.marginals.tables import column_of
from pramana_core.pictures.plots import Picture
from pramana_core.progress import Progress

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

_ELSEWHERE = LearnedFrom(records=0, estimated_by="unknown")
"""The source of a network that was not learned here."""

_OF_SEARCH = ("scoring", "search", "order", "max_parents", "refine", "draws")
"""Options that have no effect on a given structure."""


@estimator
class BayesNet(NetworkAnswers, Estimator):
    """A Bayesian network that learns parameters and, unless a structure is given, links (Ma 5).

    Args:
        structure: the links: a dict of each node's parents, `{"admitted": ["sex", "department"]}`;
            a list of `(parent, child)`; a `networkx.DiGraph`; or a network of pgmpy or this class.
            None learns the structure.
        variables: the nodes of the structure to learn, by default all; their order decides ties.
            With a given structure, these variables are added as nodes without links.
        method: `ml`, or `map` with a Dirichlet prior (Ma 5.1).
        alpha: the prior's pseudo-count per cell; used by `map` only.
        scoring: the score of a link: `likelihood` of the reports, or `bic`, `bayesian` or `bdeu` of
            estimated counts. A dict sets a score's own options, such as
            `{"name": "bdeu", "equivalent_sample_size": 5.0}`.
        search: the search if `order` is None: `hill-climbing`, `chow-liu`, or `auto`, which chooses
            hill climbing if some records report all variables together.
        order: the variables in an order in which parents precede children (K2).
        max_parents: the largest number of parents per node.
        refine: whether K2 may also remove and exchange parents that it has added.
        draws: the count of bootstrap samples for the confidence of each link; 0 is fastest.
        seed: the seed of the samples.

    Examples:
        >>> import pramana as pm
        >>> people = pm.example("berkeley")
        >>> domain = pm.Domain.of(department=list("ABCDEF"), sex=["female", "male"],
        ...                       admitted=["no", "yes"])
        >>> net = pm.BayesNet().fit(people, pm.Plan.unrandomized(domain))
        >>> net.edges_
        [('department', 'sex'), ('department', 'admitted')]
        >>> print(net.query("admitted", given={"department": "A"}).round(3).to_string(index=False))
        admitted  probability
              no        0.356
             yes        0.644
    """

    kind = "bayes-net"
    job_kinds = ("bayes-net-structure", "bayes-net-parameters")

    structure: StructureLike = None
    _: KW_ONLY
    variables: Sequence[str] | None = None
    method: Method = ParameterOptions.method
    alpha: float = ParameterOptions.alpha
    scoring: ScoreName | Mapping[str, Any] = Scoring.name
    search: SearchName = Search.method
    order: Sequence[str] | None = Search.order
    max_parents: int = Search.max_parents
    refine: bool = Search.refine
    draws: int = DRAWS
    seed: int = 0

    @property
    def network_(self) -> Network:
        """The network: its domain, structure and a valid probability table for each node."""
        return self.model_.network()

    @property
    def model_(self) -> LearnedBayesNet:
        """All parameters with their errors, as arrays by node."""
        self._require_fitted()
        return self._learned

    @property
    def learned_links_(self) -> tuple[LearnedLink, ...]:
        """The learned links with their evidence; empty for a given structure."""
        self._require_fitted()
        return self._links

    @property
    def edges_(self) -> list[tuple[str, str]]:
        """The links as (parent, child) pairs."""
        return list(self.model_.structure.links)

    @property
    def feature_names_in_(self) -> npt.NDArray[Any]:
        """The names of the nodes, (nodes,)."""
        return np.array(self.model_.structure.nodes, dtype=object)

    @property
    def n_features_in_(self) -> int:
        """The count of nodes."""
        return len(self.model_.structure.nodes)

    @property
    def links_(self) -> pd.DataFrame:
        """The links of the network with their evidence, one row per link.

        Columns: `parent`, `child`; `gain`, in nats above the penalty, given the child's other
        parents; `inflation`, the factor by which randomization multiplies the chance part of the
        gain; `confidence`, the probability of the link given the child's other parents (see
        docs/learning-structure.md); and `compelled`, whether all equivalent structures give the
        link this direction. The last four are missing if the structure was given.
        """
        import pandas as pd

        columns = ["gain", "inflation", "confidence", "compelled"]
        links = {(link.parent, link.child): link for link in self.learned_links_}
        rows = [
            [*pair, *(getattr(links.get(pair), name, None) for name in columns)]
            for pair in self.edges_
        ]
        frame = pd.DataFrame(rows, columns=["parent", "child", *columns])
        return frame.astype(dict.fromkeys(columns[:3], float) | {"compelled": "boolean"})

    @property
    def structure_(self) -> Structure | None:
        """The given structure; None if the structure is learned. Raises StructureError."""
        if self.structure is None:
            return None
        variables = (
            None if self.variables is None else names_of(self.variables, "variables", some=True)
        )
        return structure_of(self.structure, variables)

    def _options(self) -> tuple[ParameterOptions, Scoring, Search]:
        if self.structure is not None:
            defaults = type(self)().get_params()
            idle = [n for n in _OF_SEARCH if repr(getattr(self, n)) != repr(defaults[n])]
            if idle:
                raise OptionError(
                    f"{idle[0]} has no effect with structure; omit one of them.",
                    where=idle[0],
                )
        order = None if self.order is None else tuple(names_of(self.order, "order", some=True))
        with one_sentence():
            require_limit(self.draws, Draws, "draws")
            require_limit(self.seed, Seed, "seed")
            parameters = ParameterOptions(self.method, self.alpha)
            search = Search(order, self.max_parents, self.refine, self.search)
        return parameters, scoring_of(self.scoring), search

    def _learn(self, counts: EstimatedCounts, on_step: Progress) -> None:
        (parameters, scoring, search), structure = self._options(), self.structure_
        variables = (
            None if self.variables is None else names_of(self.variables, "variables", some=True)
        )
        named = {
            "structure": structure.nodes if structure else (),
            "variables": variables or (),
            "order": search.order or (),
        }
        for argument, names in named.items():
            for name in names:
                if name not in counts.domain:
                    raise UnknownVariable(
                        f"{argument} names {name!r}, which is not among the variables:"
                        f" {', '.join(counts.domain.names)}.",
                        where=argument,
                    )
        links: tuple[LearnedLink, ...] = ()
        if structure is None:
            found = learn_structure(
                counts.marginals.part(variables),
                scoring,
                search,
                draws=self.draws,
                seed=self.seed,
                on_step=on_step,
            )
            structure, links = found.structure, found.links
        self._learned = learn_parameters(
            counts.marginals,
            structure,
            method=parameters.method,
            alpha=parameters.alpha,
            on_node=on_step,
        )
        self._links = links

    def _weigh(self, counts: EstimatedCounts) -> Worth | None:
        return structure_worth(counts.marginals.part(apart=True), self.model_.structure)

    def to_frame(self, node: str | None = None) -> pd.DataFrame:
        """Return the parameters with their errors, one row per parameter.

        Args:
            node: the node; by default all.

        Returns:
            a frame. For one node, it starts with a column for each parent, then `value`; a parent
            with the name of a column below, such as `low`, becomes `low (variable)`. For all nodes,
            it starts with `node`, `value` and `given`, which lists the parents' categories. The
            other columns are `estimate`, the raw ratio, which may lie outside [0, 1];
            `probability`, the projected estimate; `se_records`, the standard error given these
            records; `se_population`, the standard error against the population; `low` and `high`,
            the 95 % interval against the population. Errors are missing for a network that was not
            learned here.

        Raises NotFitted, UnknownVariable.
        """
        import pandas as pd

        if node is not None:
            self._require_nodes([node], "node")
        rows = []
        for one in self.model_.parameters():
            if node not in (None, one.node):
                continue
            given = ", ".join(f"{name}={label}" for name, label in one.parents.items())
            where = {"node": one.node, "value": one.value, "given": given}
            if node is not None:
                parents = {column_of(name, _COLUMNS): of for name, of in one.parents.items()}
                where = {**parents, "value": one.value}
            numbers = {name: _float(getattr(one, of)) for name, of in _NUMBERS.items()}
            low, high = one.interval
            rows.append([*where.values(), *numbers.values(), low, high])
            columns = [*where, *numbers, "low", "high"]
        return pd.DataFrame(rows, columns=columns)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the network from JSON text that `to_json`, a session of peers or the miner wrote.

        Raises InputError.
        """
        body = parse(text)
        if isinstance(body, Mapping) and body.get("format") == FORMAT:
            return super().from_json(text)
        with one_sentence():
            document = network_of_json(body)
        return cls._of(document.network, document)

    @classmethod
    def _of(cls, network: Network, document: NetworkDocument | None = None) -> Self:
        made = cls(network.structure.as_dict())
        made._set_model(document or NetworkDocument(given_network(network)))
        made._set_source(_ELSEWHERE)
        return made

    def _set_model(self, document: NetworkDocument) -> None:
        self._learned, self._links = document.learned, document.links

    def _set_source(self, source: LearnedFrom) -> None:
        super()._set_source(source)
        self._learned = replace(self._learned, records=source.records)

    def job_options(self) -> dict[str, Any]:
        """Return the fields of the equivalent job at a miner."""
        (parameters, scoring, search), structure = self._options(), self.structure_
        if structure is not None:
            parents = structure.as_dict()
            return {"kind": "bayes-net-parameters", "structure": parents, **asdict(parameters)}
        score = {
            field.name: getattr(scoring, field.name)
            for field in fields(Scoring)
            if field.name == "name" or getattr(scoring, field.name) != field.default
        }
        return {
            "kind": "bayes-net-structure",
            "variables": plain(self.variables),
            "score": score,
            "search": asdict(search),
            "draws": self.draws,
            "seed": self.seed,
            **asdict(parameters),
        }

    @classmethod
    def from_job(cls, job: Mapping[str, Any]) -> Estimator:
        """Return the estimator of a job, given the job's options."""
        if "search" not in job:
            return cls(**job)
        search = asdict(job["search"].options())
        options = {**job, "scoring": job["score"].model_dump(), "search": search.pop("method")}
        del options["score"]
        return cls(**options, **search)

    @classmethod
    def document_of(cls, model: Any) -> dict[str, Any]:
        """Return a miner's model in the form that `restore` reads."""
        answered: dict[str, Any] = model.model_dump(mode="json")
        return answered

    def _document(self) -> dict[str, Any]:
        return network_json(self.model_, self.learned_links_)

    def _take(self, document: Mapping[str, Any]) -> None:
        self._set_model(network_of_json(dict(document)))

    def _options_written(self) -> dict[str, Any]:
        written = super()._options_written()
        if self.structure is not None:
            written["structure"] = structure_of(self.structure).as_dict()
        return written

    def _picture(self) -> Picture:
        confidence = {(link.parent, link.child): link.confidence for link in self._links}
        return draw_structure(self.model_.structure, confidence=confidence)

    def _finding(self) -> str:
        links = len(self.edges_)
        nothing = ", which look independent" if not links and self.structure is None else ""
        return f", {links} link{'s' * (links != 1)} among {self.n_features_in_} nodes{nothing}"

    def describe_source(self) -> str:
        """Return a description of the source. Raises NotFitted."""
        self._require_fitted()
        if self.estimated_by_ == _ELSEWHERE.estimated_by:
            return "not learned here"
        return super().describe_source()


_NUMBERS = {
    "estimate": "estimate",
    "probability": "probability",
    "se_records": "se_records",
    "se_population": "se",
}
"""The numeric columns and their names in `Parameter`."""

_COLUMNS = ("value", *_NUMBERS, "low", "high")


def _float(number: float | None) -> float:
    return math.nan if number is None else number
