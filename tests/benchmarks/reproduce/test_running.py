"""`pramana reproduce`: the files of a run, its page, its command, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

from benchmarks.reproduce import engine
from benchmarks.reproduce.engine import Claim, Experiment, Result, Setting
from benchmarks.reproduce.run import catalogue, papers, reproduce, select, tally
from pramana.cli import app
from pramana_core.errors import OptionError

pytestmark = pytest.mark.calibration

QUICK = Setting(seed=3, quick=True)
PNG = b"\x89PNG\r\n\x1a\n"


def test_a_curve_for_each_value_with_bars_of_a_column():
    rows = pd.DataFrame({"n": [1, 2, 1], "y": [3.0, 4.0, 5.0], "who": [*"aab"], "e": [0.5] * 3})
    axis = Figure().subplots()
    engine.curves(axis, rows, "n", "y", "who", error="e", label="of {}")
    drawn = {box.get_label(): box for box in axis.containers}
    assert list(drawn) == ["of a", "of b"]
    line, _, (bars,) = drawn["of a"]
    assert line.get_xydata().tolist() == [[1, 3], [2, 4]]
    assert [bar.tolist() for bar in bars.get_segments()] == [
        [[1, 2.5], [1, 3.5]],
        [[2, 3.5], [2, 4.5]],
    ]


def made_up(name: str = "made-up", needs: tuple[str, ...] = (), tables: int = 1) -> Experiment:
    def run(setting: Setting) -> Result:
        values = setting.rng(name).random(3)
        setting.progress(0.5)
        setting.progress(1.0)
        found = {f"t{k}": pd.DataFrame({"x": values + k}) for k in range(tables)}
        findings = (Claim("holds", np.bool_(True)), Claim("does <not>", False), Claim("open"))
        return Result(found, findings, lambda f, *_: f.subplots().plot(values), facts={"n": 3})

    return Experiment(name, "Made up & drawn", "nowhere", run, needs, ("chosen so",))


def test_files_of_a_run(tmp_path: Path):
    said: list[tuple[str, float]] = []
    experiments = [made_up(), made_up("second", tables=2)]
    outcomes = reproduce(
        experiments, QUICK, tmp_path / "a" / "b", say=lambda *what: said.append(what)
    )
    out = tmp_path / "a" / "b"
    assert {path.name for path in out.iterdir()} == {
        "made-up.png", "made-up.csv", "made-up.json",
        "second.png", "second-t0.csv", "second-t1.csv", "second.json",
        "reproduce.json", "index.html",
    }  # fmt: skip
    assert outcomes[1].files == ("second.png", "second-t0.csv", "second-t1.csv", "second.json")
    assert (out / "made-up.png").read_bytes().startswith(PNG)
    assert len(pd.read_csv(out / "made-up.csv")) == 3
    single = json.loads((out / "made-up.json").read_text())
    assert single["findings"][1] == {"agrees": False, "text": "does <not>"}
    assert (single["seed"], single["quick"], single["facts"]) == (3, True, {"n": 3})
    index = json.loads((out / "reproduce.json").read_text())
    assert [e["name"] for e in index["experiments"]] == ["made-up", "second"]
    assert tally(outcomes) == (2, 2)
    shares = [share for _, share in said]
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_the_page_holds_everything_and_loads_nothing(tmp_path: Path):
    reproduce([made_up()], QUICK, tmp_path)
    page = (tmp_path / "index.html").read_text()
    assert page.count("data:image/png;base64,") == 1
    assert "://" not in page
    assert "<script" not in page
    assert "does &lt;not&gt;" in page
    assert "chosen so" in page


def test_a_seed_gives_the_same_bytes(tmp_path: Path):
    folders = [tmp_path / name for name in ("one", "two", "other")]
    for folder, seed in zip(folders, (3, 3, 4), strict=True):
        experiments = [made_up(), *select(["ma-7.3"])][: 2 if seed == 3 else 1]
        reproduce(experiments, Setting(seed=seed, quick=True), folder)
    for path in folders[0].iterdir():
        assert path.read_bytes() == (folders[1] / path.name).read_bytes(), path.name
    changed = [(f / "made-up.csv").read_bytes() for f in (folders[0], folders[2])]
    assert changed[0] != changed[1]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Setting(seed=-1),
        lambda: Setting(data=Path("no/such/folder")),
        lambda: Setting().file("adult.csv"),
        lambda: Setting(data=Path(__file__).parent).file("adult.csv"),
        lambda: select(["ma-9.9"]),
        lambda: reproduce([made_up()], QUICK, Path(__file__)),
    ],
)
def test_bad_values_are_refused(make):
    with pytest.raises(OptionError) as caught:
        make()
    assert caught.value.remedy
    assert caught.value.exit_code == 2


def test_absent_data_is_an_error_or_skipped(tmp_path: Path):
    experiments = [made_up(), made_up("wants", needs=("adult.csv",))]
    with pytest.raises(OptionError) as absent:
        reproduce(experiments, QUICK, tmp_path / "none")
    assert absent.value.where == "--data"
    assert not (tmp_path / "none").exists()
    done, skipped = reproduce(experiments, QUICK, tmp_path, skip=True)
    assert done.files
    assert "--data" in skipped.skipped
    assert "Skipped." in (tmp_path / "index.html").read_text()
    (tmp_path / "adult.csv").write_text("x\n")
    complete = reproduce(experiments, Setting(quick=True, data=tmp_path), tmp_path)
    assert all(outcome.files for outcome in complete)


# --- the command ---------------------------------------------------------------------------------


def run_command(*arguments: str):
    return CliRunner().invoke(app, ["reproduce", *arguments], env={"COLUMNS": "300"})


def test_a_run_at_the_terminal(tmp_path: Path):
    shown = run_command("ma-7.3", "ma-3.1", "--quick", "--out", str(tmp_path))
    assert shown.exit_code == 0
    for word in ("ma-3.1", "agrees", "differs", "agree with the papers", "index.html"):
        assert word in shown.stdout
    # Paths may be long and are not broken; everything else fits.
    lines = [line for line in shown.stdout.splitlines() if str(tmp_path) not in line]
    assert max(map(len, lines)) <= 100
    assert "ma-2.2" not in shown.stdout


def test_the_list_names_every_experiment_once():
    shown = run_command()
    assert max(map(len, shown.stdout.splitlines())) <= 100
    names = [e.name for e in catalogue()]
    assert len(set(names)) == len(names)
    assert all(name in shown.stdout for name in names)
    listed = json.loads(run_command("--json").stdout)["experiments"]
    assert [e["name"] for e in listed] == names
    assert [e.name for e in select(["ma-3.1", "ma-2.2", "ma-3.1"])] == ["ma-2.2", "ma-3.1"]


def test_findings_as_json(tmp_path: Path):
    shown = run_command("ma-3.1", "--quick", "--json", "--seed", "9", "--out", str(tmp_path))
    content = json.loads(shown.stdout)
    assert content == json.loads((tmp_path / "reproduce.json").read_text())
    assert content["seed"] == 9
    assert {f["agrees"] for f in content["experiments"][0]["findings"]} == {True, False}


def test_a_papers_name_stands_for_all_of_its_experiments():
    names = [e.name for e in select(["alahmadi"])]
    assert names == [e.name for e in catalogue() if e.name.startswith("alahmadi-")]
    assert papers() == ("ma", "masiv", "frapp", "alahmadi", "sharkey")
