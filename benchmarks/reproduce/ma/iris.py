"""The records of Ma's figures 6.2 and 6.3: iris a hundred times, with noise, grouped by MGAS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchmarks.reproduce.data.ma_tables import TrueRecords
from benchmarks.reproduce.engine import Setting
from benchmarks.reproduce.ma.linear_runs import TARGET
from pramana_core.discretize import Discretization, mgas
from pramana_core.discretize.discretization import Floats
from pramana_core.domain import Domain, Variable
from pramana_core.marginals.counts import Codes

FILE = "iris.csv"
TIMES, NOISE = 100, 0.2
MINIMUM_COUNT = 1_500
GRANULARITY = {
    "sepal-length": 0.4,
    "sepal-width": 0.3,
    "petal-length": 0.5,
    "petal-width": 0.2,
}

CHOICE = (
    "The paper does not give MGAS's requirements. Here: groups of 1,500 records or more that are"
    " 0.4, 0.3, 0.5 and 0.2 cm wide or more (sepal length and width, petal length and width)."
)


@dataclass(frozen=True, eq=False)
class Iris:
    """The measurements with noise, their groups, and the records of groups with the class."""

    values: dict[str, Floats]
    groups: dict[str, Discretization]
    records: TrueRecords


def sample(setting: Setting) -> Iris:
    """Repeat iris, add uniform noise to the measurements and group them.

    Raises:
        OptionError: the file is not in the data folder.
    """
    table = pd.read_csv(setting.file(FILE))
    rng = setting.rng("ma-6.2")
    values: dict[str, Floats] = {}
    for name in GRANULARITY:
        repeated = np.tile(table[name].to_numpy(dtype=np.float64), TIMES)
        values[name] = repeated + rng.uniform(-NOISE, NOISE, len(repeated))
    groups = {
        name: mgas(values[name], minimum_count=MINIMUM_COUNT, granularity=width)
        for name, width in GRANULARITY.items()
    }
    return Iris(values, groups, _records(values, groups, np.tile(_virginica(table), TIMES)))


def once(setting: Setting) -> TrueRecords:
    """Return the 150 records without noise, in the groups that `sample` makes.

    Raises:
        OptionError: the file is not in the data folder.
    """
    table = pd.read_csv(setting.file(FILE))
    values = {name: table[name].to_numpy(dtype=np.float64) for name in GRANULARITY}
    return _records(values, sample(setting).groups, _virginica(table))


def _virginica(table: pd.DataFrame) -> Codes:
    return np.asarray(table[TARGET] == "Iris-virginica").astype(np.uint8)


def _records(
    values: Mapping[str, Floats], groups: Mapping[str, Discretization], target: Codes
) -> TrueRecords:
    codes: dict[str, Codes] = {name: groups[name].codes(values[name]) for name in groups}
    variables = [group.variable(name) for name, group in groups.items()]
    domain = Domain((*variables, Variable(TARGET, ("setosa or versicolor", "virginica"))))
    return TrueRecords(domain, {**codes, TARGET: target})
