"""Wrong calls of somebody who tries the package on tables of her own."""

from __future__ import annotations

from functools import cache
from typing import Any

import pandas as pd

import pramana as pm
from pramana_core.errors import (
    ChannelError,
    DomainError,
    DuplicateRecordId,
    EmptyTable,
    InputError,
    KeyFileError,
    NotStochastic,
    OptionError,
    PlanError,
    StructureError,
    TableError,
    UnknownCategory,
    UnknownVariable,
)
from tests.pramana.face.mistakes import Mistakes

PEOPLE = pm.example("berkeley")
DOMAIN = pm.domain(PEOPLE, pm.observed_categories(PEOPLE))
PLAN = pm.plan(DOMAIN, p=0.1)
KEYS = pm.Keys.for_experiments(1)
SEX = DOMAIN["sex"]
HALF = pm.Symmetric.from_probability(2, 0.1)
WRONG: Any = "x"
"""A text where something else is wanted."""


@cache
def counts() -> pm.EstimatedCounts:
    return pm.estimate(PEOPLE, pm.Plan.unrandomized(DOMAIN))


@cache
def network() -> pm.BayesNet:
    return pm.BayesNet([("sex", "admitted")]).fit(counts())


def randomized(**changed: Any) -> Any:
    given: dict[str, Any] = {"frame": PEOPLE, "plan": PLAN, "keys": KEYS, "record_id": "person"}
    return lambda: pm.randomize(**given | changed)


def untyped(thing: Any) -> Any:
    """Return a thing of which the type checker knows nothing, as a newcomer's are."""
    return thing


_domain, _plan, _symmetric = untyped(pm.Domain), untyped(pm.Plan), untyped(pm.Symmetric)
_dense, _grouped, _mixture = untyped(pm.Dense), untyped(pm.Grouped), untyped(pm.Mixture)
_design, _make_plan = untyped(pm.design), untyped(pm.plan)

MISTAKES: Mistakes = {
    DomainError: [
        (lambda: _domain.of(["a", "b"]), "Domain.of"),
        (lambda: _domain.of(a=["x"]), "a"),
        (lambda: untyped(pm.Variable)("a", {"x", "y"}), "a"),
        (lambda: untyped(pm.Block)(("sex",), HALF), "list of variables"),
        (lambda: _make_plan({"sex": ["f", "m"]}, p=0.1), "domain"),
    ],
    UnknownVariable: [
        (lambda: DOMAIN["fare"], "fare"),
        (lambda: untyped(DOMAIN)[0], "0"),
        (lambda: DOMAIN.project(["fare"]), "fare"),
        (lambda: PLAN.block_of("fare"), "fare"),
    ],
    UnknownCategory: [
        (lambda: SEX.code("f"), "sex"),
    ],
    PlanError: [
        (lambda: _plan.unrandomized(PEOPLE), "domain"),
        (lambda: _make_plan(DOMAIN, 0.1), "channels"),
        (lambda: pm.plan(DOMAIN, {"department": HALF}, p=0.1), "department"),
        (lambda: pm.plan(DOMAIN, {("sex", "sex"): {"kind": "symmetric", "p": 0.1}}, p=0.1), "sex"),
    ],
    OptionError: [
        (lambda: _make_plan(DOMAIN, p=[0.1, 0.2]), "p"),
        (lambda: _make_plan(DOMAIN, p=0.1, gamma=3), "p"),
        (lambda: untyped(pm.RandomSymmetric).around_gamma(4, 9, WRONG), "share"),
        (lambda: _design(DOMAIN, 500.5, gamma=19), "records"),
        (lambda: _design(DOMAIN, 500), "gamma"),
        (lambda: _design(DOMAIN, 500, breach=(0.5, 0.05)), "rho_2"),
        (lambda: _design(DOMAIN, 500, gamma=19, owners=["a"]), "owners"),
        (lambda: untyped(counts()).table("sex", level="95"), "level"),
        (lambda: counts().table(["sex", "sex"]), "variables"),
        (lambda: counts().project([]), "variables"),
        (lambda: pm.BayesNet(scoring={"name": "bdeu", "ess": 5}).fit(counts()), "scoring"),
        (lambda: untyped(pm.BayesNet)(scoring=None).fit(counts()), "scoring"),
        (lambda: network().predict_proba(pd.DataFrame({"department": ["A"]})), "target"),
        (lambda: untyped(pm.save)("x.json", network()), "path"),
    ],
    ChannelError: [
        (lambda: _make_plan(DOMAIN, {"sex": "symmetric"}, p=0.1), "channels['sex']"),
        (lambda: _make_plan(DOMAIN, {"sex": {"kind": "laplace"}}, p=0.1), "kind"),
        (lambda: _symmetric.from_gamma(2, WRONG), "gamma"),
        (lambda: _dense.from_probabilities([[0.5, 0.5], [1.0]]), "rows"),
        (lambda: _grouped.from_probability([["a", "b"]], 0.1), "groups"),
        (lambda: _grouped.from_probability(3, 0.1), "groups"),
        (lambda: _mixture.from_gamma(WRONG, 19), "two or more"),
        (lambda: untyped(pm.CutAndPaste).from_probability(3, 1, 0.25), "sizes"),
        (lambda: untyped(pm.StructuralZeros)(4, 1, HALF), "impossible"),
    ],
    NotStochastic: [
        (lambda: _symmetric.from_probability(2, WRONG), "between 0 and 1"),
        (lambda: _dense.from_probabilities([[0.5, 0.6], [0.5, 0.5]]), "row 0"),
        (lambda: _dense([[0.9, 0.1], [0.1, 0.9]]), "row 0"),
    ],
    EmptyTable: [
        (randomized(frame=PEOPLE[:0]), "frame"),
    ],
    KeyFileError: [
        (randomized(keys=pm.Keys), "keys"),
    ],
    DuplicateRecordId: [
        (randomized(record_id="sex"), "sex"),
    ],
    TableError: [
        (randomized(record_id=len), "record_id"),
        (
            lambda: pm.randomize(
                untyped(pm.Reports.from_frame(PEOPLE[:20], PLAN)), PLAN, KEYS, record_id="person"
            ),
            "frame",
        ),
    ],
    StructureError: [
        (lambda: untyped(pm.BayesNet)([("a", "b", "c")]).fit(counts()), "structure"),
    ],
    InputError: [
        (lambda: untyped(pm.save)(counts(), "x.json"), "thing"),
    ],
}
