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
    OptionError: [
        (lambda: pm.share_tree(people(), "survived"), "requirement"),
        (lambda: share(0), "k"),
        (lambda: share({"c": 3}), "c"),
        (lambda: share({"t": 0.2}), "requirement"),
        (lambda: share(0.05), "requirement"),
        (lambda: share(pm.Requirement(c=3, l=4)), "l"),
        (lambda: share(features=["survived", "age"]), "features"),
        (lambda: share(ranges={"weight": (0, 9)}), "ranges"),
        (lambda: share(merge="siblings"), "merge"),
        (lambda: share(tell="counts"), "tell"),
        (lambda: share(by="cutting"), "by"),
        (lambda: share(max_depth=0.5), "max_depth"),
        (lambda: share(rng=1), "rng"),
        (lambda: share(None, epsilon=1.0, max_depth=3), "max_depth"),
        (lambda: share(merge="fewest"), "merge"),
        (lambda: share(least_gain=3), "least_gain"),
        (lambda: share(by="pruning", least_gain="much"), "least_gain"),
        (lambda: share({"k": "5"}), "k"),
        (lambda: pm.Requirement(k=5, exact="no"), "exact"),  # type: ignore[arg-type]
        (lambda: share("5"), "requirement"),
        (lambda: share(merge=["all"]), "merge"),
        (
            lambda: share(frame=people().assign(age=np.arange(300) % 70), ranges={"age": 70}),
            "ranges",
        ),
        (lambda: share(categories={"class": 4}), "categories"),
        (lambda: share(taxonomies={"class": 2}, by="pruning", merge="taxonomy"), "taxonomies"),
        (lambda: share(epsilon=1.0), "requirement"),
        (lambda: share(None, epsilon=1.0), "categories"),
        (lambda: share(None, epsilon=0.0), "epsilon"),
        (lambda: share(None).given_up, "given_up"),
        (lambda: pickle.dumps(share()), "SharedModel"),
        (lambda: combine(pseudo_records=1.5), "pseudo_records"),
        (lambda: combine(seed=3), "seed"),
        (lambda: combine(method="vote"), "method"),
        (lambda: combine(method=["pgen", "votes"]), "method"),
        (lambda: combine(model="network"), "model"),
        (lambda: pm.CombinedTrees(depth=3), "depth"),  # type: ignore[call-arg]
        (lambda: combine(method="votes").pseudo_data(), "pseudo_data"),
    ],
    RequirementUnmet: [
        (lambda: share(299), "No split of the records"),
    ],
    MissingColumn: [
        (lambda: share(target="died"), "died"),
        (lambda: share().predict(people()[["age"]]), "class"),
        (lambda: share().score(people().drop(columns="survived")), "survived"),
    ],
    TableError: [
        (
            lambda: share(
                frame=people().assign(age=np.linspace(1, 99, 300)), target="age", requirement=5
            ),
            "age",
        ),
        (lambda: share(frame=people().assign(name=[f"n{k}" for k in range(300)])), "name"),
        (lambda: share(frame=people().assign(age=[None] * 3 + ["adult"] * 297)), "age"),
        (lambda: share(frame="people.csv"), "frame"),
        (lambda: share(ranges={"age": (0, 99)}), "age"),
        (lambda: share(frame=people().query("survived == 'yes'")), "survived"),
        (lambda: share(frame=people()[["survived"]]), "frame"),
        (lambda: share(frame=people().assign(age=[""] * 100 + ["adult"] * 200)), "age"),
        (lambda: share(frame=people().rename(columns={"age": ""})), "called ''"),
        (lambda: share().score(people(), ["yes"]), "y"),
    ],
    EmptyTable: [
        (lambda: share(frame=people().head(0)), "frame"),
    ],
    UnknownCategory: [
        (lambda: share(categories={"class": ["1st", "2nd", "3rd"]}), "class"),
        (lambda: share().predict(people().assign(age="old")), "age"),
    ],
    InputError: [
        (lambda: pm.combine_trees([]), "messages"),
        (lambda: combine(people()), "messages[0]"),
        (lambda: combine(combine().to_json()), "messages[0]"),
        (lambda: combine('{"tree": 3}'), "messages[0]"),
    ],
    ModelError: [
        (lambda: combine(share(), share(target="sex")), "sex"),
        (lambda: combine(overlapping()), "sex"),
        (lambda: combine(broken()), "requirement"),
    ],
    TableUnreadable: [
        (lambda: combine("nowhere.json"), "messages[0]"),
        (lambda: combine("."), "messages[0]"),
        (lambda: combine("x" * 5000), "messages[0]"),
    ],
    NotFitted: [
        (lambda: pm.CombinedTrees().predict(people()), "CombinedTrees"),
    ],
}
