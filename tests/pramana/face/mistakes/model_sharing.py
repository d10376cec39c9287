"""Mistakes with shared trees: what they are learned from, what is asked, how they are combined."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import pramana as pm
from pramana_core.errors import (
    DomainError,
    EmptyTable,
    InputError,
    MissingColumn,
    ModelError,
    NotFitted,
    OptionError,
    RequirementUnmet,
    TableError,
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


def broken() -> dict[str, Any]:
    """Return a message of a tree that does not meet what is promised."""
    return share().message | {"requirement": {"k": 250, "c": None, "l": None, "exact": True}}


MISTAKES: Mistakes = {
    (OptionError, "requirement"): [lambda: share(0.05)],
    (OptionError, "k"): [lambda: share(0)],
    (OptionError, "l"): [lambda: share(pm.Requirement(c=3, l=4))],
    (OptionError, "features"): [lambda: share(features=["survived", "age"])],
    (OptionError, "ranges"): [
        lambda: share(frame=people().assign(age=np.arange(300) % 70), ranges={"age": 70}),
    ],
    (OptionError, "merge"): [lambda: share(merge="fewest")],
    (MissingColumn, "weight"): [lambda: share(ranges={"weight": (0, 9)})],
    (OptionError, "tell"): [lambda: share(tell="counts")],
    (OptionError, "by"): [lambda: share(by="cutting")],
    (OptionError, "max_depth"): [lambda: share(max_depth=0.5)],
    (OptionError, "rng"): [lambda: share(rng=1)],
    (OptionError, "exact"): [lambda: pm.Requirement(k=5, exact="no")],
    (OptionError, "categories"): [lambda: share(categories={"class": 4})],
    (OptionError, "epsilon"): [lambda: share(None, epsilon=0.0)],
    (OptionError, "pseudo_records"): [lambda: combine(pseudo_records=1.5)],
    (OptionError, "seed"): [lambda: combine(seed=3)],
    (OptionError, "method"): [lambda: combine(method="vote")],
    (OptionError, "model"): [lambda: combine(model="network")],
    (OptionError, "depth"): [lambda: pm.CombinedTrees(depth=3)],
    (RequirementUnmet, None): [lambda: share(299)],
    (MissingColumn, "died"): [lambda: share(target="died")],
    (MissingColumn, "class"): [lambda: share().predict(people()[["age"]])],
    (MissingColumn, "frame"): [lambda: share().score(people().drop(columns="survived"))],
    (TableError, "age"): [
        lambda: share(
            frame=people().assign(age=np.linspace(1, 99, 300)), target="age", requirement=5
        ),
        lambda: share(frame=people().assign(age=[None] * 3 + ["adult"] * 297)),
    ],
    (TableError, "name"): [
        lambda: share(frame=people().assign(name=[f"n{k}" for k in range(300)]))
    ],
    (TableError, "frame"): [lambda: share(frame="people.csv")],
    (DomainError, "survived"): [lambda: share(frame=people()[["survived"]])],
    (DomainError, ""): [lambda: share(frame=people().rename(columns={"age": ""}))],
    (TableError, "y"): [lambda: share().score(people(), ["yes"])],
    (EmptyTable, "frame"): [lambda: share(frame=people().head(0))],
    (UnknownCategory, "class"): [lambda: share(categories={"class": ["1st", "2nd", "3rd"]})],
    (UnknownCategory, "age"): [lambda: share().predict(people().assign(age="old"))],
    (InputError, "messages"): [lambda: pm.combine_trees([])],
    (InputError, "messages[0]"): [lambda: combine(people())],
    (ModelError, "sex"): [lambda: combine(share(), share(target="sex"))],
    (ModelError, "requirement"): [lambda: combine(broken())],
    (TableError, "messages[0]"): [lambda: combine("nowhere.json")],
    (NotFitted, "CombinedTrees"): [lambda: pm.CombinedTrees().predict(people())],
}
