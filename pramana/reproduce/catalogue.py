"""The list of experiments. To add one, write a module with `EXPERIMENT` and name it here."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module

from pramana.reproduce.engine.experiment import Experiment
from shared.errors import OptionError

_MODULES = (
    "ma.chapter_2.ma_2_2",
    "ma.chapter_2.ma_2_3",
    "ma.chapter_3.ma_3_1",
    "ma.chapter_3.ma_3_2",
    "ma.chapter_3.ma_3_3",
    "ma.chapter_3.ma_3_4",
    "ma.chapter_5.ma_5_1",
    "ma.chapter_5.ma_table_5_2",
    "ma.chapter_5.ma_5_4",
    "ma.chapter_5.ma_5_5",
    "ma.chapter_5.ma_5_7",
    "ma.chapter_5.ma_5_8",
    "ma.chapter_5.ma_5_9",
    "ma.chapter_5.ma_5_10",
    "ma.chapter_6.ma_6_1",
    "ma.chapter_6.ma_6_2",
    "ma.chapter_6.ma_6_3",
    "ma.chapter_7.ma_7_3",
    "ma.chapter_7.ma_7_4",
    "ma.chapter_7.ma_7_5",
    "ma.chapter_7.ma_7_8",
    "ma.chapter_7.ma_7_9",
    "frapp.frapp_table_3",
    "frapp.frapp_census",
    "frapp.frapp_health",
    "frapp.frapp_3",
    "frapp.frapp_4",
)

ALL = "all"
"""The name that stands for every experiment."""


@cache
def catalogue() -> tuple[Experiment, ...]:
    """Return every experiment, in the order of the papers."""
    modules = [import_module(f"pramana.reproduce.{name}") for name in _MODULES]
    return tuple(module.EXPERIMENT for module in modules)


def select(names: Sequence[str]) -> tuple[Experiment, ...]:
    """Return the experiments of these names, in the catalogue's order and each once.

    Raises:
        OptionError: a name is not in the catalogue.
    """
    known = {experiment.name: experiment for experiment in catalogue()}
    unknown = sorted(set(names) - set(known) - {ALL})
    if unknown:
        raise OptionError(
            f"There is no experiment {', '.join(unknown)}.",
            where="NAME",
            remedy=f"There are {', '.join(known)} and {ALL}.",
        )
    return tuple(e for e in catalogue() if ALL in names or e.name in names)
