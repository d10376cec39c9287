"""`owner-agent discretize`: what it proposes fits the site file, and it tells no value."""

from __future__ import annotations

import json
import re
import tomllib

import numpy as np
import pytest

from owner_agent.site.planning import planned
from owner_agent.site.site import site_from
from owner_agent.table.discretizing import propose
from owner_agent.table.encode import encode
from pramana_core.errors import OptionError, TableError

MGAS = ("--minimum-count", "20", "--granularity", "5")


def _incomes(bench, cells):
    """Put a table of incomes beside the bench's site."""
    rows = [f"P{i},no,30,north,{cell}" for i, cell in enumerate(cells)]
    bench.write(table="\n".join(["patient_id,smokes,age,region,income", *rows]) + "\n")


@pytest.fixture
def incomes(bench):
    """300 incomes with a fraction, so that no grid point is one of them."""
    rng = np.random.default_rng(11)
    values = rng.lognormal(3.5, 0.6, size=300).round(4) + 0.00005
    _incomes(bench, [f"{value:.5f}" for value in values])
    return values


def _with_income(bench, lines):
    entry = ["[[variables]]", 'name = "income"', "sensitive = false", *lines]
    text = (bench.folder / "site.toml").read_text() + "\n" + "\n".join(entry)
    return site_from(tomllib.loads(text), bench.folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        MGAS,
        (*MGAS, "--grid", "0.5"),
        ("--minimum-count", "5", "--granularity", "0.5"),
    ],
)
def test_what_is_printed_can_be_pasted(bench, command, incomes, words):
    before = sorted(bench.folder.rglob("*"))
    ended = command("discretize", "--column", "income", *words)
    assert (ended.exit_code, ended.err) == (0, "")
    assert max(map(len, ended.out.splitlines())) <= 100
    prose, lines = ended.out.split("\n\n")
    site = _with_income(bench, lines.splitlines())
    plan = planned(site)
    codes = encode(site, plan).columns["income"]
    counts = np.bincount(codes, minlength=plan.variables["income"].size)
    prose = " ".join(prose.split())
    said = re.search(r": (\d+) groups by .*?the smallest holds (\d+) of 300 records", prose)
    assert said is not None
    assert (int(said[1]), int(said[2])) == (len(counts), counts.min())
    data = json.loads(command("discretize", "--column", "income", *words, "--json").out)
    assert data["counts"] == counts.tolist()
    assert tuple(data["representatives"]) == plan.variables["income"].representatives
    assert data["toml"] == lines.splitlines()
    assert sorted(bench.folder.rglob("*")) == before
    assert bench.miner.requests == []


def test_no_value_of_the_column_is_printed(bench, command, incomes):
    out = command("discretize", "--column", "income", *MGAS).out
    printed = {float(n) for n in re.findall(r"\d+(?:\.\d+)?", out)}
    assert len(printed) > 10
    assert not printed & set(incomes.tolist())


def test_missing_cells_are_left_out_and_have_no_number(bench, command):
    """The bench's ages: every seventh is empty; `?` is what its site file calls missing."""
    words = ("discretize", "--column", "age", "--minimum-count", "5", "--granularity", "3")
    data = json.loads(command(*words, "--json").out)
    assert (data["records"], data["missing"]) == (42, 8)
    assert [line.split(" = ")[0] for line in data["toml"]] == ["cuts"]
    assert len(data["representatives"]) == data["groups"] == len(data["counts"])
    out = " ".join(command(*words).out.split())
    assert "8 cells are empty and were left out." in out
    table = (bench.folder / "patients.csv").read_text()
    bench.write(table=table.replace(",no,,", ",no,?,"))
    assert json.loads(command(*words, "--json").out) == data


@pytest.mark.parametrize("cell", ["secret-7", "nan", "inf", "1e999"])
def test_a_cell_that_is_no_number_is_told_by_its_row(bench, command, cell):
    _incomes(bench, ["10.5", cell, "12"])
    ended = command("discretize", "--column", "income", *MGAS)
    assert ended.exit_code == 2
    assert "'income' holds no finite number in 1 row (row 2)" in ended.err
    assert cell not in ended.out + ended.err


@pytest.mark.parametrize(
    ("cells", "column", "fewest", "error", "where"),
    [
        ([""] * 4, "income", 5, TableError, "income"),
        ([1, 2], "patient_id", 5, OptionError, "column"),
        ([1, 2], "wealth", 5, TableError, "wealth"),
        ([1, 2] * 3, "income", 5, OptionError, "column"),
        ([1, 2], "income", 5, OptionError, "minimum_count"),
        ([1, 2], "income", 4, OptionError, "minimum_count"),
    ],
)
def test_what_cannot_be_proposed(bench, cells, column, fewest, error, where):
    _incomes(bench, cells)
    with pytest.raises(error) as refused:
        propose(bench.site, column, fewest, 1)
    assert refused.value.where == where


HEAD = 'owner = "clinic"\ntable = "t.csv"\nrecord_id = "id"\n[[variables]]\nname = "A"\n'
GOOD = HEAD + "sensitive = false\n"


@pytest.mark.parametrize(
    ("lines", "numbers"),
    [
        ("cuts = [30, 45]\nrepresentatives = [20, 37.5, 60]", (20.0, 37.5, 60.0)),
        ('categories = ["lo", "hi"]\nrepresentatives = [9, -1]', (9.0, -1.0)),
        ("cuts = [30, 45]", None),
    ],
)
def test_a_site_file_gives_numbers_to_its_categories(tmp_path, lines, numbers):
    plan = planned(site_from(tomllib.loads(GOOD + lines), tmp_path))
    assert plan.variables["A"].representatives == numbers
    assert plan.plan.domain["A"].representatives == numbers
