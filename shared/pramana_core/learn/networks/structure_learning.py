"""Learning the structure of a Bayesian network, with how far each link can be trusted (Ma 5.5).

Also here:

* Comparing structures by the likelihood of records on one table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import expit

from pramana_core.errors import OptionError, UnknownVariable
from pramana_core.learn.common.documents import stream
from pramana_core.learn.common.options import DRAWS, Draws, Scoring, Search, Seed, require_limit
from pramana_core.learn.networks.moves import CPDAG, Parents, identity
from pramana_core.learn.networks.pairs import Coefficients, from_pairs
from pramana_core.learn.networks.scores import Judge, judge_of, value_of
from pramana_core.learn.networks.searches import Better, by_families, climb, k2
from pramana_core.learn.networks.structure import Structure
from pramana_core.marginals.counts import Marginals, Tensor
from pramana_core.progress import Progress, unwatched

# Comparing structures by the likelihood of records on one table.
#
# Gains of single links are each of a table of their own, and what they say of two structures need
# not agree: the more of a record a table has, the more it tells of what is reported with noise. So
# two structures are compared on one table: of all variables where that can be maximized
# (`Marginals.explanation`), else of those whose families differ and of their parents, between which
# both structures keep the links they have; with the same penalty of (log N)/2 per parameter.


def on_one_table(marginals: Marginals, otherwise: Better) -> Better:
    """Return what compares structures over all variables.

    Args:
        marginals: what explains the records.
        otherwise: what compares structures whose differences concern too large a table.
    """
    scores: dict[tuple[frozenset[str], frozenset[tuple[str, str]]], float | None] = {}

    def score(parents: Parents) -> float | None:
        key = (frozenset(parents), identity(parents))
        if key not in scores:
            explained = marginals.explanation(parents)
            scores[key] = None
            if explained is not None:
                penalty = math.log(marginals.records) / 2 * explained.parameters
                scores[key] = explained.log_likelihood - penalty
        return scores[key]

    def better(first: Parents, second: Parents) -> float:
        if first == second:
            return 0.0
        for nodes in (frozenset(first), concerned(first, second)):
            values = [score(within(parents, nodes)) for parents in (first, second)]
            if values[0] is not None and values[1] is not None:
                return values[0] - values[1]
        return otherwise(first, second)

    return better


def concerned(first: Parents, second: Parents) -> frozenset[str]:
    """Return the variables whose parents differ, and all those parents."""
    changed = {node for node in first if first[node] != second[node]}
    return frozenset(changed).union(*(first[node] | second[node] for node in changed))


def within(parents: Parents, nodes: frozenset[str]) -> Parents:
    """Return a structure's links between some variables."""
    return {node: given & nodes for node, given in parents.items() if node in nodes}


# Learning the structure of a Bayesian network, with how far each link can be trusted (Ma 5.5).


BATCH = 100
"""So many bootstrap samples are maximized at once."""


@dataclass(frozen=True)
class LearnedLink:
    """A link and how far it can be trusted.

    Attributes:
        parent, child: the link.
        gain: what the link is worth given the child's other parents, in nats above the penalty;
            learned from pairs, the logarithm of the evidence against independence, and of a link
            beyond the forest against the chain that comes nearest to explaining it.
        inflation: how many times randomization multiplies the chance part of the plain gain, at
            least 1 (`Independence.inflation`): what a score would have to be protected against
            that took estimated counts for true ones. Infinite where no channel can be inverted.
        confidence: the probability that the link is there, where one link is expected among all
            pairs that could be linked (`confidence_of`). None if no samples were drawn.
        compelled: whether all structures that say the same direct the link so. If not, its
            direction is a convention (or follows from an order that was given).
    """

    parent: str
    child: str
    gain: float
    inflation: float
    confidence: float | None
    compelled: bool


@dataclass(frozen=True)
class LearnedStructure:
    """A structure learned from marginals; `search` says by its method how it was searched."""

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
        marginals: exact or estimated counts over all variables, in an order that decides ties.
        scoring: what a link is worth; by default the likelihood of the reports.
        search: how to search; by default as the reports allow (see `Search`). `chow-liu` has no
            use for the score.
        children: with an order, the only variables that get parents; the others are roots.
        draws: bootstrap samples for the confidence of each link; 0 draws none.
        seed: decides the bootstrap samples.
        on_step: called with (steps done, steps expected); may raise to stop.

    Raises:
        OptionError: children without an order, draws or a seed out of their range, or an order
            that is not one of all variables.
        UnknownVariable: a child the marginals do not have.
        EstimationError, LimitExceeded: what the marginals raise.
    """
    scoring, search = scoring or Scoring(), search or Search()
    nodes = marginals.domain.names
    _require(nodes, search, children, draws, seed)
    report = on_step or unwatched
    judge = judge_of(marginals, scoring)
    made = _searched(
        marginals, judge, scoring, search, nodes if children is None else children, report
    )
    parents, told, search = made
    appraisal = _Appraisal(
        marginals,
        judge,
        parents,
        told,
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
    """Return the parents found, what pairs told of links, and the search as it was made."""
    nodes, likely = marginals.domain.names, scoring.name == "likelihood"
    if search.order is not None:
        return k2(judge, search, children, report), {}, search
    by_pairs = search.method == "auto" and likely and _pairs_alone(marginals, nodes)
    if search.method == "chow-liu" or by_pairs:
        found = from_pairs(marginals, nodes, search.max_parents, report)
        return found.parents, found.evidence, replace(search, method="chow-liu")
    better = by_families(judge)
    if likely:
        better = on_one_table(marginals, better)
    parents = climb(judge, search, nodes, better, report)
    return parents, {}, replace(search, method="hill-climbing")


def confidence_of(gains: Tensor, gain: float, pairs: int) -> float:
    """Return the probability of a link by its gain in bootstrap samples of the records.

    A gain above BIC's penalty is about the logarithm of a Bayes factor (Kass and Wasserman 1995).
    With odds of one in `pairs` beforehand, because the link found is the best of so many, the
    odds are exp(gain) / pairs. Their probability is averaged over the samples (Huggins and Miller
    2023, bagged posteriors), so that a gain that chance can make is not taken at its word. Samples
    are more extreme than the records by chance; their mean excess is taken off first.

    Args:
        gains: the link's gain in each sample, shape (draws,), in nats.
        gain: that in the records.
        pairs: the number of pairs of variables that could have been linked.
    """
    return float(expit(gains - (gains.mean() - gain) - math.log(pairs)).mean())


@dataclass(frozen=True)
class _Appraisal:
    """Says how far the links of a structure can be trusted."""

    marginals: Marginals
    judge: Judge
    parents: Parents
    told: Mapping[frozenset[str], Coefficients]
    pairs: int
    draws: int
    seed: int
    tick: Callable[[], None]

    def link(self, parent: str, child: str, number: int) -> LearnedLink:
        """Return a link with what is known of it; `number` decides its bootstrap samples."""
        given = self.parents[child] - {parent}
        coefficients = self.told.get(frozenset((parent, child)))
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
    """Return how many pairs of variables could have been linked."""
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


def _pairs_alone(marginals: Marginals, nodes: Sequence[str]) -> bool:
    """Return whether no record reports all variables together, but sets of few."""
    return not marginals.jointly_reported(nodes)
