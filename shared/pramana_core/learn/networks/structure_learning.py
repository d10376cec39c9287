"""Learning the structure of a Bayesian network, with the confidence of each link (Ma 5.5)."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logsumexp

from pramana_core.errors import OptionError, UnknownVariable
from pramana_core.learn.common.distributions import stream
from pramana_core.learn.common.options import DRAWS, Draws, Scoring, Search, Seed, require_limit
from pramana_core.learn.networks.dependence import Coefficients
from pramana_core.learn.networks.equivalence import CPDAG
from pramana_core.learn.networks.gains import value_of
from pramana_core.learn.networks.pairs import from_pairs
from pramana_core.learn.networks.scores import Judge, judge_of
from pramana_core.learn.networks.searches import climb, k2
from pramana_core.learn.networks.structure import Structure
from pramana_core.marginals.counts import Marginals, Tensor
from pramana_core.progress import Progress, unwatched

BATCH = 100
"""The number of bootstrap samples for which likelihoods are maximized together."""

_NEGLIGIBLE = 40.0
"""A chain that explains a link worse than this, in nats, does not change a rounded confidence."""

LIKELY = 0.5
"""A link of at least this confidence is more likely than all other explanations together."""


@dataclass(frozen=True)
class LearnedLink:
    """A link and its evidence.

    Attributes:
        parent, child: the two ends of the link.
        gain: the gain given the child's other parents, in nats above the penalty; for links learned
            from pairs, the logarithm of the evidence against the best other explanation.
        inflation: the factor by which randomization increases the plain gain expected by chance.
        confidence: the probability of the link (`confidence_of`), or None without samples.
        compelled: whether all equivalent structures give the link the same direction.
    """

    parent: str
    child: str
    gain: float
    inflation: float
    confidence: float | None
    compelled: bool


@dataclass(frozen=True)
class LearnedStructure:
    """A structure learned from marginals; `search` is the name of the method that was used."""

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
    """Learn the parents of each variable. If scores tie, the order of the variables decides.

    `chow-liu` ignores `scoring`. With an order in `search`, only `children` get parents. `draws`
    bootstrap samples, seeded by `seed`, give each link its confidence. Raises OptionError:
    `children` are given without an order, `draws` or `seed` is out of range, or the order is
    incomplete. UnknownVariable: a child that is not in the marginals. EstimationError,
    LimitExceeded: see the marginals.
    """
    scoring, search = scoring or Scoring(), search or Search()
    nodes = marginals.domain.names
    require_limit(draws, Draws, "draws")
    require_limit(seed, Seed, "seed")
    _require(nodes, search, children)
    report = on_step or unwatched

    def tick() -> None:
        report(len(nodes), len(nodes))

    judge = judge_of(marginals, scoring)
    evidence: Mapping[frozenset[str], Coefficients] = {}
    chains: Mapping[frozenset[str], Iterable[Coefficients]] = {}
    if search.order is not None:
        parents = k2(judge, search, nodes if children is None else children, report)
    elif by_pairs(marginals, scoring, search):
        parents, evidence, chains = from_pairs(marginals, nodes, search.max_parents, report)
        search = replace(search, method="chow-liu")
    else:
        parents = climb(judge, search, nodes, report)
        search = replace(search, method="hill-climbing")
    order, compelled = search.order or nodes, CPDAG.of(parents).parents
    structure = Structure.of({node: [p for p in order if p in parents[node]] for node in nodes})
    links = []
    for number, (parent, child) in enumerate(structure.links):
        report(len(nodes), len(nodes))
        given = parents[child] - {parent}
        pair = frozenset((parent, child))
        tested = evidence.get(pair) or _ScoredLink(judge, marginals, child, given, parent)
        gain, confidence = tested.gain, None
        if draws:
            rng = stream(seed, number)
            gains = _resampled(tested, draws, rng, tick)
            explanations = [(gains, gain, _pairs(nodes, search, children))]
            for chain in chains.get(pair, ()):
                if chain.sure_gain >= _NEGLIGIBLE:
                    # Other chains keep their draws.
                    rng.standard_normal((draws, len(chain.values)))
                    continue
                gains = _resampled(chain, draws, rng, tick)
                explanations.append((gains, chain.gain, 1))
            confidence = confidence_of(explanations)
        links.append(
            LearnedLink(
                parent, child, gain, tested.inflation, confidence, parent in compelled[child]
            )
        )
    return LearnedStructure(structure, tuple(links), scoring, search, marginals.records)


@dataclass(frozen=True)
class _ScoredLink:
    """The evidence of a link, as gains that a score gives it."""

    judge: Judge
    marginals: Marginals
    child: str
    given: frozenset[str]
    parent: str

    @property
    def gain(self) -> float:
        return value_of(self.judge.gain(self.child, self.given, self.parent))

    @property
    def inflation(self) -> float:
        given = sorted(self.given)
        return self.marginals.independence([self.child], [self.parent], given).inflation

    def resampled(self, draws: int, rng: np.random.Generator) -> Tensor:
        return self.judge.resampled(self.child, self.given, self.parent, draws, rng)


def _resampled(
    tested: Coefficients | _ScoredLink,
    draws: int,
    rng: np.random.Generator,
    on_batch: Callable[[], None],
) -> Tensor:
    gains = []
    for start in range(0, draws, BATCH):
        on_batch()
        gains.append(tested.resampled(min(BATCH, draws - start), rng))
    return np.concatenate(gains)


def by_pairs(marginals: Marginals, scoring: Scoring, search: Search) -> bool:
    """Return whether a structure without an order is learned from tables of pairs."""
    return search.order is None and (
        search.method == "chow-liu"
        or (
            search.method == "auto"
            and scoring.name == "likelihood"
            and not marginals.jointly_reported(marginals.domain.names)
        )
    )


def confidence_of(explanations: Sequence[tuple[Tensor, float, float]]) -> float:
    """Return the probability of a link among other explanations of the dependence.

    Each other explanation has the link's gains over it in bootstrap samples, in nats, the gain in
    the records, and its prior odds to the link. The odds of a link to independence are
    exp(gain) / pairs (Kass and Wasserman 1995). The probabilities are averaged over the samples,
    after the gains are shifted so that their mean is the gain of the records (Huggins and Miller
    2023).
    """
    against = [
        math.log(prior) - (gains - (gains.mean() - gain)) for gains, gain, prior in explanations
    ]
    return float(expit(-logsumexp(against, axis=0)).mean())


def _pairs(nodes: tuple[str, ...], search: Search, children: Collection[str] | None) -> int:
    if search.order is None or children is None:
        return max(1, len(nodes) * (len(nodes) - 1) // 2)
    return max(1, sum(place for place, name in enumerate(search.order) if name in children))


def _require(nodes: tuple[str, ...], search: Search, children: Collection[str] | None) -> None:
    if search.order is not None and set(search.order) != set(nodes):
        missing, unknown = sorted({*nodes} - {*search.order}), sorted({*search.order} - {*nodes})
        raise OptionError(
            f"The order must contain each variable once. Missing: {missing}. Unknown: {unknown}.",
            where="order",
        )
    if children is not None:
        if search.order is None:
            raise OptionError("`children` requires an order of the variables.", where="children")
        unknown = sorted(set(children) - set(nodes))
        if unknown:
            raise UnknownVariable(f"The children {unknown} are not variables of the marginals.")
