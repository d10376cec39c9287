"""Ma figure 7.9: decision trees of the breast cancer table from randomized records."""

from __future__ import annotations

from pramana.reproduce.data.ma_tables import CANCER_CHOICE, CANCER_FILE, breast_cancer
from pramana.reproduce.engine.experiment import Experiment, Result, Setting
from pramana.reproduce.ma.chapter_7 import tree_runs
from pramana.reproduce.ma.chapter_7.item_runs import spread

TIMES = 5


def run(setting: Setting) -> Result:
    """Learn trees at every p."""
    levels = (0.3, 0.45) if setting.quick else spread(0.1, 0.45)
    return tree_runs.compared(setting, "ma-7.9", breast_cancer(setting), TIMES, levels)


EXPERIMENT = Experiment(
    name="ma-7.9",
    title="Decision trees of the breast cancer table from randomized records",
    source="Ma (2006), figure 7.9",
    run=run,
    needs_data=(CANCER_FILE,),
    choices=(CANCER_CHOICE, tree_runs.CHOICE),
)
