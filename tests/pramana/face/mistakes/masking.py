"""Mistakes with masking."""

from __future__ import annotations

from functools import cache
from typing import Any

import pandas as pd

import pramana as pm
from pramana_core.errors import EmptyTable, MaskingError, MissingColumn, OptionError, TableError
from tests.pramana.face.mistakes import Mistakes

X = ["expenditure", "debt"]


@cache
def _store() -> pd.DataFrame:
    return pm.example("store").head(100)


def _mask(**changed: Any) -> pm.MaskedFrame:
    given: dict[str, Any] = {"frame": _store(), "confidential": X, "method": "egadp", "rng": 1}
    given |= changed
    return pm.mask(**given)


def _pickled() -> object:
    import pickle

    return pickle.dumps(_mask())


MISTAKES: Mistakes = {
    (OptionError, "method"): [lambda: _mask(method="edgap")],
    (OptionError, "confidential"): [lambda: _mask(confidential=[])],
    (OptionError, "tell"): [lambda: _mask(tell=["age", "debt"])],
    (OptionError, "rng"): [lambda: _mask(rng="one")],
    (OptionError, "noise"): [lambda: _mask(noise=0.2)],
    (OptionError, "max_told"): [lambda: _mask(max_told=1.0)],
    (OptionError, "exposure"): [lambda: _mask(method="sadp").exposure()],
    (OptionError, "MaskedFrame"): [_pickled],
    (MissingColumn, "income"): [lambda: _mask(confidential=["income"])],
    (TableError, "debt"): [lambda: _mask(frame=_store().assign(debt="high"))],
    (TableError, "name"): [
        lambda: _mask(frame=_store().assign(name=[f"n{k}" for k in range(100)]))
    ],
    (TableError, "person"): [lambda: _mask(frame=_store().reset_index())],
    (TableError, "frame"): [lambda: _mask(frame="store.csv")],
    (MaskingError, "max_told"): [lambda: _mask(max_told=1e-6)],
    (MaskingError, "X"): [lambda: _mask(frame=_store().head(3))],
    (MaskingError, "debt"): [lambda: _mask(frame=_store().assign(debt=1.0))],
    (EmptyTable, "frame"): [lambda: _mask(frame=_store().head(0))],
}
