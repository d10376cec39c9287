"""Near-deterministic networks, beside an independent library's search."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from pramana_core.domain import Domain
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.scores import PlainJudge
from pramana_core.learn.networks.structure import Scoring, Structure
from pramana_core.learn.networks.structure_learning import learn_structure
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Plan

RECORDS = 2_000
NODES = 11


def expert_network(seed: int) -> BayesNet:
    """Rows as experts write them: 0.9, 0.99 or 1 for one category; a third at random."""
    rng = np.random.default_rng([1356, seed])
    names = [f"v{place:02d}" for place in range(NODES)]
    order = list(rng.permutation(names))
    parents: dict[str, list[str]] = {name: [] for name in names}
    while sum(map(len, parents.values())) < 2 * NODES - 3:
        place = int(rng.integers(1, NODES))
        parent = order[int(rng.integers(0, place))]
        given = parents[order[place]]
        if parent not in given and len(given) < 3:
            given.append(parent)
    sizes = {name: int(rng.integers(2, 5)) for name in names}
    tables = {}
    for name in names:
        shape = tuple(sizes[parent] for parent in parents[name])
        rows = rng.dirichlet(np.full(sizes[name], 0.8), size=shape)
        for cell in np.ndindex(*shape):
            if shape and rng.random() < 0.65:
                top = rng.choice([0.9, 0.99, 1.0])
                rows[cell] = (1 - top) / (sizes[name] - 1)
                rows[cell][rng.integers(sizes[name])] = top
        tables[name] = rows
    domain = Domain.of(**{name: [str(i) for i in range(sizes[name])] for name in names})
    return BayesNet(domain, Structure.of(parents), tables)


def records_of(network: BayesNet, seed: int) -> tuple[EstimatedMarginals, pd.DataFrame]:
    columns = network.sample(RECORDS, np.random.default_rng([1357, seed]))
    plan = Plan.unrandomized(network.domain)
    frame = pd.DataFrame({name: codes.astype(str) for name, codes in columns.items()})
    return EstimatedMarginals(ReportedCounts(columns, plan.reported_sizes), plan), frame


def their_structure(frame: pd.DataFrame, score) -> dict[str, frozenset[str]]:
    """The greedy equivalence search of an independent library, by scores that are asked of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pgmpy.causal_discovery import GES
        from pgmpy.structure_score import BIC

        class Known(BIC):
            def local_score(self, variable, parents):
                return score(variable, frozenset(parents))

        graph = GES(scoring_method=Known(frame), return_type="dag").fit(frame).causal_graph_
    return {name: frozenset(graph.predecessors(name)) for name in frame.columns}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.campaign)])
def test_clean_records_are_explained_as_well_as_by_a_kept_library(seed: int):
    """By BIC's total, computed for both from counts; theirs may have any number of parents."""
    marginals, frame = records_of(expert_network(seed), seed)
    score = PlainJudge(marginals, Scoring("bic")).score

    def total(parents: dict[str, frozenset[str]]) -> float:
        return sum(score(child, given) for child, given in parents.items())

    found = learn_structure(marginals, draws=0).structure
    ours = {name: frozenset(given) for name, given in found.parents.items()}
    assert total(ours) >= total(their_structure(frame, score)) - 1e-6
