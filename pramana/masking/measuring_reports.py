"""The measures of randomized records, so that PRAM and masking stand side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from owner_agent.randomize.draws import pseudonyms
from pramana.frames.sentences import one_sentence
from pramana.frames.tables import names_of, require_columns
from pramana.owner.keys import Keys
from pramana.owner.record_ids import RecordId, record_ids
from pramana.reporting.reports import Reports
from shared.errors import KeyFileError, TableError
from shared.mixed.table import read_mixed
from shared.terminal import progress_bar
from shared.wire.parts import key_order

if TYPE_CHECKING:
    import pandas as pd

    from shared.mask.measures import Measures


def measured_reports(
    table: pd.DataFrame,
    reports: Reports,
    confidential: str | Sequence[str],
    tell: str | Sequence[str] | None,
    keys: Keys | None,
    record_id: RecordId,
    seed: int,
) -> Measures:
    """Return the measures of reports beside the true records they were made of.

    Raises:
        KeyFileError: the reports have pseudonyms and there are no keys to find the records by.
        TableError: the reports are of other records; MissingColumn is of this kind.
    """
    import numpy as np

    from shared.mask.comparison import measure_reports

    hidden = names_of(confidential, "confidential")
    require_columns(table, hidden, "confidential")
    planned = set(reports.plan.domain.names)
    told = (
        [name for name in table.columns if name not in {*hidden, *planned}]
        if tell is None
        else names_of(tell, "tell")
    )
    require_columns(table, told, "tell")
    frame = _in_their_order(table, reports, keys, record_id)
    with progress_bar("measuring") as bar, one_sentence():
        return measure_reports(
            read_mixed(frame[told], "original") if told else None,
            frame[hidden],
            reports.plan,
            {name: reports.codes[name] for name in hidden if name in reports.codes},
            rng=np.random.default_rng(seed),
            on_step=bar,
        )


def _in_their_order(
    table: pd.DataFrame, reports: Reports, keys: Keys | None, record_id: RecordId
) -> pd.DataFrame:
    """Return the true records in the order of their reports."""
    if len(table) != len(reports):
        raise TableError(
            f"released has {len(reports):,} reports and original has {len(table):,} rows; they must"
            " be of the same records.",
            where="released",
        )
    if reports.pseudonyms is None:
        return table
    if not isinstance(keys, Keys) or reports.study is None:
        raise KeyFileError(
            "keys must be the owner's Keys, and record_id what identified the records, for these"
            " reports are in the order of their pseudonyms.",
            where="keys",
        )
    known = pseudonyms(keys.secrets, reports.study, record_ids(table, record_id))
    order = key_order(known)
    if known[order].tobytes() != reports.pseudonyms.tobytes():
        raise TableError(
            "released must be reports of the records of original; their pseudonyms are others.",
            where="released",
        )
    return table.iloc[order]
