"""Learning the structure of a Bayesian network, with the confidence of each link (Ma 5.5)."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import expit

from pramana_core.errors import OptionError, UnknownVariable
from pramana_core.learn.common.distributions import stream
from pramana_core.learn.common.options import DRAWS, Draws, Scoring, Search, Seed, require_limit
from pramana_core.learn.networks.dependence import Coefficients
from pramana_core.learn.networks.equivalence import CPDAG
from pramana_core.learn.networks.gains import value_of
from pramana_core.learn.networks.pairs import from_pairs
from pramana_core.learn.networks.scores import Judge, Parents, judge_of
from pramana_core.learn.networks.searches import climb, k2
from pramana_core.learn.networks.structure import Structure
from pramana_core.marginals.counts import Marginals, Tensor
from pramana_core.progress import Progress, unwatched

BATCH = 100
"""The number of bootstrap samples that are maximized at once."""


@dataclass(frozen=True)
class LearnedLink:
    """A link and its evidence.

    Attributes:
        parent, child: the link.
        gain: of the link given the child's other parents, in nats above the penalty; for a link
            learned from pairs, the logarithm of the evidence against independence, or against the
            chain that explains it best.
        inflation: the factor by which randomization multiplies the chance part of the plain gain,
            at least 1 (`Independence.inflation`); infinite where no channel can be inverted.
        confidence: the probability of the link (`confidence_of`); None without samples.
        compelled: whether all equivalent structures direct the link so. If not, its direction is a
            convention or follows from the given order.
    """

    parent: str
    child: str
    gain: float
    inflation: float
    confidence: float | None
    compelled: bool


@dataclass(frozen=True)
class LearnedStructure:
    """A structure learned from marginals; the method of `search` is the one that was used."""

    structure: Structure
    links: tuple[LearnedLink, ...]
    scoring: Scoring
    search: Search
    records: int


def learn_structure(
    marginals: Marginals,
    scoring: Scoring | None = None,
    search: Search | None = None,
    *,
    children: Collection[str] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    on_step: Progress | None = None,
) -> LearnedStructure:
    """Learn which variables are the parents of which.

    Args:
        marginals: exact or estimated counts over all variables; their order decides ties.
        scoring: the score of a link; `chow-liu` does not use it.
        search: see `Search`.
        children: with an order, the only variables that get parents.
        draws: the number of bootstrap samples for the confidence of each link.
        seed: decides the bootstrap samples.
        on_step: is called with steps done and expected; may raise to stop.

    Raises:
        OptionError: children without an order, draws or a seed out of range, or an order that does
            not name every variable once.
        UnknownVariable: a child that the marginals do not have.
        EstimationError, LimitExceeded: see the marginals.
    """
    scoring, search = scoring or Scoring(), search or Search()
    nodes = marginals.domain.names
    _require(nodes, search, children, draws, seed)
    report = on_step or unwatched
    judge = judge_of(marginals, scoring)
    made = _searched(
        marginals, judge, scoring, search, nodes if children is None else children, report
    )
    parents, evidence, search = made
    appraisal = _Appraisal(
        marginals,
        judge,
        parents,
        evidence,
        _pairs(nodes, search, children),
        draws,
        seed,
        lambda: report(len(nodes), len(nodes)),
    )
    order = search.order or nodes
    structure = Structure.of({node: [p for p in order if p in parents[node]] for node in nodes})
    links = []
    for number, (parent, child) in enumerate(structure.links):
        report(len(nodes), len(nodes))
        links.append(appraisal.link(parent, child, number))
    return LearnedStructure(structure, tuple(links), scoring, search, marginals.records)


def _searched(
    marginals: Marginals,
    judge: Judge,
    scoring: Scoring,
    search: Search,
    children: Collection[str],
    report: Progress,
) -> tuple[Parents, Mapping[frozenset[str], Coefficients], Search]:
    """Return the parents, the evidence from pairs by link, and the search with its method."""
    nodes, likely = marginals.domain.names, scoring.name == "likelihood"
    if search.order is not None:
        return k2(judge, search, children, report), {}, search
    by_pairs = search.method == "auto" and likely and not marginals.jointly_reported(nodes)
    if search.method == "chow-liu" or by_pairs:
        found = from_pairs(marginals, nodes, search.max_parents, report)
        return found.parents, found.evidence, replace(search, method="chow-liu")
    parents = climb(judge, search, nodes, report)
    return parents, {}, replace(search, method="hill-climbing")


def confidence_of(gains: Tensor, gain: float, pairs: int) -> float:
    """Return the probability of a link by its gain in bootstrap samples of the records.

    A gain above BIC's penalty is about the logarithm of a Bayes factor (Kass and Wasserman 1995).
    With prior odds of one in `pairs`, for the link is the best of these, the odds are
    exp(gain) / pairs. Their probability is averaged over the samples (bagged posteriors, Huggins
    and Miller 2023), which discounts gains by chance. The mean excess of the samples' gains over
    that of the records is subtracted first.

    Args:
        gains: in each sample, shape (draws,), in nats.
        gain: in the records.
        pairs: the number of pairs of variables that could have been linked.
    """
    return float(expit(gains - (gains.mean() - gain) - math.log(pairs)).mean())


@dataclass(frozen=True)
class _Appraisal:
    """Computes the evidence of a structure's links."""

    marginals: Marginals
    judge: Judge
    parents: Parents
    evidence: Mapping[frozenset[str], Coefficients]
    pairs: int
    draws: int
    seed: int
    tick: Callable[[], None]

    def link(self, parent: str, child: str, number: int) -> LearnedLink:
        """Return a link with its evidence; `number` decides its bootstrap samples."""
        given = self.parents[child] - {parent}
        coefficients = self.evidence.get(frozenset((parent, child)))
        if coefficients is None:
            gain = value_of(self.judge.gain(child, given, parent))
            evidence = self.marginals.independence([child], [parent], sorted(given))
            inflation = evidence.inflation

            def resampled(draws: int, rng: np.random.Generator) -> Tensor:
                return self.judge.resampled(child, given, parent, draws, rng)
        else:
            gain, inflation = coefficients.gain, coefficients.inflation
            resampled = coefficients.resampled
        confidence = None
        if self.draws:
            rng = stream(self.seed, number)
            batches = []
            for start in range(0, self.draws, BATCH):
                self.tick()
                batches.append(resampled(min(BATCH, self.draws - start), rng))
            confidence = confidence_of(np.concatenate(batches), gain, self.pairs)
        compelled = parent in self.cpdag.parents[child]
        return LearnedLink(parent, child, gain, inflation, confidence, compelled)

    @cached_property
    def cpdag(self) -> CPDAG:
        """The class of the structure."""
        return CPDAG.of(self.parents)


def _pairs(nodes: tuple[str, ...], search: Search, children: Collection[str] | None) -> int:
    """Return the number of pairs of variables that could have been linked."""
    if search.order is None or children is None:
        return max(1, len(nodes) * (len(nodes) - 1) // 2)
    return max(1, sum(place for place, name in enumerate(search.order) if name in children))


def _require(
    nodes: tuple[str, ...],
    search: Search,
    children: Collection[str] | None,
    draws: int,
    seed: int,
) -> None:
    require_limit(draws, Draws, "draws")
    require_limit(seed, Seed, "seed")
    if search.order is not None and set(search.order) != set(nodes):
        missing = sorted(set(nodes) - set(search.order))
        unknown = sorted(set(search.order) - set(nodes))
        raise OptionError(
            f"The order must name each variable once: missing {missing}, unknown {unknown}.",
            where="order",
        )
    if children is not None:
        if search.order is None:
            raise OptionError(
                "Only with an order can some variables alone get parents.", where="children"
            )
        unknown = sorted(set(children) - set(nodes))
        if unknown:
            raise UnknownVariable(f"There are no variables {unknown} to be children.")
