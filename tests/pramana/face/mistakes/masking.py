"""Mistakes with masking."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

import pramana as pm
from pramana_core.errors import (
    EmptyTable,
    MaskingError,
    MissingColumn,
    OptionError,
    TableError,
    TableUnreadable,
)
from tests.pramana.face.mistakes import Mistake

X = ["expenditure", "debt"]


@cache
def _store() -> pd.DataFrame:
    return pm.example("store").head(100)


def _mask(**changed: Any) -> pm.MaskedFrame:
    given: dict[str, Any] = {"frame": _store(), "confidential": X, "method": "egadp", "rng": 1}
    given |= changed
    return pm.mask(**given)


def _loaded() -> pm.MaskedFrame:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "masked.parquet"
        pm.save(_mask(), path)
        return pm.load(path)


def _not_masked() -> object:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plain.parquet"
        _store().to_parquet(path)
        return pm.MaskedFrame.load(path)


def _pickled() -> object:
    import pickle

    return pickle.dumps(_mask())


MISTAKES = [
    Mistake(
        "a misspelt method of masking",
        lambda: _mask(method="edgap"),
        OptionError,
        ("method must be one of", "'egadp'", "'nmegadp'", "'edgap' (str)"),
    ),
    Mistake(
        "no column to mask",
        lambda: _mask(confidential=[]),
        OptionError,
        ("confidential must name at least one column",),
    ),
    Mistake(
        "a confidential column that is not there",
        lambda: _mask(confidential=["income"]),
        MissingColumn,
        ("confidential names 'income'", "'expenditure'"),
    ),
    Mistake(
        "a column both told and masked",
        lambda: _mask(tell=["age", "debt"]),
        OptionError,
        ("tell and confidential must be different columns", "'debt'"),
    ),
    Mistake(
        "masking a column of categories",
        lambda: _mask(frame=_store().assign(debt="high")),
        TableError,
        ("columns of numbers", "'debt' holds text or categories", "pm.randomize"),
    ),
    Mistake(
        "masking a column of true and false",
        lambda: _mask(frame=_store().assign(debt=True)),
        TableError,
        ("columns of numbers", "'debt' holds true and false"),
    ),
    Mistake(
        "masking a column with missing cells",
        lambda: _mask(frame=_store().assign(debt=float("nan"))),
        TableError,
        ("frame", "'debt'", "missing"),
    ),
    Mistake(
        "telling a column of names",
        lambda: _mask(frame=_store().assign(name=[f"n{k}" for k in range(100)])),
        TableError,
        ("Column 'name' has nearly as many values as records", "tell=[...]"),
    ),
    Mistake(
        "telling a column that numbers the records",
        lambda: _mask(frame=_store().reset_index()),
        TableError,
        ("Column 'person' numbers the records", "tell=[...]"),
    ),
    Mistake(
        "masking the same column twice",
        lambda: _mask(confidential=["debt", "debt"]),
        OptionError,
        ("confidential names 'debt' more than once",),
    ),
    Mistake(
        "text as seed of masking",
        lambda: _mask(rng="one"),
        OptionError,
        ("rng must be None, a seed of 0 or more, or a numpy Generator", "'one' (str)"),
    ),
    Mistake(
        "no copies",
        lambda: _mask(copies=0),
        OptionError,
        ("copies must be a whole number from 1 to 100, not 0 (int)",),
    ),
    Mistake(
        "an option that a method has not",
        lambda: _mask(noise=0.2),
        OptionError,
        ("method 'egadp' has no option 'noise'", "'max_leverage'"),
    ),
    Mistake(
        "a bandwidth of zero",
        lambda: _mask(method="nmegadp", bandwidth=0.0),
        OptionError,
        ("bandwidth must be a positive number, not 0.0",),
    ),
    Mistake(
        "bounds without a pair",
        lambda: _mask(bounds={"debt": 0}),
        OptionError,
        ("bounds of 'debt' must be a lower and a larger upper number", "0 (int)"),
    ),
    Mistake(
        "bounds of a column that is not masked",
        lambda: _mask(bounds={"age": (0, 100)}),
        OptionError,
        ("bounds must be of confidential columns", "'age'"),
    ),
    Mistake(
        "bounds that true values lie beyond",
        lambda: _mask(bounds={"debt": (None, 0)}),
        OptionError,
        ("bounds of 'debt' must hold all its true values",),
    ),
    Mistake(
        "bounds that are a number",
        lambda: _mask(bounds=0),
        OptionError,
        ("bounds must be a dict of a lower and an upper bound", "0 (int)"),
    ),
    Mistake(
        "bounds in the wrong order",
        lambda: _mask(bounds={"debt": (1e9, -1e9)}),
        OptionError,
        ("bounds of 'debt' must be a lower and a larger upper number",),
    ),
    Mistake(
        "a bound that is no number",
        lambda: _mask(bounds={"debt": (float("nan"), None)}),
        OptionError,
        ("bounds of 'debt' must be a lower and a larger upper number",),
    ),
    Mistake(
        "bounds as text",
        lambda: _mask(bounds={"debt": "09"}),
        OptionError,
        ("bounds of 'debt' must be a lower and a larger upper number", "'09' (str)"),
    ),
    Mistake(
        "bounds of a column that is not there",
        lambda: _mask(bounds={"dept": (0, None)}),
        OptionError,
        ("bounds must be of confidential columns", "'dept'"),
    ),
    Mistake(
        "a share of 1 that may be told",
        lambda: _mask(max_told=1.0),
        OptionError,
        ("max_told must be above 0 and below 1, not 1.0",),
    ),
    Mistake(
        "a share that may be told as text",
        lambda: _mask(method="nmegadp", max_told="little"),
        OptionError,
        ("max_told must be above 0 and below 1, not little",),
    ),
    Mistake(
        "less told than lines tell",
        lambda: _mask(max_told=1e-6),
        MaskingError,
        ("Of 100 records the masked values would tell", "more than max_told, 1e-06"),
    ),
    Mistake(
        "a bound on what is told by additive noise",
        lambda: _mask(method="sadp", max_told=0.1),
        OptionError,
        ("method 'sadp' has no option 'max_told'",),
    ),
    Mistake(
        "masking three records",
        lambda: _mask(frame=_store().head(3)),
        MaskingError,
        ("3 records are too few for these columns",),
    ),
    Mistake(
        "an earlier frame that is a path",
        lambda: _mask(earlier="before.parquet"),
        OptionError,
        ("earlier must be a MaskedFrame or a list of them", "'before.parquet' (str)"),
    ),
    Mistake(
        "exposure of additive noise",
        lambda: _mask(method="sadp").exposure(),
        OptionError,
        ("exposure is of methods that predict", "sadp"),
    ),
    Mistake(
        "masking what does not vary",
        lambda: _mask(frame=_store().assign(debt=1.0)),
        MaskingError,
        ("'debt'", "same value in every record"),
    ),
    Mistake(
        "masking a file's name",
        lambda: _mask(frame="store.csv"),
        TableError,
        ("frame must be a pandas or polars frame", "read the file first"),
    ),
    Mistake(
        "masking no rows",
        lambda: _mask(frame=_store().head(0)),
        EmptyTable,
        ("frame has no rows",),
    ),
    Mistake(
        "measures of masked records in another order",
        lambda: pm.masking_measures(_store(), _mask().frame, X),
        TableError,
        ("released must have the records of original in the same order", "keep_order=True"),
    ),
    Mistake(
        "measures of fewer masked records",
        lambda: pm.masking_measures(_store(), _mask().frame.head(50), X),
        TableError,
        ("released has 50 rows and original has 100",),
    ),
    Mistake(
        "measures of masked records without their columns",
        lambda: pm.masking_measures(_store(), _mask().frame[["age"]], X),
        MissingColumn,
        ("released lacks 'expenditure', 'debt'",),
    ),
    Mistake(
        "measures of masked records that were loaded",
        lambda: _loaded().measures(),
        OptionError,
        ("measures needs the true records", "pm.masking_measures"),
    ),
    Mistake(
        "any table loaded as masked records",
        _not_masked,
        TableUnreadable,
        ("must be a file that MaskedFrame.save wrote",),
    ),
    Mistake(
        "a masked frame pickled",
        _pickled,
        OptionError,
        ("A MaskedFrame must not be pickled", "save writes what may leave"),
    ),
    Mistake(
        "copies combined without errors",
        lambda: pm.combine_copies([1.0, 2.0]),
        OptionError,
        ("errors must be given, one entry per copy",),
    ),
    Mistake(
        "copies combined with negative errors",
        lambda: pm.combine_copies([1.0, 2.0], [0.1, -0.1]),
        OptionError,
        ("errors must be 0 or more",),
    ),
    Mistake(
        "copies combined of other parameters",
        lambda: pm.combine_copies([{"a": 1.0}, {"b": 1.0}], [{"a": 1.0}, {"b": 1.0}]),
        OptionError,
        ("estimates must be of the same parameters in every copy",),
    ),
]
