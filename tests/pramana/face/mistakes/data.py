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
    PramanaError,
    SingularChannel,
    TableError,
    UnknownCategory,
    UnknownVariable,
    UnprotectedVariable,
)
from tests.pramana.face.mistakes import Mistake

PEOPLE = pd.DataFrame({"id": [1, 2, 3], "age": [23, 31, 64], "sex": ["f", "m", "f"]})
LIST: dict[str, Any] = {"age": {"cuts": [30, 45]}, "sex": ["f", "m"]}
DOMAIN = pm.Domain.of(age=["<30", "30-45", ">=45"], sex=["f", "m"])


def domain(name: str, frame: Any, error: type[PramanaError], *words: str) -> Mistake:
    """A wrong table for a right list."""
    return Mistake(name, lambda: pm.domain(frame, LIST), error, words)


def listed(name: str, categories: Any, error: type[PramanaError], *words: str) -> Mistake:
    """A wrong list for a right table."""
    columns = ["age", "sex"]
    return Mistake(name, lambda: pm.domain(PEOPLE, categories, columns=columns), error, words)


def plan(
    name: str, error: type[PramanaError], *words: str, channels: Any = None, **of: Any
) -> Mistake:
    """A wrong plan for a right domain."""
    return Mistake(name, lambda: pm.plan(DOMAIN, channels, **of), error, words)


def design(
    name: str, error: type[PramanaError], *words: str, records: Any = 500, **of: Any
) -> Mistake:
    """A wrong design for a right domain."""
    return Mistake(name, lambda: pm.design(DOMAIN, records, **of), error, words)


MISTAKES = [
    Mistake(
        "an example that there is not",
        lambda: pm.example("iris"),  # type: ignore[arg-type]
        OptionError,
        ("name", "'iris'", "berkeley"),
    ),
    domain("the path of a table", "people.csv", TableError, "frame", "'people.csv'", "read_csv"),
    domain("an array", np.zeros((3, 2)), TableError, "frame", "(3, 2)", "columns=[...]"),
    domain("no table", None, TableError, "frame", "None", "pandas"),
    domain("a lazy frame", pl.LazyFrame({"age": [1]}), TableError, "LazyFrame", "collect()"),
    domain("one record", {"age": 23, "sex": "f"}, TableError, "'age'", "23", "[{...}]"),
    domain("uneven columns", {"age": [23], "sex": ["f", "m"]}, TableError, "one length", "'age' 1"),
    domain(
        "series in another order",
        {"age": PEOPLE["age"], "sex": PEOPLE["sex"].sort_values()},
        TableError,
        "different indexes",
    ),
    domain("no rows", PEOPLE[:0], EmptyTable, "frame", "no rows"),
    domain("a name twice", pd.DataFrame([[1, 2]], columns=["a", "a"]), TableError, "frame", "'a'"),
    domain("a series without a name", pd.Series([1]), TableError, "frame", "name"),
    domain(
        "two levels of names",
        pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])),
        TableError,
        "frame",
        "2 levels",
    ),
    domain("a column that nothing is said of", PEOPLE, DomainError, "categories", "'id'", "cuts"),
    domain("a column that is not there", PEOPLE[["age"]], MissingColumn, "'sex'", "'age'"),
    domain(
        "an unknown category",
        PEOPLE.drop(columns="id").assign(sex=["f", "x", "y"]),
        UnknownCategory,
        "'sex'",
        "'x', 'y' in 2 of 3 rows",
        "'f', 'm'",
    ),
    domain(
        "empty cells",
        PEOPLE.drop(columns="id").assign(age=[23, None, 64]),
        UnknownCategory,
        "'age'",
        "empty in 1 of 3 rows",
        "'(empty)'",
    ),
    domain(
        "an infinite number",
        PEOPLE.drop(columns="id").assign(age=[23, np.inf, 64]),
        UnknownCategory,
        "'age'",
        "inf",
    ),
    Mistake(
        "no public list at all",
        lambda: pm.domain(PEOPLE[["age", "sex"]]),
        DomainError,
        ("categories", "None", "public", '{"age": {"cuts": [...]}, "sex": [...]}'),
    ),
    listed("no public list", None, DomainError, "categories", "None", "public", '"age": {"cuts"'),
    listed("a list without names", ["f", "m"], DomainError, "categories", "a list", "dict"),
    listed("categories as one text", {**LIST, "sex": "f,m"}, DomainError, "'sex'", "'f,m'", "list"),
    listed("categories as a set", {**LIST, "sex": {"f", "m"}}, DomainError, "'sex'", "order"),
    listed("one category", {**LIST, "sex": ["f"]}, DomainError, "'sex'", "two or more"),
    listed("a category twice", {**LIST, "sex": ["f", "f"]}, DomainError, "'sex'", "twice"),
    listed("an empty category", {**LIST, "sex": ["f", None]}, DomainError, "'sex'", "'(empty)'"),
    listed(
        "a misspelled key", {**LIST, "age": {"cut": [30]}}, DomainError, "'age'", "'cut'", "cuts"
    ),
    listed("cuts that fall", {**LIST, "age": {"cuts": [45, 30]}}, DomainError, "'age'", "larger"),
    listed("declared by no column", {**LIST, "sex": "declared"}, DomainError, "'sex'", "declare"),
    listed(
        "a variable of another name",
        {**LIST, "sex": pm.Variable("gender", ("f", "m"))},
        DomainError,
        "'sex'",
        "'gender'",
        "called alike",
    ),
    listed(
        "a list that is not there", "no/such.toml", ConfigError, "no/such.toml", "cannot be read"
    ),
    listed("a list in another format", "list.csv", ConfigError, "'list.csv'", ".toml"),
    Mistake(
        "a frame where a list of columns is wanted",
        lambda: pm.domain(PEOPLE, LIST, columns=3),  # type: ignore[arg-type]
        OptionError,
        ("columns", "3", "list of names"),
    ),
    Mistake(
        "columns that are not there",
        lambda: pm.observed_categories(PEOPLE, ["name"]),
        MissingColumn,
        ("columns", "'name'", "'sex'"),
    ),
    Mistake(
        "too many intervals",
        lambda: pm.observed_categories(PEOPLE, intervals=1000),
        OptionError,
        ("intervals", "1000", "64"),
    ),
    Mistake(
        "a frame where a domain is wanted",
        lambda: pm.plan(PEOPLE, p=0.1),  # type: ignore[arg-type]
        DomainError,
        ("domain", "DataFrame", "pm.domain"),
    ),
    plan("nothing said", PlanError, "Nothing is said of 'age'", "public", "withheld"),
    plan("two strengths", OptionError, "p, gamma and epsilon", "p and gamma", p=0.1, gamma=2),
    plan("p too large for a column", OptionError, "'sex'", "below 1/2", "0.6", p=0.6),
    plan("p as text", OptionError, "p must be a number", "'0.1'", p="0.1"),
    plan("a gamma of 1", OptionError, "gamma", "above 1", gamma=1),
    plan("a negative epsilon", OptionError, "epsilon", "-1", epsilon=-1),
    plan(
        "public that is unknown", UnknownVariable, "public", "'town'", "'sex'", p=0.1, public="town"
    ),
    plan("public that is no list", OptionError, "public", "True", p=0.1, public=True),
    plan(
        "a variable named twice",
        PlanError,
        "'sex'",
        "public and withheld",
        p=0.1,
        public=["sex"],
        withheld=["sex"],
    ),
    plan("everything withheld", PlanError, "withheld", withheld=["age", "sex"]),
    plan("channels as a list", PlanError, "channels", "a list", "dict", channels=["symmetric"]),
    plan(
        "a channel as a number", ChannelError, "'sex'", "0.1", "kind", p=0.1, channels={"sex": 0.1}
    ),
    plan(
        "a channel of an unknown kind",
        ChannelError,
        "'sex'",
        "'noise'",
        "'symmetric'",
        p=0.1,
        channels={"sex": {"kind": "noise"}},
    ),
    plan(
        "a channel without its kind",
        ChannelError,
        "'sex'",
        "kind",
        p=0.1,
        channels={"sex": {"p": 0.1}},
    ),
    plan(
        "a channel with an unknown key",
        ChannelError,
        "'sex'",
        "unknown key q",
        p=0.1,
        channels={"sex": {"kind": "symmetric", "p": 0.1, "q": 1}},
    ),
    plan(
        "a channel for other variables",
        PlanError,
        "'age'",
        "2 true categories",
        "3",
        p=0.1,
        channels={"age": pm.Symmetric.from_probability(2, 0.1)},
    ),
    plan(
        "a public variable by its channel",
        UnprotectedVariable,
        "'sex'",
        "public",
        p=0.1,
        channels={"sex": pm.Identity(2)},
    ),
    plan(
        "a channel that says nothing",
        SingularChannel,
        "'sex'",
        "singular",
        p=0.1,
        channels={"sex": {"kind": "symmetric", "p": 0.5}},
    ),
    plan("a key that is no name", PlanError, "channels", "3", "tuple", channels={3: {}}),
    design("no demand", OptionError, "gamma, epsilon and breach", "gamma=19"),
    design("two demands", OptionError, "gamma and epsilon", gamma=19, epsilon=3),
    design("a breach of one number", OptionError, "breach", "0.5", "pair", breach=0.5),
    design(
        "a frame for its records", OptionError, "records", "len(frame)", records=PEOPLE, gamma=9
    ),
    design("learning what there is not", OptionError, "learn", "'forest'", gamma=9, learn="forest"),
    design("a classifier of nothing", OptionError, "target", gamma=9, learn="classifier"),
    design("a target of nothing", OptionError, "pairs", "target", gamma=9, target="sex"),
    design("a length of pairs", OptionError, "length", "itemsets", "'pairs'", gamma=9, length=2),
    design(
        "a structure as a list",
        OptionError,
        "structure",
        "a list",
        "dict",
        gamma=9,
        learn="structure",
        structure=["age", "sex"],
    ),
    design(
        "a variable without owner",
        OptionError,
        "owners",
        "'sex' is left out",
        gamma=9,
        owners={"a": ["age"]},
    ),
    design("how many owners", OptionError, "owners", "2", "dict", gamma=9, owners=2),
    design(
        "a family that there is not",
        OptionError,
        "family",
        "'best'",
        "mask",
        gamma=9,
        family="best",
    ),
    design("a support above 1", OptionError, "minimum_support", "2", gamma=9, minimum_support=2),
    design("all public", OptionError, "sensitive", gamma=9, public=["age", "sex"]),
    Mistake(
        "the plan of an owner of no study",
        lambda: pm.design(DOMAIN, 500, gamma=9).plan_of("a"),
        PlanError,
        ("one owner", "plan"),
    ),
    Mistake(
        "categories of a variable as one text",
        lambda: pm.Variable("sex", "fm"),  # type: ignore[arg-type]
        DomainError,
        ("'sex'", "'fm'", "list"),
    ),
    Mistake(
        "categories of a variable as numbers",
        lambda: pm.Variable("member", (0, 1)),  # type: ignore[arg-type]
        DomainError,
        ("'member'", "0", "texts"),
    ),
    Mistake(
        "a domain of names",
        lambda: pm.Domain(["age", "sex"]),  # type: ignore[arg-type]
        DomainError,
        ("domain", "'age'", "variables"),
    ),
    Mistake(
        "a block with a number for a channel",
        lambda: pm.Block((DOMAIN["sex"],), 0.1),  # type: ignore[arg-type]
        PlanError,
        ("'sex'", "0.1", "channel"),
    ),
    Mistake(
        "a plan of a domain",
        lambda: pm.Plan(DOMAIN),  # type: ignore[arg-type]
        PlanError,
        ("plan", "Domain", "blocks"),
    ),
    Mistake(
        "a probability above 1",
        lambda: pm.Symmetric.from_probability(2, 1.5),
        NotStochastic,
        ("between 0 and 1", "1.5"),
    ),
    Mistake(
        "a number of categories as text",
        lambda: pm.Symmetric.from_gamma("2", 9),  # type: ignore[arg-type]
        ChannelError,
        ("categories", "'2'"),
    ),
    design(
        "a target as a list", OptionError, "target", "a list", gamma=9, learn="tree", target=["a"]
    ),
    design("a length as text", OptionError, "length", "'2'", gamma=9, learn="itemsets", length="2"),
    design("a weight as text", OptionError, "learn['pairs']", "'x'", gamma=9, learn={"pairs": "x"}),
    listed("cuts as one number", {**LIST, "age": {"cuts": 30}}, DomainError, "'age'", "30", "list"),
    listed("lists as labels", {**LIST, "age": [[1], [2]]}, DomainError, "'age'", "list of lists"),
]
