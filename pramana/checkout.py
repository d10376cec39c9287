"""What lives beside the product: experiments, which are run in a checkout and are in no wheel."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

from pramana_core.errors import OptionError

BESIDE = Path(__file__).resolve().parents[1]
"""The folder that the package `pramana` is in."""


def experiments(module: str, beside: Path = BESIDE) -> ModuleType:
    """Return a module of `benchmarks/reproduce`, such as `run`.

    It is found by its name as a text, so that nothing of the product imports it; from then on the
    checkout is searched first for modules.

    Raises:
        OptionError: there is no `benchmarks/reproduce` beside the package, as after an
            installation from a wheel.
    """
    if not (beside / "benchmarks" / "reproduce").is_dir():
        raise OptionError(
            "The papers' experiments are not in the installed package: they are run from a checkout"
            " of Pramana, by `make install` and then `.venv/bin/pramana reproduce`.",
            where="reproduce",
        )
    if str(beside) not in sys.path:
        sys.path.insert(0, str(beside))
    return import_module(f"benchmarks.reproduce.{module}")
