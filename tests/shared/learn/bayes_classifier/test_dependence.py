"""What two attributes share besides the class, where the reports do or do not tell of it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pramana.setups import SeededOwner
from pramana_core.channels import RESOLUTION, Choice, Dense, Identity, Mixture, Sampled
from pramana_core.domain import Domain
from pramana_core.errors import SingularChannel
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.bayes_classifier.information import ConditionalDependence, dependences
from pramana_core.plan import Block, Plan

DOMAIN = Domain.of(**{name: ["no", "yes"] for name in ("kind", "x", "y")})
DRAWN = np.random.default_rng(1).integers(2, size=(3, 900), dtype=np.uint8)
COLUMNS = dict(zip(DOMAIN.names, DRAWN, strict=True))


def found(plan: Plan) -> dict[tuple[str, str], ConditionalDependence]:
    owner = SeededOwner.of("dependence", 1, 900)
    marginals = EstimatedMarginals(owner.report(plan, COLUMNS, 0), plan)
    return dependences(marginals, "kind", ["x", "y"], lambda *_: None)


def test_what_no_record_reports_with_the_class_is_independent_given_it():
    pairs = list(itertools.combinations(range(3), 2))
    channel = Mixture.from_gamma(4, 19.0)
    choices = tuple(Choice(pair, RESOLUTION // 3, channel) for pair in pairs)
    plan = Plan((Block(tuple(DOMAIN), Sampled((2, 2, 2), choices)),))
    assert found(plan) == {("x", "y"): ConditionalDependence(0.0, 0.0)}


def test_a_channel_without_an_inverse_tells_nothing_of_independence():
    useless = Dense.from_probabilities([[0.5, 0.5], [0.5, 0.5]])
    channels = {"kind": useless, "x": Identity(2), "y": Identity(2)}
    with pytest.raises(SingularChannel):
        found(Plan(tuple(Block((v,), channels[v.name]) for v in DOMAIN)))


def test_a_table_too_large_to_be_filled_in_tells_nothing_either():
    """Three variables of 18 categories; of pairs of them, pooled, up to 4,096 cells are made."""
    domain = Domain.of(**{name: [f"{name}{i}" for i in range(18)] for name in DOMAIN.names})
    channel = Mixture.from_gamma(18 * 18, 19.0)
    choices = [
        Choice(pair, RESOLUTION // 3, channel) for pair in itertools.combinations(range(3), 2)
    ]
    plan = Plan((Block(tuple(domain), Sampled(domain.shape, tuple(choices))),))
    drawn = np.random.default_rng(2).integers(18, size=(3, 900), dtype=np.uint8)
    owner = SeededOwner.of("dependence", 1, 900)
    reported = owner.report(plan, dict(zip(domain.names, drawn, strict=True)), 0)
    marginals = EstimatedMarginals(reported, plan, estimator="pooled")
    found = dependences(marginals, "kind", ["x", "y"], lambda *_: None)
    assert found == {("x", "y"): ConditionalDependence(0.0, 0.0)}
