"""The docstrings that the reference is made of: all there, complete, and their examples run."""

from __future__ import annotations

import doctest
import importlib
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import griffe
import pytest

import pramana as pm
from docs.pages import GROUPS
from pramana_core.errors import PUBLIC, error_classes

OURS = ("pramana.", "pramana_core.", "owner_agent.")

NAMES = sorted(pm.__all__)
ERRORS = sorted(kind.__name__ for kind in error_classes() if kind.__module__ == PUBLIC)
EXPLAINED = {"PramanaError", "InputError", "NotFitted"}
"""The errors that have examples: whoever catches one catches one of these."""
CLASSES = [name for name in NAMES if inspect.isclass(getattr(pm, name))]
FUNCTIONS = [name for name in NAMES if name not in CLASSES]


def families() -> Iterator[tuple[str, type]]:
    """Yield the public classes, and those of ours that they inherit from, once each."""
    seen = {}
    for name in CLASSES:
        for base in getattr(pm, name).__mro__:
            if base.__module__.startswith(OURS):
                seen.setdefault(base, name if base is getattr(pm, name) else base.__name__)
    yield from ((name, kind) for kind, name in seen.items())


def sections(thing: object) -> dict[str, Any]:
    """Return what a docstring has: the kinds of its sections, each with what it holds."""
    text = griffe.Docstring(inspect.getdoc(thing) or "")
    return {part.kind.value: part.value for part in text.parse("google", warnings=False)}


def told(thing: object) -> set[str]:
    """Return the parameters and attributes that a docstring describes."""
    found = sections(thing)
    return {entry.name.lstrip("*") for kind in ("parameters", "attributes", "other parameters")
            for entry in found.get(kind, ())}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_name_says_in_one_line_what_it_is(name: str):
    first = (inspect.getdoc(getattr(pm, name)) or "").split("\n\n")[0]
    assert first.endswith("."), first
    assert "\n" not in first, first


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ERRORS or n in EXPLAINED])
def test_a_name_has_an_example(name: str):
    assert any(test.examples for test in doctest.DocTestFinder(recurse=False).find(
        getattr(pm, name), name, module=inspect.getmodule(getattr(pm, name))
    )), f"{name} has no >>> lines below Examples:"  # fmt: skip
    assert "examples" in sections(getattr(pm, name)), f"{name} has no section Examples:"


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ERRORS])
def test_every_parameter_is_explained(name: str):
    thing = getattr(pm, name)
    parameters = set(inspect.signature(thing).parameters)
    assert parameters <= told(thing), f"{name} does not explain {parameters - told(thing)}"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_that_raises_says_so(name: str):
    function: Callable[..., object] = getattr(pm, name)
    if "raise " in inspect.getsource(function).rpartition('"""')[2]:
        assert "raises" in sections(function), f"{name} has no section Raises:"


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    _run(getattr(pm, name), name, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for name, kind in families() if name not in CLASSES],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_the_examples_of_a_base_run(
    name: str, kind: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    _run(kind, name, tmp_path, monkeypatch)


@pytest.mark.parametrize("path", [path for group in GROUPS for path in group.besides])
def test_what_functions_return_is_explained_and_its_examples_run(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    module, _, name = path.rpartition(".")
    kind = getattr(importlib.import_module(module), name)
    assert (inspect.getdoc(kind) or "").split("\n\n")[0].endswith(".")
    for member, found in vars(kind).items():
        if not member.startswith("_") and callable(found):
            assert inspect.getdoc(found), f"{path}.{member}"
    _run(kind, name, tmp_path, monkeypatch)


def _run(thing: object, name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the examples of a thing and of its methods, each in an empty folder of its own."""
    import matplotlib.pyplot as plt

    monkeypatch.setenv("MPLBACKEND", "agg")
    plt.switch_backend("agg")
    said: list[str] = []
    for number, test in enumerate(doctest.DocTestFinder(exclude_empty=True).find(thing, name)):
        (folder / str(number)).mkdir()
        monkeypatch.chdir(folder / str(number))
        test.globs = {"pm": pm}
        doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=said.append)
    plt.close("all")
    if said:
        pytest.fail("".join(said))
