"""What is designed can be learned: by the estimator that is named, from tables that can be made."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pramana.setups import SeededOwner
from pramana_core.design import (
    Learn,
    Option,
    Problem,
    Requirements,
    builds,
    compare,
    goal,
    option,
    reference,
)
from pramana_core.domain import Domain
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.bayes_classifier.learning import learn_bayes_classifier
from pramana_core.learn.networks.bayes_net import learn_parameters
from pramana_core.learn.networks.structure import Structure

SMALL = Domain.of(a="012", b="01", c="01", d="01")
SACHS = Domain.of(**{f"v{i:02}": "012" for i in range(11)})
"""As many variables of as many categories as the network sachs: its tables are pooled."""


def problem(domain: Domain, learn: Learn, records: int = 100_000) -> Problem:
    needs = Requirements(domain, dict.fromkeys(domain.names, 19.0), 19.0)
    return Problem(needs, goal(domain, learn), reference(domain), records)


def marginals(made: Option) -> EstimatedMarginals:
    """Estimate from 400 records of independent variables."""
    assert made.plan is not None
    rng = np.random.default_rng(1)
    true = {v.name: rng.integers(0, v.size, 400, np.uint16) for v in made.plan.domain}
    reports = SeededOwner.of("designs", 1, 400).report(made.plan, true, 0)
    return EstimatedMarginals(reports, made.plan, estimator=made.estimator)


def learned(made: Option) -> None:
    """Learn a network in which one variable has two parents, another three."""
    first, second, third, fourth, *rest = made.plan.domain.names
    parents = {first: (), second: (first,), third: (first, second)}
    parents |= {fourth: (first, second, third)} | dict.fromkeys(rest, ())
    network = learn_parameters(marginals(made), Structure.of(parents))
    assert all(np.isfinite(family.probability).all() for family in network.families)


@pytest.mark.parametrize("learn", ["structure", "pairs"])
def test_a_design_for_eleven_variables_names_an_estimator_of_all_families(learn: Learn):
    wanted = problem(SACHS, learn)
    made = option(wanted, "sampled-2", builds(wanted)["sampled-2"])
    # Moments are as good for pairs, and tell nothing of three variables.
    assert made.pooled.score == pytest.approx(made.prediction.score, rel=1e-9)
    assert made.estimator == "pooled"
    assert (made.moments.score < math.inf) == (learn == "pairs")
    learned(made)


@pytest.mark.slow
def test_every_family_that_is_proposed_for_a_structure_is_learned():
    able = [made for made in compare(problem(SMALL, "structure")).options if _able(made)]
    assert len({made.family.rstrip("-0123456789") for made in able}) >= 5
    for made in able:
        learned(made)


def _able(made: Option) -> bool:
    return math.isfinite(made.prediction.score)


def test_a_classifier_is_learned_by_moments_of_pairs():
    """No record reports two attributes with the class: they are taken for independent given it."""
    domain = Domain.of(a="01", b="01", c="01", d="01", e="01")
    needs = Requirements(domain, dict.fromkeys(domain.names, 5.0), 5.0)
    wanted = Problem(needs, goal(domain, "classifier", target="a"), reference(domain), 7000)
    made = option(wanted, "sampled-2", builds(wanted)["sampled-2"])
    assert made.estimator == "moment"
    assert learn_bayes_classifier(marginals(made), "a").model == "naive-bayes"


@pytest.mark.slow
def test_tables_that_cannot_be_made_are_not_proposed():
    """Two columns of 16 categories: as items, 2^32 kinds of report on both."""
    domain = Domain.of(a=map(str, range(16)), b=map(str, range(16)))
    options = compare(problem(domain, "pairs", 200_000)).options
    unable = {made.family: made.reason for made in options if not _able(made)}
    for family in ("mask", "cut-and-paste-2"):
        assert "4,294,967,296 cells" in unable[family]
    able = [made for made in options if _able(made)]
    assert len(able) >= 3
    for made in able:
        assert marginals(made).marginal(["a", "b"]).counts.shape == (16, 16)
    # The first errs least here, too: none is shown to err less than the one that is chosen.
    assert able[0].prediction.score <= min(made.prediction.score for made in able) * (1 + 1e-6)
