"""The masking report: at least some and at most so many records are named."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from owner_agent.report.masked import FIRST, MOST_NAMED, named_records
from pramana_core.mask.core.influence import Influence


@pytest.mark.parametrize(("exposed", "shown"), [(0, FIRST), (7, 7), (250, MOST_NAMED)])
def test_records_are_named_up_to_a_number(exposed: int, shown: int):
    weights = np.where(np.arange(400) < exposed, 0.9, 0.01)[:, None]
    influence = Influence(weights, np.ones((400, 1)))
    table = SimpleNamespace(
        record_ids=[f"C-{place}" for place in range(400)],
        confidential=SimpleNamespace(names=("debt",)),
    )
    made: Any = SimpleNamespace(
        masked=SimpleNamespace(influence=influence), chosen=SimpleNamespace(table=table)
    )
    rows = named_records(made)
    assert len(rows) == shown
    assert sum(row["exposed"] for row in rows) == min(exposed, shown)
