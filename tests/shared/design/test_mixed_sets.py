"""Sets of different sizes: what is told of interactions, the search, shares of owners, verdicts."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from pramana_core.design import (
    Goal,
    Problem,
    Requirements,
    bound,
    by_pooling,
    compare,
    families,
    goal,
    not_useful,
    option,
    records_enough,
    reference,
    useful,
)
from pramana_core.design.choose import MIXED, builds
from pramana_core.design.families import (
    channel_of,
    gamma_diagonal,
    independent,
    sampled,
    subsets_of,
)
from pramana_core.design.goal import kept, shares
from pramana_core.design.mixed_sets import candidates, mixed
from pramana_core.domain import Domain
from pramana_core.errors import OptionError, UnknownVariable
from pramana_core.privacy import Amplification, epsilon
from pramana_core.study_plan import StudyPlan

GAMMA = 19.0


def sized(*sizes: int) -> Domain:
    return Domain.of(**{f"v{i}": [str(c) for c in range(s)] for i, s in enumerate(sizes)})


def demands(domain: Domain, gamma: float = GAMMA, owners: int = 1) -> Requirements:
    """All variables sensitive, dealt out in order to some owners."""
    ends = [len(domain) * i // owners for i in range(owners + 1)]
    names = [domain.names[low:high] for low, high in itertools.pairwise(ends)]
    held = tuple((f"o{i}", own) for i, own in enumerate(names)) if owners > 1 else ()
    return Requirements(domain, dict.fromkeys(domain.names, gamma), gamma, owners=held)


# --- goals ---------------------------------------------------------------------------------------


def test_a_classifier_wants_its_target_with_each_attribute():
    domain = sized(2, 3, 4)
    made = goal(domain, "classifier", target="v1")
    assert made.sets == (("v0", "v1"), ("v1", "v2"))
    assert made.extras == (("v0", "v1", "v2"),)
    assert made.target == "v1"
    tree = goal(domain, "tree", target="v1")
    assert tree.shares[("v0", "v1")] == pytest.approx(0.4)
    assert tree.shares[("v0", "v2")] == pytest.approx(0.2)


def test_kinds_of_learning_combine_by_their_weights():
    domain = sized(2, 3, 4)
    made = goal(domain, {"classifier": 2.0, "pairs": 1.0}, target="v0")
    assert math.fsum(made.shares.values()) == pytest.approx(1)
    # Two thirds for two tables of the class, one third for singles and pairs, half of it each.
    assert made.shares[("v0", "v1")] == pytest.approx(2 / 3 / 2 + 1 / 3 / 2 / 3)
    assert made.shares[("v1", "v2")] == pytest.approx(1 / 3 / 2 / 3)
    assert made.shares[("v2",)] == pytest.approx(1 / 3 / 2 / 3)
    assert goal(domain, {"pairs": 7.0}) == goal(domain, "pairs")


def test_goals_that_cannot_be():
    domain = sized(2, 3)
    with pytest.raises(OptionError, match="needs a target"):
        goal(domain, "classifier")
    with pytest.raises(OptionError, match="has no target"):
        goal(domain, "pairs", target="v0")
    with pytest.raises(UnknownVariable):
        goal(domain, "tree", target="x")
    with pytest.raises(OptionError, match="weights"):
        goal(domain, {"pairs": 0.0})
    with pytest.raises(OptionError, match="Nothing is learned"):
        goal(domain, {})
    with pytest.raises(OptionError, match="one for each"):
        Goal((("v0",),), 1, weights=(1.0, 2.0))


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


# --- what is told, and pooled predictions --------------------------------------------------------


@pytest.mark.parametrize("owners", [1, 2])
def test_the_pooled_error_is_the_bound_where_all_is_uniform(owners):
    """By two routes: sums over interactions, and the inverse of the information's matrix."""
    domain = sized(3, 2, 2, 4)
    needs = demands(domain, owners=owners)
    tables, known = goal(domain, "pairs"), reference(domain)
    for build in (
        sampled(subsets_of(needs, 2)),
        sampled(subsets_of(needs, 3), np.array([0.4, 0.3, 0.2, 0.1])),
        sampled([("v0",), ("v0", "v1"), ("v1", "v2", "v3"), ("v0", "v2", "v3")]),
    ):
        plan = build(needs)
        pooled = by_pooling(plan, tables, known, 1000)
        least = bound(plan, tables, known, 1000, 2)
        assert pooled.score == pytest.approx(least.score, rel=1e-9)
        assert pooled.by_length == pytest.approx(least.by_length, rel=1e-9)
        assert pooled.kept == pytest.approx(least.kept, rel=1e-9)
    for whole in (independent, gamma_diagonal):
        plan = whole(demands(domain))
        pooled = by_pooling(plan, tables, known, 1000)
        least = bound(plan, tables, known, 1000, 2)
        assert pooled.score == pytest.approx(least.score, rel=1e-9)


def test_the_pooled_error_of_unequal_categories_is_the_bound():
    """The information about one table's variables, and about all at once: other variables add."""
    domain = sized(3, 2, 2)
    known = reference(domain, {"v0": [0.5, 0.3, 0.2], "v2": [0.8, 0.2]})
    needs, tables = demands(domain), goal(domain, "pairs")
    plan = sampled(subsets_of(needs, 2))(needs)
    pooled, model = by_pooling(plan, tables, known, 500), bound(plan, tables, known, 500, 2)
    assert pooled.score == pytest.approx(model.score, rel=1e-3)
    assert pooled.score >= model.score * (1 - 1e-9)


def test_what_no_report_tells_is_said():
    domain = sized(3, 2, 2)
    needs, tables = demands(domain), goal(domain, "pairs")
    made = by_pooling(sampled(subsets_of(needs, 1))(needs), tables, reference(domain), 500)
    assert math.isinf(made.score)
    assert "interaction of ['v0', 'v1']" in made.missing
    assert 0 < made.kept < 0.5
    items = by_pooling(dict(families(needs, ()))["mask"](needs), tables, reference(domain), 500)
    assert "not pooled" in items.missing


# --- the search ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_many_variables_are_designed_at_once():
    rng = np.random.default_rng(2)
    domain = sized(*rng.integers(2, 9, 50).tolist())
    needs, tables = demands(domain), goal(domain, "pairs")
    problem = Problem(needs, tables, reference(domain), 1_000_000)
    made = option(problem, MIXED, builds(problem)[MIXED])
    assert made.estimator == "pooled"
    assert made.gamma == pytest.approx(GAMMA, rel=1e-6)
    assert math.isfinite(made.prediction.score)
    assert set(made.prediction.by_length) == {1, 2}
    assert len(candidates(needs, tables)) < 10_000
    # The same need has the same plan.
    assert made.plan == mixed(tables, reference(domain), 1_000_000)(needs)


# --- is it of any use ----------------------------------------------------------------------------


@pytest.mark.slow
def test_what_is_too_noisy_says_so_and_with_how_many_records_it_would_not_be():
    domain = sized(4, 4, 3)
    wanted, known = goal(domain, "classifier", target="v2"), reference(domain)

    def at(records: int):
        problem = Problem(demands(domain), wanted, known, records)
        return problem, compare(problem).best

    problem, made = at(60)
    assert not useful(made)
    enough = records_enough(made, problem)
    assert enough is not None
    assert enough > 60
    # The weights follow the records, so that the plan at that number is no worse.
    assert useful(at(enough + 5)[1])
    assert not useful(at(enough // 2)[1])
    assert f"{enough:,} records" in not_useful(made.prediction.kept, enough)
    nothing = option(problem, "sampled-1", builds(problem)["sampled-1"])
    assert records_enough(nothing, problem) is None
    assert "No number" in not_useful(0.0, None)


def test_a_rare_cell_counts_as_the_minimum_support():
    domain = sized(10, 10)
    plan = gamma_diagonal(demands(domain))
    known = reference(domain)
    plain = by_pooling(plan, Goal((("v0", "v1"),), 2), known, 5000)
    frequent = by_pooling(plan, Goal((("v0", "v1"),), 2, 0.05), known, 5000)
    assert frequent.score == plain.score
    noise = [next(iter(made.noise.values()))[1] for made in (plain, frequent)]
    assert noise[1] == pytest.approx(noise[0] * (0.01 / 0.05) ** 2)


# --- several owners ------------------------------------------------------------------------------


@pytest.mark.parametrize("cells", [(5, 3), (2, 42), (8, 8)])
def test_shares_of_two_owners_by_brute_force(cells):
    most = math.log(GAMMA)
    found = shares(cells, (math.inf, math.inf), most)
    assert math.fsum(found) == pytest.approx(most)
    tried = np.linspace(0.001, most - 0.001, 20_000)
    products = [kept(cells[0], e) * kept(cells[1], most - e) for e in tried]
    assert kept(cells[0], found[0]) * kept(cells[1], found[1]) >= max(products) * (1 - 1e-5)


@pytest.mark.parametrize("learn", ["pairs", "classifier"])
def test_a_study_plan_keeps_to_one_gamma_over_all_owners(learn):
    domain = sized(2, 3, 4, 2, 3, 2)
    needs = demands(domain, owners=3)
    wanted = goal(domain, learn, target="v5" if learn == "classifier" else None)
    made = compare(Problem(needs, wanted, reference(domain), 5000))
    assert {o.family for o in made.options} >= {"sampled-1", "sampled-2", MIXED}
    assert not any(o.family in ("independent", "gamma-diagonal") for o in made.options)
    best = made.best
    assert best.plan is not None
    study = StudyPlan.of(best.plan, needs.owners)
    assert study.together.domain == domain
    assert 18.9 < study.amplification.gamma <= GAMMA
    for one in study.sets:
        told = [epsilon(part.channel) for part in one.parts]
        assert math.exp(math.fsum(told)) <= GAMMA * (1 + 1e-12)
        if len(told) == 1:
            assert math.exp(told[0]) == pytest.approx(GAMMA, rel=1e-6)
    # Each owner for itself would add up.
    apart = Amplification.together(channel_of(demands(domain), (n,)) for n in ("v0", "v2", "v4"))
    assert apart.gamma == pytest.approx(GAMMA**3, rel=1e-4)


def test_owners_that_cannot_be():
    domain = sized(2, 3, 4)
    every = dict.fromkeys(domain.names, 19.0)
    with pytest.raises(OptionError, match="owner by owner"):
        Requirements(domain, every, 19.0, owners=(("a", ("v1",)), ("b", ("v0", "v2"))))
    with pytest.raises(OptionError, match="owner by owner"):
        Requirements(domain, every, 19.0, owners=(("a", ("v0",)), ("a", ("v1", "v2"))))
    held = (("a", ("v0",)), ("b", ("v1", "v2")))
    with pytest.raises(OptionError, match="Nothing is demanded for the whole record"):
        Requirements(domain, every, owners=held)
    with pytest.raises(OptionError, match=r"\['v2'\] are not sensitive"):
        Requirements(domain, {"v0": 19.0, "v1": 19.0}, 19.0, owners=held)
