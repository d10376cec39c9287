"""Ma figure 7.4: itemsets of mushrooms, items randomized in groups."""

from __future__ import annotations

from pramana.reproduce.data.item_groups import MUSHROOM_GROUPS
from pramana.reproduce.data.ma_tables import MUSHROOM_FILE, mushroom
from pramana.reproduce.engine.experiment import Experiment, Result, Setting
from pramana.reproduce.ma.chapter_7 import item_runs


def run(setting: Setting) -> Result:
    """Mine the mushrooms at every p."""
    levels = (0.1, 0.3, 0.4, 0.5) if setting.quick else item_runs.spread(0.1, 0.5)
    return item_runs.mined(setting, "ma-7.4", mushroom(setting), MUSHROOM_GROUPS, levels)


EXPERIMENT = Experiment(
    name="ma-7.4",
    title="Frequent itemsets of mushrooms, 23 items in 13 groups",
    source="Ma (2006), figure 7.4",
    run=run,
    needs_data=(MUSHROOM_FILE,),
    choices=(
        (
            "The paper does not name its nine variables. These have 23 categories as they are:"
            " class, cap-surface, bruises, gill-attachment, gill-spacing, gill-size, stalk-shape,"
            " stalk-surface-above-ring, ring-number."
        ),
        (
            "Groups of three: f, s, y of cap-surface; f, k, s of stalk-surface-above-ring;"
            " ring-number; gill-spacing with a of gill-attachment. Groups of two: class; bruises."
        ),
        item_runs.DECISIONS,
        item_runs.CHOICE,
    ),
)
