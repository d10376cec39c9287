"""Mistakes with shared trees: what they are learned from, what is asked, how they are combined."""

from __future__ import annotations

import pickle
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import pramana as pm
from pramana_core.errors import (
    EmptyTable,
    InputError,
    MissingColumn,
    ModelError,
    NotFitted,
    OptionError,
    RequirementUnmet,
    TableError,
    TableUnreadable,
    UnknownCategory,
)
from tests.pramana.face.mistakes import Mistake


@cache
def people() -> pd.DataFrame:
    """Return 300 people aboard."""
    return pm.example("titanic").sample(300, random_state=1).reset_index(drop=True)


def share(requirement: Any = 5, **changed: Any) -> pm.SharedModel:
    """Share a tree with options that may be wrong."""
    given: dict[str, Any] = {"frame": people(), "target": "survived"} | changed
    return pm.share_tree(requirement=requirement, **given)


def combine(*messages: Any, **options: Any) -> pm.CombinedTrees:
    """Combine messages that may be wrong."""
    return pm.combine_trees(list(messages) or [share(), share()], rng=1, **options)


def overlapping() -> dict[str, Any]:
    """Return a message whose first path is there twice."""
    message = share().message
    message["tree"]["paths"].append(message["tree"]["paths"][0])
    return message


def broken() -> dict[str, Any]:
    """Return a message of a tree that does not meet what is promised."""
    return share().message | {"requirement": {"k": 250, "c": None, "l": None, "exact": True}}


MISTAKES = [
    Mistake(
        "a tree shared without a requirement",
        lambda: pm.share_tree(people(), "survived"),
        OptionError,
        ("requirement must be pm.Requirement(k=5)", "None", "no default"),
    ),
    Mistake(
        "a requirement of no people",
        lambda: share(0),
        OptionError,
        ("k must be at least 1, not 0",),
    ),
    Mistake(
        "a requirement of c alone",
        lambda: share({"c": 3}),
        OptionError,
        ("c and l go together",),
    ),
    Mistake(
        "a requirement of t-closeness",
        lambda: share({"t": 0.2}),
        OptionError,
        ("requirement has no 't'", "k, c, l and exact"),
    ),
    Mistake(
        "a share of people as requirement",
        lambda: share(0.05),
        OptionError,
        ("requirement must be", "0.05 (float)"),
    ),
    Mistake(
        "more classes required than there are",
        lambda: share(pm.Requirement(c=3, l=4)),
        OptionError,
        ("l = 4", "more classes than there are"),
    ),
    Mistake(
        "a requirement that no tree can meet",
        lambda: share(299),
        RequirementUnmet,
        ("No split of the records",),
    ),
    Mistake(
        "a shared tree of a class that is not there",
        lambda: share(target="died"),
        MissingColumn,
        ("target names 'died'", "'survived'"),
    ),
    Mistake(
        "a shared tree of numbers",
        lambda: share(
            frame=people().assign(age=np.linspace(1, 99, 300)), target="age", requirement=5
        ),
        TableError,
        ("'age' has numbers", "a tree tells a class"),
    ),
    Mistake(
        "a shared tree that asks for names",
        lambda: share(frame=people().assign(name=[f"n{k}" for k in range(300)])),
        TableError,
        ("Column 'name' has nearly as many values as records", "features=[...]"),
    ),
    Mistake(
        "a shared tree that asks for its class",
        lambda: share(features=["survived", "age"]),
        OptionError,
        ("features must be one or more other columns than the target 'survived'",),
    ),
    Mistake(
        "a shared tree of records with empty cells",
        lambda: share(frame=people().assign(age=[None] * 3 + ["adult"] * 297)),
        TableError,
        ("'age' has 3 values that are missing",),
    ),
    Mistake(
        "a shared tree of a file's name",
        lambda: share(frame="people.csv"),
        TableError,
        ("frame must be a pandas or polars frame", "read the file first"),
    ),
    Mistake(
        "a shared tree of no rows",
        lambda: share(frame=people().head(0)),
        EmptyTable,
        ("frame has no rows",),
    ),
    Mistake(
        "a range of a column that is not there",
        lambda: share(ranges={"weight": (0, 9)}),
        OptionError,
        ("ranges names 'weight'", "'class', 'age', 'sex'"),
    ),
    Mistake(
        "a range of categories",
        lambda: share(ranges={"age": (0, 99)}),
        TableError,
        ("'age' has categories, and no range",),
    ),
    Mistake(
        "categories that leave some people out",
        lambda: share(categories={"class": ["1st", "2nd", "3rd"]}),
        UnknownCategory,
        ("'class'", "not among its declared categories"),
    ),
    Mistake(
        "a misspelt way to merge paths",
        lambda: share(merge="siblings"),
        OptionError,
        ("merge must be one of all, taxonomy, fewest", "'siblings'"),
    ),
    Mistake(
        "a misspelt form of leaves",
        lambda: share(tell="counts"),
        OptionError,
        ("tell must be one of hits, distribution", "'counts'"),
    ),
    Mistake(
        "a tree pruned by growing and cutting",
        lambda: share(by="cutting"),
        OptionError,
        ("by must be 'growing' or 'pruning'", "'cutting' (str)"),
    ),
    Mistake(
        "a tree of half a question",
        lambda: share(max_depth=0.5),
        OptionError,
        ("max_depth must be a whole number", "0.5 (float)"),
    ),
    Mistake(
        "a seed for a tree that draws nothing",
        lambda: share(rng=1),
        OptionError,
        ("rng is for private trees",),
    ),
    Mistake(
        "a private tree of a chosen depth",
        lambda: share(None, epsilon=1.0, max_depth=3),
        OptionError,
        ("max_depth must be left out where there is an epsilon",),
    ),
    Mistake(
        "a way to merge where nothing is",
        lambda: share(merge="fewest"),
        OptionError,
        ("merge is for by='pruning'",),
    ),
    Mistake(
        "a least gain where nothing is cut back",
        lambda: share(least_gain=3),
        OptionError,
        ("least_gain is for by='pruning' with a requirement",),
    ),
    Mistake(
        "a least gain in words",
        lambda: share(by="pruning", least_gain="much"),
        OptionError,
        ("least_gain must be a number of hits of at least 0, not 'much'",),
    ),
    Mistake(
        "a requirement whose k is text",
        lambda: share({"k": "5"}),
        OptionError,
        ("k must be a number or None, not '5'",),
    ),
    Mistake(
        "a requirement that is exact in words",
        lambda: pm.Requirement(k=5, exact="no"),  # type: ignore[arg-type]
        OptionError,
        ("exact must be True or False, not 'no'",),
    ),
    Mistake(
        "a requirement that is no words of one",
        lambda: share("5"),
        OptionError,
        ("requirement must be pm.Requirement(k=5)", "not '5' (str)"),
    ),
    Mistake(
        "ways to merge paths in a list",
        lambda: share(merge=["all"]),
        OptionError,
        ("merge must be one of all, taxonomy, fewest",),
    ),
    Mistake(
        "a range of one number",
        lambda: share(frame=people().assign(age=np.arange(300) % 70), ranges={"age": 70}),
        OptionError,
        ("ranges['age'] must be the least and the greatest number", "70 (int)"),
    ),
    Mistake(
        "a number in place of categories",
        lambda: share(categories={"class": 4}),
        OptionError,
        ("categories['class'] must be a list of labels", "4 (int)"),
    ),
    Mistake(
        "a number in place of a taxonomy",
        lambda: share(taxonomies={"class": 2}, by="pruning", merge="taxonomy"),
        OptionError,
        ("taxonomies['class'] must be a dict of lists", "2 (int)"),
    ),
    Mistake(
        "a shared tree of people who all survived",
        lambda: share(frame=people().query("survived == 'yes'")),
        TableError,
        ("All records have the same 'survived'", "categories={'survived': [...]}"),
    ),
    Mistake(
        "a shared tree of the class alone",
        lambda: share(frame=people()[["survived"]]),
        TableError,
        ("frame must have other columns than the target 'survived'",),
    ),
    Mistake(
        "a shared tree of an empty category",
        lambda: share(frame=people().assign(age=[""] * 100 + ["adult"] * 200)),
        TableError,
        ("Column 'age' has categories that cannot be in a message, 1 of 2", "rename them"),
    ),
    Mistake(
        "a shared tree of a column without a name",
        lambda: share(frame=people().rename(columns={"age": ""})),
        TableError,
        ("a column called ''", "give it a name"),
    ),
    Mistake(
        "a private tree with a requirement",
        lambda: share(epsilon=1.0),
        OptionError,
        ("requirement must be None", "epsilon"),
    ),
    Mistake(
        "a private tree of categories that are read from the data",
        lambda: share(None, epsilon=1.0),
        OptionError,
        ("declare", "'class'"),
    ),
    Mistake(
        "a private tree without a bound",
        lambda: share(None, epsilon=0.0),
        OptionError,
        ("epsilon must be",),
    ),
    Mistake(
        "predictions of a shared tree without an attribute",
        lambda: share().predict(people()[["age"]]),
        MissingColumn,
        ("frame has no column 'class', 'sex'",),
    ),
    Mistake(
        "predictions of a shared tree for an unknown category",
        lambda: share().predict(people().assign(age="old")),
        UnknownCategory,
        ("'age' has 300 values in categories",),
    ),
    Mistake(
        "a score of a shared tree without classes",
        lambda: share().score(people().drop(columns="survived")),
        MissingColumn,
        ("y must be given", "'survived'"),
    ),
    Mistake(
        "a score of a shared tree against too few classes",
        lambda: share().score(people(), ["yes"]),
        TableError,
        ("y must have 300 labels", "not 1"),
    ),
    Mistake(
        "what was given up by a tree that was not pruned",
        lambda: share(None).given_up,
        OptionError,
        ("given_up is known only where a tree was pruned",),
    ),
    Mistake(
        "a shared tree pickled",
        lambda: pickle.dumps(share()),
        OptionError,
        ("A SharedModel must not be pickled", "save writes what may leave"),
    ),
    Mistake(
        "no trees combined",
        lambda: pm.combine_trees([]),
        InputError,
        ("messages must be at least one",),
    ),
    Mistake(
        "a frame in place of trees",
        lambda: combine(people()),
        InputError,
        ("messages", "a tree of pm.share_tree", "DataFrame"),
    ),
    Mistake(
        "trees of different classes combined",
        lambda: combine(share(), share(target="sex")),
        ModelError,
        ("class",),
    ),
    Mistake(
        "trees of a file that is not there",
        lambda: combine("nowhere.json"),
        TableUnreadable,
        ("'nowhere.json' must be a file that exists",),
    ),
    Mistake(
        "trees of a folder",
        lambda: combine("."),
        TableUnreadable,
        ("'.' must be a file, not a folder", "list the files in it"),
    ),
    Mistake(
        "trees of text that is no name of a file",
        lambda: combine("x" * 5000),
        TableUnreadable,
        ("cannot be read",),
    ),
    Mistake(
        "a combined model in place of a tree",
        lambda: combine(combine().to_json()),
        InputError,
        ("a model that was learned from trees, not a shared tree", "pm.load"),
    ),
    Mistake(
        "half a pseudo-record",
        lambda: combine(pseudo_records=1.5),
        OptionError,
        ("pseudo_records must be a whole number of at least 1", "1.5 (float)"),
    ),
    Mistake(
        "a seed of combined trees beside their rng",
        lambda: combine(seed=3),
        OptionError,
        ("seed must be left out: pass it as rng",),
    ),
    Mistake(
        "trees of text that is no message",
        lambda: combine('{"tree": 3}'),
        InputError,
        ("no message of a shared tree", "tree"),
    ),
    Mistake(
        "a message whose paths overlap",
        lambda: combine(overlapping()),
        ModelError,
        ("overlap",),
    ),
    Mistake(
        "a message that does not keep its promise",
        lambda: combine(broken()),
        ModelError,
        ("do not meet the requirement",),
    ),
    Mistake(
        "a misspelt way to combine trees",
        lambda: combine(method="vote"),
        OptionError,
        ("method must be one of", "labelled, votes", "'vote'"),
    ),
    Mistake(
        "two ways to combine trees",
        lambda: combine(method=["pgen", "votes"]),
        OptionError,
        ("method must be one of pgen, basegen, labelled, votes, product", "not a list"),
    ),
    Mistake(
        "a global model that there is not",
        lambda: combine(model="network"),
        OptionError,
        ("model must be one of", "naive-bayes", "'network'"),
    ),
    Mistake(
        "an option that combined trees have not",
        lambda: pm.CombinedTrees(depth=3),  # type: ignore[call-arg]
        OptionError,
        ("CombinedTrees has no option 'depth'",),
    ),
    Mistake(
        "combined trees that were not fitted",
        lambda: pm.CombinedTrees().predict(people()),
        NotFitted,
        ("CombinedTrees has not learned anything yet",),
    ),
    Mistake(
        "pseudo-data of votes",
        lambda: combine(method="votes").pseudo_data(),
        OptionError,
        ("votes", "no pseudo-data"),
    ),
]
