"""`owner-agent design`: what it writes makes the plan it chose, and what it says is so."""

from __future__ import annotations

import io
import json
import re
import tomllib
from pathlib import Path

import pytest

from owner_agent.cli import options
from owner_agent.design.site_text import site_with
from owner_agent.site.planning import planned, without_protection
from owner_agent.site.site import Site, load_site, site_from
from owner_agent.site.writing import toml
from pramana_core.design import Design, Problem, Requirements, builds, goal, option
from pramana_core.domain import Domain
from pramana_core.errors import OptionError
from pramana_core.privacy import DELTA, CentralLoss, largest_gamma
from pramana_core.rounding import rounded_up
from tests.places import ROOT

PAGE = ROOT / "docs" / "choosing-a-plan.md"

HEAD = {"owner": "north", "table": "t.csv", "record_id": "id"}
VARIABLES = [
    {"name": "age", "categories": ["a", "b", "c"], "sensitive": True},
    {
        "name": "say \"it\"",
        "categories": ["tab\tin", "back\\slash", "del\x7fete", "𝛑 ∞"],
        "sensitive": True,
    },
    {"name": "region", "categories": ["north", "south"], "sensitive": False, "reveals": ["ill"]},
    {"name": "ill", "column": "sick", "cuts": [3], "sensitive": True},
]  # fmt: skip


def site_of(variables: list[dict[str, object]]) -> Site:
    return site_from({**HEAD, "variables": variables}, Path())


def problem_of(site: Site, gamma: float = 9.0, central: CentralLoss | None = None) -> Problem:
    domain = Domain(tuple(planned(without_protection(site)).variables.values()))
    public = tuple(v.name for v in site.file.variables if not v.sensitive)
    needs = Requirements(domain, gamma, public, central=central)
    return Problem(needs, goal(domain, "itemsets"), 2000)


PLACES = {"name": "place", "categories": [f"p{i}" for i in range(16)], "sensitive": True}


@pytest.mark.parametrize(
    ("variables", "need"),
    [
        (VARIABLES, ()),
        (VARIABLES[:1], ()),
        ([PLACES, VARIABLES[0]], ()),
        ([PLACES, VARIABLES[0]], (1e4, CentralLoss(0.5, DELTA))),
    ],
    ids=["four", "one", "many categories", "central"],
)
def test_what_is_written_makes_the_same_plan(variables, need, tmp_path):
    """Through TOML, the site file's models and its channels: every digit of every family's plan."""
    site, path = site_of(variables), tmp_path / "site.toml"
    path.write_text(toml({**HEAD, "variables": variables}, "Mine."))
    problem = problem_of(site, *need)
    made = [option(problem, name, build) for name, build in builds(problem).items()]
    written = [one for one in made if one.plan is not None]
    assert len(written) >= len(made) - 1
    for one in written:
        # Each in place of the one before.
        site_with(Design(problem, (one,), one), load_site(path), path).write()
        back = load_site(path)
        assert planned(back).plan.digest == one.plan.digest, one.family
        bare = [v.model_copy(update={"channel": None}) for v in back.file.variables]
        assert bare == list(site.file.variables)
        lines = [line for line in path.read_text().splitlines() if not line.startswith("    ")]
        assert max(map(len, lines)) <= 100
        assert lines[0] == "# Mine."


def test_an_option_without_a_plan_is_not_written(tmp_path):
    site = site_of(VARIABLES)
    problem = problem_of(site, 1.5)
    one = option(problem, "cut-and-paste-3", builds(problem)["cut-and-paste-3"])
    with pytest.raises(OptionError) as error:
        site_with(Design(problem, (one,), one), site, tmp_path / "site.toml")
    assert error.value.where == "family"


@pytest.fixture
def sits_at_terminal(monkeypatch):
    """Sit at a terminal and answer."""

    def sit(*lines):
        monkeypatch.setattr(options, "at_terminal", lambda: True)
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))

    return sit


def test_the_recommended_plan_is_written_into_the_site_file(bench, command, sits_at_terminal):
    path = bench.folder / "site.toml"
    before = path.read_text()
    words = ("design", "--gamma", "19", "--records", "3000", "--apply")
    nobody = command(*words)
    assert (nobody.exit_code, "--yes" in nobody.err, path.read_text()) == (2, True, before)
    sits_at_terminal("n")
    assert command(*words).exit_code == 0
    assert path.read_text() == before
    sits_at_terminal("y")
    shown = command(*words).out
    data = json.loads(command(*words, "--yes", "--json").out)
    assert f"Recommended: {data['best']}" in data["recommendation"]
    assert "+[[blocks]]" in shown
    assert '-channel = { kind = "symmetric", p = 0.4 }' in shown
    # The miner, columns and lists stay as they were written.
    assert path.read_text().startswith(before[: before.index("[[variables]]")])
    (digest,) = (o["plan_digest"] for o in data["options"] if o["family"] == data["best"])
    assert planned(bench.site).plan.digest == digest
    assert command("plan").exit_code == 0


def test_the_command_shows_all_options_and_what_to_do(bench, command):
    before = sorted(bench.folder.rglob("*"))
    words = ("design", "--gamma", "9", "--records", "3000")
    ended = command(*words)
    assert (ended.exit_code, ended.err) == (0, "")
    assert max(map(len, ended.out.splitlines())) <= 100
    assert "at 3,000 records" in ended.out
    data = json.loads(command(*words, "--json").out)
    assert f"\n* {data['best']} " in ended.out
    for made in data["options"]:
        assert made["family"] in ended.out
        if made["error"] is not None:
            assert f"{100 * made['errors_by_length']['2']:.3g}" in ended.out
    text = " ".join(ended.out.split())
    assert "Unsuitable families: cut-and-paste-1: By moments:" in text
    assert "add --apply" in text
    assert sorted(bench.folder.rglob("*")) == before
    assert bench.miner.requests == []


def test_the_command_designs_for_the_site(bench, command, site_text):
    """Its variables, cuts and columns, and the number of rows; its channels are not needed."""
    for text in (site_text, re.sub(r"^channel = .*$", "", site_text, flags=re.MULTILINE)):
        bench.write(text.replace('missing = "?"\n', "representatives = [20, 35, 50, 70]\n"))
        site = bench.site
        ended = command("design", "--gamma", "19", "--json", "--apply", "--yes")
        assert (ended.exit_code, ended.err) == (0, "")
        data = json.loads(ended.out)
        assert data["records"] == 50
        made = planned(bench.site)
        (digest,) = (o["plan_digest"] for o in data["options"] if o["family"] == data["best"])
        assert made.plan.digest == digest
        assert made.variables == planned(without_protection(site)).variables
        assert made.columns == {"smoker": "smokes", "age": "age", "region": "region"}
        assert made.sensitive == {"smoker", "age"}


@pytest.mark.parametrize(
    ("words", "where"),
    [
        ((), "gamma"),
        (("--gamma", "1"), "gamma"),
        (("--gamma", "nan"), "gamma"),
        (("--gamma", "inf"), "gamma"),
        (("--gamma", "9", "--epsilon", "1"), "gamma"),
        (("--epsilon", "inf"), "epsilon"),
        (("--breach", "nan", "0.5"), "breach"),
        (("--gamma", "9", "--learn", "everything"), "everything"),
        (("--gamma", "9", "--learn", "itemsets", "--length", "9"), "length"),
        (("--gamma", "9", "--learn", "itemsets", "--length", "0"), "length"),
        (("--gamma", "9", "--minimum-support", "2"), "minimum support"),
        (("--gamma", "9", "--records", "0"), "records"),
        (("--central-epsilon", "1"), "public"),
        (("--central-epsilon", "1e-300"), "at least 1e-09"),
        (("--gamma", "9", "--records", "1" + "0" * 400), "records"),
        (("--gamma", "9", "--family", "sampled-1"), "sampled-1"),
        (("--gamma", "9", "--family", "best"), "best"),
        (("--gamma", "9", "--write-study-plan", "plan.json"), "study plan"),
    ],
)
def test_bad_input_ends_with_2(command, words, where):
    ended = command("design", *words)
    assert ended.exit_code == 2
    assert where in ended.err.lower()


def test_the_plan_of_a_central_epsilon_states_it(bench, command, site_text):
    bench.write(site_text.split('[[variables]]\nname = "region"')[0])
    words = ("design", "--records", "30000", "--central-epsilon", "0.5", "--json")

    def designed(*more):
        ended = command(*words, *more)
        assert ended.exit_code == 0, ended.err
        made = json.loads(ended.out)
        (gamma,) = (o["gamma"] for o in made["options"] if o["family"] == made["chosen"])
        return {**made, "gamma": gamma}

    made = designed()
    assert made["gamma"] > 1.02 * largest_gamma(30_000, CentralLoss(0.5, DELTA))
    assert 0.49 < made["central"]["epsilon"] <= 0.5
    assert made["central"]["delta"] == DELTA
    assert f"{rounded_up(made['central']['epsilon'])}" in made["recommendation"]
    assert designed("--delta", "1e-12")["gamma"] < made["gamma"]
    larger = designed("--delta", "1e-5")
    assert larger["gamma"] > made["gamma"]
    assert larger["central"]["delta"] == 1e-5
    assert 0.49 < larger["central"]["epsilon"] <= 0.5
    assert "at delta 1e-05" in larger["recommendation"]
    assert designed("--gamma", "19")["gamma"] == pytest.approx(19), "gamma limits it besides"
    for more in (("--central-epsilon", "0"), ("--delta", "2")):
        assert command(*words, *more).exit_code == 2


def test_printed_bounds_of_a_design_are_rounded_up(command):
    shown = " ".join(command("design", "--gamma", "19.032", "--records", "20000").out.split())
    assert "at most 19.04 (gamma), so that a belief of 5 % grows to at most 50.05 %" in shown
    chosen = shown[shown.index("* ") :].split()
    assert chosen[2] == "19.04"


def test_a_design_that_is_of_no_use_says_so_at_once(command):
    words = ("design", "--gamma", "2", "--records", "40")
    shown = " ".join(command(*words).out.split())
    assert "Not useful at this number of records" in shown
    data = json.loads(command(*words, "--json").out)
    assert data["useful"] is False
    assert data["kept_of_moderate_association"] < 0.2
    assert data["study_plan"] is None
    assert f"About {data['records_enough']:,} records would be enough" in shown


@pytest.mark.slow
def test_the_page_is_true(command, tmp_path):
    """Its sample is valid, its output is what is printed, and every family is in it."""
    page = PAGE.read_text(encoding="utf-8")
    (sample,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    ((words, shown),) = re.findall(r"```console\n\$ owner-agent (.*?)\n(.*?)```", page, re.DOTALL)
    path = tmp_path / "census.toml"
    path.write_text(sample)
    ended = command(*words.replace("census.toml", str(path)).split(), of_site=False)
    assert [line.rstrip() for line in ended.out.splitlines()] == [
        line.rstrip() for line in shown.splitlines()
    ]
    for name in builds(problem_of(site_from(tomllib.loads(sample), tmp_path))):
        assert f"`{re.sub('-[0-9]$', '-K', name)}`" in page, name
