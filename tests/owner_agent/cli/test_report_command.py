"""`owner-agent plan`: where its report goes, who may read it, and what may not be in it."""

import json
import math
import os
import re
import shutil
import stat

import pytest

from pramana_core.privacy import Amplification, ShuffledReport, central_loss
from pramana_core.rounding import rounded_up
from tests.owner_agent.conftest import table_of


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.slow
def test_the_report_goes_to_the_owners_folder(bench, command):
    shutil.rmtree(bench.state)
    before = os.umask(0o022)
    try:
        ended = command("plan")
    finally:
        os.umask(before)
    written = bench.state / "report" / "plan.html"
    assert ended.exit_code == 0
    assert str(written) in "".join(ended.out.split("\n"))
    assert [mode(p) for p in (bench.state, written.parent)] == [0o700, 0o700]
    assert {p.name: mode(p) for p in written.parent.iterdir()} == {
        "plan.html": 0o600, "plan.json": 0o600,
    }  # fmt: skip
    assert "50" in written.read_text()
    # The keys may still be made in it.
    assert command("keys", "create").exit_code == 0


@pytest.mark.slow
def test_the_report_goes_where_it_is_told(bench, command, tmp_path):
    before = bench.files()
    printed = json.loads(command("plan", "--json").out)
    assert command("plan", "--no-report").exit_code == 0
    assert bench.files() == before, "nobody asked for files"
    assert command("plan", "--report", str(tmp_path / "here.html")).exit_code == 0
    assert json.loads((tmp_path / "here.json").read_text()) == printed
    assert mode(tmp_path / "here.html") == 0o600
    assert (
        json.loads(command("plan", "--json", "--report", str(tmp_path / "j.html")).out) == printed
    )
    assert (tmp_path / "j.html").exists()
    assert bench.files() == before


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["--report", "x.html", "--no-report"],
        ["--report", "absent/x.html"],
        ["--report", "absent/folder"],
        ["--report", "patients.csv"],
        ["--report", "/proc/plan.html"],
    ],
)
def test_bad_options_are_refused(bench, command, words, monkeypatch):
    monkeypatch.chdir(bench.folder)
    ended = command("plan", *words)
    assert ended.exit_code == 2
    assert "error (option-invalid)" in ended.err
    assert not (bench.state / "report").exists()


@pytest.mark.slow
def test_nothing_of_the_table_but_its_length_is_in_the_report(bench, command, table_text):
    """Byte for byte the same report for another table of as many records, and no cell in it."""

    def written():
        out = command("plan").out
        folder = bench.state / "report"
        return out, (folder / "plan.html").read_bytes(), (folder / "plan.json").read_bytes()

    first = written()
    rows = table_text(50).replace("PATIENT", "MARKEDID").replace("private note", "MARKEDNOTE")
    bench.write(table=rows.replace(",yes,", ",no,").replace(",south,", ",east,"))
    assert written() == first
    assert not [t for t in (b"PATIENT", b"MARKED", b"private note") if t in b"".join(first[1:])]
    bench.write(table=table_text(51))
    assert all(new != old for new, old in zip(written(), first, strict=True)), "N is in each"


@pytest.mark.slow
def test_two_bounds_stand_side_by_side(bench, command, site_text):
    """Public columns tell records apart; without them all of the release hide each other."""

    def central():
        return json.loads(command("plan", "--json").out)["central"]

    assert central()["epsilon"] is None
    assert central()["unstated"]
    randomized = site_text.split('[[variables]]\nname = "region"')[0]
    bench.write(randomized, table=table_of(3_000))
    told = json.loads(command("plan", "--json").out)
    local = ShuffledReport(Amplification(told["together"]["epsilon"]))
    assert told["central"]["records"] == 3_000
    assert told["central"]["epsilon"] < central_loss(local, 3_000).epsilon
    said = command("plan").out
    for text in (said, (bench.state / "report" / "plan.html").read_text()):
        assert f"{rounded_up(told['central']['epsilon'])}" in text
    assert command("publish", "--yes", "--report", str(bench.folder / "p.html")).exit_code == 0
    published = json.loads((bench.folder / "p.json").read_text())
    assert published["central"] == told["central"]
    assert central() == told["central"], "the same reports add nothing"
    bench.write(randomized.replace("p = 0.4", "p = 0.5"))
    assert central()["unstated"], "both left under the same pseudonyms"


@pytest.mark.slow
def test_losses_before_and_after(bench, command, site_text):
    assert json.loads(command("plan", "--json").out)["ledger"] is None
    command("publish", "--yes")
    smokes = json.loads(command("plan", "--json").out)["ledger"]["columns"][0]
    assert smokes["column"] == "smokes"
    assert smokes["epsilon_before"] == smokes["epsilon_after"] == pytest.approx(math.log(7.5))
    assert smokes["refused_without_accepting"] is False
    bench.write(site_text.replace("p1 = 0.1, p2 = 0.25", "p1 = 0.25, p2 = 0.25"))
    ended = command("plan")
    said = " ".join(ended.out.split())
    # Before it, and after it: ln 7.5, and ln 7.5 + ln 3.
    assert re.search(r"smokes 2\.015 3\.114 needs your acceptance", said)
    smokes, age, _ = json.loads(command("plan", "--json").out)["ledger"]["columns"]
    assert smokes["epsilon_after"] == pytest.approx(math.log(7.5) + math.log(3))
    assert smokes["refused_without_accepting"] is True
    assert age["epsilon_after"] == age["epsilon_before"]
    text = (bench.state / "report" / "plan.html").read_text()
    assert "Together with earlier releases" in text
    assert command("publish", "--yes").exit_code == 2, "and so it does"
