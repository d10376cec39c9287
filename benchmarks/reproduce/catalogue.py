"""The list of experiments. To add one, define an `Experiment` in a module and name it here."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pkgutil import resolve_name

from benchmarks.reproduce.engine import Experiment
from pramana_core.errors import OptionError

_EXPERIMENTS = (
    "ma.grouping:EXPERIMENT",
    "ma.ma_2_2:EXPERIMENT",
    "ma.ma_2_3:EXPERIMENT",
    "ma.ma_3_1:EXPERIMENT",
    "ma.ma_3_1_2:EXPERIMENT",
    "ma.ma_3_2:EXPERIMENT",
    "ma.ma_3_3:EXPERIMENT",
    "ma.ma_3_4:EXPERIMENT",
    "ma.ma_5_1:EXPERIMENT",
    "ma.ma_table_5_2:EXPERIMENT",
    "ma.ma_5_4:MA_5_4",
    "ma.ma_5_4:MA_5_5",
    "ma.ckl:MA_5_7",
    "ma.ckl:MA_5_8",
    "ma.structure_curves:MA_5_9",
    "ma.structure_curves:MA_5_10",
    "ma.linear_runs:MA_6_1",
    "ma.ma_6_2:EXPERIMENT",
    "ma.iris:MA_6_3",
    "ma.ma_7_3:EXPERIMENT",
    "ma.item_runs:MA_7_4",
    "ma.item_runs:MA_7_5",
    "ma.tree_runs:MA_7_8",
    "ma.tree_runs:MA_7_9",
    "masiv.masiv_table_2:EXPERIMENT",
    "masiv.masiv_4:EXPERIMENT",
    "masiv.masiv_5:EXPERIMENT",
    "frapp.frapp_9:CENSUS_BOUND",
    "frapp.frapp_9:HEALTH_BOUND",
    "frapp.frapp_18:EXPERIMENT",
    "frapp.frapp_table_3:EXPERIMENT",
    "frapp.itemset_errors:CENSUS",
    "frapp.itemset_errors:HEALTH",
    "frapp.frapp_3:EXPERIMENT",
    "frapp.frapp_4:EXPERIMENT",
    "alahmadi.hump:EXPERIMENT",
    "alahmadi.repeated:EXPERIMENT",
    "alahmadi.six:EXPERIMENT",
    "alahmadi.pilot:EXPERIMENT",
    "alahmadi.methods:MADE",
    "alahmadi.methods:REAL",
    "alahmadi.methods:ADULT",
    "sharkey.figure_5:EXPERIMENT",
    "sharkey.figure_6:EXPERIMENT",
    "sharkey.figure_7:EXPERIMENT",
    "sharkey.choice:EXPERIMENT",
)

ALL = "all"
"""The name that stands for every experiment."""


@cache
def catalogue() -> tuple[Experiment, ...]:
    """Return every experiment, in the order of the papers."""
    return tuple(resolve_name(f"benchmarks.reproduce.{place}") for place in _EXPERIMENTS)


def select(names: Sequence[str]) -> tuple[Experiment, ...]:
    """Return the experiments of these names, in the catalogue's order and each once.

    A paper's name, such as `alahmadi`, stands for all experiments whose names begin with it.

    Raises:
        OptionError: a name is not in the catalogue.
    """
    known = {experiment.name: experiment for experiment in catalogue()}
    unknown = sorted(set(names) - set(known) - set(papers()) - {ALL})
    if unknown:
        raise OptionError(
            f"There is no experiment {', '.join(unknown)}.",
            where="NAME",
            remedy=f"There are {', '.join([*known, *papers()])} and {ALL}.",
        )
    return tuple(e for e in catalogue() if ALL in names or e.name in names or paper_of(e) in names)


def papers() -> tuple[str, ...]:
    """Return the names that stand for all experiments of a paper."""
    return tuple(dict.fromkeys(map(paper_of, catalogue())))


def paper_of(experiment: Experiment) -> str:
    """Return the paper that an experiment's name begins with."""
    return experiment.name.partition("-")[0]
