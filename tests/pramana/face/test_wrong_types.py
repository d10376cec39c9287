"""Whatever is passed to a public name by mistake, the answer is an error of Pramana's own tree.

Every parameter of every public name gets values that are of no use in turn, the others stay right.
What is accepted is of no interest here; a bare TypeError or ValueError is a fault.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pramana as pm


class Odd:
    """Something that no option takes."""


WRONG: list[Any] = [
    None, Odd(), "x", b"x", 0, -1, 2.5, float("nan"), float("inf"), True, [], ["x"], [None],
    {"x": 1}, {"age": (0, 1)}, {"age": 5}, (1, 2), {1, 2}, int, np.array(3), np.array([1.0, 2.0]),
    pd.DataFrame({"x": [1, 2]}),
]  # fmt: skip

ELSEWHERE = {
    "Account", "Design", "EstimatedCounts", "Keys",  # are returned, never made
    "accountant", "join", "report",  # take any number of things, or files
}  # fmt: skip
"""Public names whose arguments are tested where they are described."""

HALF = 1 << 31


@cache
def people() -> pd.DataFrame:
    return pm.example("titanic").sample(60, random_state=1).reset_index(drop=True)


@cache
def numbers() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame({"age": rng.normal(40, 10, 30), "debt": rng.normal(10, 3, 30)})


@cache
def plan() -> pm.Plan:
    return pm.plan(pm.domain(people(), pm.observed_categories(people())), gamma=19)


@cache
def reports() -> pm.Reports:
    keys = pm.Keys.for_experiments(1)
    return pm.randomize(people(), plan(), keys, record_id=people().index)


@cache
def right() -> dict[str, dict[str, Any]]:
    """Return arguments with which each public name works."""
    domain, binary = plan().domain, pm.Symmetric(2, 1 << 20)
    masked = pm.mask(numbers(), "debt", method="egadp", rng=1, keep_order=True)
    shared = pm.share_tree(people(), "survived", 5)
    return {
        "AssociationRules": {"minimum_support": 0.1},
        "BayesClassifier": {"target": "survived"},
        "BayesNet": {"draws": 0},
        "Block": {"variables": domain.variables[:1], "channel": plan().blocks[0].channel},
        "CombinedTrees": {},
        "CutAndPaste": {"sizes": (2, 2), "cut": 1, "paste_units": 1000, "of": 2},
        "DecisionTree": {"target": "survived"},
        "Dense": {"rows": ((HALF, HALF), (HALF, HALF))},
        "Domain": {"variables": domain.variables},
        "Grouped": {"groups": ((0, 1), (2,)), "channels": (binary, None)},
        "Identity": {"size": 2},
        "LinearClassifier": {"target": "survived"},
        "MaskedFrame": {
            "method": "egadp", "tell": ("age",), "confidential": ("debt",),
            "frame": masked.frame, "origin": masked.origin,
        },
        "Mixture": {"size": 2, "keep": 1 << 20},
        "NaiveBayes": {"target": "survived"},
        "OneHot": {"size": 3, "flip_units": 1 << 30},
        "SubsetSelection": {"size": 9, "chosen": 2, "inside_units": 1 << 31},
        "Plan": {"blocks": plan().blocks},
        "RandomSymmetric": {"size": 3, "off_units": 1 << 20, "spread_units": 10},
        "Regression": {"target": "debt"},
        "Reports": {"plan": plan(), "codes": reports().codes},
        "Requirement": {"k": 5, "c": 10, "l": 2},
        "Sampled": {"sizes": (2, 2), "choices": ()},
        "SharedModel": {"tree": shared.tree, "content": shared.content},
        "Symmetric": {"size": 3, "off_units": 1 << 20},
        "Variable": {"name": "a", "categories": ("x", "y")},
        "Withheld": {"size": 3},
        "combine_trees": {"messages": [shared], "rng": 1},
        "connect": {"url": "https://example.org", "token": "no token"},
        "design": {"domain": pm.Domain(domain.variables[:2]), "records": 60, "gamma": 19},
        "domain": {"frame": people(), "categories": domain},
        "estimate": {"reports": reports()},
        "example": {"name": "titanic"},
        "load": {"path": "absent.json"},
        "mask": {"frame": numbers(), "confidential": "debt", "method": "egadp", "rng": 1},
        "observed_categories": {"frame": people()},
        "plan": {"domain": domain, "gamma": 19},
        "randomize": {
            "frame": people(), "plan": plan(), "keys": pm.Keys.for_experiments(1),
            "record_id": people().index,
        },
        "recommend_masking": {"frame": numbers(), "confidential": "debt"},
        "save": {"thing": plan(), "path": "plan.json"},
        "share_tree": {"frame": people(), "target": "survived", "requirement": 5},
    }  # fmt: skip


@cache
def learned_from(name: str) -> Any:
    """Return what an estimator of this name is fitted to; None of what is no estimator."""
    special = {
        "Regression": lambda: pm.mask(numbers(), "debt", method="egadp", rng=1),
        "CombinedTrees": lambda: [pm.share_tree(people(), "survived", 5)],
    }
    if name in special:
        return special[name]()
    return pm.estimate(reports()) if hasattr(getattr(pm, name), "fit") else None


def used(name: str, given: dict[str, Any]) -> None:
    made = getattr(pm, name)(**given)
    if (known := learned_from(name)) is not None:
        made.fit(known)


def public_names() -> list[str]:
    return sorted(
        name
        for name in pm.__all__
        if not (isinstance(one := getattr(pm, name), type) and issubclass(one, Exception))
    )


def parameters(made: Callable[..., Any]) -> Iterator[str]:
    for name, parameter in inspect.signature(made).parameters.items():
        # What stands in for the network and the clock is for tests.
        stands_in = name in ("transport", "sleep", "clock", "attempts")
        if (
            parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
            and not stands_in
        ):
            yield name


def test_every_public_name_is_looked_at():
    assert {*right(), *ELSEWHERE} == set(public_names())


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(public_names()) - ELSEWHERE))
def test_a_wrong_argument_is_refused_in_a_sentence(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bare = []
    for parameter in parameters(getattr(pm, name)):
        for wrong in WRONG:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    used(name, right()[name] | {parameter: wrong})
                except pm.PramanaError:
                    pass
                except Exception as error:  # noqa: BLE001 - which are bare is what is tested
                    bare.append(f"{parameter}={wrong!r}: {type(error).__name__}: {error}")
    assert not bare


@pytest.mark.parametrize(("k", "c", "l"), [(20, 9, 2.0), (np.int64(20), np.float32(9), np.int8(2))])
def test_whole_numbers_of_any_kind_are_a_requirement(k, c, l):  # noqa: E741
    everybody = pm.example("titanic")
    shared = pm.share_tree(everybody, "survived", pm.Requirement(k=k, c=c, l=l))
    wanted = pm.share_tree(everybody, "survived", pm.Requirement(k=20, c=9, l=2))
    assert shared.message == wanted.message
