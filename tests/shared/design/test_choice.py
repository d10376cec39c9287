"""The designer's choice: the best of all families, learnable, and told where it is of no use."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from pramana.setups import SeededOwner
from pramana_core.design import (
    Design,
    Goal,
    Learn,
    Option,
    PredictedErrors,
    Problem,
    builds,
    find_design,
    option,
)
from pramana_core.design.choose import MIXED
from pramana_core.design.families import channel_of, sampled
from pramana_core.design.mixed_sets import candidates, mixed
from pramana_core.domain import Domain
from pramana_core.errors import OptionError
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.bayes_classifier.learning import learn_bayes_classifier
from pramana_core.learn.networks.bayes_net import learn_parameters
from pramana_core.learn.networks.structure import Structure
from pramana_core.privacy import Amplification, epsilon
from tests.shared.design.designs import GAMMA, demands, problem, sized

NUDGES = (1 - 1e-13, 1.0, 1 + 1e-13)
SACHS = sized(*[3] * 11)
"""As many variables of as many categories as the network sachs: its tables are pooled."""


@pytest.mark.slow
def test_on_census_sampled_sets_win():
    """FRAPP's CENSUS domain."""
    census = problem(sized(4, 5, 5, 5, 2, 2), "itemsets", 48_842, length=6, minimum_support=0.02)
    ticks = []
    made = find_design(census, progress=lambda *tick: ticks.append(tick))
    assert made.chosen.family == "sampled-mixed"
    assert made.chosen.estimator == "pooled"
    losses = [o.prediction.loss for o in made.options]
    assert losses == sorted(losses)
    assert {o.family for o in made.options} == {name for name, _, _ in ticks} - {""}
    assert ticks[-1][1] == ticks[-1][2] == len(made.options)
    for other in made.options:
        assert other.plan is not None
        assert Amplification.together(other.plan.blocks).gamma <= 19
        assert other.gamma == pytest.approx(19, rel=1e-4)
        assert other.able or other.reason
    whole = next(o for o in made.options if o.family == "gamma-diagonal")
    assert whole.moments.score > 10 * made.chosen.prediction.score
    alone = find_design(census, "gamma-diagonal")
    assert alone.chosen.plan == whole.plan
    for family in ("sampled-1", "best"):
        with pytest.raises(OptionError) as error:
            find_design(census, family)
        assert error.value.where == "family"


@pytest.mark.slow
def test_many_variables_are_designed_at_once():
    rng = np.random.default_rng(2)
    wanted = problem(sized(*rng.integers(2, 9, 50).tolist()), "pairs", 1_000_000)
    made = option(wanted, MIXED, builds(wanted)[MIXED])
    assert made.estimator == "pooled"
    assert made.gamma == pytest.approx(GAMMA, rel=1e-6)
    assert set(made.prediction.by_length) == {1, 2}
    assert len(candidates(wanted.needs, wanted.goal)) < 10_000
    # The same need has the same plan.
    assert made.plan == mixed(wanted.goal, 1_000_000)(wanted.needs)


# --- learned by the estimator that is named ------------------------------------------------------


def marginals(made: Option) -> EstimatedMarginals:
    """Estimate from 400 records of independent variables."""
    assert made.plan is not None
    rng = np.random.default_rng(1)
    true = {v.name: rng.integers(0, v.size, 400, np.uint16) for v in made.plan.domain}
    reports = SeededOwner.of("designs", 1, 400).report(made.plan, true, 0)
    return EstimatedMarginals(reports, made.plan, estimator=made.estimator)


def learned(made: Option) -> None:
    """Learn a network in which one variable has two parents, another three."""
    assert made.plan is not None
    first, second, third, fourth, *rest = made.plan.domain.names
    parents = {first: (), second: (first,), third: (first, second)}
    parents |= {fourth: (first, second, third)} | dict.fromkeys(rest, ())
    network = learn_parameters(marginals(made), Structure.of(parents))
    assert all(np.isfinite(family.probability).all() for family in network.families)


@pytest.mark.parametrize("learn", ["structure", "pairs"])
def test_a_design_for_eleven_variables_names_an_estimator_of_all_families(learn: Learn):
    wanted = problem(SACHS, learn, 100_000)
    made = option(wanted, "sampled-2", builds(wanted)["sampled-2"])
    # Moments are as good for pairs, and tell nothing of three variables.
    assert made.pooled.score == pytest.approx(made.prediction.score, rel=1e-9)
    assert made.estimator == "pooled"
    assert (made.moments.score < math.inf) == (learn == "pairs")
    learned(made)


@pytest.mark.slow
def test_every_family_that_is_proposed_for_a_structure_is_learned():
    able = find_design(problem(sized(3, 2, 2, 2), "structure", 100_000)).able
    assert len({made.family.rstrip("-0123456789") for made in able}) >= 5
    for made in able:
        learned(made)


def test_a_classifier_is_learned_by_moments_of_pairs():
    """No record reports two attributes with the class: they are taken for independent given it."""
    wanted = problem(sized(*[2] * 5), "classifier", 7000, gamma=5.0, target="v0")
    made = option(wanted, "sampled-2", builds(wanted)["sampled-2"])
    assert made.estimator == "moment"
    assert learn_bayes_classifier(marginals(made), "v0").model == "naive-bayes"


@pytest.mark.slow
def test_tables_that_cannot_be_made_are_not_proposed():
    """Two columns of 16 categories: as items, 2^32 kinds of report on both."""
    found = find_design(problem(sized(16, 16), "pairs", 200_000))
    assert {made.family for made in found.unable} >= {"mask", "cut-and-paste-2"}
    assert len(found.able) >= 3
    for made in found.able:
        assert marginals(made).marginal(["v0", "v1"]).counts.shape == (16, 16)


# --- tables too large for sampled sets -----------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "learn", "how"),
    [
        ([70, 70, 2, 3], "pairs", {}),
        ([70, 70, 2, 3], "tree", {"target": "v2"}),
        ([40, 2, 120, 3], "itemsets", {"length": 2}),
    ],
)
def test_the_best_design_for_the_other_tables_is_taken(sizes: Sequence[int], learn: Learn, how):
    wanted = problem(sized(*sizes), learn, 45_000, **how)
    made = find_design(wanted)
    assert made.unserved
    assert len(made.problem.goal.sets) == len(wanted.goal.sets) - 1
    assert made.chosen.estimator != "moment"
    independent = next(o for o in made.options if o.family == "independent")
    assert made.chosen.prediction.loss < independent.prediction.loss


@pytest.mark.parametrize(
    ("sizes", "learn", "how"),
    [
        ([64, 64, 2], "itemsets", {"length": 2}),  # the largest table that is pooled
        ([70, 70], "pairs", {}),  # there are no other pairs
        ([70, 70, 2], "structure", {}),  # a search takes every pair
    ],
)
def test_else_all_tables_are_the_goal(sizes: Sequence[int], learn: Learn, how):
    wanted = problem(sized(*sizes), learn, 45_000, **how)
    made = find_design(wanted)
    assert made.problem is wanted
    assert made.unserved == ""


# --- of no use, and near ties --------------------------------------------------------------------


@pytest.mark.slow
def test_what_is_too_noisy_says_with_how_many_records_it_would_not_be():
    domain = sized(4, 4, 3)

    def at(records: int) -> Design:
        return find_design(problem(domain, "classifier", records, target="v2"))

    made = at(60)
    assert not made.useful
    enough = made.records_enough
    assert enough is not None
    assert enough > 60
    # The weights follow the records, so that the plan at that number is no worse.
    assert at(enough + 5).useful
    assert not at(enough // 2).useful
    assert f"{enough:,} records" in made.advice
    wanted = made.problem
    hopeless = option(wanted, "sampled-1", builds(wanted)["sampled-1"])
    assert Design(wanted, (hopeless,), hopeless).records_enough is None


DOMAIN = Domain.of(a="xy", b="pq", c="01")
SETS = (("a", "b"), ("a", "c"), ("b", "c"))


def predicted(score: float, noise: float = 1.0) -> PredictedErrors:
    return PredictedErrors({2: score}, score, loss=score, noise={("a", "b"): (1.0, noise)})


def of(moments: PredictedErrors, pooled: float = 9.0) -> Option:
    return Option("any", None, moments, pooled=predicted(pooled))


@pytest.mark.parametrize("nudge", NUDGES)
def test_designs_do_not_depend_on_the_last_digits(nudge: float):
    assert of(predicted(0.3), 0.3 * nudge).estimator == "moment"
    assert of(predicted(0.4), 0.3).estimator == "pooled"
    needs = demands(DOMAIN, 9.0)
    plans = [
        sampled(SETS, np.array([0.25 * each, 0.25, 0.5]))(needs).blocks[0] for each in (nudge, 1.0)
    ]
    assert plans[0] == plans[1]
    made = of(predicted(0.1 * nudge, 4.0 * nudge))
    design = Design(Problem(needs, Goal((("a", "b"),), 2), 1000), (made,), made)
    assert design.useful  # a fifth of an association is left
    assert design.records_enough == 1000


# --- several owners ------------------------------------------------------------------------------


@pytest.mark.parametrize("learn", ["pairs", "classifier"])
def test_a_study_plan_keeps_to_one_gamma_over_all_owners(learn: Learn):
    domain = sized(2, 3, 4, 2, 3, 2)
    how = {"target": "v5"} if learn == "classifier" else {}
    made = find_design(problem(domain, learn, 5000, owners=3, **how))
    assert {o.family for o in made.options} >= {"sampled-1", "sampled-2", MIXED}
    assert not any(o.family in ("independent", "gamma-diagonal") for o in made.options)
    study = made.study_plan
    assert study is not None
    assert made.plan == study.together
    assert made.plan.domain == domain
    assert 18.9 < study.amplification.gamma <= GAMMA
    for one in study.sets:
        told = [epsilon(part.channel) for part in one.parts]
        assert math.exp(math.fsum(told)) <= GAMMA * (1 + 1e-12)
        if len(told) == 1:
            assert math.exp(told[0]) == pytest.approx(GAMMA, rel=1e-6)
    # Each owner for itself would add up.
    apart = Amplification.together(channel_of(demands(domain), (n,)) for n in ("v0", "v2", "v4"))
    assert apart.gamma == pytest.approx(GAMMA**3, rel=1e-4)
