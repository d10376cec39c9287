"""Simulation of learning a Bayesian network's structure from randomized records."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from pramana.simulate.links import adjacent, compare, divergence_or_none, fitted
from pramana.simulate.study import Numbers, Series, Trial, Trials
from pramana_core import ties
from pramana_core.estimation.estimated import EstimatedMarginals, Estimator
from pramana_core.learn.common.options import DRAWS, Scoring, Search
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.structure import Structure
from pramana_core.learn.networks.structure_learning import (
    LIKELY,
    LearnedStructure,
    by_pairs,
    learn_structure,
)
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Plan
from pramana_core.progress import OnShare
from pramana_core.report.numbers import finite, measured
from pramana_core.report.report import Column, Section, Sentence, Table

_SHOWN = {
    "extra": "extra links",
    "missing": "missing links",
    "reversed": "reversed links",
    "kl": "KL from the reference, nats",
    "kl_unlinked": "KL without any links, nats",
    "seconds": "seconds to learn",
}

_LIKELY = {
    "likely_right": "likely links in the reference",
    "likely_wrong": "likely links not in it",
}


@dataclass(frozen=True)
class RunOptions:
    """The options of a run. If `ordered`, K2 searches along the order of the variables."""

    ordered: bool = False


class NetworkSimulation:
    """Learns a structure from the reports and another from the clean records in every run.

    Links are compared with those of the network from which the records were drawn or, for a table,
    with the structure that the same search finds in the whole clean table. KL uses parameters
    learned from the same counts (`fitted`); `kl_unlinked` is the KL of the network without links.
    Learned from tables of pairs, links have a confidence: `likely_right` and `likely_wrong` count
    those of at least `LIKELY`, in the reference and not. `seconds` is the learning time.
    """

    name = "bayes-net-structure"

    def __init__(
        self,
        trials: Trials,
        scoring: Scoring,
        search: Search,
        estimator: Estimator = "moment",
    ) -> None:
        order = None if search.order is None else trials.source.order
        self.scoring, self.search = scoring, replace(search, order=order)
        self.estimator = estimator
        self._plan = Plan.unrandomized(trials.source.domain)
        self.reference = self._reference(trials)
        self._entropy = divergence_or_none(self.reference, self.reference, 0.0)
        self._clean: list[Numbers] = []
        self._found: list[LearnedStructure] = []

    def settings(self) -> dict[str, Any]:
        return {
            "order": "none" if self.search.order is None else "given",
            "search": self.search.method,
            "max_parents": self.search.max_parents,
            "refine": self.search.refine,
            "scoring": asdict(self.scoring),
        }

    def run(
        self, trials: Trials, trial: Trial, share: OnShare
    ) -> tuple[Numbers, EstimatedMarginals]:
        numbers, marginals, learned = self._learned(
            trial.reported, trials.plan, self.estimator, lambda done: share(0.8 * done)
        )
        self._found.append(learned)
        clean, _, _ = self._learned(
            trial.true, self._plan, "moment", lambda done: share(0.8 + 0.2 * done)
        )
        self._clean.append(clean)
        return numbers, marginals

    def _learned(
        self, counts: ReportedCounts, plan: Plan, estimator: Estimator, share: OnShare
    ) -> tuple[Numbers, EstimatedMarginals, LearnedStructure]:
        done = 0.0

        def step(steps: int, total: int) -> None:
            nonlocal done
            done = steps / max(total, steps, 1)
            share(done)

        started = time.perf_counter()
        marginals = EstimatedMarginals(counts, plan, estimator=estimator, tick=lambda: share(done))
        paired = by_pairs(marginals, self.scoring, self.search)
        draws = DRAWS if paired else 0
        learned = learn_structure(marginals, self.scoring, self.search, draws=draws, on_step=step)
        network = fitted(marginals, learned.structure)
        seconds = time.perf_counter() - started
        numbers = self._compared(marginals, network, seconds)
        return numbers | (self._likely(learned) if paired else {}), marginals, learned

    def _likely(self, learned: LearnedStructure) -> dict[str, float | None]:
        links = learned.links
        likely = adjacent((x.parent, x.child) for x in links if (x.confidence or 0) >= LIKELY)
        right = len(likely & adjacent(self.reference.structure.links))
        return {"likely_right": right, "likely_wrong": len(likely) - right}

    def findings(self, runs: Series) -> dict[str, Any]:
        clean, mean = Series(tuple(self._clean)), runs.mean()
        learned, unlinked = mean["kl"], mean["kl_unlinked"]
        better = None
        if learned is not None and unlinked is not None:
            better = ties.exceeds(unlinked, learned, tie=ties.FITTED_TIE)
        return {
            "score": self.scoring.name,
            "true_links": len(self.reference.structure.links),
            **runs.as_dict(),
            "structural_distance": {"randomized": _distance(runs), "clean": _distance(clean)},
            "clean": clean.as_dict(),
            "links": list(_links(self._found, self.reference.structure)),
            "better_than_no_links": better,
        }

    def sections(self, found: Mapping[str, Any], trials: Trials) -> Iterator[Section]:
        clean, distance = found["clean"], found["structural_distance"]
        likely = "likely_right" in found["mean"]
        rows = [
            {
                "what": words,
                "randomized": measured(found["mean"][name], found["se"][name]),
                "clean": measured(clean["mean"].get(name), clean["se"].get(name)),
            }
            for name, words in (_SHOWN | (_LIKELY if likely else {})).items()
        ]
        written = {name: measured(*one.values()) for name, one in distance.items()}
        rows.append({"what": "structural distance", **written})
        columns = (
            Column("mean over the runs", lambda row: row["what"], number=False),
            Column("randomized", lambda row: row["randomized"]),
            Column("clean records", lambda row: row["clean"]),
        )
        yield Section(table=Table(columns, rows))
        bif = trials.source.kind == "bif"
        against = "the network of the file" if bif else "the same search in the whole table"
        by = " by the equivalence class (CPDAG)" if self.search.order is None else ""
        sentences = [
            Sentence(
                f"The reference, of {found['true_links']} links, is {against}; score"
                f" {found['score']}. ± is the standard error over the runs. Reversed: other"
                f" direction{by}."
            )
        ]
        if likely:
            sentences.append(Sentence(f"Likely: with a confidence of at least {LIKELY:.0%}."))
        if (better := found["better_than_no_links"]) is not None:
            words = "closer" if better else "not closer"
            sentence = f"The learned structure is {words} to the reference than one without links."
            sentences.append(Sentence(sentence, "plain" if better else "warning"))
        yield Section(sentences=sentences)

    def _reference(self, trials: Trials) -> BayesNet:
        if trials.source.network is not None:
            return trials.source.network
        marginals = EstimatedMarginals(trials.everything(), self._plan)
        found = learn_structure(marginals, self.scoring, self.search, draws=0)
        return fitted(marginals, found.structure)

    def _compared(
        self, marginals: EstimatedMarginals, network: BayesNet, seconds: float
    ) -> dict[str, float | None]:
        structure, reference = network.structure, self.reference
        errors = compare(structure, reference.structure, by_class=self.search.order is None)
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
    by_link: dict[tuple[str, str], list[Any]] = {}
    for learned in found:
        for link in learned.links:
            by_link.setdefault((link.parent, link.child), []).append(link)
    true = {frozenset(link) for link in reference.links}
    for (parent, child), seen in sorted(by_link.items(), key=lambda i: (-len(i[1]), i[0])):
        yield {
            "parent": parent,
            "child": child,
            "in_reference": frozenset((parent, child)) in true,
            "share": len(seen) / len(found),
            "inflation": finite(float(np.mean([link.inflation for link in seen]))),
        }
