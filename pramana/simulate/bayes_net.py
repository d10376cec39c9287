"""Simulate the learning of a Bayesian network's structure from randomized records.

Also here:

* Compare the links of two structures: extra, missing and reversed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pramana.simulate.study import ModelFits, Series, Trials, fitted
from pramana_core import ties
from pramana_core.errors import LimitExceeded
from pramana_core.estimation.estimated import EstimatedMarginals, Estimator
from pramana_core.learn.common.options import require_limit
from pramana_core.learn.networks.moves import CPDAG
from pramana_core.learn.networks.network import BayesNet, cross_entropy
from pramana_core.learn.networks.structure import Draws, Scoring, Search, SearchName, Structure
from pramana_core.learn.networks.structure_learning import LearnedStructure, learn_structure
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Plan
from pramana_core.progress import OnShare, Tick

if TYPE_CHECKING:
    from pramana.simulate.study import Trials

# Compare the links of two structures: extra, missing and reversed.

Link = tuple[str, str]


@dataclass(frozen=True)
class LinkErrors:
    """How a structure differs from a reference; their sum is the structural Hamming distance.

    Attributes:
        extra: pairs that are adjacent in the structure only.
        missing: pairs that are adjacent in the reference only.
        reversed: pairs that are adjacent in both and linked in another way.
    """

    extra: int
    missing: int
    reversed: int

    @property
    def distance(self) -> int:
        """The structural Hamming distance."""
        return self.extra + self.missing + self.reversed


def compare(structure: Structure, reference: Structure, *, by_class: bool) -> LinkErrors:
    """Count the differences of two structures over the same nodes.

    Args:
        structure: what was learned.
        reference: what is right.
        by_class: compare equivalence classes. Data cannot tell structures of one class apart, so
            a link counts as reversed only where the completed partially directed graphs (CPDAGs)
            disagree: one directs it and the other does not, or directs it the other way. Otherwise
            the structures' own directions are compared.
    """
    found, wanted = (adjacent(s.links) for s in (structure, reference))
    ours, theirs = (directed(s) if by_class else frozenset(s.links) for s in (structure, reference))
    turned = 0
    for pair in found & wanted:
        one, two = sorted(pair)
        way = {(one, two), (two, one)}
        turned += way & ours != way & theirs
    return LinkErrors(len(found - wanted), len(wanted - found), turned)


def adjacent(links: Iterable[Link]) -> frozenset[frozenset[str]]:
    """Return the pairs of nodes that a link joins."""
    return frozenset(frozenset(link) for link in links)


def directed(structure: Structure) -> frozenset[Link]:
    """Return the links that have the same direction in every structure of the class."""
    cpdag = CPDAG.of({node: frozenset(parents) for node, parents in structure.families})
    return frozenset((p, node) for node, parents in cpdag.parents.items() for p in parents)


@dataclass(frozen=True)
class StructureOptions:
    """How structures are learned.

    Args:
        scoring: the score.
        ordered: search by K2 along the given order; otherwise without any, by `method`.
        max_parents, tabu, refine, method: see `Search`.
        draws: of the bootstrap that gives links a confidence; 0 for none.
        estimator: of the counts, by which parameters are learned and plain scores computed.

    Raises:
        OptionError: a number of draws out of its range; what `Search` raises.
    """

    scoring: Scoring = field(default_factory=Scoring)
    ordered: bool = False
    max_parents: int = Search.max_parents
    tabu: int = Search.tabu
    draws: int = 0
    refine: bool = Search.refine
    estimator: Estimator = "moment"
    method: SearchName = "auto"

    def __post_init__(self) -> None:
        require_limit(self.draws, Draws, "draws")
        self.search(())

    def search(self, order: tuple[str, ...]) -> Search:
        """Return the search, along this order if one is to be used."""
        along = order if self.ordered else None
        return Search(along, self.max_parents, self.tabu, self.refine, self.method)


@dataclass(frozen=True, eq=False)
class NetworkOutcome:
    """What the runs found, from the reports and from the same records before randomization.

    `links` tells of each link that any run found in the reports; see `as_dict`. `kl_unlinked` of a
    run is the distance of the network without links, its parameters from the same counts.
    """

    trials: Trials
    options: StructureOptions
    reference: BayesNet
    randomized: Series
    clean: Series
    distance: dict[str, dict[str, float | None]]
    links: tuple[dict[str, Any], ...]
    fits: ModelFits

    @property
    def better_than_no_links(self) -> bool | None:
        """Whether what was learned is nearer to the reference than no links; None if not known."""
        mean = self.randomized.mean()
        learned, unlinked = mean["kl"], mean["kl_unlinked"]
        if learned is None or unlinked is None:
            return None
        return ties.exceeds(unlinked, learned, tie=ties.FITTED_TIE)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form; with one seed only `seconds` differ between calls."""
        trials, options = self.trials, self.options
        return {
            "learner": "bayes-net",
            "source": trials.described(),
            "setting": {
                **trials.setting(),
                "order": "given" if options.ordered else "none",
                "search": options.method,
                "max_parents": options.max_parents,
                "tabu": options.tabu,
                "refine": options.refine,
                "estimator": options.estimator,
                "draws": options.draws,
                "scoring": asdict(options.scoring),
            },
            "score": options.scoring.name,
            "true_links": len(self.reference.structure.links),
            **self.randomized.as_dict(),
            "structural_distance": self.distance,
            "clean": self.clean.as_dict(),
            "links": list(self.links),
            "better_than_no_links": self.better_than_no_links,
            **self.fits.as_dict(),
        }


def simulate(
    trials: Trials, options: StructureOptions, on_step: OnShare = lambda _share: None
) -> NetworkOutcome:
    """Learn a structure in every run, from the reports and from the clean records.

    Links are compared with the network the records come from, or for a table with the structure
    that the same search finds in the whole clean table. The parameters that KL is taken of are
    learned from the same counts (`fitted`). `seconds` is the time from the reported columns to
    structure and parameters.

    Raises:
        EstimationError, LimitExceeded: what the learner raises.
    """
    searched = options.search(trials.source.order)
    on_step = _Steps(on_step)
    reference = _reference(trials, options.scoring, searched, on_step.tick)
    against = _Comparison(reference, by_class=not options.ordered)
    clean_plan = Plan.unrandomized(trials.source.domain)
    reports, truths, found, fits = [], [], [], []
    for trial in trials:
        share = _part(on_step, trial.index, trials.runs)
        learn = _Learner(options, searched, trials.seed + trial.index, on_step.tick)
        noisy = learn(trial.reported, trials.plan, share(0.0, 0.8))
        fits.append(noisy.marginals.lack_of_fit)
        reports.append(against(noisy))
        found.append(noisy.structure)
        learn = replace(learn, options=replace(options, draws=0, estimator="moment"))
        exact = learn(trial.true, clean_plan, share(0.8, 0.2))
        truths.append(against(exact))
    on_step(1.0)
    randomized, clean = Series(tuple(reports)), Series(tuple(truths))
    distance = {"randomized": _distance(randomized), "clean": _distance(clean)}
    links = tuple(_links(found, reference.structure))
    series = (randomized, clean)
    return NetworkOutcome(
        trials, options, reference, *series, distance, links, ModelFits(tuple(fits))
    )


class _Steps:
    """Passes shares of the work on, and between them the last one again, all along an estimate."""

    def __init__(self, on_step: OnShare) -> None:
        self._on_step, self._share = on_step, 0.0

    def __call__(self, share: float) -> None:
        self._share = share
        self._on_step(share)

    def tick(self) -> None:
        """Say that the work goes on."""
        self._on_step(self._share)


def _reference(trials: Trials, scoring: Scoring, search: Search, tick: Tick) -> BayesNet:
    """Return the network the records come from, or for a table the one learned from all of it."""
    if trials.source.network is not None:
        return trials.source.network
    plan = Plan.unrandomized(trials.source.domain)
    marginals = EstimatedMarginals(trials.everything(), plan, tick=tick)
    return fitted(marginals, learn_structure(marginals, scoring, search, draws=0).structure)


def _part(on_step: OnShare, index: int, runs: int) -> Callable[[float, float], OnShare]:
    """Return, for a run, what makes the progress of one of its parts a share of the whole."""
    return lambda start, width: lambda share: on_step((index + start + width * share) / runs)


@dataclass(frozen=True, eq=False)
class _LearnedNetwork:
    marginals: EstimatedMarginals
    structure: LearnedStructure
    network: BayesNet
    seconds: float


@dataclass(frozen=True)
class _Learner:
    options: StructureOptions
    search: Search
    seed: int
    tick: Tick

    def __call__(self, counts: ReportedCounts, plan: Plan, on_step: OnShare) -> _LearnedNetwork:
        started = time.perf_counter()
        estimator = self.options.estimator
        marginals = EstimatedMarginals(counts, plan, estimator=estimator, tick=self.tick)
        learned = learn_structure(
            marginals,
            self.options.scoring,
            self.search,
            draws=self.options.draws,
            seed=self.seed,
            on_step=lambda done, total: on_step(done / max(total, done, 1)),
        )
        network = fitted(marginals, learned.structure)
        return _LearnedNetwork(marginals, learned, network, time.perf_counter() - started)


class _Comparison:
    """Compares learned networks with one reference, whose entropy is computed once."""

    def __init__(self, reference: BayesNet, *, by_class: bool) -> None:
        self._reference = reference
        self._by_class = by_class
        self._entropy = divergence_or_none(reference, reference, 0.0)

    def __call__(self, learned: _LearnedNetwork) -> dict[str, float | None]:
        structure = learned.network.structure
        errors = compare(structure, self._reference.structure, by_class=self._by_class)
        unlinked = fitted(learned.marginals, Structure.of(dict.fromkeys(structure.nodes, ())))
        return {
            "extra": errors.extra,
            "missing": errors.missing,
            "reversed": errors.reversed,
            "kl": self._distance(learned.network),
            "kl_unlinked": self._distance(unlinked),
            "seconds": learned.seconds,
        }

    def _distance(self, network: BayesNet) -> float | None:
        kl = divergence_or_none(self._reference, network, self._entropy)
        return None if kl is None else max(0.0, kl)


def divergence_or_none(
    reference: BayesNet, network: BayesNet, entropy: float | None
) -> float | None:
    """Return the cross-entropy less `entropy`, in nats; None if a marginal is too large for it."""
    try:
        return None if entropy is None else cross_entropy(reference, network) - entropy
    except LimitExceeded:
        return None


def _distance(series: Series) -> dict[str, float | None]:
    sums = [
        {"distance": sum(run[part] or 0 for part in ("extra", "missing", "reversed"))}
        for run in series.runs
    ]
    total = Series(tuple(sums))
    return {"mean": total.mean()["distance"], "se": total.se()["distance"]}


def _links(found: list[LearnedStructure], reference: Structure) -> Iterator[dict[str, Any]]:
    """Yield each link found, most often found first: how often, how noisy, how sure."""
    by_link: dict[tuple[str, str], list[Any]] = {}
    for learned in found:
        for link in learned.links:
            by_link.setdefault((link.parent, link.child), []).append(link)
    true = {frozenset(link) for link in reference.links}
    for (parent, child), seen in sorted(by_link.items(), key=lambda i: (-len(i[1]), i[0])):
        sure = [link.confidence for link in seen if link.confidence is not None]
        yield {
            "parent": parent,
            "child": child,
            "in_reference": frozenset((parent, child)) in true,
            "share": len(seen) / len(found),
            "inflation": _finite(np.mean([link.inflation for link in seen])),
            "confidence": float(np.mean(sure)) if sure else None,
        }


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def ending(
    on_step: OnShare, seconds: float | None, clock: Callable[[], float] = time.monotonic
) -> OnShare:
    """Return a receiver of progress that ends what takes longer than so many seconds.

    Raises (when it is called):
        LimitExceeded: the time is over.
    """
    if seconds is None:
        return on_step
    started = clock()

    def step(share: float) -> None:
        if clock() - started >= seconds:
            raise LimitExceeded(
                f"The simulation was ended after {seconds:g} seconds, {share:.0%} of it done.",
                where="--limit",
                remedy="Allow more by --limit, or ask for less: fewer --runs, fewer --max-parents,"
                " --search chow-liu, or fewer variables.",
            )
        on_step(share)

    return step
