"""Jobs that learn a structure: what they find, what they refuse, how they are watched and ended."""

from __future__ import annotations

import itertools
import math
import threading

import numpy as np
import pytest

from miner_service.jobs.runner import learn_model
from miner_service.kinds.bounds import RecordLayout
from pramana_core.channels import Dense, Symmetric, Withheld
from pramana_core.domain import Domain, Variable
from pramana_core.errors import NotReady
from pramana_core.estimation.axes import strata_of
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.structure import Structure
from pramana_core.learn.networks.structure_learning import learn_structure
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Block, Plan

JOBS = "/v1/studies/asia/jobs"
SEARCH = {"kind": "bayes-net-structure", "draws": 20}
ORDERED = {**SEARCH, "search": {"order": ["A", "B", "C", "D"]}}
RECORDS = 3000

NET = BayesNet(
    Domain.of(A="ny", B="ny", C="lmh", D="ny"),
    Structure.of({"A": [], "B": ["A"], "C": ["B"], "D": []}),
    {
        "A": np.array([0.4, 0.6]),
        "B": np.array([[0.9, 0.1], [0.15, 0.85]]),
        "C": np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]]),
        "D": np.array([0.5, 0.5]),
    },
)
NORTH = Plan(
    (
        Block((NET.domain["A"],), Symmetric.from_probability(2, 0.1)),
        Block((NET.domain["D"], Variable("secret", ("p", "q"))), Symmetric.from_gamma(4, 19.0)),
    )
)
SOUTH = Plan(
    (
        Block((NET.domain["B"],), Symmetric.from_probability(2, 0.1)),
        Block((NET.domain["C"],), Symmetric.from_probability(3, 0.1)),
        Block((Variable("kept back", ("p", "q", "r")),), Withheld(3)),
    )
)


def reports() -> dict[str, np.ndarray]:
    """What the two owners report of records drawn from the network."""
    rng = np.random.default_rng(8)
    true = NET.sample(RECORDS, rng)
    true["secret"] = rng.integers(0, 2, RECORDS).astype(np.uint32)
    true["kept back"] = np.zeros(RECORDS, dtype=np.uint32)
    told = {}
    for block in (*NORTH.blocks, *SOUTH.blocks):
        shape = [v.size for v in block.variables]
        cells = np.ravel_multi_index([true[n] for n in block.names], shape)
        rows = np.cumsum(np.eye(math.prod(shape)) @ block.channel.matrix(), axis=1)[cells]
        said = (rng.random(RECORDS)[:, None] >= rows[:, :-1]).sum(axis=1)
        told |= dict(zip(block.names, np.unravel_index(said, block.reported_shape), strict=True))
    return told


REPORTS = reports()


@pytest.fixture
def noisy(start, build):
    """A study whose two owners sealed randomized records of the network; call it to open one."""

    def opened(**options):
        miner = start(**options)
        miner.analyst = miner.study("asia")
        for owner, plan in (("north", NORTH), ("south", SOUTH)):
            codes = {name: REPORTS[name] for name in plan.domain.names}
            person = miner.owner("asia", owner)
            person.publish("asia", build(plan, range(RECORDS), codes, per_part=RECORDS))
            setattr(miner, owner, person)
        return miner

    return opened


def by_hand(scoring=None, search=None, draws=20, seed=0):
    """The same structure learned by the library from the same reports."""
    plan = Plan((*NORTH.blocks, *SOUTH.blocks[:2]))
    counts = ReportedCounts(
        {n: REPORTS[n].astype(np.uint8) for n in plan.domain.names}, plan.reported_sizes
    )

    class Four(EstimatedMarginals):
        domain = property(lambda self: NET.domain.project(["A", "D", "B", "C"]))

    return learn_structure(Four(counts, plan), scoring, search, draws=draws, seed=seed)


@pytest.mark.slow
def test_structure_then_parameters_are_learned(noisy):
    miner = noisy()
    variables = ["A", "D", "B", "C"]
    model = miner.analyst.learn("asia", {**SEARCH, "variables": variables})
    wanted = by_hand()
    assert {n["name"]: n["parents"] for n in model["nodes"]} == wanted.structure.as_dict()
    assert {frozenset((k["parent"], k["child"])) for k in model["links"]} == {
        frozenset("AB"),
        frozenset("BC"),
    }
    assert model["links"] == [
        {
            "parent": k.parent,
            "child": k.child,
            "gain": k.gain,
            "inflation": k.inflation,
            "confidence": k.confidence,
            "compelled": k.compelled,
        }
        for k in wanted.links
    ]
    assert all(k["confidence"] > 0.9 and k["inflation"] > 1 for k in model["links"])
    given = {"structure": {n["name"]: n["parents"] for n in model["nodes"]}}
    again = miner.analyst.learn("asia", given)
    assert again["parameters"] == model["parameters"]
    assert [set(k.values()) - {k["parent"], k["child"]} for k in again["links"]] == [{None}] * 2


def test_the_same_search_is_one_job_and_another_seed_another(noisy):
    analyst = noisy().analyst
    first, again, other = (
        analyst("POST", JOBS, json={"spec": {**SEARCH, "seed": seed}}) for seed in (1, 1, 2)
    )
    assert (first.status_code, again.status_code, other.status_code) == (202, 200, 202)
    assert first.headers["location"] == again.headers["location"]
    assert other.headers["location"] != first.headers["location"]


DENSE = Dense(
    tuple(
        tuple((1 << 32) - 3 * e if j == i else e for j in range(4))
        for i, e in enumerate((1 << 20, 1 << 21, 1 << 22, 1 << 23))
    )
)
X, Y, Z, W = (Variable(n, tuple("abcdef"[:k])) for n, k in (("x", 2), ("y", 2), ("z", 6), ("w", 5)))


@pytest.mark.parametrize("joint", [DENSE, Symmetric.from_gamma(4, 19.0)])
@pytest.mark.parametrize("most", [1, 2, 3, 4])
def test_the_bound_holds_where_owners_randomize_the_same_variables_otherwise(joint, most):
    """The tables that the likelihood really makes, of every set of variables, are within it."""
    plans = (
        Plan((Block((X, Y), joint), Block((W,), Symmetric.from_probability(5, 0.1)))),
        Plan((Block((Y, Z), Symmetric.from_gamma(12, 19.0)),)),
        Plan((Block((Z,), Symmetric.from_probability(6, 0.2)),)),
    )
    sources = [
        (ReportedCounts({n: np.zeros(3, np.uint8) for n in p.domain.names}, p.reported_sizes), p)
        for p in plans
    ]
    layout = RecordLayout(plans)
    nodes = layout.domain.names
    assert sorted(nodes) == ["w", "x", "y", "z"]
    for number in range(1, most + 1):
        for names in itertools.combinations(nodes, number):
            strata = strata_of(sources, names, 1 << 20)
            cells = max(math.prod(strata[0].shape), *(s.reported.size for s in strata))
            assert cells <= layout.cells(set(names)), names


@pytest.mark.slow
def test_a_search_tells_how_far_it_is_and_ends_when_cancelled(noisy):
    seen, go_on, stopped = [], threading.Event(), threading.Event()

    def watched(spec, prepared, services, on_step):
        def step(done, total):
            seen.append(done / total)
            if len(seen) == 3:
                miner.analyst("DELETE", path[0])
            on_step(done, total)

        go_on.wait()
        try:
            return learn_model(spec, prepared, services, step)
        except NotReady:
            stopped.set()
            raise

    miner = noisy(learn=watched, wanted_seconds=0)
    body = {"spec": {**ORDERED, "variables": list("ABCD")}}
    path = [miner.analyst("POST", JOBS, json=body).headers["location"]]
    go_on.set()
    job = miner.analyst.wait(path[0])
    assert job["state"] == "cancelled"
    stopped.wait()
    assert len(seen) == 3
    assert miner.analyst("POST", JOBS, json=body).status_code == 202
    assert miner.analyst.wait(path[0])["state"] == "succeeded"
    steps = seen[3:]
    assert steps == sorted(steps)
    assert steps[0] == 0
    assert steps[-1] == 1
    assert 0.9 in steps, "the parameters are the last tenth"
