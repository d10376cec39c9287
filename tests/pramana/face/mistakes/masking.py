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
from tests.pramana.face.mistakes import Mistakes

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


MISTAKES: Mistakes = {
    OptionError: {
        "a misspelt method of masking": (
            lambda: _mask(method="edgap"),
            "method must be one of … 'egadp' … 'nmegadp' … 'edgap' (str)",
        ),
        "no column to mask": (
            lambda: _mask(confidential=[]),
            "confidential must name at least one column",
        ),
        "a column both told and masked": (
            lambda: _mask(tell=["age", "debt"]),
            "tell and confidential must be different columns … 'debt'",
        ),
        "masking the same column twice": (
            lambda: _mask(confidential=["debt", "debt"]),
            "confidential names 'debt' more than once",
        ),
        "text as seed of masking": (
            lambda: _mask(rng="one"),
            "rng must be None, a seed of 0 or more, or a numpy Generator … 'one' (str)",
        ),
        "no copies": (
            lambda: _mask(copies=0),
            "copies must be a whole number from 1 to 100, not 0 (int)",
        ),
        "an option that a method has not": (
            lambda: _mask(noise=0.2),
            "method 'egadp' has no option 'noise' … 'max_leverage'",
        ),
        "a bandwidth of zero": (
            lambda: _mask(method="nmegadp", bandwidth=0.0),
            "bandwidth must be above 0 … 0.0",
        ),
        "bounds without a pair": (
            lambda: _mask(bounds={"debt": 0}),
            "bounds of 'debt' must be a lower and a larger upper number … 0 (int)",
        ),
        "bounds of a column that is not masked": (
            lambda: _mask(bounds={"age": (0, 100)}),
            "bounds must be of confidential columns … 'age'",
        ),
        "bounds that true values lie beyond": (
            lambda: _mask(bounds={"debt": (None, 0)}),
            "bounds of 'debt' must hold all its true values",
        ),
        "bounds that are a number": (
            lambda: _mask(bounds=0),
            "bounds must be a dict of a lower and an upper bound … 0 (int)",
        ),
        "bounds in the wrong order": (
            lambda: _mask(bounds={"debt": (1e9, -1e9)}),
            "bounds of 'debt' must be a lower and a larger upper number",
        ),
        "a bound that is no number": (
            lambda: _mask(bounds={"debt": (float("nan"), None)}),
            "bounds of 'debt' must be a lower and a larger upper number",
        ),
        "bounds as text": (
            lambda: _mask(bounds={"debt": "09"}),
            "bounds of 'debt' must be a lower and a larger upper number … '09' (str)",
        ),
        "bounds of a column that is not there": (
            lambda: _mask(bounds={"dept": (0, None)}),
            "bounds must be of confidential columns … 'dept'",
        ),
        "a share of 1 that may be told": (
            lambda: _mask(max_told=1.0),
            "max_told must be above 0 and below 1, not 1.0",
        ),
        "a share that may be told as text": (
            lambda: _mask(method="nmegadp", max_told="little"),
            "max_told must be above 0 and below 1, not little",
        ),
        "a bound on what is told by additive noise": (
            lambda: _mask(method="sadp", max_told=0.1),
            "method 'sadp' has no option 'max_told'",
        ),
        "exposure of additive noise": (
            lambda: _mask(method="sadp").exposure(),
            "exposure is of methods that predict … sadp",
        ),
        "measures of masked records that were loaded": (
            lambda: _loaded().measures(),
            "measures needs the true records … pm.masking_measures",
        ),
        "a masked frame pickled": (
            _pickled,
            "A MaskedFrame must not be pickled … save writes what may leave",
        ),
        "copies combined without errors": (
            lambda: pm.combine_copies([1.0, 2.0]),
            "errors must be given, one entry per copy",
        ),
        "copies combined with negative errors": (
            lambda: pm.combine_copies([1.0, 2.0], [0.1, -0.1]),
            "errors must be 0 or more",
        ),
        "copies combined of other parameters": (
            lambda: pm.combine_copies([{"a": 1.0}, {"b": 1.0}], [{"a": 1.0}, {"b": 1.0}]),
            "estimates must be of the same parameters in every copy",
        ),
    },
    MissingColumn: {
        "a confidential column that is not there": (
            lambda: _mask(confidential=["income"]),
            "confidential names 'income' … 'expenditure'",
        ),
        "measures of masked records without their columns": (
            lambda: pm.masking_measures(_store(), _mask().frame[["age"]], X),
            "released lacks 'expenditure', 'debt'",
        ),
    },
    TableError: {
        "masking a column of categories": (
            lambda: _mask(frame=_store().assign(debt="high")),
            "columns of numbers … 'debt' holds text or categories … pm.randomize",
        ),
        "masking a column of true and false": (
            lambda: _mask(frame=_store().assign(debt=True)),
            "columns of numbers … 'debt' holds true and false",
        ),
        "masking a column with missing cells": (
            lambda: _mask(frame=_store().assign(debt=float("nan"))),
            "frame … 'debt' … missing",
        ),
        "telling a column of names": (
            lambda: _mask(frame=_store().assign(name=[f"n{k}" for k in range(100)])),
            "Column 'name' has nearly as many values as records … tell=[...]",
        ),
        "telling a column that numbers the records": (
            lambda: _mask(frame=_store().reset_index()),
            "Column 'person' numbers the records … tell=[...]",
        ),
        "masking a file's name": (
            lambda: _mask(frame="store.csv"),
            "frame must be a pandas or polars frame … read the file first",
        ),
        "measures of masked records in another order": (
            lambda: pm.masking_measures(_store(), _mask().frame, X),
            "released must have the records of original in the same order … keep_order=True",
        ),
        "measures of fewer masked records": (
            lambda: pm.masking_measures(_store(), _mask().frame.head(50), X),
            "released has 50 rows and original has 100",
        ),
    },
    MaskingError: {
        "less told than lines tell": (
            lambda: _mask(max_told=1e-6),
            "Of 100 records the masked values would tell … more than max_told, 1e-06",
        ),
        "masking three records": (
            lambda: _mask(frame=_store().head(3)),
            "3 records are too few for these columns",
        ),
        "masking what does not vary": (
            lambda: _mask(frame=_store().assign(debt=1.0)),
            "'debt' … same value in every record",
        ),
    },
    EmptyTable: {"masking no rows": (lambda: _mask(frame=_store().head(0)), "frame has no rows")},
    TableUnreadable: {
        "any table loaded as masked records": (
            _not_masked,
            "must be a file that MaskedFrame.save wrote",
        )
    },
}
