"""`max_told` and `bounds` of the site file: demanded, kept or refused, and said on the page."""

from __future__ import annotations

import html as quoting
import json
import re

import numpy as np
import pytest

from owner_agent.masking import report as reports
from shared.mask.core.influence import EXPOSED


def _with(site_text: str, added: str, method: str = "egadp") -> str:
    return site_text.replace('method = "egadp"', f'method = "{method}"') + added


def _page(shop) -> str:
    return quoting.unescape((shop.state / "report" / "mask.html").read_text())


def _lone(rows: list[str], lone: int) -> list[str]:
    """Rows of which the first have ages far out, in both directions."""
    found = []
    for place, row in enumerate(rows):
        cells = row.split(",")
        if place < lone:
            cells[1] = str((150, -70, 180)[place])
        found.append(",".join(cells))
    return found


def _named(page: str) -> dict[str, bool]:
    """The ids on the page, and whether each is named."""
    found = re.findall(r'<td( class="high")?>(C-\d{5})</td>', page)
    return {name: bool(high) for high, name in found}


@pytest.mark.slow
def test_lone_records_are_named_on_the_page_and_no_other_moves_by_more(
    shop, command, rows, written, site_text
):
    shop.write(_with(site_text, "max_leverage = 1.0\n"), written(_lone(rows, 3)))
    told = json.loads(command("mask", "--json").out)
    assert command("mask").exit_code == 0
    page = _page(shop)
    # Leverages of lines, by hand.
    table = np.array([row.split(",")[1] for row in _lone(rows, 3)], dtype=float)
    sex = np.array([row.split(",")[2] == "f" for row in rows], dtype=float)
    basis = np.linalg.qr(np.column_stack([np.ones(len(rows)), table, sex]))[0]
    weights = np.sum(basis**2, axis=1)
    named = {f"C-{place:05d}" for place in np.flatnonzero(weights**2 > EXPOSED)}
    assert {name for name, high in _named(page).items() if high} >= named
    others = [w for place, w in enumerate(weights) if not _named(page).get(f"C-{place:05d}")]
    (stated,) = re.findall(r"moves by more than ([\d.]+) %", page)
    assert max(others) <= float(stated) / 100 + 0.005
    assert told["named"] == sum(_named(page).values()) >= 1
    assert "nearly alone in S" in page


@pytest.mark.slow
def test_of_more_records_than_are_shown_the_rest_is_stated(
    shop, command, rows, written, site_text, monkeypatch
):
    monkeypatch.setattr(reports, "MOST_NAMED", 1)
    monkeypatch.setattr(reports, "FIRST", 1)
    shop.write(_with(site_text, "max_leverage = 1.0\n"), written(_lone(rows, 2)))
    assert command("mask").exit_code == 0
    page = _page(shop)
    assert len(_named(page)) == 1
    assert "1 more has over a quarter told" in page
    (stated,) = re.findall(r"moves by more than ([\d.]+) %", page)
    assert float(stated) > 30


@pytest.mark.slow
@pytest.mark.parametrize("method", ["auto", "egadp", "nmegadp", "shuffle"])
def test_a_bound_on_what_is_told_is_kept_or_refused_by_every_method(
    shop, command, rows, written, site_text, method
):
    shop.write(_with(site_text, "max_told = 0.05\n", method), written(rows))
    kept = command("mask", "--json")
    assert kept.exit_code == 0, kept.err
    measures = json.loads(kept.out)["measures"]
    (most,) = (row["value"] for row in measures if row["name"] == "told-largest")
    assert most <= 0.05
    shop.write(_with(site_text, "max_told = 0.05\n", method), written(_lone(rows, 1)))
    refused = command("mask", "--json")
    assert refused.exit_code == 2
    assert "error (masking-invalid): Of " in refused.err
    assert "more than max_told, 0.05" in " ".join(refused.err.split())


@pytest.mark.slow
def test_bounds_cut_every_copy_and_say_what_that_costs(shop, command, site_text, rows):
    low = min(float(row.split(",")[4]) for row in rows)
    shop.write(_with(site_text, f"copies = 2\nbounds = {{ debt = {{ low = {low} }} }}\n"))
    done = command("mask", "--publish", "--json")
    assert done.exit_code == 0, done.err
    told = json.loads(done.out)
    (said,) = (words for words in told["warnings"] if "cut to its bounds" in words)
    assert "masked value" in said
    assert "moves its mean by" in said
    assert any("Masked values of debt are cut to bounds" in words for words in told["protection"])
    (release,) = shop.miner.releases.values()
    assert release
    # Without bounds it is another release.
    shop.write(_with(site_text, "copies = 2\n"))
    again = command("mask", "--publish")
    assert "plan-conflict" in again.err


def test_masked_values_are_within_bounds_in_all_copies(shop, site_text, rows):
    from owner_agent.masking.publishing import mask_table
    from owner_agent.site.site import load_site

    low = min(float(row.split(",")[4]) for row in rows)
    limits = f"copies = 2\nbounds = {{ debt = {{ low = {low} }} }}\n"
    found = {}
    for name, added in (("cut", limits), ("free", "copies = 2\n")):
        shop.write(_with(site_text, added))
        made = mask_table(load_site(shop.folder / "site.toml"), lambda *_: None)
        found[name] = [copy.matrix for copy in made.copies]
        assert all((copy.values.matrix() == copy.matrix).all() for copy in made.copies)
    assert all(copy[:, 1].min() == low for copy in found["cut"])
    assert all(copy[:, 1].min() < low for copy in found["free"])


def test_bounds_that_true_values_lie_beyond_are_refused_before_anything_is_masked(
    shop, command, site_text
):
    shop.write(_with(site_text, "bounds = { debt = { high = 1 } }\n"))
    done = command("mask")
    assert done.exit_code == 2
    assert "error (option-invalid): bounds of 'debt' must hold all its true values" in " ".join(
        done.err.split()
    )
    checked = command("check")
    assert checked.exit_code != 0
    assert "must hold all its true values" in " ".join((checked.out + checked.err).split())
