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
    PramanaError,
    StructureError,
    TableError,
    UnknownCategory,
    UnknownVariable,
)
from tests.pramana.face.mistakes import Mistake

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


def answered(name: str, call: Any, error: type[PramanaError], *words: str) -> Mistake:
    return Mistake(name, call, error, words)


def untyped(thing: Any) -> Any:
    """Return a thing of which the type checker knows nothing, as a newcomer's are."""
    return thing


_domain, _plan, _symmetric = untyped(pm.Domain), untyped(pm.Plan), untyped(pm.Symmetric)
_dense, _grouped, _mixture = untyped(pm.Dense), untyped(pm.Grouped), untyped(pm.Mixture)
_design, _make_plan = untyped(pm.design), untyped(pm.plan)

MISTAKES = [
    answered(
        "a list for a domain", lambda: _domain.of(["a", "b"]), DomainError, "Domain.of", "list"
    ),
    answered("one category only", lambda: _domain.of(a=["x"]), DomainError, "'a'", "one category"),
    answered(
        "a variable that no domain has", lambda: DOMAIN["fare"], UnknownVariable, "'fare'", "sex"
    ),
    answered("a place in a domain", lambda: untyped(DOMAIN)[0], UnknownVariable, "0", "department"),
    answered(
        "a part of a domain that is not there",
        lambda: DOMAIN.project(["fare"]),
        UnknownVariable,
        "'fare'",
    ),
    answered(
        "the code of no category", lambda: SEX.code("f"), UnknownCategory, "'sex'", "'f'", "female"
    ),
    answered(
        "a set for a variable's categories",
        lambda: untyped(pm.Variable)("a", {"x", "y"}),
        DomainError,
        "'a'",
        "list",
    ),
    answered(
        "a name for a variable in a block",
        lambda: untyped(pm.Block)(("sex",), HALF),
        DomainError,
        "list of variables",
    ),
    answered(
        "the block of no variable", lambda: PLAN.block_of("fare"), UnknownVariable, "'fare'", "sex"
    ),
    answered(
        "a table where its domain is wanted",
        lambda: _plan.unrandomized(PEOPLE),
        PlanError,
        "domain",
        "DataFrame",
    ),
    answered(
        "a dict where a domain is wanted",
        lambda: _make_plan({"sex": ["f", "m"]}, p=0.1),
        DomainError,
        "domain",
        "dict",
    ),
    answered(
        "one probability for each variable",
        lambda: _make_plan(DOMAIN, p=[0.1, 0.2]),
        OptionError,
        "p must be a number",
        "list",
    ),
    answered(
        "the probability without its name",
        lambda: _make_plan(DOMAIN, 0.1),
        PlanError,
        "channels",
        "0.1",
    ),
    answered(
        "both p and gamma", lambda: _make_plan(DOMAIN, p=0.1, gamma=3), OptionError, "p and gamma"
    ),
    answered(
        "a kind's name for a channel",
        lambda: _make_plan(DOMAIN, {"sex": "symmetric"}, p=0.1),
        ChannelError,
        "channels['sex']",
        "symmetric",
    ),
    answered(
        "noise of a kind that there is not",
        lambda: _make_plan(DOMAIN, {"sex": {"kind": "laplace"}}, p=0.1),
        ChannelError,
        "kind",
        "'laplace'",
    ),
    answered(
        "a channel of another size",
        lambda: pm.plan(DOMAIN, {"department": HALF}, p=0.1),
        PlanError,
        "department",
        "2",
        "6",
    ),
    answered(
        "a variable twice in a block",
        lambda: pm.plan(DOMAIN, {("sex", "sex"): {"kind": "symmetric", "p": 0.1}}, p=0.1),
        PlanError,
        "'sex'",
        "once",
    ),
    answered(
        "a probability as text",
        lambda: _symmetric.from_probability(2, WRONG),
        NotStochastic,
        "between 0 and 1",
        "'x'",
    ),
    answered(
        "a strength as text", lambda: _symmetric.from_gamma(2, WRONG), ChannelError, "gamma", "'x'"
    ),
    answered(
        "rows that are no probabilities",
        lambda: _dense.from_probabilities([[0.5, 0.6], [0.5, 0.5]]),
        NotStochastic,
        "Row 0",
        "1.1",
    ),
    answered(
        "rows of different lengths",
        lambda: _dense.from_probabilities([[0.5, 0.5], [1.0]]),
        ChannelError,
        "rows",
        "[1, 2]",
    ),
    answered(
        "probabilities for units",
        lambda: _dense([[0.9, 0.1], [0.1, 0.9]]),
        NotStochastic,
        "Row 0",
        "2^32",
    ),
    answered(
        "labels for the codes of groups",
        lambda: _grouped.from_probability([["a", "b"]], 0.1),
        ChannelError,
        "groups",
        "'a'",
    ),
    answered(
        "a number of groups", lambda: _grouped.from_probability(3, 0.1), ChannelError, "groups", "3"
    ),
    answered(
        "a text for the cells of a mixture",
        lambda: _mixture.from_gamma(WRONG, 19),
        ChannelError,
        "two or more",
        "'x'",
    ),
    answered(
        "one size for several",
        lambda: untyped(pm.CutAndPaste).from_probability(3, 1, 0.25),
        ChannelError,
        "sizes",
        "3",
    ),
    answered(
        "one code for a list of impossible ones",
        lambda: untyped(pm.StructuralZeros)(4, 1, HALF),
        ChannelError,
        "impossible",
        "1",
    ),
    answered(
        "a share as text",
        lambda: untyped(pm.RandomSymmetric).around_gamma(4, 9, WRONG),
        OptionError,
        "share",
        "'x'",
    ),
    answered(
        "half a record to design for",
        lambda: _design(DOMAIN, 500.5, gamma=19),
        OptionError,
        "records",
        "500.5",
    ),
    answered(
        "a design without a bound",
        lambda: _design(DOMAIN, 500),
        OptionError,
        "gamma",
        "epsilon",
        "breach",
    ),
    answered(
        "a breach the wrong way round",
        lambda: _design(DOMAIN, 500, breach=(0.5, 0.05)),
        OptionError,
        "0.5",
        "0.05",
    ),
    answered(
        "a list of owners",
        lambda: _design(DOMAIN, 500, gamma=19, owners=["a"]),
        OptionError,
        "owners",
        "list",
    ),
    answered("no rows to randomize", randomized(frame=PEOPLE[:0]), EmptyTable, "frame", "no rows"),
    answered("the class Keys for keys", randomized(keys=pm.Keys), KeyFileError, "keys", "a type"),
    answered(
        "a variable for the ids",
        randomized(record_id="sex"),
        DuplicateRecordId,
        "record_id",
        "'sex'",
    ),
    answered(
        "a function for the ids", randomized(record_id=len), TableError, "record_id", "function"
    ),
    answered(
        "the owner's reports randomized again",
        lambda: pm.randomize(
            untyped(pm.Reports.from_frame(PEOPLE[:20], PLAN)), PLAN, KEYS, record_id="person"
        ),
        TableError,
        "frame",
        "Reports",
    ),
    answered(
        "the level of an interval as text",
        lambda: untyped(counts()).table("sex", level="95"),
        OptionError,
        "level",
        "'95'",
    ),
    answered(
        "a table of one variable twice",
        lambda: counts().table(["sex", "sex"]),
        OptionError,
        "variables",
        "'sex'",
        "once",
    ),
    answered(
        "no variables to keep", lambda: counts().project([]), OptionError, "variables", "empty"
    ),
    answered(
        "a score with unknown options",
        lambda: pm.BayesNet(scoring={"name": "bdeu", "ess": 5}).fit(counts()),
        OptionError,
        "scoring",
        "'ess'",
    ),
    answered(
        "no score at all",
        lambda: untyped(pm.BayesNet)(scoring=None).fit(counts()),
        OptionError,
        "scoring",
        "None",
    ),
    answered(
        "links of three nodes",
        lambda: untyped(pm.BayesNet)([("a", "b", "c")]).fit(counts()),
        StructureError,
        "structure",
        "(parent, child)",
    ),
    answered(
        "a probability of several nodes",
        lambda: network().predict_proba(pd.DataFrame({"department": ["A"]})),
        OptionError,
        "target",
    ),
    answered(
        "a file where the thing is wanted",
        lambda: untyped(pm.save)("x.json", network()),
        OptionError,
        "path",
        "BayesNet",
    ),
    answered(
        "estimated counts saved",
        lambda: untyped(pm.save)(counts(), "x.json"),
        InputError,
        "thing",
        "EstimatedCounts",
    ),
]
