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
    OptionError: {
        "an example that there is not": (
            lambda: pm.example("iris"),  # type: ignore[arg-type]
            "name … 'iris' … berkeley",
        ),
        "a frame where a list of columns is wanted": (
            lambda: pm.domain(PEOPLE, LIST, columns=3),  # type: ignore[arg-type]
            "columns … 3 … list of names",
        ),
        "too many intervals": (
            lambda: pm.observed_categories(PEOPLE, intervals=1000),
            "intervals … 1000 … 64",
        ),
        "two strengths": (plan(p=0.1, gamma=2), "p, gamma and epsilon … p and gamma"),
        "p too large for a column": (plan(p=0.6), "'sex' … below 1/2 … 0.6"),
        "p as text": (plan(p="0.1"), "p must be a number … '0.1'"),
        "a gamma of 1": (plan(gamma=1), "gamma … above 1"),
        "a negative epsilon": (plan(epsilon=-1), "epsilon … -1"),
        "public that is no list": (plan(p=0.1, public=True), "public … True"),
        "no demand": (design(), "gamma, epsilon and breach … gamma=19"),
        "two demands": (design(gamma=19, epsilon=3), "gamma and epsilon"),
        "a breach of one number": (design(breach=0.5), "breach … 0.5"),
        "a frame for its records": (design(records=PEOPLE, gamma=9), "records … DataFrame"),
        "learning what there is not": (design(gamma=9, learn="forest"), "learn … 'forest'"),
        "a classifier of nothing": (design(gamma=9, learn="classifier"), "target"),
        "a target of nothing": (design(gamma=9, target="sex"), "target"),
        "a length of pairs": (design(gamma=9, length=2), "length … itemsets"),
        "a structure as a list": (
            design(gamma=9, learn="structure", structure=["age", "sex"]),
            "structure … dict … a list",
        ),
        "a variable without owner": (
            design(gamma=9, owners={"a": ["age"]}),
            "'sex' … have no owner",
        ),
        "how many owners": (design(gamma=9, owners=2), "owners … 2 … dict"),
        "a family that there is not": (design(gamma=9, family="best"), "family … 'best' … mask"),
        "a support above 1": (design(gamma=9, minimum_support=2), "minimum_support … 2"),
        "all public": (design(gamma=9, public=["age", "sex"]), "sensitive"),
        "a target as a list": (design(gamma=9, learn="tree", target=["a"]), "target … a list"),
        "a length as text": (design(gamma=9, learn="itemsets", length="x"), "length … 'x'"),
        "a weight as text": (design(gamma=9, learn={"pairs": "x"}), "learn … 'x'"),
    },
    TableError: {
        "the path of a table": (domain("people.csv"), "frame … 'people.csv' … read_csv"),
        "an array": (domain(np.zeros((3, 2))), "frame … (3, 2) … columns=[...]"),
        "no table": (domain(None), "frame … None … pandas"),
        "a lazy frame": (domain(pl.LazyFrame({"age": [1]})), "LazyFrame … collect()"),
        "one record": (domain({"age": 23, "sex": "f"}), "'age' … 23 … [{...}]"),
        "uneven columns": (domain({"age": [23], "sex": ["f", "m"]}), "one length … 'age' 1"),
        "series in another order": (
            domain({"age": PEOPLE["age"], "sex": PEOPLE["sex"].sort_values()}),
            "different indexes",
        ),
        "a name twice": (domain(pd.DataFrame([[1, 2]], columns=["a", "a"])), "frame … 'a'"),
        "a series without a name": (domain(pd.Series([1])), "frame … name"),
        "two levels of names": (
            domain(pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")]))),
            "frame … 2 levels",
        ),
    },
    EmptyTable: {
        "no rows": (domain(PEOPLE[:0]), "frame … no rows"),
    },
    DomainError: {
        "a column that nothing is said of": (domain(PEOPLE), "categories … 'id' … cuts"),
        "no public list at all": (
            lambda: pm.domain(PEOPLE[["age", "sex"]]),
            'categories … None … public … {"age": {"cuts": [...]}, "sex": [...]}',
        ),
        "no public list": (listed(None), 'categories … None … public … "age": {"cuts"'),
        "a list without names": (listed(["f", "m"]), "categories … a list … dict"),
        "categories as one text": (listed({**LIST, "sex": "f,m"}), "'sex' … 'f,m' … list"),
        "categories as a set": (listed({**LIST, "sex": {"f", "m"}}), "'sex' … order"),
        "one category": (listed({**LIST, "sex": ["f"]}), "'sex' … two or more"),
        "a category twice": (listed({**LIST, "sex": ["f", "f"]}), "'sex' … twice"),
        "an empty category": (listed({**LIST, "sex": ["f", None]}), "'sex' … '(empty)'"),
        "a misspelled key": (listed({**LIST, "age": {"cut": [30]}}), "'age' … 'cut' … cuts"),
        "cuts that fall": (listed({**LIST, "age": {"cuts": [45, 30]}}), "'age' … larger"),
        "declared by no column": (listed({**LIST, "sex": "declared"}), "'sex' … declare"),
        "a variable of another name": (
            listed({**LIST, "sex": pm.Variable("gender", ("f", "m"))}),
            "'sex' … 'gender' … called alike",
        ),
        "a frame where a domain is wanted": (
            lambda: pm.plan(PEOPLE, p=0.1),  # type: ignore[arg-type]
            "domain … DataFrame … pm.domain",
        ),
        "categories of a variable as one text": (
            lambda: pm.Variable("sex", "fm"),  # type: ignore[arg-type]
            "'sex' … 'fm' … list",
        ),
        "categories of a variable as numbers": (
            lambda: pm.Variable("member", (0, 1)),  # type: ignore[arg-type]
            "'member' … 0 … texts",
        ),
        "a domain of names": (
            lambda: pm.Domain(["age", "sex"]),  # type: ignore[arg-type]
            "domain … 'age' … variables",
        ),
        "cuts as one number": (listed({**LIST, "age": {"cuts": 30}}), "'age' … 30 … list"),
        "lists as labels": (listed({**LIST, "age": [[1], [2]]}), "'age' … list of lists"),
    },
    MissingColumn: {
        "a column that is not there": (domain(PEOPLE[["age"]]), "'sex' … 'age'"),
        "columns that are not there": (
            lambda: pm.observed_categories(PEOPLE, ["name"]),
            "columns … 'name' … 'sex'",
        ),
    },
    UnknownCategory: {
        "an unknown category": (
            domain(PEOPLE.drop(columns="id").assign(sex=["f", "x", "y"])),
            "'sex' … 'x', 'y' in 2 of 3 rows … 'f', 'm'",
        ),
        "empty cells": (
            domain(PEOPLE.drop(columns="id").assign(age=[23, None, 64])),
            "'age' … empty in 1 of 3 rows … '(empty)'",
        ),
        "an infinite number": (
            domain(PEOPLE.drop(columns="id").assign(age=[23, np.inf, 64])),
            "'age' … inf",
        ),
    },
    ConfigError: {
        "a list that is not there": (listed("no/such.toml"), "no/such.toml … cannot be read"),
        "a list in another format": (listed("list.csv"), "'list.csv' … .toml"),
    },
    PlanError: {
        "nothing said": (plan(), "Nothing is said of 'age' … public … withheld"),
        "a variable named twice": (
            plan(p=0.1, public=["sex"], withheld=["sex"]),
            "'sex' … public and withheld",
        ),
        "everything withheld": (plan(withheld=["age", "sex"]), "withheld"),
        "channels as a list": (plan(channels=["symmetric"]), "channels … a list … dict"),
        "a channel for other variables": (
            plan(p=0.1, channels={"age": pm.Symmetric.from_probability(2, 0.1)}),
            "'age' … 2 true categories … 3",
        ),
        "a key that is no name": (plan(channels={3: {}}), "channels … 3 … tuple"),
        "the plan of an owner of no study": (
            lambda: pm.design(DOMAIN, 500, gamma=9).plan_of("a"),
            "one owner … plan",
        ),
        "a block with a number for a channel": (
            lambda: pm.Block((DOMAIN["sex"],), 0.1),  # type: ignore[arg-type]
            "'sex' … 0.1 … channel",
        ),
        "a plan of a domain": (
            lambda: pm.Plan(DOMAIN),  # type: ignore[arg-type]
            "plan … Domain … blocks",
        ),
    },
    UnknownVariable: {
        "public that is unknown": (plan(p=0.1, public="town"), "public … 'town' … 'sex'"),
    },
    ChannelError: {
        "a channel as a number": (plan(p=0.1, channels={"sex": 0.1}), "'sex' … 0.1 … kind"),
        "a channel of an unknown kind": (
            plan(p=0.1, channels={"sex": {"kind": "noise"}}),
            "'sex' … 'noise' … 'symmetric'",
        ),
        "a channel without its kind": (plan(p=0.1, channels={"sex": {"p": 0.1}}), "'sex' … kind"),
        "a channel with an unknown key": (
            plan(p=0.1, channels={"sex": {"kind": "symmetric", "p": 0.1, "q": 1}}),
            "'sex' … unknown key q",
        ),
        "a number of categories as text": (
            lambda: pm.Symmetric.from_gamma("2", 9),  # type: ignore[arg-type]
            "categories … '2'",
        ),
    },
    UnprotectedVariable: {
        "a public variable by its channel": (
            plan(p=0.1, channels={"sex": pm.Identity(2)}),
            "'sex' … public",
        ),
    },
    SingularChannel: {
        "a channel that says nothing": (
            plan(p=0.1, channels={"sex": {"kind": "symmetric", "p": 0.5}}),
            "'sex' … singular",
        ),
    },
    NotStochastic: {
        "a probability above 1": (
            lambda: pm.Symmetric.from_probability(2, 1.5),
            "between 0 and 1 … 1.5",
        ),
    },
}
