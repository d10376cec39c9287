"""The people aboard the Titanic, as the tests of estimators learn from them."""

from __future__ import annotations

from functools import cache
from typing import Any

import pramana as pm
from pramana.reporting.reports import Reports
from pramana_core.channels import Symmetric
from pramana_core.plan import Block, Plan

CLASSIFIERS = ("NaiveBayes", "BayesClassifier", "DecisionTree", "LinearClassifier")

FEATURES = ("class", "age", "sex")


def people() -> Any:
    """Return the 2,201 people: class, age, sex, survived."""
    return pm.example("titanic")


@cache
def domain() -> pm.Domain:
    """Return their variables."""
    frame = people()
    return pm.Domain.of(**{name: sorted(frame[name].unique()) for name in frame})


@cache
def clean() -> Plan:
    """Return the plan that leaves all as it is."""
    return Plan.unrandomized(domain())


@cache
def reports(p: float = 0.1) -> Reports:
    """Return their randomized reports."""
    blocks = [Block((v,), Symmetric.from_probability(v.size, p)) for v in domain()]
    keys = pm.Keys.for_experiments(1)
    return pm.randomize(people(), Plan(tuple(blocks)), keys, record_id=people().index)


@cache
def fitted(name: str, *, noisy: bool = False, **options: Any) -> Any:
    """Return a classifier of who survived, learned from what is true or from reports."""
    made = getattr(pm, name)("survived", **options)
    return made.fit(reports()) if noisy else made.fit(people(), clean())
