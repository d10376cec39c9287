"""Ma figure 7.5: itemsets of adults, items randomized in groups."""

from __future__ import annotations

from pramana.reproduce.data.item_groups import ADULT_GROUPS
from pramana.reproduce.data.ma_tables import ADULT_CHOICE, ADULT_FILE, adult
from pramana.reproduce.engine.experiment import Experiment, Result, Setting
from pramana.reproduce.ma.chapter_7 import item_runs


def run(setting: Setting) -> Result:
    """Mine the adults at every p."""
    levels = (0.1, 0.3, 0.4, 0.45) if setting.quick else item_runs.spread(0.1, 0.45)
    return item_runs.mined(setting, "ma-7.5", adult(setting), ADULT_GROUPS, levels)


EXPERIMENT = Experiment(
    name="ma-7.5",
    title="Frequent itemsets of adults, 30 items in 17 groups",
    source="Ma (2006), figure 7.5",
    run=run,
    needs_data=(ADULT_FILE,),
    choices=(
        ADULT_CHOICE,
        (
            "Groups of three: workclass; education; marital status; relationship. Groups of two:"
            " occupation; race; sex; income; the two lowest of age."
        ),
        item_runs.DECISIONS,
        item_runs.CHOICE,
    ),
)
