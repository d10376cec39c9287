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
    (DomainError, None): [
        lambda: _domain.of(["a", "b"]),
        lambda: untyped(pm.Block)(("sex",), HALF),
    ],
    (DomainError, "a"): [
        lambda: _domain.of(a=["x"]),
        lambda: untyped(pm.Variable)("a", {"x", "y"}),
    ],
    (DomainError, "domain"): [lambda: _make_plan({"sex": ["f", "m"]}, p=0.1)],
    (UnknownVariable, "fare"): [
        lambda: DOMAIN["fare"],
        lambda: DOMAIN.project(["fare"]),
        lambda: PLAN.block_of("fare"),
    ],
    (UnknownVariable, 0): [lambda: untyped(DOMAIN)[0]],
    (UnknownCategory, "sex"): [lambda: SEX.code("f")],
    (PlanError, "domain"): [lambda: _plan.unrandomized(PEOPLE)],
    (PlanError, "channels"): [lambda: _make_plan(DOMAIN, 0.1)],
    (PlanError, "department"): [lambda: pm.plan(DOMAIN, {"department": HALF}, p=0.1)],
    (PlanError, "sex"): [
        lambda: pm.plan(DOMAIN, {("sex", "sex"): {"kind": "symmetric", "p": 0.1}}, p=0.1)
    ],
    (OptionError, "p"): [
        lambda: _make_plan(DOMAIN, p=[0.1, 0.2]),
        lambda: _make_plan(DOMAIN, p=0.1, gamma=3),
    ],
    (OptionError, "share"): [lambda: untyped(pm.RandomSymmetric).around_gamma(4, 9, WRONG)],
    (OptionError, "records"): [lambda: _design(DOMAIN, 500.5, gamma=19)],
    (OptionError, "gamma"): [lambda: _design(DOMAIN, 500)],
    (OptionError, "rho_2"): [lambda: _design(DOMAIN, 500, breach=(0.5, 0.05))],
    (OptionError, "owners"): [lambda: _design(DOMAIN, 500, gamma=19, owners=["a"])],
    (OptionError, "level"): [lambda: untyped(counts()).table("sex", level="95")],
    (OptionError, "variables"): [
        lambda: counts().table(["sex", "sex"]),
        lambda: counts().project([]),
    ],
    (OptionError, "scoring"): [
        lambda: pm.BayesNet(scoring={"name": "bdeu", "ess": 5}).fit(counts()),
        lambda: untyped(pm.BayesNet)(scoring=None).fit(counts()),
    ],
    (OptionError, "target"): [lambda: network().predict_proba(pd.DataFrame({"department": ["A"]}))],
    (OptionError, "path"): [lambda: untyped(pm.save)("x.json", network())],
    (ChannelError, None): [
        lambda: _make_plan(DOMAIN, {"sex": "symmetric"}, p=0.1),
        lambda: _symmetric.from_gamma(2, WRONG),
        lambda: _dense.from_probabilities([[0.5, 0.5], [1.0]]),
        lambda: _grouped.from_probability([["a", "b"]], 0.1),
        lambda: _grouped.from_probability(3, 0.1),
        lambda: _mixture.from_gamma(WRONG, 19),
        lambda: untyped(pm.CutAndPaste).from_probability(3, 1, 0.25),
    ],
    (ChannelError, "kind"): [lambda: _make_plan(DOMAIN, {"sex": {"kind": "laplace"}}, p=0.1)],
    (NotStochastic, None): [lambda: _symmetric.from_probability(2, WRONG)],
    (NotStochastic, "row 0"): [
        lambda: _dense.from_probabilities([[0.5, 0.6], [0.5, 0.5]]),
        lambda: _dense([[0.9, 0.1], [0.1, 0.9]]),
    ],
    (EmptyTable, "frame"): [randomized(frame=PEOPLE[:0])],
    (KeyFileError, "keys"): [randomized(keys=pm.Keys)],
    (DuplicateRecordId, "sex"): [randomized(record_id="sex")],
    (TableError, "record_id"): [randomized(record_id=len)],
    (TableError, "frame"): [
        lambda: pm.randomize(
            untyped(pm.Reports.from_frame(PEOPLE[:20], PLAN)), PLAN, KEYS, record_id="person"
        )
    ],
    (StructureError, "structure"): [lambda: untyped(pm.BayesNet)([("a", "b", "c")]).fit(counts())],
    (InputError, "thing"): [lambda: untyped(pm.save)(counts(), "x.json")],
}
