"""Where some tables are too large for sampled sets, the best design for the others is taken."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pramana.simulate.designs import designed, for_itemsets
from pramana_core.design import Learn, Problem, Requirements, compare, goal, reference
from pramana_core.domain import Domain


def domain_of(sizes: Sequence[int]) -> Domain:
    return Domain.of(**{f"v{i}": [f"c{k}" for k in range(n)] for i, n in enumerate(sizes)})


def problem(sizes: Sequence[int], learn: Learn, length: int = 2) -> Problem:
    domain = domain_of(sizes)
    needs = Requirements(domain, dict.fromkeys(domain.names, 19.0), 19.0)
    target = "v2" if learn == "tree" else None
    wanted = goal(domain, learn, length=length, target=target)
    return Problem(needs, wanted, reference(domain), 45_000)


@pytest.mark.parametrize(
    ("sizes", "learn", "length", "left_out"),
    [
        ([70, 70, 2, 3], "pairs", 2, 1),
        ([70, 70, 2, 3], "tree", 2, 1),
        ([40, 2, 120, 3], "itemsets", 2, 1),
    ],
)
def test_the_best_design_for_the_other_tables_is_taken(
    sizes: Sequence[int], learn: Learn, length: int, left_out: int
):
    wanted = problem(sizes, learn, length)
    made = compare(wanted)
    assert made.unserved
    assert len(made.problem.goal.sets) == len(wanted.goal.sets) - left_out
    assert made.best.estimator != "moment"
    independent = next(o for o in made.options if o.family == "independent")
    assert made.best.prediction.loss < independent.prediction.loss


@pytest.mark.parametrize(
    ("sizes", "learn", "length"),
    [
        ([64, 64, 2], "itemsets", 2),  # the largest table that is pooled
        ([70, 70], "pairs", 2),  # there are no other pairs
        ([70, 70, 2], "structure", 2),  # a search takes every pair
    ],
)
def test_else_all_tables_are_the_goal(sizes: Sequence[int], learn: Learn, length: int):
    wanted = problem(sizes, learn, length)
    made = compare(wanted)
    assert made.problem is wanted
    assert made.unserved == ""


@pytest.mark.parametrize("family", ["auto", "sampled"])
def test_a_simulation_says_what_its_design_does_not_serve(family: str):
    domain = domain_of([70, 70, 2, 3])
    made = designed(domain, family, 19.0, for_itemsets(domain, 0.01, 2), 45_000)
    assert made.name.startswith("sampled")
    assert made.estimator != "moment"
    assert made.unserved in made.note
    assert made.as_dict()["unserved"]
