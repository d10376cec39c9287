"""Limits that are read from the types of options."""

import dataclasses
import math

import pytest

from pramana_core.errors import OptionError
from pramana_core.learn.common.options import (
    LinearOptions,
    TreeOptions,
    limits_of,
    require_limits,
    types_of,
)
from pramana_core.learn.networks.structure import Search


def test_a_number_that_is_not_finite_is_refused_in_words():
    for value in (math.nan, math.inf):
        with pytest.raises(OptionError, match="l2 must be a finite number at least 0"):
            LinearOptions(l2=value)
    with pytest.raises(OptionError, match="max_parents must be at least 1 and at most 16, not 17"):
        Search(max_parents=17)


def test_limits_in_words():
    kinds = types_of(TreeOptions)
    assert limits_of(kinds["significance"]) == "above 0 and at most 1"
    assert limits_of(kinds["max_depth"]) == "at least 0 and at most 256"
    assert limits_of(kinds["prune"]) == limits_of(kinds["criterion"]) == ""


def test_what_is_within_its_limits_is_not_refused():
    @dataclasses.dataclass
    class Nothing:
        free: float = math.nan

    require_limits(Nothing())
    require_limits(TreeOptions(max_depth=256, significance=1))
