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
    DomainError: {
        "a list for a domain": (lambda: _domain.of(["a", "b"]), "Domain.of … list"),
        "one category only": (lambda: _domain.of(a=["x"]), "'a' … one category"),
        "a set for a variable's categories": (
            lambda: untyped(pm.Variable)("a", {"x", "y"}),
            "'a' … list",
        ),
        "a name for a variable in a block": (
            lambda: untyped(pm.Block)(("sex",), HALF),
            "list of variables",
        ),
        "a dict where a domain is wanted": (
            lambda: _make_plan({"sex": ["f", "m"]}, p=0.1),
            "domain … dict",
        ),
    },
    UnknownVariable: {
        "a variable that no domain has": (lambda: DOMAIN["fare"], "'fare' … sex"),
        "a place in a domain": (lambda: untyped(DOMAIN)[0], "0 … department"),
        "a part of a domain that is not there": (lambda: DOMAIN.project(["fare"]), "'fare'"),
        "the block of no variable": (lambda: PLAN.block_of("fare"), "'fare' … sex"),
    },
    UnknownCategory: {
        "the code of no category": (lambda: SEX.code("f"), "'sex' … 'f' … female"),
    },
    PlanError: {
        "a table where its domain is wanted": (
            lambda: _plan.unrandomized(PEOPLE),
            "domain … DataFrame",
        ),
        "the probability without its name": (lambda: _make_plan(DOMAIN, 0.1), "channels … 0.1"),
        "a channel of another size": (
            lambda: pm.plan(DOMAIN, {"department": HALF}, p=0.1),
            "department … 2 … 6",
        ),
        "a variable twice in a block": (
            lambda: pm.plan(DOMAIN, {("sex", "sex"): {"kind": "symmetric", "p": 0.1}}, p=0.1),
            "'sex' … once",
        ),
    },
    OptionError: {
        "one probability for each variable": (
            lambda: _make_plan(DOMAIN, p=[0.1, 0.2]),
            "p must be a number … list",
        ),
        "both p and gamma": (lambda: _make_plan(DOMAIN, p=0.1, gamma=3), "p and gamma"),
        "a share as text": (
            lambda: untyped(pm.RandomSymmetric).around_gamma(4, 9, WRONG),
            "share … 'x'",
        ),
        "half a record to design for": (
            lambda: _design(DOMAIN, 500.5, gamma=19),
            "records … 500.5",
        ),
        "a design without a bound": (lambda: _design(DOMAIN, 500), "gamma … epsilon … breach"),
        "a breach the wrong way round": (
            lambda: _design(DOMAIN, 500, breach=(0.5, 0.05)),
            "0.5 … 0.05",
        ),
        "a list of owners": (lambda: _design(DOMAIN, 500, gamma=19, owners=["a"]), "owners … list"),
        "the level of an interval as text": (
            lambda: untyped(counts()).table("sex", level="95"),
            "level … '95'",
        ),
        "a table of one variable twice": (
            lambda: counts().table(["sex", "sex"]),
            "variables … 'sex' … once",
        ),
        "no variables to keep": (lambda: counts().project([]), "variables … empty"),
        "a score with unknown options": (
            lambda: pm.BayesNet(scoring={"name": "bdeu", "ess": 5}).fit(counts()),
            "scoring … 'ess'",
        ),
        "no score at all": (
            lambda: untyped(pm.BayesNet)(scoring=None).fit(counts()),
            "scoring … None",
        ),
        "a probability of several nodes": (
            lambda: network().predict_proba(pd.DataFrame({"department": ["A"]})),
            "target",
        ),
        "a file where the thing is wanted": (
            lambda: untyped(pm.save)("x.json", network()),
            "path … BayesNet",
        ),
    },
    ChannelError: {
        "a kind's name for a channel": (
            lambda: _make_plan(DOMAIN, {"sex": "symmetric"}, p=0.1),
            "channels['sex'] … symmetric",
        ),
        "noise of a kind that there is not": (
            lambda: _make_plan(DOMAIN, {"sex": {"kind": "laplace"}}, p=0.1),
            "kind … 'laplace'",
        ),
        "a strength as text": (lambda: _symmetric.from_gamma(2, WRONG), "gamma … 'x'"),
        "rows of different lengths": (
            lambda: _dense.from_probabilities([[0.5, 0.5], [1.0]]),
            "rows … [1, 2]",
        ),
        "labels for the codes of groups": (
            lambda: _grouped.from_probability([["a", "b"]], 0.1),
            "groups … 'a'",
        ),
        "a number of groups": (lambda: _grouped.from_probability(3, 0.1), "groups … 3"),
        "a text for the cells of a mixture": (
            lambda: _mixture.from_gamma(WRONG, 19),
            "two or more … 'x'",
        ),
        "one size for several": (
            lambda: untyped(pm.CutAndPaste).from_probability(3, 1, 0.25),
            "sizes … 3",
        ),
    },
    NotStochastic: {
        "a probability as text": (
            lambda: _symmetric.from_probability(2, WRONG),
            "between 0 and 1 … 'x'",
        ),
        "rows that are no probabilities": (
            lambda: _dense.from_probabilities([[0.5, 0.6], [0.5, 0.5]]),
            "Row 0 … 1.1",
        ),
        "probabilities for units": (lambda: _dense([[0.9, 0.1], [0.1, 0.9]]), "Row 0 … 2^32"),
    },
    EmptyTable: {
        "no rows to randomize": (randomized(frame=PEOPLE[:0]), "frame … no rows"),
    },
    KeyFileError: {
        "the class Keys for keys": (randomized(keys=pm.Keys), "keys … a type"),
    },
    DuplicateRecordId: {
        "a variable for the ids": (randomized(record_id="sex"), "record_id … 'sex'"),
    },
    TableError: {
        "a function for the ids": (randomized(record_id=len), "record_id … function"),
        "the owner's reports randomized again": (
            lambda: pm.randomize(
                untyped(pm.Reports.from_frame(PEOPLE[:20], PLAN)), PLAN, KEYS, record_id="person"
            ),
            "frame … Reports",
        ),
    },
    StructureError: {
        "links of three nodes": (
            lambda: untyped(pm.BayesNet)([("a", "b", "c")]).fit(counts()),
            "structure … (parent, child)",
        ),
    },
    InputError: {
        "estimated counts saved": (
            lambda: untyped(pm.save)(counts(), "x.json"),
            "thing … EstimatedCounts",
        ),
    },
}
