"""Parameters of a Bayesian network with a known structure, with standard errors (Ma 5.3, 5.4).

The parameter theta_ijk is N_ijk / N_ij, a ratio of estimated counts, or with a Dirichlet prior
(alpha + N_ijk) / (alpha_ij + N_ij). Its error is the joint error of both counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pramana_core.domain import Domain
from pramana_core.errors import DomainError
from pramana_core.learn.common.distributions import project_to_simplex
from pramana_core.learn.common.documents import Numbers
from pramana_core.learn.common.options import Method, ParameterOptions
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.structure import Structure
from pramana_core.marginals.counts import Marginals
from pramana_core.marginals.score_interval import possible
from pramana_core.marginals.tables import MarginalTable
from pramana_core.progress import Progress, unwatched

_NO_COUNT = 1e-9
"""A count of a parents' configuration below this share of the records is treated as zero."""

_ROUNDING = 1e-12


@dataclass(frozen=True)
class Parameter:
    """One parameter with its errors; the fields are explained at `LearnedFamily`."""

    node: str
    value: str
    parents: dict[str, str]
    estimate: float | None
    probability: float
    se: float | None
    se_records: float | None
    interval: tuple[float, float]


@dataclass(frozen=True, eq=False)
class LearnedFamily:
    """The parameters of one node; arrays have the shape (parents' sizes..., node's size).

    Attributes:
        estimate: the raw ratio, perhaps outside [0, 1]; NaN if the parents' count is not positive.
        probability: the distribution nearest to each row; uniform if the estimate is NaN.
        se, se_records: standard errors against the population and given the records, or NaN.
        low, high: the 95 % interval against the population, within [0, 1]; it ignores the prior.

    Raises DomainError: arrays have different shapes.
    """

    node: str
    parents: tuple[str, ...]
    estimate: Numbers
    probability: Numbers
    se: Numbers
    se_records: Numbers
    low: Numbers
    high: Numbers

    def __post_init__(self) -> None:
        every = (self.estimate, self.probability, self.se, self.se_records, self.low, self.high)
        if len({numbers.shape for numbers in every}) > 1:
            raise DomainError(
                f"The arrays of node {self.node!r} have different shapes.", where=self.node
            )


@dataclass(frozen=True, eq=False)
class LearnedBayesNet:
    """A Bayesian network learned from marginals."""

    domain: Domain
    structure: Structure
    records: int
    families: tuple[LearnedFamily, ...]

    def parameters(self) -> Iterator[Parameter]:
        """Yield all parameters, node by node; the node's value varies slowest."""
        for family in self.families:
            node = self.domain[family.node]
            parents = self.domain.project(family.parents)
            for code, value in enumerate(node.categories):
                for index in np.ndindex(*parents.shape):
                    cell = (*index, code)
                    yield Parameter(
                        node=node.name,
                        value=value,
                        parents={
                            v.name: v.categories[i] for v, i in zip(parents, index, strict=True)
                        },
                        estimate=_number(family.estimate[cell]),
                        probability=float(family.probability[cell]),
                        se=_number(family.se[cell]),
                        se_records=_number(family.se_records[cell]),
                        interval=(float(family.low[cell]), float(family.high[cell])),
                    )

    def network(self) -> BayesNet:
        """Return the network with the projected probabilities."""
        return BayesNet(self.domain, self.structure, {f.node: f.probability for f in self.families})


def learn_parameters(
    marginals: Marginals,
    structure: Structure,
    *,
    method: Method = "ml",
    alpha: float = 1.0,
    on_node: Progress | None = None,
) -> LearnedBayesNet:
    """Learn all parameters of a network with a known structure from exact or estimated counts.

    For `method` and `alpha` see `ParameterOptions`. `on_node` is called with the number of nodes
    done and in total. Raises OptionError. UnknownVariable, EstimationError: see the marginals.
    """
    options = ParameterOptions(method, alpha)
    prior = options.alpha if options.method == "map" else 0.0
    domain = marginals.domain.project(structure.nodes)
    report = on_node or unwatched
    families = []
    for done, (node, parents) in enumerate(structure.families):
        report(done, len(structure.families))
        table = marginals.marginal([*parents, node])
        families.append(learn_family(table, node, parents, prior))
    report(len(families), len(families))
    return LearnedBayesNet(domain, structure, marginals.records, tuple(families))


def learn_family(
    table: MarginalTable, node: str, parents: tuple[str, ...], prior: float = 0.0
) -> LearnedFamily:
    """Return the parameters of a node from its table with axes (parents..., node). `prior` is the
    pseudo-count of a Dirichlet prior."""
    cell = table.counts
    margin = cell.sum(axis=-1, keepdims=True)
    weight = margin + prior * cell.shape[-1]
    positive = weight > _NO_COUNT * table.records
    usable = np.broadcast_to(positive, cell.shape)
    divisor = np.where(positive, weight, 1.0)
    ratio = (cell + prior) / divisor
    ww, wv, vv = table.second_moments([node])
    second = ww - 2 * ratio * wv + np.square(ratio) * vv
    # The records' part of the second moment of `cell - ratio * margin`. Both differences below are
    # variances, so rounding below zero is clipped.
    of_records = cell * (1 - 2 * ratio) + np.square(ratio) * margin
    population = np.maximum(second - np.square(cell - ratio * margin) / table.records, 0.0)
    noise = second - of_records
    noise = np.where(noise > _ROUNDING * np.abs(second), noise, 0.0)
    se = np.sqrt(population) / divisor
    counted = margin > _NO_COUNT * table.records  # the weight may come from the prior alone
    low, high = possible(*table.ratio_interval([node]), cell / np.where(counted, margin, 1.0))
    return LearnedFamily(
        node=node,
        parents=parents,
        estimate=np.where(usable, ratio, np.nan),
        probability=np.where(usable, project_to_simplex(ratio), 1 / cell.shape[-1]),
        se=np.where(usable, se, np.nan),
        se_records=np.where(usable, np.sqrt(noise) / divisor, np.nan),
        low=np.where(usable, low, 0.0),
        high=np.where(usable, high, 1.0),
    )


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
