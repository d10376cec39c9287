"""Public tables whose numbers are masked: three that come with scikit-learn, and adult."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.reproduce.alahmadi.versions import QUICK_RECORDS
from benchmarks.reproduce.experiment import Setting
from pramana_core.errors import NotInstalled
from pramana_core.mixed.table import MixedTable, read_mixed

ADULT_FILE = "adult-train.csv.gz"
ADULT_RECORDS = 4_000

CHOSEN = {
    "diabetes": (["age", "sex", "s5"], ["bmi", "bp", "target"]),
    "wine": (["class", "color_intensity"], ["alcohol", "proline", "flavanoids"]),
    "breast cancer": (["class", "mean texture"], ["mean radius", "mean concavity"]),
}
"""Which columns are told and which are taken for confidential, by table."""

WORDS = (
    "Of diabetes body mass, blood pressure and progress are masked, given age, sex and s5; of wine"
    " alcohol, proline and flavanoids, given class and colour; of breast cancer mean radius and"
    " concavity, given class and texture."
)

ADULT_WORDS = (
    f"Masked are age and hours per week, given years of education, sex and income class;"
    f" {ADULT_RECORDS:,} records drawn from the training file."
)


def scikit_learn_tables(setting: Setting) -> dict[str, tuple[MixedTable, MixedTable]]:
    """Return S and X of three tables that come with scikit-learn.

    Raises:
        NotInstalled: scikit-learn is not there.
    """
    try:
        from sklearn import datasets
    except ImportError as error:
        raise NotInstalled(
            "scikit-learn is not installed, which these tables come with.",
            where="alahmadi-real",
            remedy="Install the extra: pip install 'pramana[models]'.",
        ) from error
    diabetes = datasets.load_diabetes(as_frame=True, scaled=False).frame
    diabetes["sex"] = diabetes["sex"].map({1.0: "1", 2.0: "2"})
    frames = {"diabetes": diabetes}
    for name, loaded in (
        ("wine", datasets.load_wine(as_frame=True)),
        ("breast cancer", datasets.load_breast_cancer(as_frame=True)),
    ):
        labels = np.asarray(loaded.target_names)[loaded.target]
        frames[name] = loaded.data.assign(**{"class": labels})
    chosen = list(CHOSEN)[:1] if setting.quick else list(CHOSEN)
    return {name: _split(frames[name], *CHOSEN[name]) for name in chosen}


def adult_tables(setting: Setting) -> dict[str, tuple[MixedTable, MixedTable]]:
    """Return S and X of adult's numeric columns. Raises OptionError where the file is not there."""
    frame = pd.read_csv(setting.file(ADULT_FILE), skipinitialspace=True)
    records = QUICK_RECORDS if setting.quick else ADULT_RECORDS
    rows = setting.rng("alahmadi", "adult").permutation(len(frame))[:records]
    frame = frame.iloc[np.sort(rows)]
    told = ["education-num", "sex", "income"]
    return {"adult": _split(frame, told, ["age", "hours-per-week"])}


def _split(
    frame: pd.DataFrame, told: list[str], confidential: list[str]
) -> tuple[MixedTable, MixedTable]:
    return read_mixed(frame[told]), read_mixed(frame[confidential])
