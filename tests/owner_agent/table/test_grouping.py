"""`owner-agent discretize` of several columns: an entry that can be pasted, planned and encoded."""

from __future__ import annotations

import json
import re
import tomllib

import numpy as np
import pytest

from owner_agent.site.planning import planned
from owner_agent.site.site import site_from
from owner_agent.table.encode import encode
from pramana_core.errors import ConfigError, TableError, UnprotectedVariable

BOTH = ("--column", "weight", "--column", "income")
ENOUGH = ("--minimum-count", "20", "--granularity", "4", "--granularity", "10")


def _table(bench, pairs):
    rows = [f"P{i},no,30,north,{a},{b}" for i, (a, b) in enumerate(pairs)]
    head = "patient_id,smokes,age,region,weight,income"
    bench.write(table="\n".join([head, *rows]) + "\n")


@pytest.fixture
def people(bench):
    """400 weights and incomes that go together, off the grid, so that no grid point is one."""
    rng = np.random.default_rng(12)
    weights = rng.normal(70, 12, 400).round(4) + 0.00005
    incomes = rng.lognormal(3.5, 0.4, 400).round(4) + weights / 4 + 0.00005
    pairs = [(f"{a:.5f}", f"{b:.5f}") for a, b in zip(weights, incomes, strict=True)]
    _table(bench, pairs)
    return pairs


def _with(bench, lines):
    text = (bench.folder / "site.toml").read_text() + "\n" + "\n".join(lines) + "\n"
    return site_from(tomllib.loads(text), bench.folder)


CHANNEL = 'channel = { kind = "gamma-diagonal", gamma = 19.0 }'


def test_what_is_printed_can_be_pasted_planned_and_encoded(bench, command, people):
    before = sorted(bench.folder.rglob("*"))
    ended = command("discretize", *BOTH, *ENOUGH)
    assert (ended.exit_code, ended.err) == (0, "")
    assert max(map(len, ended.out.splitlines())) <= 100
    prose, lines = ended.out.split("\n\n")
    site = _with(bench, [*lines.splitlines(), CHANNEL])
    plan = planned(site)
    variable = plan.variables["weight-income"]
    counts = np.bincount(encode(site, plan).columns["weight-income"], minlength=variable.size)
    said = re.search(r": (\d+) groups by .*?holds (\d+) of 400 records", " ".join(prose.split()))
    assert said is not None
    assert (int(said[1]), int(said[2])) == (len(counts), counts.min())
    assert len(counts) >= 4
    assert counts.min() >= 20
    data = json.loads(command("discretize", *BOTH, *ENOUGH, "--json").out)
    assert data["counts"] == counts.tolist()
    assert data["labels"] == list(variable.categories)
    assert data["toml"] == lines.splitlines()
    assert plan.columns["weight-income"] == "weight + income"
    assert sorted(bench.folder.rglob("*")) == before
    assert bench.miner.requests == []


def test_a_group_is_all_records_nearest_to_its_centre(bench, command, people):
    """By hand, from what is printed."""
    data = json.loads(command("discretize", *BOTH, *ENOUGH, "--json").out)
    points = np.array(people, dtype=float) / data["units"]
    centres = np.array(data["centres"]) / data["units"]
    nearest = np.square(points[:, None] - centres).sum(axis=2).argmin(axis=1)
    assert np.bincount(nearest).tolist() == data["counts"]
    for group in range(len(centres)):
        assert np.linalg.norm(np.ptp(points[nearest == group], axis=0)) >= 1


def test_no_value_of_the_columns_is_printed_and_centres_are_on_the_grids(bench, command, people):
    words = ("discretize", *BOTH, *ENOUGH, "--grid", "0.5", "--grid", "2")
    out = command(*words).out
    printed = {float(n) for n in re.findall(r"\d+(?:\.\d+)?", out)}
    assert len(printed) > 10
    assert not printed & {float(cell) for pair in people for cell in pair}
    centres = np.array(json.loads(command(*words, "--json").out)["centres"])
    assert (centres % [0.5, 2] == 0).all()


def test_records_that_miss_a_number_are_left_out_and_have_a_category(bench, command, people):
    cells = [("", b) if i % 9 == 0 else (a, b) for i, (a, b) in enumerate(people)]
    _table(bench, cells)
    data = json.loads(command("discretize", *BOTH, *ENOUGH, "--json").out)
    assert (data["records"], data["missing"]) == (355, 45)
    assert 'missing = "missing"' in data["toml"]
    site = _with(bench, [*data["toml"], CHANNEL])
    plan = planned(site)
    counts = np.bincount(encode(site, plan).columns["weight-income"])
    assert counts.tolist() == [*data["counts"], 45]
    assert plan.variables["weight-income"].categories[-1] == "missing"


def test_the_order_of_the_records_does_not_matter(bench, command, people):
    once = json.loads(command("discretize", *BOTH, *ENOUGH, "--json").out)
    _table(bench, people[::-1])
    assert json.loads(command("discretize", *BOTH, *ENOUGH, "--json").out) == once


def test_without_a_channel_it_is_not_published(bench, command, people):
    lines = json.loads(command("discretize", *BOTH, *ENOUGH, "--json").out)["toml"]
    with pytest.raises(UnprotectedVariable, match="weight-income"):
        planned(_with(bench, lines))


def test_a_column_of_several_is_no_other_variable_too(bench, command, people):
    lines = json.loads(command("discretize", *BOTH, *ENOUGH, "--json").out)["toml"]
    more = ["[[variables]]", 'name = "income"', "cuts = [30]", "sensitive = false"]
    with pytest.raises(ConfigError, match="'income' is read by more than one variable"):
        _with(bench, [*lines, CHANNEL, *more])


def test_a_cell_that_is_no_number_is_told_by_its_row(bench, command, people):
    lines = json.loads(command("discretize", *BOTH, *ENOUGH, "--json").out)["toml"]
    _table(bench, [*people[:7], ("70", "secret-7"), *people[7:]])
    ended = command("discretize", *BOTH, *ENOUGH)
    assert ended.exit_code == 2
    assert "'income' holds no finite number in 1 row (row 8)" in ended.err
    site = _with(bench, [*lines, CHANNEL])
    with pytest.raises(TableError, match=r"'income' of variable .* 1 row \(row 8\)") as caught:
        encode(site, planned(site))
    assert "secret-7" not in ended.out + ended.err + str(caught.value)


TWICE = ("--granularity", "4", "--granularity", "10")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((*BOTH, "--minimum-count", "20"), "2 columns need --granularity 2 times, not 0"),
        ((*BOTH, "--minimum-count", "20", "--granularity", "4"), "2 times, not 1"),
        ((*BOTH, *ENOUGH, "--grid", "1"), "2 columns need --grid 2 times, not 1"),
        ((*BOTH, *TWICE), "needs --minimum-count"),
        ((*BOTH, "--minimum-count", "4", *TWICE), "Groups of 4 records are too small"),
        ((*BOTH, "--minimum-count", "500", *TWICE), "400 records are too few"),
        ((*BOTH, *ENOUGH, "--groups", "3"), "do not use --groups"),
        ((*BOTH, *ENOUGH, "--method", "equal-width"), "equal-width cuts one column"),
        (("--column", "income", *BOTH, *ENOUGH, "--granularity", "1"), "'income' is named twice"),
        (("--column", "patient_id", "--column", "income", *ENOUGH), "is the record id"),
        (("--column", "wealth", "--column", "income", *ENOUGH), "no column 'wealth'"),
        (("--column", "income", *ENOUGH), "One column needs --granularity once, not 2 times"),
        ((*BOTH, "--minimum-count", "20", "--granularity", "0", "--granularity", "1"),
         "need granularities above 0"),
        ((*BOTH, "--minimum-count", "20", "--granularity", "-1", "--granularity", "1"),
         "granularity must be 0 or more"),
        ((*BOTH, "--minimum-count", "20", "--granularity", "900", "--granularity", "900"),
         "within less than the granularity"),
        ((*BOTH, "--minimum-count", "390", *TWICE), "fall into one group"),
    ],
)  # fmt: skip
def test_what_cannot_be_proposed(bench, command, people, words, says):
    ended = command("discretize", *words)
    assert (ended.exit_code, ended.out) == (2, "")
    assert says in " ".join(ended.err.split())


HEAD = 'owner = "clinic"\ntable = "t.csv"\nrecord_id = "id"\n[[variables]]\nname = "A"\n'
CENTRES = "centres = [[1, 2], [3, 4]]\n"


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ('columns = ["a", "b"]\n' + CENTRES, "given together or not at all"),
        ('columns = ["a", "b"]\nunits = [1]\n' + CENTRES, "2 columns need 2 units"),
        ('columns = ["a", "b"]\nunits = [1, 0]\n' + CENTRES, "Units must be positive"),
        ('columns = ["a", "b"]\nunits = [1, 1]\ncentres = [[1, 2], [3]]', "needs 2 numbers"),
        ('columns = ["a", "b"]\nunits = [1, 1]\ncentres = [[1, 2], [1, 2]]', "named twice"),
        ('columns = ["a", "a"]\nunits = [1, 1]\n' + CENTRES, "more than one variable"),
        ('columns = ["a", "b"]\nunits = [1, 1]\ncolumn = "c"\n' + CENTRES, "without column"),
        ('columns = ["a", "b"]\nunits = [1, 1]\ncuts = [1]\n' + CENTRES, "exactly one of"),
        ('columns = ["a", "id"]\nunits = [1, 1]\n' + CENTRES, "'id' is the record id"),
    ],
)
def test_entries_that_do_not_fit_are_refused(tmp_path, lines, says):
    with pytest.raises(ConfigError, match=says):
        site_from(tomllib.loads(HEAD + "sensitive = false\n" + lines), tmp_path)
