"""The masking report: how many records are named, whether or not all of them are shown."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from owner_agent.report.masked import MOST_NAMED, MaskReport
from owner_agent.report.page import templates
from pramana_core.mask.core.influence import Influence


def report_of_exposed(exposed: int, records: int = 400) -> MaskReport:
    """A report of which only what is named is there."""
    weights = np.where(np.arange(records) < exposed, 0.9, 0.01)[:, None]
    influence = Influence(weights, np.ones((records, 1)))
    confidential: Any = SimpleNamespace(names=("debt",))
    table = SimpleNamespace(
        record_ids=[f"C-{place}" for place in range(records)], confidential=confidential
    )
    made: Any = SimpleNamespace(
        copies=(SimpleNamespace(influence=influence),), chosen=SimpleNamespace(table=table)
    )
    measures: Any = None
    return MaskReport(made, measures)


def test_all_that_are_to_be_named_are_counted_and_the_first_shown():
    report = report_of_exposed(250)
    assert report.exposed == 250
    assert len(report.named) == MOST_NAMED == 100
    assert report_of_exposed(0).exposed == 0


def test_the_page_says_that_it_shows_the_first_of_them():
    source = templates().loader
    assert source is not None
    page = source.get_source(templates(), "mask.html.j2")[0]
    start = page.index('<p class="note">{% if report.named >')
    note = page[start : page.index("Ids of records", start)]
    shown = templates().from_string(note)
    found = shown.render(report={"named": 250}, named=report_of_exposed(250).named)
    assert "the first 100 of 250 such records" in found
    assert "Of all others less is told" in shown.render(report={"named": 3}, named=[1, 2, 3, 4, 5])
