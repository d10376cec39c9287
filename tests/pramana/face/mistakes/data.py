"""Mistakes with tables, categories, plans and designs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

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
    (OptionError, "p"): [plan(p=0.1, gamma=2)],
    (OptionError, "gamma"): [plan(gamma=1)],
    (OptionError, "epsilon"): [plan(epsilon=-1)],
    (OptionError, "public"): [plan(p=0.1, public=True)],
    (OptionError, "breach"): [design(breach=0.5)],
    (OptionError, "records"): [design(records=500.5, gamma=19)],
    (OptionError, "learn"): [
        design(gamma=9, learn="forest"),
        design(gamma=9, learn=pm.NaiveBayes("sex")),
    ],
    (OptionError, "target"): [design(gamma=9, learn="tree", target=["a"])],
    (OptionError, "length"): [design(gamma=9, learn="itemsets", length="x")],
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
    ],
    (EmptyTable, "frame"): [domain(PEOPLE[:0])],
    (DomainError, "id"): [domain(PEOPLE)],
    (DomainError, "categories"): [lambda: pm.domain(PEOPLE[["age", "sex"]])],
    (DomainError, "sex"): [
        listed({**LIST, "sex": "f,m"}),
        listed({**LIST, "sex": {"f", "m"}}),
    ],
    (DomainError, "age"): [
        listed({**LIST, "age": {"cut": [30]}}),
        listed({**LIST, "age": {"cuts": [45, 30]}}),
    ],
    (DomainError, "domain"): [lambda: pm.plan(PEOPLE, p=0.1)],
    (PlanError, "domain"): [lambda: untyped(pm.Plan).unrandomized(PEOPLE)],
    (DomainError, "member"): [lambda: pm.Variable("member", (0, 1))],
    (DomainError, None): [lambda: untyped(pm.Domain).of(["a", "b"])],
    (MissingColumn, "sex"): [domain(PEOPLE[["age"]])],
    (MissingColumn, "name"): [lambda: pm.observed_categories(PEOPLE, ["name"])],
    (UnknownCategory, "sex"): [domain(PEOPLE.drop(columns="id").assign(sex=["f", "x", "y"]))],
    (UnknownCategory, "age"): [domain(PEOPLE.drop(columns="id").assign(age=[23, None, 64]))],
    (PlanError, "age"): [plan()],
    (PlanError, "sex"): [plan(p=0.1, public=["sex"], withheld=["sex"])],
    (PlanError, None): [plan(withheld=["age", "sex"])],
    (PlanError, "channels"): [plan(channels=["symmetric"])],
    (PlanError, "owner"): [lambda: pm.design(DOMAIN, 500, gamma=9).plan_of("a")],
    (UnknownVariable, "town"): [plan(p=0.1, public="town")],
    (ChannelError, None): [
        lambda: pm.Symmetric.from_probability(2, 1.5),
        plan({"sex": "symmetric"}, p=0.1),
    ],
    (ChannelError, "channels"): [
        plan(p=0.1, channels={"sex": {"kind": "symmetric", "p": 0.1, "q": 1}})
    ],
    (UnprotectedVariable, "sex"): [plan(p=0.1, channels={"sex": pm.Identity(2)})],
    (SingularChannel, "sex"): [plan(p=0.1, channels={"sex": {"kind": "symmetric", "p": 0.5}})],
    (ChannelError, "row 0"): [lambda: pm.Dense.from_probabilities([[0.5, 0.6], [0.5, 0.5]])],
    (UnknownVariable, "fare"): [lambda: DOMAIN["fare"]],
    (UnknownVariable, 0): [lambda: untyped(DOMAIN)[0]],
    (OptionError, "rho_2"): [design(breach=(0.5, 0.05))],
}
