"""Ma figure 7.8: decision trees of the adult table from randomized records."""

from __future__ import annotations

from pramana.reproduce.data.ma_tables import ADULT_CHOICE, ADULT_FILE, adult
from pramana.reproduce.engine.experiment import Experiment, Result, Setting
from pramana.reproduce.ma.chapter_7 import tree_runs
from pramana.reproduce.ma.chapter_7.item_runs import spread

TIMES = 30


def run(setting: Setting) -> Result:
    """Learn trees at every p."""
    levels = (0.3, 0.45) if setting.quick else spread(0.1, 0.45)
    return tree_runs.compared(setting, "ma-7.8", adult(setting), TIMES, levels)


EXPERIMENT = Experiment(
    name="ma-7.8",
    title="Decision trees of the adult table from randomized records",
    source="Ma (2006), figure 7.8",
    run=run,
    needs_data=(ADULT_FILE,),
    choices=(ADULT_CHOICE, tree_runs.CHOICE),
)
