"""The measures of masked records, also of others' masking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from pramana.frames.sentences import one_sentence, options_told, quoted
from pramana.frames.tables import Frame, as_frame, names_of
from pramana.masking.columns import Columns, columns_of
from pramana_core.errors import MissingColumn, TableError
from pramana_core.mixed import read_mixed

if TYPE_CHECKING:
    import pandas as pd

    from pramana_core.mask.core.influence import Influence
    from pramana_core.mask.measures import Measures

SEED = 1
"""Of what measures draw, where nothing else decides it: the same measures every time."""


@options_told
def masking_measures(
    original: Frame,
    released: Frame,
    confidential: str | Sequence[str],
    *,
    tell: str | Sequence[str] | None = None,
) -> pd.DataFrame:
    """Measure what released records keep of the true ones, and what they give away.

    The records may have been masked by any program. Both tables have the same records in the same
    order, which is checked on the columns that are told.

    Args:
        original: the true records, n rows.
        released: what is released of them, n rows: the told columns as they are, the confidential
            ones masked.
        confidential: the masked columns.
        tell: the columns that were released as they are; None for all others that `released` has.

    Returns:
        A row per measure: `group` (utility or security), `measure`, `about` (the columns),
        `value`, `standard_error` over records (NaN where there is none) and a `sentence`.

    Raises:
        TableError: the tables do not have the same records in the same order, or cells are missing.
        MissingColumn: a column that one of them lacks.

    Examples:
        >>> import pramana as pm
        >>> store = pm.example("store")
        >>> masked = pm.mask(store, ["debt"], method="egadp", rng=1, keep_order=True)
        >>> found = pm.masking_measures(store, masked.frame, ["debt"])
        >>> sorted(found["group"].unique())
        ['security', 'utility']
    """
    other = as_frame(released, "released")
    if tell is None:
        names = list(as_frame(original, "original").columns)
        hidden = names_of(confidential, "confidential")
        tell = [n for n in other.columns if n in names and n not in hidden]
    columns = columns_of(original, confidential, tell)
    _require_both(other, columns)
    if len(other) != len(columns.table):
        raise TableError(
            f"released has {len(other):,} rows and original has {len(columns.table):,}; they must"
            " be the same records in the same order.",
            where="released",
        )
    for name in columns.told:
        if not _same(columns.table[name], other[name]):
            raise TableError(
                f"released must have the records of original in the same order, and column {name!r}"
                " differs, which was told as it is; a MaskedFrame has measures of its own, and"
                " pm.mask keeps the order with keep_order=True.",
                where=name,
            )
    masked = other[list(columns.confidential)].set_axis(columns.table.index)
    return measured(columns, masked, SEED)


def measured(
    columns: Columns, masked: pd.DataFrame, seed: int, influence: Influence | None = None
) -> pd.DataFrame:
    """Return the measures of masked columns whose rows are those of the true ones."""

    from pramana_core.mask.measures import measure_all
    from pramana_core.terminal import progress_bar

    with progress_bar("measuring") as bar, one_sentence("frame"):
        found = measure_all(
            columns.s,
            columns.x,
            read_mixed(masked, "released"),
            rng=np.random.default_rng(seed),
            on_step=bar,
            influence=influence,
        )
    return measures_frame(found)


def measures_frame(found: Measures) -> pd.DataFrame:
    """Return measures as a frame, a row each."""
    import pandas as pd

    names = {"name": "measure", "error": "standard_error"}
    shown = ["group", "measure", "about", "value", "standard_error", "sentence"]
    frame = pd.DataFrame([asdict(row) for row in found]).rename(columns=names)
    return frame.astype({"standard_error": float})[shown]


def _require_both(other: pd.DataFrame, columns: Columns) -> None:
    wanted = [*columns.told, *columns.confidential]
    absent = [name for name in wanted if name not in other.columns]
    if absent:
        raise MissingColumn(
            f"released lacks {quoted(absent)}; it has {quoted(other.columns)}.", where=absent[0]
        )


def _same(true: pd.Series, told: pd.Series) -> bool:
    import pandas as pd

    kind = pd.api.types
    if kind.is_numeric_dtype(true.dtype) and kind.is_numeric_dtype(told.dtype):
        return bool(np.allclose(true.to_numpy(float), told.to_numpy(float), rtol=1e-9))
    return true.astype(str).tolist() == told.astype(str).tolist()
