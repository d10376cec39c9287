"""Printed bounds are never below the bound, and printed remainders never above what is left."""

import math

import pytest

from pramana_core.rounding import rounded_down, rounded_up


@pytest.mark.parametrize(
    ("bound", "text"),
    [
        (2.944438979166440, "2.945"),
        (0.27526, "0.2753"),
        (19.0, "19"),
        (19.000001, "19"),
        (19.00001, "19.01"),
        (18.9991, "19"),
        (19_683.0, "1.969e+04"),
        (1.2341e-7, "1.235e-07"),
        (0.0, "0"),
        (math.inf, "inf"),
    ],
)
def test_a_bound_is_written_with_no_smaller_number(bound: float, text: str):
    """Probabilities are multiples of 2^-32, but gamma 19 stays 19."""
    assert rounded_up(bound) == text
    assert float(text) >= bound * (1 - 1e-7)


@pytest.mark.parametrize(
    ("remainder", "text"),
    [(1.23880, "1.238"), (3 - 2.9, "0.1"), (0.3 - 0.1, "0.2"), (12_349.0, "1.234e+04"), (0.0, "0")],
)
def test_a_remainder_is_written_with_no_larger_number(remainder: float, text: str):
    """0.3 - 0.1 is below 0.2 in floating point, but a budget allows 0.2."""
    assert rounded_down(remainder) == text
    assert float(text) <= remainder * (1 + 1e-9)
