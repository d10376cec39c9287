"""Simulate the learning of a Bayesian network's structure from randomized records."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from pramana.simulate.links import compare, divergence_or_none, fitted
from pramana.simulate.study import Numbers, Series, Trial, Trials
from pramana_core import ties
from pramana_core.estimation.estimated import EstimatedMarginals, Estimator
from pramana_core.learn.common.options import Draws, Scoring, Search, SearchName, require_limits
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.structure import Structure
from pramana_core.learn.networks.structure_learning import LearnedStructure, learn_structure
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Plan
from pramana_core.progress import OnShare


@dataclass(frozen=True)
class StructureOptions:
    """How structures are learned.

    Args:
        scoring: the score.
        ordered: search by K2 along the given order; otherwise without any, by `method`.
        max_parents, refine, method: see `Search`.
        draws: of the bootstrap that gives links a confidence; 0 for none.
        estimator: of the counts, by which parameters are learned and plain scores computed.

    Raises:
        OptionError: a number of draws out of its range; what `Search` raises.
    """

    scoring: Scoring = field(default_factory=Scoring)
    ordered: bool = False
    max_parents: int = Search.max_parents
    draws: Draws = 0
    refine: bool = Search.refine
    estimator: Estimator = "moment"
    method: SearchName = "auto"

    def __post_init__(self) -> None:
        require_limits(self)
        self.search(())

    def search(self, order: tuple[str, ...]) -> Search:
        """Return the search, along this order if one is to be used."""
        along = order if self.ordered else None
        return Search(along, self.max_parents, self.refine, self.method)


class NetworkSimulation:
    """Learns a structure in every run, from the reports and from the clean records.

    Links are compared with the network the records come from, or for a table with the structure
    that the same search finds in the whole clean table. The parameters that KL is taken of are
    learned from the same counts (`fitted`); `kl_unlinked` is the distance of the network without
    links. `seconds` is the time from the reported columns to structure and parameters.
    """

    name = "bayes-net"

    def __init__(self, trials: Trials, options: StructureOptions) -> None:
        self.options, self.estimator = options, options.estimator
        self._search = options.search(trials.source.order)
        self._plan = Plan.unrandomized(trials.source.domain)
        self.reference = self._reference(trials)
        self._entropy = divergence_or_none(self.reference, self.reference, 0.0)
        self._clean: list[Numbers] = []
        self._found: list[LearnedStructure] = []

    def settings(self) -> dict[str, Any]:
        """See `Simulated`."""
        options = self.options
        return {
            "order": "given" if options.ordered else "none",
            "search": options.method,
            "max_parents": options.max_parents,
            "refine": options.refine,
            "draws": options.draws,
            "scoring": asdict(options.scoring),
        }

    def run(
        self, trials: Trials, trial: Trial, share: OnShare
    ) -> tuple[Numbers, EstimatedMarginals]:
        """See `Simulated`."""
        seed = trials.seed + trial.index
        at, estimator = 0.0, self.estimator

        def learn(
            counts: ReportedCounts, plan: Plan, draws: int, width: float
        ) -> tuple[Numbers, EstimatedMarginals, LearnedStructure]:
            started = time.perf_counter()
            marginals = EstimatedMarginals(
                counts, plan, estimator=estimator, tick=lambda: share(at)
            )
            learned = learn_structure(
                marginals,
                self.options.scoring,
                self._search,
                draws=draws,
                seed=seed,
                on_step=lambda done, total: share(at + width * done / max(total, done, 1)),
            )
            network = fitted(marginals, learned.structure)
            seconds = time.perf_counter() - started
            return self._compared(marginals, network, seconds), marginals, learned

        numbers, marginals, learned = learn(trial.reported, trials.plan, self.options.draws, 0.8)
        self._found.append(learned)
        at, estimator = 0.8, "moment"
        self._clean.append(learn(trial.true, self._plan, 0, 0.2)[0])
        return numbers, marginals

    def findings(self, runs: Series) -> dict[str, Any]:
        """See `Simulated`."""
        clean, mean = Series(tuple(self._clean)), runs.mean()
        learned, unlinked = mean["kl"], mean["kl_unlinked"]
        better = None
        if learned is not None and unlinked is not None:
            better = ties.exceeds(unlinked, learned, tie=ties.FITTED_TIE)
        return {
            "score": self.options.scoring.name,
            "true_links": len(self.reference.structure.links),
            **runs.as_dict(),
            "structural_distance": {"randomized": _distance(runs), "clean": _distance(clean)},
            "clean": clean.as_dict(),
            "links": list(_links(self._found, self.reference.structure)),
            "better_than_no_links": better,
        }

    def _reference(self, trials: Trials) -> BayesNet:
        """Return the network of the records, or for a table the one learned from all of it."""
        if trials.source.network is not None:
            return trials.source.network
        marginals = EstimatedMarginals(trials.everything(), self._plan)
        found = learn_structure(marginals, self.options.scoring, self._search, draws=0)
        return fitted(marginals, found.structure)

    def _compared(
        self, marginals: EstimatedMarginals, network: BayesNet, seconds: float
    ) -> Numbers:
        """Return the errors of a learned network."""
        structure, reference = network.structure, self.reference
        errors = compare(structure, reference.structure, by_class=not self.options.ordered)
        unlinked = fitted(marginals, Structure.of(dict.fromkeys(structure.nodes, ())))
        learned, other = (
            divergence_or_none(reference, one, self._entropy) for one in (network, unlinked)
        )
        return {
            "extra": errors.extra,
            "missing": errors.missing,
            "reversed": errors.reversed,
            "kl": None if learned is None else max(0.0, learned),
            "kl_unlinked": None if other is None else max(0.0, other),
            "seconds": seconds,
        }


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
