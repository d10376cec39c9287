"""Mistakes with tables, categories, plans and designs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl

import pramana as pm
from pramana_core.errors import (
    ChannelError,
    DomainError,
    EmptyTable,
    MissingColumn,
    OptionError,
    PlanError,
    SingularChannel,
    TableError,
    UnknownCategory,
    UnknownVariable,
    UnprotectedVariable,
)
from tests.pramana.face.mistakes import Call, Mistakes

PEOPLE = pd.DataFrame({"id": [1, 2, 3], "age": [23, 31, 64], "sex": ["f", "m", "f"]})
LIST: dict[str, Any] = {"age": {"cuts": [30, 45]}, "sex": ["f", "m"]}
DOMAIN = pm.Domain.of(age=["<30", "30-45", ">=45"], sex=["f", "m"])


def domain(frame: Any) -> Call:
    """A wrong table for a right list."""
    return lambda: pm.domain(frame, LIST)


def listed(categories: Any) -> Call:
    """A wrong list for a right table."""
    return lambda: pm.domain(PEOPLE, categories, columns=["age", "sex"])


def plan(channels: Any = None, **of: Any) -> Call:
    """A wrong plan for a right domain."""
    return lambda: pm.plan(DOMAIN, channels, **of)


def design(records: Any = 500, **of: Any) -> Call:
    """A wrong design for a right domain."""
    return lambda: pm.design(DOMAIN, records, **of)


def untyped(thing: Any) -> Any:
    """Return a thing of which the type checker knows nothing, as a newcomer's are."""
    return thing


MISTAKES: Mistakes = {
    (OptionError, "name"): [lambda: pm.example("iris")],
    (OptionError, "columns"): [lambda: pm.domain(PEOPLE, LIST, columns=3)],
    (OptionError, "intervals"): [lambda: pm.observed_categories(PEOPLE, intervals=1000)],
    (OptionError, "p"): [plan(p=0.1, gamma=2), plan(p=0.6), plan(p="0.1")],
    (OptionError, "gamma"): [plan(gamma=1), design(), design(gamma=19, epsilon=3)],
    (OptionError, "epsilon"): [plan(epsilon=-1)],
    (OptionError, "public"): [plan(p=0.1, public=True)],
    (OptionError, "breach"): [design(breach=0.5)],
    (OptionError, "records"): [design(records=500.5, gamma=19), design(records=PEOPLE, gamma=9)],
    (OptionError, "learn"): [
        design(gamma=9, learn="forest"),
        design(gamma=9, learn=pm.NaiveBayes("sex")),
        design(gamma=9, learn="naive-bayes", target="sex"),
        design(gamma=9, learn={"pairs": 1}),
    ],
    (OptionError, "target"): [
        design(gamma=9, learn="tree", target=["a"]),
        design(gamma=9, learn="classifier"),
        design(gamma=9, target="sex"),
    ],
    (OptionError, "length"): [
        design(gamma=9, learn="itemsets", length="x"),
        design(gamma=9, length=2),
    ],
    (OptionError, "structure"): [design(gamma=9, learn="structure", structure=["age", "sex"])],
    (OptionError, "owners"): [
        design(gamma=9, owners=2),
        design(gamma=9, owners={"a": ["age"]}),
    ],
    (OptionError, "family"): [design(gamma=9, family="best")],
    (OptionError, "minimum_support"): [design(gamma=9, minimum_support=2)],
    (OptionError, None): [design(gamma=9, public=["age", "sex"])],
    (TableError, "frame"): [
        domain("people.csv"),
        domain(np.zeros((3, 2))),
        domain(None),
        domain(pl.LazyFrame({"age": [1]})),
        domain({"age": 23, "sex": "f"}),
        domain({"age": [23], "sex": ["f", "m"]}),
        domain({"age": PEOPLE["age"], "sex": PEOPLE["sex"].sort_values()}),
        domain(pd.DataFrame([[1, 2]], columns=["a", "a"])),
        domain(pd.Series([1])),
        domain(pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")]))),
    ],
    (EmptyTable, "frame"): [domain(PEOPLE[:0])],
    (DomainError, "id"): [domain(PEOPLE)],
    (DomainError, "categories"): [
        lambda: pm.domain(PEOPLE[["age", "sex"]]),
        listed(None),
        listed(["f", "m"]),
    ],
    (DomainError, "sex"): [
        listed({**LIST, "sex": "f,m"}),
        listed({**LIST, "sex": {"f", "m"}}),
        listed({**LIST, "sex": ["f"]}),
        listed({**LIST, "sex": ["f", "f"]}),
        listed({**LIST, "sex": ["f", None]}),
        listed({**LIST, "sex": pm.Variable("gender", ("f", "m"))}),
        lambda: pm.Variable("sex", "fm"),
    ],
    (DomainError, "age"): [
        listed({**LIST, "age": {"cut": [30]}}),
        listed({**LIST, "age": {"cuts": [45, 30]}}),
        listed({**LIST, "age": {"cuts": 30}}),
        listed({**LIST, "age": [[1], [2]]}),
    ],
    (DomainError, "domain"): [lambda: pm.plan(PEOPLE, p=0.1)],
    (PlanError, "domain"): [lambda: untyped(pm.Plan).unrandomized(PEOPLE)],
    (DomainError, "member"): [lambda: pm.Variable("member", (0, 1))],
    (DomainError, None): [
        lambda: untyped(pm.Domain).of(["a", "b"]),
        lambda: untyped(pm.Block)(("sex",), None),
        lambda: pm.Domain(["age", "sex"]),
    ],
    (MissingColumn, "sex"): [domain(PEOPLE[["age"]])],
    (MissingColumn, "name"): [lambda: pm.observed_categories(PEOPLE, ["name"])],
    (UnknownCategory, "sex"): [domain(PEOPLE.drop(columns="id").assign(sex=["f", "x", "y"]))],
    (UnknownCategory, "age"): [
        domain(PEOPLE.drop(columns="id").assign(age=[23, None, 64])),
        domain(PEOPLE.drop(columns="id").assign(age=[23, np.inf, 64])),
    ],
    (PlanError, "age"): [
        plan(),
        plan(p=0.1, channels={"age": pm.Symmetric.from_probability(2, 0.1)}),
    ],
    (PlanError, "sex"): [
        plan(p=0.1, public=["sex"], withheld=["sex"]),
        lambda: pm.Block((DOMAIN["sex"],), 0.1),
    ],
    (PlanError, None): [plan(withheld=["age", "sex"]), lambda: pm.Plan(DOMAIN)],
    (PlanError, "channels"): [plan(channels=["symmetric"]), plan(channels={3: {}})],
    (PlanError, "owner"): [lambda: pm.design(DOMAIN, 500, gamma=9).plan_of("a")],
    (UnknownVariable, "town"): [plan(p=0.1, public="town")],
    (ChannelError, None): [
        lambda: pm.Symmetric.from_probability(2, 1.5),
        plan({"sex": "symmetric"}, p=0.1),
        lambda: pm.Dense.from_probabilities([[0.5, 0.5], [1.0]]),
        lambda: untyped(pm.Grouped).from_probability([["a", "b"]], 0.1),
        lambda: untyped(pm.Mixture).from_gamma("x", 19),
        lambda: untyped(pm.CutAndPaste).from_probability(3, 1, 0.25),
        plan(p=0.1, channels={"sex": 0.1}),
        lambda: pm.Symmetric.from_gamma("2", 9),
    ],
    (ChannelError, "kind"): [
        plan(p=0.1, channels={"sex": {"kind": "noise"}}),
        plan(p=0.1, channels={"sex": {"p": 0.1}}),
    ],
    (ChannelError, "channels"): [
        plan(p=0.1, channels={"sex": {"kind": "symmetric", "p": 0.1, "q": 1}})
    ],
    (UnprotectedVariable, "sex"): [plan(p=0.1, channels={"sex": pm.Identity(2)})],
    (SingularChannel, "sex"): [plan(p=0.1, channels={"sex": {"kind": "symmetric", "p": 0.5}})],
    (ChannelError, "row 0"): [
        lambda: pm.Dense.from_probabilities([[0.5, 0.6], [0.5, 0.5]]),
        lambda: untyped(pm.Dense)([[0.9, 0.1], [0.1, 0.9]]),
    ],
    (UnknownVariable, "fare"): [lambda: DOMAIN["fare"], lambda: DOMAIN.project(["fare"])],
    (UnknownVariable, 0): [lambda: untyped(DOMAIN)[0]],
    (OptionError, "rho_2"): [design(breach=(0.5, 0.05))],
}
