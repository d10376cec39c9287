"""Requirements, goals and families: what each means, what no plan exceeds, what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana_core.channels import Symmetric
from pramana_core.design import (
    Goal,
    Problem,
    Requirements,
    families,
    find_design,
    gamma_of_breach,
    gamma_of_epsilon,
    gamma_of_p,
    goal,
    option,
)
from pramana_core.design.families import cut_and_paste, share_epsilon, subsets_of
from pramana_core.domain import Domain
from pramana_core.errors import ChannelError, OptionError, StructureError, UnknownVariable
from pramana_core.privacy import Amplification, CentralLoss
from tests.shared.design.designs import GAMMA, demands, sized

DOMAIN = Domain.of(a="xyz", b="pq", c="01")
NEEDS = Requirements(DOMAIN, 9.0)
SETS = (("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c"))


def worst_ratio(matrix: np.ndarray, axis: int) -> float:
    """The largest ratio of two truths that differ in one variable, over all reports."""
    moved = np.moveaxis(matrix, axis, 0)
    possible = moved.max(axis=0) > 0
    return float((moved.max(axis=0)[possible] / moved.min(axis=0)[possible]).max())


@given(st.lists(st.integers(2, 3), min_size=2, max_size=3), st.floats(1.05, 200))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_no_plan_exceeds_a_requirement(sizes, gamma):
    needs = Requirements(sized(*sizes), gamma)
    made = 0
    for _, build in families(needs):
        try:
            plan = build(needs)
        except (ChannelError, OptionError):
            continue
        made += 1
        assert Amplification.together(plan.blocks).gamma <= gamma * (1 + 1e-9)
        for block in plan.blocks:
            matrix = block.channel.matrix().reshape(*(v.size for v in block.variables), -1)
            for axis in range(len(block.names)):
                assert worst_ratio(matrix, axis) <= gamma * (1 + 1e-9)
    assert made >= 4


def test_the_check_of_requirements_can_fail():
    """The control: a channel one part in a thousand too strong is seen."""
    matrix = Symmetric.from_gamma(3, 5.005).matrix()
    assert worst_ratio(matrix, 0) > 5 * (1 + 1e-9)


def test_a_family_that_cannot_keep_the_requirement_has_no_plan():
    needs = Requirements(DOMAIN, 1.5)
    made = option(Problem(needs, Goal(SETS, 2), 10), "cut-and-paste-3", cut_and_paste(3))
    assert made.plan is None
    assert math.isnan(made.gamma)
    assert made.reason
    assert not made.able


@pytest.mark.parametrize(("size", "gamma"), [(256, 5.0), (1024, 19.0), (5000, 19.0)])
def test_a_column_of_many_categories_is_reported_by_subsets(size: int, gamma: float):
    """Where it gains: by less error than any other family predicts."""
    needs = Requirements(sized(size, 2), gamma)
    found = find_design(Problem(needs, goal(needs.domain, "counts"), 20_000))
    assert found.chosen.family == ("subset-selection" if size > 4096 else "sampled-subsets")
    assert found.able[0].prediction.score < found.able[1].prediction.score


def test_families_by_the_number_of_variables():
    one = Requirements(DOMAIN, 4.0, ("a", "c"))
    assert [name for name, _ in families(one)] == ["independent", "mask", "cut-and-paste-1"]
    two = [name for name, _ in families(Requirements(DOMAIN, 6.0, ("b",)))]
    assert "sampled-1" in two
    assert "sampled-2" not in two
    assert "subset-selection" not in two
    places = Requirements(sized(200, 2), 19.0)
    assert "subset-selection" in dict(families(places))
    many = sized(*[2] * 10)
    assert len(subsets_of(demands(many), 3)) == 120


@pytest.mark.parametrize("cells", [(5, 3), (2, 42), (8, 8)])
def test_owners_share_an_epsilon_as_brute_force_does(cells: tuple[int, int]):
    most = math.log(GAMMA)

    def kept(cells: int, epsilon: float) -> float:
        return math.expm1(epsilon) / (math.expm1(epsilon) + cells)

    found = share_epsilon(cells, most)
    assert math.fsum(found) == pytest.approx(most)
    tried = np.linspace(0.001, most - 0.001, 20_000)
    products = [kept(cells[0], e) * kept(cells[1], most - e) for e in tried]
    assert kept(cells[0], found[0]) * kept(cells[1], found[1]) >= max(products) * (1 - 1e-5)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (Requirements.of(DOMAIN, gamma=7).gamma, 7),
        (Requirements.of(DOMAIN, epsilon=math.log(19)).gamma, 19),
        (Requirements.of(DOMAIN, breach=(0.05, 0.5)).gamma, 19),  # FRAPP 2.1
        (gamma_of_p(2, 0.2), 4),  # Ma Table 5.1
        (gamma_of_p(5, 0.5), 4),
    ],
)
def test_the_gamma_of_a_requirement(made, expected):
    assert made == pytest.approx(expected)


@pytest.mark.parametrize(
    ("ask", "where"),
    [
        (lambda: gamma_of_epsilon(0), "epsilon"),
        (lambda: gamma_of_epsilon(math.inf), "epsilon"),
        (lambda: gamma_of_p(4, 0.75), "p"),
        (lambda: gamma_of_p(4, 0), "p"),
        (lambda: gamma_of_breach([0.1]), "breach"),
        (lambda: gamma_of_breach([0.5, 0.1]), "rho_2"),
        (lambda: Requirements(DOMAIN, 9.0, ("a", "b", "c")), None),
        *((lambda g=g: Requirements(DOMAIN, g), "gamma") for g in (1.0, math.nan, math.inf)),
        (lambda: Requirements.of(DOMAIN), "gamma"),
        (lambda: Requirements.of(DOMAIN, gamma=2.0, epsilon=1.0), "gamma"),
        (lambda: Requirements.of(DOMAIN, gamma=0.0, central=CentralLoss(1.0, 1e-8)), "gamma"),
        (lambda: Requirements.of(DOMAIN, epsilon=0.0, central=CentralLoss(1.0, 1e-8)), "epsilon"),
        (lambda: _of_owners(("x", ("b",)), ("y", ("a", "c"))), "owners"),
        (lambda: _of_owners(("x", ("a",)), ("x", ("b", "c"))), "owners"),
        (lambda: _of_owners(("x", ("a",)), ("y", ("b", "c")), public=("c",)), "c"),
        (lambda: Problem(NEEDS, Goal(SETS, 2), 0), "records"),
        (lambda: Goal((), 1), None),
        (lambda: Goal(SETS, 0), None),
        (lambda: Goal(SETS, 1, 1.0), None),
        (lambda: Goal((("a",),), 1, weights=(1.0, 2.0)), None),
        (lambda: goal(DOMAIN, "trees"), "learn"),  # type: ignore[arg-type]
        (lambda: goal(DOMAIN, "itemsets", length=4), "length"),
        (lambda: goal(DOMAIN, "pairs", length=2), "length"),
        (lambda: goal(DOMAIN, "pairs", structure={"a": []}), "structure"),
        (lambda: goal(DOMAIN, "pairs", target="a"), "target"),
        (lambda: goal(DOMAIN, "classifier"), "target"),
        (lambda: cut_and_paste(4)(NEEDS), None),
    ],
)
def test_what_cannot_be_is_refused(ask, where):
    with pytest.raises(OptionError) as error:
        ask()
    assert error.value.where == where


def _of_owners(*owners, public=()) -> Requirements:
    return Requirements(DOMAIN, 19.0, public, owners)


def test_unknown_names_and_cycles_are_refused():
    with pytest.raises(UnknownVariable):
        Requirements(DOMAIN, 2.0, ("z",))
    with pytest.raises(UnknownVariable):
        goal(DOMAIN, "tree", target="z")
    with pytest.raises(StructureError):
        goal(DOMAIN, "structure", structure={"a": ["b"], "b": ["a"]})
    with pytest.raises(UnknownVariable):
        goal(DOMAIN, "structure", structure={"a": ["z"], "z": []})


def test_the_tables_of_each_kind_of_learning():
    singles, pairs = SETS[:3], SETS[3:6]
    assert goal(DOMAIN, "counts") == Goal(singles, 1)
    # Families of the network that pairs are for may have two parents.
    assert goal(DOMAIN, "pairs") == Goal(singles + pairs, 2, wider=3)
    assert goal(DOMAIN, "structure") == Goal(singles + pairs, 2, wider=3, searched=True)
    assert goal(DOMAIN, "itemsets", length=3, minimum_support=0.1) == Goal(SETS, 2, 0.1)
    assert goal(DOMAIN, "itemsets") == goal(DOMAIN, "itemsets", length=3)
    collider = {"a": [], "b": [], "c": ["b", "a"]}
    assert goal(DOMAIN, "structure", structure=collider) == Goal(
        (("a",), ("b",), ("a", "b", "c")), 3
    )
    wide = goal(sized(*[2] * 10), "itemsets", length=4)
    assert {k: len(s) for k, s in wide.by_length().items()} == {1: 10, 2: 45, 3: 60, 4: 53}
    assert wide.omitted == (120 - 60) + (210 - 53)
    assert len(set(wide.sets)) == len(wide.sets)


def test_a_classifier_wants_its_target_with_each_attribute():
    domain = sized(2, 3, 4)
    made = goal(domain, "classifier", target="v1")
    assert made.sets == (("v0", "v1"), ("v1", "v2"))
    assert made.extras == (("v0", "v1", "v2"),)
    assert made.target == "v1"
    tree = goal(domain, "tree", target="v1")
    assert tree.shares[("v0", "v1")] == pytest.approx(0.4)
    assert tree.shares[("v0", "v2")] == pytest.approx(0.2)


def test_all_pairs_of_many_variables_count():
    made = goal(sized(*[2] * 100), "pairs")
    assert len(made.by_length()[2]) == 4950
    assert made.omitted == 0
    few = made.thinned
    assert max(map(len, few.by_length().values())) <= 64
    assert math.fsum(few.shares.values()) == pytest.approx(1)
    assert math.fsum(few.shares[s] for s in few.by_length()[2]) == pytest.approx(0.5)
    small = goal(sized(2, 2, 2), "pairs")
    assert small.thinned is small
