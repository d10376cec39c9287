"""Whatever table a person holds becomes the same codes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pramana.frames.codes import encode
from pramana.frames.tables import as_frame
from pramana_core.domain import Domain

CELLS: dict[str, list[Any]] = {
    "age": [23, 30, 64, 29],
    "sex": ["f", "m", "f", "m"],
    "member": [True, False, False, True],
}
DOMAIN = Domain.of(age=["<30", "30-45", ">=45"], sex=["f", "m"], member=["False", "True"])
CODES = {"age": [0, 1, 2, 0], "sex": [0, 1, 0, 1], "member": [1, 0, 0, 1]}

FRAME = pd.DataFrame(CELLS)

TABLES: dict[str, Callable[[], Any]] = {
    "pandas": lambda: FRAME,
    "pandas, in another order": lambda: FRAME[["member", "sex", "age"]],
    "pandas, nullable": FRAME.convert_dtypes,
    "pandas, categorical": lambda: FRAME.astype({"sex": "category", "member": "category"}),
    "pandas, objects": lambda: FRAME.astype(object),
    "pandas, Arrow's types": lambda: FRAME.convert_dtypes(dtype_backend="pyarrow"),
    "dict of lists": lambda: CELLS,
    "dict of arrays": lambda: {name: np.array(column) for name, column in CELLS.items()},
    "dict of tuples": lambda: {name: tuple(column) for name, column in CELLS.items()},
    "dict of series": lambda: {name: FRAME[name] for name in CELLS},
    "dict of polars series": lambda: {name: pl.Series(name, c) for name, c in CELLS.items()},
    "list of dicts": lambda: FRAME.to_dict("records"),
    "structured array": lambda: FRAME.to_records(index=False),
    "polars": lambda: pl.DataFrame(CELLS),
    "polars, categorical": lambda: pl.DataFrame(CELLS).with_columns(
        pl.col("sex").cast(pl.Categorical)
    ),
    "polars, enum": lambda: pl.DataFrame(CELLS).with_columns(
        pl.col("sex").cast(pl.Enum(["m", "f"]))
    ),
    "Arrow": lambda: pa.table(CELLS),
    "Arrow, one batch": lambda: pa.RecordBatch.from_pydict(CELLS),
    "Arrow, dictionary": lambda: pa.table(
        {**CELLS, "sex": pa.array(CELLS["sex"]).dictionary_encode()}
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_every_kind_of_table_is_understood_alike(name: str):
    codes = encode(TABLES[name](), DOMAIN, "frame")
    assert {variable: found.tolist() for variable, found in codes.items()} == CODES


@pytest.mark.parametrize("make", [FRAME["sex"].copy, lambda: pl.Series("sex", CELLS["sex"])])
def test_a_series_is_a_table_of_one_column(make: Callable[[], Any]):
    assert as_frame(make(), "frame")["sex"].tolist() == CELLS["sex"]


def test_a_table_is_not_changed_and_its_names_are_text():
    table = pd.DataFrame({0: ["f"], 1: ["m"]})
    assert list(as_frame(table, "frame").columns) == ["0", "1"]
    assert list(table.columns) == [0, 1]
