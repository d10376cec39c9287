"""`owner-agent mask`: a report that stays, and nothing that leaves unless it is asked for."""

import json
import re
import stat

import pytest

from owner_agent.release.ledger import Ledger
from owner_agent.release.masked import LETTERS, NO_BOUND
from owner_agent.report.masked import FIRST


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
    assert html.index("S: age, gender") < html.index("<h2>")
    assert re.search(r"\bS\b", done.out).start() == done.out.index(LETTERS)
    assert NO_BOUND in html
    assert not re.search(r'(?:src|href)="(?!#|data:image/png;base64)', html)
    # Two columns over age and gender, and over each other: four of five beside each other.
    assert html.count("<svg") == 2
    assert re.search(r"egadp +named in the site file", done.out)
    # Records are named on the page, and nowhere else.
    assert "Most disclosed records" in html
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
    assert re.search(r"expenditure +no bound \(masked\)", again.out)
    shown = command("ledger").out
    assert "no bound (masked)" in shown
    assert "masked by egadp" in " ".join(shown.split()).replace("│", " ").replace("  ", " ")
    assert "No epsilon bounds what masked values tell" in shown


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
    assert told["recommendation"]["sentence"].partition("->")[0] in html
    assert "lines explain" in html
