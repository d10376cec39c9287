"""The store of the motivation example, as the experiments mask it."""

from __future__ import annotations

from benchmarks.reproduce.alahmadi.versions import QUICK_RECORDS
from benchmarks.reproduce.experiment import Setting
from pramana.setups.relationships import DATASETS, RECORDS
from pramana_core.mixed.table import MixedTable, read_mixed

STORE = "ME.L"
CONFIDENTIAL = DATASETS[STORE].confidential


def tables(setting: Setting, name: str, draw: int = 0) -> tuple[MixedTable, MixedTable]:
    """Return S and X of one of the made data sets; each draw is a table of its own."""
    made = DATASETS[name]
    records = QUICK_RECORDS if setting.quick else RECORDS
    stream = (draw,) if draw else ()
    frame = made.make(setting.rng("alahmadi", "data", name, *stream), records)
    told = frame[list(made.told)]
    if "gender" in told.columns:
        told = told.assign(gender=told["gender"].map({0: "male", 1: "female"}))
    return read_mixed(told), read_mixed(frame[list(made.confidential)])


def store_tables(setting: Setting) -> tuple[MixedTable, MixedTable]:
    """Return S (age, gender) and X (expenditure, debt) of the store."""
    return tables(setting, STORE)
