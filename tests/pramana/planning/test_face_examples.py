"""Examples in the docstrings of frames and plans."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = (
    "frames.categories",
    "frames.examples",
    "designing",
    "plans",
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str):
    tried = doctest.testmod(importlib.import_module(f"pramana.{name}"))
    assert tried.attempted > 0
    assert tried.failed == 0
