"""Limits that are read from the types of options."""

import dataclasses
import importlib
import math
import pkgutil
from collections.abc import Callable

import pytest

import pramana.estimators
import pramana_core
from pramana_core.errors import OptionError
from pramana_core.learn.common.options import (
    LinearOptions,
    ParameterOptions,
    RuleOptions,
    Scoring,
    Search,
    TreeOptions,
    limits_of,
    require_limits,
    types_of,
)
from pramana_core.model_sharing.combine_options import CombineOptions


def test_a_number_that_is_not_finite_is_refused_in_words():
    for value in (math.nan, math.inf):
        with pytest.raises(OptionError, match="l2 must be a finite number at least 0"):
            LinearOptions(l2=value)
    with pytest.raises(
        OptionError, match="max_parents must be a whole number at least 1 and at most 16, not 17"
    ):
        Search(max_parents=17)


def test_limits_in_words():
    kinds = types_of(TreeOptions)
    assert limits_of(kinds["significance"]) == "above 0 and at most 1"
    assert limits_of(kinds["max_depth"]) == "at least 0 and at most 64"
    assert limits_of(kinds["prune"]) == ""


def test_what_is_within_its_limits_is_not_refused():
    @dataclasses.dataclass
    class Nothing:
        free: float = math.nan

    require_limits(Nothing())
    require_limits(TreeOptions(max_depth=64, significance=1))


def classes_of_options() -> list[type]:
    """Return every dataclass of options in the mathematics and in the estimators."""
    found: dict[str, type] = {}
    for room in (pramana_core, pramana.estimators):
        for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            if module.name.endswith(("__main__", "_worker")):
                continue
            for name, value in vars(importlib.import_module(module.name)).items():
                kind = isinstance(value, type) and dataclasses.is_dataclass(value)
                if kind and (name.endswith("Options") or name in ("Scoring", "Search")):
                    found[name] = value
    return list(found.values())


REQUIRED = {"minimum_support": 0.1}


@pytest.mark.parametrize("kind", classes_of_options(), ids=lambda kind: kind.__name__)
def test_every_option_refuses_what_is_of_no_type_of_its_own(kind: type) -> None:
    for option in dataclasses.fields(kind):
        for value in (object(), [object()]):
            with pytest.raises(OptionError) as refused:
                kind(**(REQUIRED if kind is RuleOptions else {}) | {option.name: value})
            where = "score" if kind is Scoring and option.name == "name" else option.name
            assert (refused.value.where or "").startswith(where), (option.name, value)


@pytest.mark.parametrize(
    ("make", "option"),
    [
        (lambda: LinearOptions(loss="logistic", keep="longest-run"), "keep"),
        (lambda: LinearOptions(loss="least-squares", steps=5), "steps"),
        (lambda: LinearOptions(loss="perceptron", l2=1.0), "l2"),
        (lambda: RuleOptions(0.1, false_discovery=0.2), "false_discovery"),
        (lambda: ParameterOptions(alpha=2.0), "alpha"),
        (lambda: Scoring("bic", alpha=2.0), "alpha"),
        (lambda: CombineOptions(pseudo_records=100, scale=2.0), "scale"),
        (lambda: CombineOptions("votes", model="naive-bayes"), "model"),
        (lambda: CombineOptions(model="conjunctive", max_depth=7), "max_depth"),
    ],
)
def test_an_option_without_effect_is_refused(make: Callable[[], object], option: str) -> None:
    with pytest.raises(OptionError) as refused:
        make()
    assert refused.value.where == option
