"""Learners that meet ties learn the same however their counts are rounded."""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.model_sharing import required_growth
from pramana_core.model_sharing.global_models import conjunctive
from tests.processors.learners import LEARNERS, learned, rules, shared_tree, told

NUDGES = (1, 2, 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "rules"])
def test_counts_that_are_rounded_otherwise_give_the_same_model(name: str):
    """By more than processors do; less than any difference that matters."""
    model = learned(name)
    assert all(learned(name, nudge) == model for nudge in NUDGES)


@pytest.mark.parametrize("shift", [-1e-13, 1e-13])
def test_a_minimum_that_is_rounded_otherwise_gives_the_same_rules(shift: float):
    """Supports and confidences at the minimum reach it."""
    assert rules(told("rules"), shift) == rules(told("rules"))


def test_impurities_that_are_rounded_otherwise_give_the_same_tree(monkeypatch: pytest.MonkeyPatch):
    model = shared_tree()
    rng = np.random.default_rng(5)

    def nudged(whole):
        def made(*args):
            found = whole(*args)
            return found * (1 + 1e-13 * rng.choice([-1.0, 1.0], found.shape))

        return made

    for module in (required_growth, conjunctive):
        monkeypatch.setattr(module, "entropy", nudged(module.entropy))
    assert all(shared_tree() == model for _ in NUDGES)
