"""The public names of `pramana/__init__.pyi`: each is there, and no module hides one."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import pramana as pm
from docs.pages import grouped, public_names
from pramana_core.errors import PUBLIC, error_classes
from tests.places import ROOT

ERRORS = sorted(kind.__name__ for kind in error_classes() if kind.__module__ == PUBLIC)
"""Each has a code of its own, which `tests/shared/test_errors.py` holds."""

NAMES = sorted(set(public_names()) - set(ERRORS))


def test_a_name_that_is_nearly_right_is_answered_with_it():
    with pytest.raises(AttributeError, match="did you mean DecisionTree"):
        _ = pm.DecisonTree


@pytest.mark.parametrize("name", [*NAMES, *ERRORS])
def test_a_name_is_there_and_called_so(name: str):
    assert getattr(pm, name).__name__ == name


@pytest.mark.parametrize("name", [*NAMES, *ERRORS])
def test_no_module_hides_a_name(name: str):
    """Whoever imports the module `pramana.<name>` would have it in place of the public object."""
    assert not (ROOT / "pramana" / name).exists()
    assert not (ROOT / "pramana" / f"{name}.py").exists()


def test_every_name_has_its_page_of_the_reference():
    groups = {group.page: sorted(names) for group, names in grouped(public_names()).items()}
    assert groups.pop("errors") == ERRORS
    assert sorted(name for names in groups.values() for name in names) == NAMES


@pytest.mark.slow
def test_a_name_is_loaded_with_its_first_use():
    script = (
        "import sys, pramana as pm; before = 'pandas' in sys.modules; pm.example('titanic');"
        " print(before, 'pandas' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True"]


FUNCTIONS = [name for name in NAMES if inspect.isfunction(getattr(pm, name))]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_option_that_a_function_has_not_is_named(name: str):
    with pytest.raises(pm.InputError, match=f"^{name}( has no option 'nothing'|: missing)"):
        getattr(pm, name)(nothing=1)
