"""A yes is to what was shown, with real processes: what changed before the yes does not leave."""

from __future__ import annotations

import pytest

from tests.end_to_end.test_masked_release import MASK
from tests.forked import Forked

pytestmark = pytest.mark.end_to_end

SITE = """
[[variables]]
name = "status"
categories_from = "status.txt"
sensitive = true
channel = { kind = "symmetric", p = 0.1 }

[share_model]
target = { column = "gender", categories = ["f", "m"] }
attributes = [{ column = "age", low = 0, high = 50, whole = true }]
requirement = { k = 5, c = 8, l = 2 }
"""

AGREEING = """
import typer
from pathlib import Path
from owner_agent.cli import main, releasing

def yes(_question):
    file = Path({file!r})
    file.write_text(file.read_text().replace({old!r}, {new!r}))
    return True

releasing.at_terminal = lambda: True
typer.confirm = yes
main.main()
"""
CHANGES = {
    "nothing": ("table.csv", "", ""),
    "site file": ("site.toml", "p = 0.1", "p = 0.01"),
    "categories": ("status.txt", "no", "nein\\nno"),
    "table": ("table.csv", "p7,no", "p7,yes"),
}


@pytest.mark.parametrize(
    ("command", "change"),
    [
        *(("publish", change) for change in CHANGES),
        *(("mask", change) for change in ("nothing", "table")),
        *(("share-model", change) for change in ("nothing", "site file")),
    ],
)
def test_what_changed_before_the_yes_does_not_leave(study, command, change):
    genders = ["fm"[(i % 50 < 25) != (i % 7 == 0)] for i in range(120)]
    status = ("no", "no", "yes")
    rows = (f"p{i},{status[i % 3]},{i % 50},{i % 7},{i % 9},{g}" for i, g in enumerate(genders))
    table = "\n".join(["id,status,age,expenditure,debt,gender", *rows]) + "\n"
    section = MASK.replace(', { column = "gender", categories = ["f", "m"] }', "")
    site = study.add_owner("a", table, SITE + section)
    (site.parent / "status.txt").write_text("no\nyes\n")
    name, old, new = CHANGES[change]
    script = AGREEING.format(file=str(site.parent / name), old=old, new=new.replace("\\n", "\n"))
    words = [command, "--no-report", "--site", str(site)]
    words += [] if command == "publish" else ["--publish"]
    log = study.root / "log"
    code = Forked(script, *words, out=log).wait()
    if change == "nothing":  # the control
        assert (code, len(study.releases())) == (0, 1), log.read_text()
        return
    assert code == 4, log.read_text()
    assert "changed-since-shown" in log.read_text()
    assert study.releases() == []
