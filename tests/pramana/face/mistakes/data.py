"""Mistakes with tables, categories, plans and designs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl

import pramana as pm
from pramana_core.errors import (
    ChannelError,
    ConfigError,
    DomainError,
    EmptyTable,
    MissingColumn,
    NotStochastic,
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


MISTAKES: Mistakes = {
    OptionError: [
        (lambda: pm.example("iris"), "name"),  # type: ignore[arg-type]
        (lambda: pm.domain(PEOPLE, LIST, columns=3), "columns"),  # type: ignore[arg-type]
        (lambda: pm.observed_categories(PEOPLE, intervals=1000), "intervals"),
        (plan(p=0.1, gamma=2), "p"),
        (plan(p=0.6), "p"),
        (plan(p="0.1"), "p"),
        (plan(gamma=1), "gamma"),
        (plan(epsilon=-1), "epsilon"),
        (plan(p=0.1, public=True), "public"),
        (design(), "gamma"),
        (design(gamma=19, epsilon=3), "gamma"),
        (design(breach=0.5), "breach"),
        (design(records=PEOPLE, gamma=9), "records"),
        (design(gamma=9, learn="forest"), "learn"),
        (design(gamma=9, learn="classifier"), "target"),
        (design(gamma=9, target="sex"), "target"),
        (design(gamma=9, length=2), "length"),
        (design(gamma=9, learn="structure", structure=["age", "sex"]), "structure"),
        (design(gamma=9, owners={"a": ["age"]}), "owners"),
        (design(gamma=9, owners=2), "owners"),
        (design(gamma=9, family="best"), "family"),
        (design(gamma=9, minimum_support=2), "minimum_support"),
        (design(gamma=9, public=["age", "sex"]), "sensitive"),
        (design(gamma=9, learn="tree", target=["a"]), "target"),
        (design(gamma=9, learn="itemsets", length="2"), "length"),
        (design(gamma=9, learn={"pairs": "x"}), "learn['pairs']"),
    ],
    TableError: [
        (domain("people.csv"), "frame"),
        (domain(np.zeros((3, 2))), "frame"),
        (domain(None), "frame"),
        (domain(pl.LazyFrame({"age": [1]})), "frame"),
        (domain({"age": 23, "sex": "f"}), "frame"),
        (domain({"age": [23], "sex": ["f", "m"]}), "frame"),
        (domain({"age": PEOPLE["age"], "sex": PEOPLE["sex"].sort_values()}), "frame"),
        (domain(pd.DataFrame([[1, 2]], columns=["a", "a"])), "frame"),
        (domain(pd.Series([1])), "frame"),
        (domain(pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")]))), "frame"),
    ],
    EmptyTable: [
        (domain(PEOPLE[:0]), "frame"),
    ],
    DomainError: [
        (domain(PEOPLE), "id"),
        (lambda: pm.domain(PEOPLE[["age", "sex"]]), "categories"),
        (listed(None), "categories"),
        (listed(["f", "m"]), "categories"),
        (listed({**LIST, "sex": "f,m"}), "sex"),
        (listed({**LIST, "sex": {"f", "m"}}), "sex"),
        (listed({**LIST, "sex": ["f"]}), "sex"),
        (listed({**LIST, "sex": ["f", "f"]}), "sex"),
        (listed({**LIST, "sex": ["f", None]}), "sex"),
        (listed({**LIST, "age": {"cut": [30]}}), "age"),
        (listed({**LIST, "age": {"cuts": [45, 30]}}), "age"),
        (listed({**LIST, "sex": "declared"}), "sex"),
        (listed({**LIST, "sex": pm.Variable("gender", ("f", "m"))}), "sex"),
        (lambda: pm.plan(PEOPLE, p=0.1), "domain"),  # type: ignore[arg-type]
        (lambda: pm.Variable("sex", "fm"), "sex"),  # type: ignore[arg-type]
        (lambda: pm.Variable("member", (0, 1)), "member"),  # type: ignore[arg-type]
        (lambda: pm.Domain(["age", "sex"]), "domain"),  # type: ignore[arg-type]
        (listed({**LIST, "age": {"cuts": 30}}), "age"),
        (listed({**LIST, "age": [[1], [2]]}), "age"),
    ],
    MissingColumn: [
        (domain(PEOPLE[["age"]]), "sex"),
        (lambda: pm.observed_categories(PEOPLE, ["name"]), "name"),
    ],
    UnknownCategory: [
        (domain(PEOPLE.drop(columns="id").assign(sex=["f", "x", "y"])), "sex"),
        (domain(PEOPLE.drop(columns="id").assign(age=[23, None, 64])), "age"),
        (domain(PEOPLE.drop(columns="id").assign(age=[23, np.inf, 64])), "age"),
    ],
    ConfigError: [
        (listed("no/such.toml"), "no/such.toml"),
        (listed("list.csv"), "categories"),
    ],
    PlanError: [
        (plan(), "age"),
        (plan(p=0.1, public=["sex"], withheld=["sex"]), "sex"),
        (plan(withheld=["age", "sex"]), "withheld"),
        (plan(channels=["symmetric"]), "channels"),
        (plan(p=0.1, channels={"age": pm.Symmetric.from_probability(2, 0.1)}), "age"),
        (plan(channels={3: {}}), "channels"),
        (lambda: pm.design(DOMAIN, 500, gamma=9).plan_of("a"), "owner"),
        (lambda: pm.Block((DOMAIN["sex"],), 0.1), "sex"),  # type: ignore[arg-type]
        (lambda: pm.Plan(DOMAIN), "plan"),  # type: ignore[arg-type]
    ],
    UnknownVariable: [
        (plan(p=0.1, public="town"), "town"),
    ],
    ChannelError: [
        (plan(p=0.1, channels={"sex": 0.1}), "'sex'"),
        (plan(p=0.1, channels={"sex": {"kind": "noise"}}), "kind"),
        (plan(p=0.1, channels={"sex": {"p": 0.1}}), "kind"),
        (plan(p=0.1, channels={"sex": {"kind": "symmetric", "p": 0.1, "q": 1}}), "channels"),
        (lambda: pm.Symmetric.from_gamma("2", 9), "categories"),  # type: ignore[arg-type]
    ],
    UnprotectedVariable: [
        (plan(p=0.1, channels={"sex": pm.Identity(2)}), "sex"),
    ],
    SingularChannel: [
        (plan(p=0.1, channels={"sex": {"kind": "symmetric", "p": 0.5}}), "sex"),
    ],
    NotStochastic: [
        (lambda: pm.Symmetric.from_probability(2, 1.5), "between 0 and 1"),
    ],
}
