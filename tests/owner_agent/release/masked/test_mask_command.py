"""`owner-agent mask`: a report that stays, and nothing that leaves unless it is asked for."""

import json
import re
import stat

import numpy as np
import pytest

from owner_agent.release.ledger import Ledger
from owner_agent.release.masked import LETTERS, NO_BOUND, protection
from owner_agent.report.masked import FIRST
from owner_agent.report.page import figure, measured, rough
from pramana_core.mask import METHODS
from pramana_core.mask.pictures import explained
from pramana_core.mixed import CategoricalColumn, NumericColumn


def _page(shop):
    return shop.state / "report" / "mask.html"


@pytest.mark.usefixtures("measured_once")
@pytest.mark.slow
def test_the_report_stays_with_its_owner_and_says_so(shop, command, rows):
    done = command("mask")
    assert done.exit_code == 0, done.err
    assert not shop.miner.requests
    assert not (shop.state / "outbox").exists()
    assert Ledger(shop.state).entries() == ()
    assert stat.S_IMODE(_page(shop).stat().st_mode) == 0o600
    assert stat.S_IMODE(_page(shop).with_suffix(".json").stat().st_mode) == 0o600
    assert stat.S_IMODE(_page(shop).parent.stat().st_mode) == 0o700
    html = _page(shop).read_text()
    assert html.index("This page shows your true values") < html.index("<h2>")
    assert html.index("<dt>S</dt><dd>what is told as it is: age, gender") < html.index("<h2>")
    assert re.search(r"\bS\b", done.out).start() == done.out.index(LETTERS)
    assert NO_BOUND in html
    assert not re.search(r'(?:src|href)="(?!#|data:image/png;base64)', html)
    # Two columns over age and gender, and over each other: four of five beside each other.
    assert html.count("<svg") == 2
    assert "egadp (named in the site file); told as they are: age, gender" in done.out
    assert "true value in its masked one: 0.0" in done.out
    # Records are named on the page, and nowhere else.
    assert "Records of which most is told" in html
    assert len(re.findall(r"C-\d{5}", html)) == FIRST
    numbers = _page(shop).with_suffix(".json").read_text()
    assert not re.search(r"C-\d{5}", done.out + done.err + numbers)
    assert "mask.html" in done.out


@pytest.mark.usefixtures("measured_once")
@pytest.mark.slow
def test_no_confidential_number_is_in_what_the_command_prints_or_in_the_json(shop, command, rows):
    texts = [text for row in rows for text in row.split(",")[3:]]
    plain = command("mask", "--publish", "--yes")
    told = command("mask", "--json")
    numbers = _page(shop).with_suffix(".json").read_text()
    for text in texts:
        found = re.compile(rf"(?<![\d.]){re.escape(text)}(?!\d)")
        assert not found.search(plain.out + plain.err + told.out + told.err + numbers)


@pytest.mark.usefixtures("measured_once")
@pytest.mark.slow
def test_json_writes_no_page_and_has_what_the_page_has(shop, command):
    done = command("mask", "--json")
    assert done.exit_code == 0, done.err
    told = json.loads(done.out)
    assert not _page(shop).exists()
    assert (told["method"], told["records"], told["dropped"]) == ("egadp", 120, 0)
    assert told["recommendation"] is None
    assert 0 < told["largest_leverage"] < 0.2
    assert {row["group"] for row in told["measures"]} == {"utility", "security"}
    assert told["ledger"] is None
    assert told["release"] is None
    command("mask", "--no-report")
    assert not _page(shop).exists()


@pytest.mark.usefixtures("measured_once")
@pytest.mark.slow
def test_publishing_reports_first_and_then_sends(shop, command):
    shop.miner.people = "same"
    # The study and the linkage secret are asked for before.
    shop.miner.faults = [None, None, ("before", 409)]
    refused = command("mask", "--publish", "--yes")
    assert "Study asia says that its owners hold the same people: " in refused.out
    assert refused.exit_code == 4
    assert _page(shop).exists()
    assert not shop.miner.releases
    done = command("mask", "--publish", "--yes", "--json")
    assert done.exit_code == 0, done.err
    assert "hold the same people" in done.err
    release = json.loads(done.out)["release"]
    assert (release["already"], release["method"], release["records"]) == (False, "egadp", 120)
    again = command("mask", "--publish", "--yes")
    assert f"Release {release['name']} is already sealed; nothing was sent" in again.out
    assert "expenditure left before: epsilon no bound (masked)" in again.out
    shown = command("ledger").out
    assert "no bound (masked)" in shown
    assert "masked by egadp" in " ".join(shown.split()).replace("│", " ").replace("  ", " ")
    assert "No epsilon bounds what masked values tell" in shown


@pytest.mark.usefixtures("measured_once")
@pytest.mark.slow
def test_what_may_not_leave_again_is_said_before_and_refused(shop, command, rows, written):
    assert command("mask", "--publish", "--yes").exit_code == 0
    shop.write(table=written(rows[1:]), site=(shop.folder / "site.toml").read_text())
    shown = command("mask")
    assert shown.exit_code == 0
    assert "left before in another form: publishing is refused" in " ".join(shown.err.split()) + (
        " ".join(shown.out.split())
    )
    done = command("mask", "--publish", "--yes")
    assert done.exit_code == 2
    assert "error (plan-conflict): " in done.err
    assert len(shop.miner.releases) == 1


@pytest.mark.slow
def test_auto_takes_the_recommended_method_and_shows_why(shop, command, site_text):
    shop.write(site_text.replace('method = "egadp"', 'method = "auto"'))
    told = json.loads(command("mask", "--json").out)
    assert told["method"] == told["recommendation"]["method"] == "egadp"
    assert told["recommendation"]["kind"] == "linear"
    assert told["recommendation"]["evidence"]
    command("mask")
    again = json.loads(_page(shop).with_suffix(".json").read_text())
    assert again == {name: told[name] for name in again}
    html = _page(shop).read_text()
    assert told["recommendation"]["sentence"].partition(",")[0] in html
    assert "lines explain" in html


@pytest.mark.usefixtures("measured_once")
@pytest.mark.slow
def test_without_a_miner_or_with_keys_missing(shop, command, site_text):
    head, _, rest = site_text.partition("[miner]")
    shop.write(head + "[mask]" + rest.partition("[mask]")[2])
    assert command("mask", "--json").exit_code == 0
    assert command("mask", "--publish", "--yes").exit_code == 2
    (shop.state / "keys" / "draw.key").unlink()
    shown = command("mask", "--json")
    assert (shown.exit_code, "no keys yet" in shown.err) == (0, True)
    assert not (shop.state / "keys" / "draw.key").exists()
    shop.write(site_text)
    assert command("mask", "--publish", "--yes").exit_code == 3


@pytest.mark.usefixtures("measured_once")
@pytest.mark.slow
def test_the_report_replaces_nothing_that_is_read(shop, command):
    done = command("mask", "--report", str(shop.folder / "mine.html"), "--no-report")
    assert done.exit_code == 2
    assert command("mask", "--report", str(shop.folder / "mine.html")).exit_code == 0
    assert (shop.folder / "mine.html").exists()


@pytest.mark.parametrize("name", METHODS)
def test_the_words_are_those_of_the_method(name):
    method = METHODS[name]
    words = " ".join(protection(method, ["age"], 2))
    assert words.startswith(NO_BOUND)
    assert ("true ones, reordered" in words) == method.released_values
    assert ("averages out" in words) >= (not method.independent)
    assert ("by subtraction" in words) == (method.exact_moments or method.released_values)
    assert "What is told (age) leaves as it is" in words
    assert "leave as they are" not in " ".join(protection(method, [], 1))
    assert all(len(said) <= 400 for said in protection(method, ["age"], 2))


def test_the_strongest_relationship_is_found_whatever_its_shape():
    across = NumericColumn("a", np.linspace(-1, 1, 600))
    assert explained(across.values**2, across) > 0.9
    assert explained(np.tile([0.0, 1.0], 300), across) < 0.01
    kinds = CategoricalColumn("k", np.repeat([0, 2], 300), ("x", "y", "z"))
    assert explained(np.repeat([1.0, 5.0], 300), kinds) == pytest.approx(1)
    assert explained(np.ones(600), across) == 0


def test_numbers_are_written_short():
    assert figure(None) == figure(float("nan")) == "–"
    assert measured(0.12345678, 0.0123) == "0.123 ± 0.012"
    assert measured(2.0, None) == "2"
    assert (rough(0.042), rough(0.3)) == ("4.2 %", "30 %")
