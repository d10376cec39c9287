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
    OptionError: [
        (lambda: _mask(method="edgap"), "method"),
        (lambda: _mask(confidential=[]), "confidential"),
        (lambda: _mask(tell=["age", "debt"]), "tell"),
        (lambda: _mask(confidential=["debt", "debt"]), "confidential"),
        (lambda: _mask(rng="one"), "rng"),
        (lambda: _mask(copies=0), "copies"),
        (lambda: _mask(noise=0.2), "noise"),
        (lambda: _mask(method="nmegadp", bandwidth=0.0), "bandwidth"),
        (lambda: _mask(bounds={"debt": 0}), "bounds"),
        (lambda: _mask(bounds={"age": (0, 100)}), "bounds"),
        (lambda: _mask(bounds={"debt": (None, 0)}), "bounds"),
        (lambda: _mask(bounds=0), "bounds"),
        (lambda: _mask(bounds={"debt": (1e9, -1e9)}), "bounds"),
        (lambda: _mask(bounds={"debt": (float("nan"), None)}), "bounds"),
        (lambda: _mask(bounds={"debt": "09"}), "bounds"),
        (lambda: _mask(bounds={"dept": (0, None)}), "bounds"),
        (lambda: _mask(max_told=1.0), "max_told"),
        (lambda: _mask(method="nmegadp", max_told="little"), "max_told"),
        (lambda: _mask(method="sadp", max_told=0.1), "max_told"),
        (lambda: _mask(earlier="before.parquet"), "earlier"),
        (lambda: _mask(method="sadp").exposure(), "exposure"),
        (lambda: _loaded().measures(), "measures"),
        (_pickled, "MaskedFrame"),
        (lambda: pm.combine_copies([1.0, 2.0]), "errors"),
        (lambda: pm.combine_copies([1.0, 2.0], [0.1, -0.1]), "errors"),
        (
            lambda: pm.combine_copies([{"a": 1.0}, {"b": 1.0}], [{"a": 1.0}, {"b": 1.0}]),
            "estimates",
        ),
    ],
    MissingColumn: [
        (lambda: _mask(confidential=["income"]), "income"),
        (lambda: pm.masking_measures(_store(), _mask().frame[["age"]], X), "expenditure"),
    ],
    TableError: [
        (lambda: _mask(frame=_store().assign(debt="high")), "debt"),
        (lambda: _mask(frame=_store().assign(debt=True)), "debt"),
        (lambda: _mask(frame=_store().assign(debt=float("nan"))), "debt"),
        (lambda: _mask(frame=_store().assign(name=[f"n{k}" for k in range(100)])), "name"),
        (lambda: _mask(frame=_store().reset_index()), "person"),
        (lambda: _mask(frame="store.csv"), "frame"),
        (lambda: pm.masking_measures(_store(), _mask().frame, X), "age"),
        (lambda: pm.masking_measures(_store(), _mask().frame.head(50), X), "released"),
    ],
    MaskingError: [
        (lambda: _mask(max_told=1e-6), "max_told"),
        (lambda: _mask(frame=_store().head(3)), "X"),
        (lambda: _mask(frame=_store().assign(debt=1.0)), "debt"),
    ],
    EmptyTable: [
        (lambda: _mask(frame=_store().head(0)), "frame"),
    ],
    TableUnreadable: [
        (_not_masked, "path"),
    ],
}
