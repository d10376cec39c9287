"""Limits of masking: `max_told`, records named on the page, sentences that are sent."""

from __future__ import annotations

import html as quoting
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from owner_agent.release.masked import PreparedMask, protection
from owner_agent.release.options import PublishOptions
from owner_agent.report.masked import FIRST, MOST_NAMED, mask_report, named_records
from owner_agent.site.site import load_site
from owner_agent.state.environment import Environment
from pramana_core.errors import MaskingError
from pramana_core.mask import METHODS
from pramana_core.mask.core.influence import Influence
from pramana_core.mask.measures import Measures
from pramana_core.report.page import html
from pramana_core.report.report import Report
from pramana_core.wire.release_kinds import MaskedTableMessage, TableColumn
from tests.owner_agent.release.kinds import KINDS, MASK

rows = KINDS["masked"].rows
site_text = MASK
written = KINDS["masked"].table


FAR = (400, -350)
"""Ages that nobody has."""


def _lone(rows: list[str], lone: int) -> list[str]:
    """Rows of which the first have ages far out, in both directions."""
    found = [row.split(",") for row in rows]
    for cells, age in zip(found, FAR[:lone], strict=False):
        cells[1] = str(age)
    return [",".join(cells) for cells in found]


@pytest.fixture
def masked(shop):
    """Mask the shop's table with lines added to the site file, so many of its records alone; with
    debts, half of its customers have none."""

    def of(
        added: str, lone: int = 0, method: str = "egadp", *, debts: bool = False
    ) -> PreparedMask:
        site = site_text.replace('method = "egadp"', f'method = "{method}"') + added
        lines = [row.rpartition(",")[0] + ",0" if debts else row for row in rows[::2]] + rows[1::2]
        shop.write(site, written(_lone(lines if debts else rows, lone)))
        return PreparedMask.of(
            load_site(shop.folder / "site.toml"), lambda *_: None, PublishOptions(), Environment()
        )

    return of


def _report(made: PreparedMask) -> Report:
    """A report without measures, which take time and are no matter here."""
    return mask_report(made, Measures(()))


def _page(made: PreparedMask) -> tuple[dict[str, bool], float, str]:
    """The ids on the page and whether each is named; what is stated of all others; the page."""
    page = quoting.unescape(html(_report(made), "shop"))
    ids = re.findall(r'<td class="( high)?">(C-\d{5})</td>', page)
    (stated,) = re.findall(r"moves by at most\s+([\d.]+) %", page)
    return {name: bool(high) for high, name in ids}, float(stated) / 100, page


def _leverages(rows: list[str]) -> dict[str, float]:
    """How much each record weighs in lines over age and gender."""
    cells = [row.split(",") for row in rows]
    age = [float(one[1]) for one in cells]
    gender = [float(one[2] == "f") for one in cells]
    basis = np.linalg.qr(np.column_stack([np.ones(len(rows)), age, gender]))[0]
    return dict(zip((one[0] for one in cells), np.sum(basis**2, axis=1), strict=True))


@pytest.mark.slow
def test_lone_records_are_named_on_the_page_and_no_other_moves_by_more(masked):
    found, stated, page = _page(masked("max_leverage = 1.0\n", lone=2))
    named = {name for name, high in found.items() if high}
    assert named == {"C-00000", "C-00001"}
    weights = _leverages(_lone(rows, 2))
    assert min(weights[name] for name in named) > 0.4
    # Written in per cent, with a digit.
    assert stated == pytest.approx(max(w for name, w in weights.items() if name not in named), 0.05)
    assert "2 records stand nearly alone in S" in page


@pytest.mark.parametrize("method", ["egadp", "shuffle", "nmegadp", "auto"])
@pytest.mark.slow
def test_a_bound_on_what_is_told_is_kept_or_refused_by_whichever_method(masked, method):
    influence = masked("max_told = 0.05\n", method=method).masked.influence
    assert influence is not None
    assert influence.told.max() <= 0.05
    with pytest.raises(MaskingError):
        masked("max_told = 0.0001\n", method=method)


def test_values_below_zero_are_said(masked):
    free = masked("", debts=True)
    (hint,) = (words for words in _report(free).numbers["warnings"] if "below 0" in words)
    assert "methods that shuffle release only true values" in hint


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


def test_long_lists_of_released_columns_can_be_sent():
    names = [f"laboratory value number {i}" for i in range(1, 41)]
    for method in METHODS.values():
        words = protection(method, names)
        message = MaskedTableMessage(
            columns=[TableColumn(name="x", role="masked", type="numeric")],
            method=method.name,
            protection=list(words),
        )
        assert "40 columns" in " ".join(message.protection)
