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
from tests.pramana.face.mistakes import Mistakes


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
    """Return a message whose first split has the same part twice."""
    message = share().message
    parts = message["tree"]["nodes"][0]["parts"]
    parts[1] = parts[0]
    return message


def broken() -> dict[str, Any]:
    """Return a message of a tree that does not meet what is promised."""
    return share().message | {"requirement": {"k": 250, "c": None, "l": None, "exact": True}}


MISTAKES: Mistakes = {
    OptionError: {
        "a tree shared without a requirement": (
            lambda: pm.share_tree(people(), "survived"),
            "requirement must be pm.Requirement(k=5) … None … no default",
        ),
        "a requirement of no people": (lambda: share(0), "k must be at least 1, not 0"),
        "a share of people as requirement": (
            lambda: share(0.05),
            "requirement must be … 0.05 (float)",
        ),
        "more classes required than there are": (
            lambda: share(pm.Requirement(c=3, l=4)),
            "l = 4 … more classes than there are",
        ),
        "a shared tree that asks for its class": (
            lambda: share(features=["survived", "age"]),
            "features must be one or more other columns than the target 'survived'",
        ),
        "a range of a column that is not there": (
            lambda: share(ranges={"weight": (0, 9)}),
            "ranges names 'weight' … 'class', 'age', 'sex'",
        ),
        "a misspelt way to merge paths": (
            lambda: share(merge="siblings"),
            "merge must be one of all, fewest … 'siblings'",
        ),
        "a misspelt form of leaves": (
            lambda: share(tell="counts"),
            "tell must be one of hits, distribution … 'counts'",
        ),
        "a tree pruned by growing and cutting": (
            lambda: share(by="cutting"),
            "by must be one of growing, pruning … 'cutting'",
        ),
        "a tree of half a question": (
            lambda: share(max_depth=0.5),
            "max_depth must be a whole number",
        ),
        "a seed for a tree that draws nothing": (lambda: share(rng=1), "rng is for private trees"),
        "a private tree of a chosen depth": (
            lambda: share(None, epsilon=1.0, max_depth=3),
            "max_depth must be left out where there is an epsilon",
        ),
        "a way to merge where nothing is": (
            lambda: share(merge="fewest"),
            "merge is for by='pruning'",
        ),
        "a requirement that is exact in words": (
            lambda: pm.Requirement(k=5, exact="no"),  # type: ignore[arg-type]
            "exact must be True or False, not 'no'",
        ),
        "a requirement that is no words of one": (
            lambda: share("5"),
            "requirement must be pm.Requirement(k=5) … not '5' (str)",
        ),
        "ways to merge paths in a list": (
            lambda: share(merge=["all"]),
            "merge must be one of all, fewest",
        ),
        "a range of one number": (
            lambda: share(frame=people().assign(age=np.arange(300) % 70), ranges={"age": 70}),
            "ranges['age'] must be the least and the greatest number … 70 (int)",
        ),
        "a number in place of categories": (
            lambda: share(categories={"class": 4}),
            "categories['class'] must be a list of labels … 4 (int)",
        ),
        "a private tree with a requirement": (
            lambda: share(epsilon=1.0),
            "requirement must be None … epsilon",
        ),
        "a private tree of categories that are read from the data": (
            lambda: share(None, epsilon=1.0),
            "declare … 'class'",
        ),
        "a private tree without a bound": (lambda: share(None, epsilon=0.0), "epsilon must be"),
        "what was given up by a tree that was not pruned": (
            lambda: share(None).given_up,
            "given_up is known only where a tree was pruned",
        ),
        "a shared tree pickled": (
            lambda: pickle.dumps(share()),
            "A SharedModel must not be pickled … save writes what may leave",
        ),
        "half a pseudo-record": (
            lambda: combine(pseudo_records=1.5),
            "pseudo_records must be a whole number at least 1",
        ),
        "a seed of combined trees beside their rng": (
            lambda: combine(seed=3),
            "seed must be left out: pass it as rng",
        ),
        "a misspelt way to combine trees": (
            lambda: combine(method="vote"),
            "method must be one of … labelled, votes … 'vote'",
        ),
        "two ways to combine trees": (
            lambda: combine(method=["pgen", "votes"]),
            "method must be one of pgen, basegen, labelled, votes",
        ),
        "a global model that there is not": (
            lambda: combine(model="network"),
            "model must be one of … naive-bayes … 'network'",
        ),
        "an option that combined trees have not": (
            lambda: pm.CombinedTrees(depth=3),  # type: ignore[call-arg]
            "CombinedTrees has no option 'depth'",
        ),
        "pseudo-data of votes": (
            lambda: combine(method="votes").pseudo_data(),
            "votes … no pseudo-data",
        ),
    },
    RequirementUnmet: {
        "a requirement that no tree can meet": (lambda: share(299), "No split of the records")
    },
    MissingColumn: {
        "a shared tree of a class that is not there": (
            lambda: share(target="died"),
            "target names 'died' … 'survived'",
        ),
        "predictions of a shared tree without an attribute": (
            lambda: share().predict(people()[["age"]]),
            "frame has no column 'class', 'sex'",
        ),
        "a score of a shared tree without classes": (
            lambda: share().score(people().drop(columns="survived")),
            "y must be given … 'survived'",
        ),
    },
    TableError: {
        "a shared tree of numbers": (
            lambda: share(
                frame=people().assign(age=np.linspace(1, 99, 300)), target="age", requirement=5
            ),
            "'age' has numbers … a tree tells a class",
        ),
        "a shared tree that asks for names": (
            lambda: share(frame=people().assign(name=[f"n{k}" for k in range(300)])),
            "Column 'name' has nearly as many values as records … features=[...]",
        ),
        "a shared tree of records with empty cells": (
            lambda: share(frame=people().assign(age=[None] * 3 + ["adult"] * 297)),
            "'age' has 3 values that are missing",
        ),
        "a shared tree of a file's name": (
            lambda: share(frame="people.csv"),
            "frame must be a pandas or polars frame … read the file first",
        ),
        "a range of categories": (
            lambda: share(ranges={"age": (0, 99)}),
            "'age' has categories, and no range",
        ),
        "a shared tree of people who all survived": (
            lambda: share(frame=people().query("survived == 'yes'")),
            "All records have the same 'survived' … categories={'survived': [...]}",
        ),
        "a shared tree of the class alone": (
            lambda: share(frame=people()[["survived"]]),
            "frame must have other columns than the target 'survived'",
        ),
        "a shared tree of an empty category": (
            lambda: share(frame=people().assign(age=[""] * 100 + ["adult"] * 200)),
            "Column 'age' has 100 values that are missing … leave those records out",
        ),
        "a shared tree of a column without a name": (
            lambda: share(frame=people().rename(columns={"age": ""})),
            "a column called '' … give it a name",
        ),
        "a score of a shared tree against too few classes": (
            lambda: share().score(people(), ["yes"]),
            "y must have 300 labels … not 1",
        ),
    },
    EmptyTable: {
        "a shared tree of no rows": (lambda: share(frame=people().head(0)), "frame has no rows")
    },
    UnknownCategory: {
        "categories that leave some people out": (
            lambda: share(categories={"class": ["1st", "2nd", "3rd"]}),
            "'class' … not among its declared categories",
        ),
        "predictions of a shared tree for an unknown category": (
            lambda: share().predict(people().assign(age="old")),
            "'age' has 300 values in categories",
        ),
    },
    InputError: {
        "no trees combined": (lambda: pm.combine_trees([]), "messages must be at least one"),
        "a frame in place of trees": (
            lambda: combine(people()),
            "messages … a tree of pm.share_tree … DataFrame",
        ),
        "a combined model in place of a tree": (
            lambda: combine(combine().to_json()),
            "a model that was learned from trees, not a shared tree … pm.load",
        ),
        "trees of text that is no message": (
            lambda: combine('{"tree": 3}'),
            "no message of a shared tree … tree",
        ),
    },
    ModelError: {
        "trees of different classes combined": (
            lambda: combine(share(), share(target="sex")),
            "class",
        ),
        "a message whose parts overlap": (lambda: combine(overlapping()), "overlap"),
        "a message that does not keep its promise": (
            lambda: combine(broken()),
            "do not meet the requirement",
        ),
    },
    TableUnreadable: {
        "trees of a file that is not there": (
            lambda: combine("nowhere.json"),
            "'nowhere.json' must be a file that exists",
        ),
        "trees of a folder": (
            lambda: combine("."),
            "'.' must be a file, not a folder … list the files in it",
        ),
        "trees of text that is no name of a file": (lambda: combine("x" * 5000), "cannot be read"),
    },
    NotFitted: {
        "combined trees that were not fitted": (
            lambda: pm.CombinedTrees().predict(people()),
            "CombinedTrees has not learned anything yet",
        )
    },
}
