"""`owner-agent design`: what it writes makes the plan it chose, and what it says is so."""

from __future__ import annotations

import json
import math
import re
import tomllib
from pathlib import Path

import pytest

from owner_agent.design.design_file import (
    DesignFile,
    VariableDemand,
    design_from,
    load_design,
    of_site,
    site_variables,
)
from owner_agent.design.designing import DesignArguments, problem_of
from owner_agent.design.site_text import entries_of_file, site_text
from owner_agent.site.planning import planned
from owner_agent.site.site import site_from
from pramana_core.design import Design, Option, builds, find_design, option
from pramana_core.errors import ConfigError, InputError, OptionError
from pramana_core.wire.study_plans import StudyPlanMessage
from tests.places import ROOT

PAGE = ROOT / "docs" / "choosing-a-plan.md"

SPEC = {
    "records": 2000,
    "learn": "itemsets",
    "length": 3,
    "whole_record": {"gamma": 9.0},
    "variables": [
        {"name": "age", "categories": 3},
        {"name": "say \"it\"", "categories": ["tab\tin", "back\\slash", "del\x7fete", "𝛑 ∞"]},
        {"name": "region", "categories": ["north", "south"], "sensitive": False},
        {"name": "ill", "categories": ["no", "yes"], "gamma": 5.0},
    ],
}  # fmt: skip
HEAD = {"owner": "north", "table": "t.csv", "record_id": "id"}


def spec(**changes: object) -> DesignFile:
    return design_from({**SPEC, **changes})


def one_gamma() -> DesignFile:
    """The same without a limit of one variable's own."""
    variables = [dict(v) for v in SPEC["variables"]]  # type: ignore[attr-defined]
    del variables[-1]["gamma"]
    return spec(variables=variables)


def read_back(text: str, folder: Path):
    return planned(site_from({**HEAD, **tomllib.loads(text)}, folder))


def all_options(file: DesignFile) -> dict[str, Option]:
    problem = problem_of(file)
    return {name: option(problem, name, build) for name, build in builds(problem).items()}


def text_of(file: DesignFile, made: Option) -> str:
    return site_text(Design(problem_of(file), (made,), made), entries_of_file(file))


@pytest.mark.slow
@pytest.mark.parametrize("name", all_options(one_gamma()))
def test_what_is_written_makes_the_same_plan(name, tmp_path):
    """Through TOML, the site file's models and its channels: every digit of the plan."""
    file = one_gamma()
    made = all_options(file)[name]
    text = text_of(file, made)
    assert made.plan is not None
    back = read_back(text, tmp_path)
    assert back.plan.digest == made.plan.digest
    assert back.sensitive == {"age", 'say "it"', "ill"}
    listed = [line for line in text.splitlines() if not line.startswith("    ")]
    assert max(map(len, listed)) <= 100


def test_different_limits_are_written_too(tmp_path):
    file = spec()
    written = 0
    for name, made in all_options(file).items():
        if made.plan is not None:
            text = text_of(file, made)
            assert read_back(text, tmp_path).plan.digest == made.plan.digest, name
            assert ("gammas" in text) == name.startswith("sampled-")
            written += 1
    assert written >= 8


def test_the_channels_of_one_variable_alone_are_written_too(tmp_path):
    variables = [{"name": "v", "categories": 4}, {"name": "w", "categories": 2, "sensitive": False}]
    file = spec(variables=variables, length=2)
    for made in all_options(file).values():
        assert made.plan is not None
        assert read_back(text_of(file, made), tmp_path).plan.digest == made.plan.digest


def test_an_option_without_a_plan_is_not_written():
    file = spec(whole_record={"gamma": 1.5})
    with pytest.raises(OptionError) as error:
        text_of(file, all_options(file)["cut-and-paste-3"])
    assert error.value.where == "family"


@pytest.mark.parametrize(
    ("demand", "expected"),
    [
        ({"gamma": 7.0}, 7),
        ({"epsilon": 1.5}, math.e**1.5),
        ({"rho": [0.05, 0.5]}, 19),
        ({"p": 0.5}, 3),
    ],
)
def test_every_kind_of_requirement(demand, expected):
    file = spec(variables=[{"name": "v", "categories": 4, **demand}], learn="counts", length=None,
                whole_record={})  # fmt: skip
    needs = problem_of(file).needs
    assert needs.variables == pytest.approx({"v": expected})
    assert needs.whole is None
    if "p" not in demand:
        assert problem_of(spec(whole_record=demand)).needs.whole == pytest.approx(expected)


@pytest.mark.parametrize(
    ("variable", "where"),
    [
        ({"p": 0.8}, "p"),
        ({"gamma": 1.0}, "gamma"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"rho": [0.5, 0.05]}, "rho_2"),
    ],
)
def test_a_requirement_that_cannot_be_met_says_which(variable, where):
    file = spec(variables=[{"name": "v", "categories": 4, **variable}], learn="counts", length=None)
    with pytest.raises(OptionError) as error:
        problem_of(file)
    assert "variable 'v'" in error.value.message
    assert error.value.where == where


def test_all_impossible_requirements_are_told_at_once():
    variables = [{"name": "v", "categories": 3, "p": 0.9}, {"name": "w", "categories": 3,
                 "gamma": 1}]  # fmt: skip
    with pytest.raises(OptionError) as error:
        problem_of(spec(variables=variables, whole_record={"epsilon": 0.0}))
    for of in ("the whole record", "variable 'v'", "variable 'w'"):
        assert of in error.value.message


def test_every_mistake_of_a_file_is_told_at_once():
    content = {
        "records": 0,
        "lern": "pairs",
        "whole_record": {"gamma": 2.0, "epsilon": 1.0},
        "variables": [
            {"name": "a", "categories": 1},
            {"name": "b", "categories": 3, "sensitive": False, "p": 0.1},
            {"name": "c", "categories": 3, "p": 0.1, "gamma": 3},
            {"categories": 3},
        ],
    }
    with pytest.raises(ConfigError) as error:
        design_from(content, "d.toml")
    for says in (
        "design file d.toml",
        "unknown key lern",
        "records: ",
        "give one requirement, not gamma, epsilon",
        "variables[1].categories",
        "variables[2]: a variable that is not sensitive has no p",
        "not gamma, p",
        "missing key variables[4].name",
    ):
        assert says in error.value.message


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(ConfigError):
        load_design(tmp_path / "none.toml")
    broken = tmp_path / "broken.toml"
    broken.write_text("variables = [")
    with pytest.raises(ConfigError):
        load_design(broken)


def test_the_command_line_goes_before_the_file():
    wishes = DesignArguments(epsilon=1.0, learn="counts", records=7)
    changed = wishes.over(spec(length=None))
    assert (changed.learn, changed.records, changed.whole_record.epsilon) == ("counts", 7, 1.0)
    assert changed.whole_record.gamma is None
    assert DesignArguments(breach=(0.05, 0.5)).over(spec()).whole_record.allowed == pytest.approx(
        19
    )
    assert DesignArguments().over(spec()) == spec()
    with pytest.raises(OptionError):
        DesignArguments(gamma=2.0, epsilon=1.0).over(spec())
    shorter = DesignArguments(learn="pairs").over(spec(length=3))
    assert (shorter.length, shorter.learn) == (None, "pairs")
    with pytest.raises(OptionError) as error:
        problem_of(DesignArguments(learn="pairs", length=2).over(spec()))
    assert error.value.where == "length"


def test_all_wrong_options_are_told_at_once():
    with pytest.raises(OptionError) as error:
        DesignArguments(breach=(math.nan, 0.5), length=0, minimum_support=2.0).over(spec())
    for says in ("--breach is not a finite number", "--length is wrong", "--minimum-support is"):
        assert says in error.value.message
    assert error.value.where == "length"
    assert "choosing-a-plan" in str(error.value.remedy)


@pytest.mark.slow
def test_a_family_that_cannot_do_it_is_not_chosen():
    problem = problem_of(spec())
    unable = {o.family: o.reason for o in find_design(problem).unable}
    assert "sampled-1" in unable
    for family, reason in unable.items():
        with pytest.raises(OptionError) as error:
            find_design(problem, family=family)
        assert reason in error.value.message


@pytest.mark.slow
def test_limits_of_single_variables_only_are_warned_of(command, tmp_path):
    """Six independent gammas of 9 multiply: beliefs about the record by Bayes' rule."""
    variables = [{"name": n, "categories": 2, "gamma": 9.0} for n in "abcdef"]
    asked = {"variables": variables, "length": 2}
    open_ended = problem_of(spec(**asked, whole_record={}))
    made = find_design(open_ended, family="independent")
    likelier, other = 0.9**6, 0.1**6
    grown = 0.05 * likelier / (0.05 * likelier + 0.95 * other)
    assert f"gamma 5.31e+05 (5 % can grow to {100 * grown:.3g} %)" in made.unlimited
    assert "--gamma limits that" in made.unlimited
    assert made.as_dict()["warning"] == made.unlimited
    joint = find_design(open_ended, family="gamma-diagonal")
    assert joint.as_dict()["warning"] is None
    limited = problem_of(spec(**asked, whole_record={"gamma": 1e7}))
    assert find_design(limited, family="independent").unlimited == ""
    path = tmp_path / "open.toml"
    lines = ["records = 3000", "learn = 'counts'"]
    for name in "abcdef":
        lines += ["[[variables]]", f"name = '{name}'", "categories = 2", "gamma = 9"]
    path.write_text("\n".join(lines))
    words = ("design", "--spec", str(path), "--family", "independent")
    assert made.unlimited in " ".join(command(*words).out.split())
    assert json.loads(command(*words, "--json").out)["warning"] == made.unlimited
    assert "Only single variables" not in command(*words, "--gamma", "1e7").out


def test_what_is_not_said_is_asked_for():
    for change, where in (({"records": None}, "records"), ({"whole_record": {}}, "age")):
        with pytest.raises(OptionError) as error:
            problem_of(spec(**change))
        assert error.value.where == where


def written_spec(folder: Path, **changes: object) -> str:
    """A small design file on disk."""
    path = folder / "design.toml"
    lines = ["records = 3000", "learn = 'pairs'", "[whole_record]", "gamma = 9.0"]
    for name, size in (("a", 4), ("b", 3), ("c", 2)):
        lines += ["[[variables]]", f"name = '{name}'", f"categories = {size}"]
    path.write_text("\n".join(lines))
    return str(path)


def test_the_command_shows_all_options_and_what_to_do(bench, command, tmp_path):
    path = written_spec(tmp_path)
    before = sorted(bench.folder.rglob("*"))
    ended = command("design", "--spec", path)
    assert (ended.exit_code, ended.err) == (0, "")
    assert max(map(len, ended.out.splitlines())) <= 100
    assert "at 3,000 records" in ended.out
    data = json.loads(command("design", "--spec", path, "--json").out)
    assert f"\n* {data['best']} " in ended.out
    for made in data["options"]:
        assert made["family"] in ended.out
        if made["error"] is not None:
            assert f"{100 * made['errors_by_length']['2']:.3g}" in ended.out
    text = " ".join(ended.out.split())
    assert "These cannot do it: cut-and-paste-1: By moments: Reports of cut and paste" in text
    assert "add --write FILE" in text
    assert sorted(bench.folder.rglob("*")) == before
    assert bench.miner.requests == []


def test_the_command_writes_what_can_be_loaded(command, tmp_path):
    path, target = written_spec(tmp_path), tmp_path / "plan.toml"
    words = ("design", "--spec", path, "--write", str(target))
    data = json.loads(command(*words, "--json").out)
    (digest,) = (o["plan_digest"] for o in data["options"] if o["family"] == data["best"])
    assert read_back(target.read_text(), tmp_path).plan.digest == digest
    assert command(*words).exit_code == 0  # the same content stays
    target.write_text("changed")
    assert command(*words).exit_code == 2
    assert target.read_text() == "changed"
    other = tmp_path / "other.toml"
    ended = command("design", "--spec", path, "--write", str(other), "--family", "independent")
    assert "owner-agent plan" in ended.out
    assert {b["kind"] for b in (v["channel"] for v in tomllib.loads(other.read_text())["variables"])
            } == {"symmetric"}  # fmt: skip


def test_the_command_designs_for_the_site(bench, command, site_text, tmp_path):
    """Its variables, cuts and columns, and the number of rows; its channels are not needed."""
    for text in (site_text, re.sub(r"^channel = .*$", "", site_text, flags=re.MULTILINE)):
        bench.write(text.replace('missing = "?"\n', "representatives = [20, 35, 50, 70]\n"))
        target = bench.folder / "plan.toml"
        target.unlink(missing_ok=True)
        ended = command("design", "--gamma", "19", "--json", "--write", str(target))
        assert (ended.exit_code, ended.err) == (0, "")
        data = json.loads(ended.out)
        assert data["records"] == 50
        site = bench.site
        lines = bench.site.file.model_dump(exclude_none=True, exclude={"variables", "blocks"})
        made = planned(site_from({**lines, **tomllib.loads(target.read_text())}, site.folder))
        (digest,) = (o["plan_digest"] for o in data["options"] if o["family"] == data["best"])
        assert made.plan.digest == digest
        assert made.variables == site_variables(site)
        assert made.columns == {"smoker": "smokes", "age": "age", "region": "region"}
        assert made.sensitive == {"smoker", "age"}
    assert [v.sensitive for v in of_site(bench.site).variables] == [True, True, False]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "Nothing is demanded for ['smoker', 'age']"),
        (("--gamma", "1"), "Any gamma above 1"),
        (("--gamma", "9", "--epsilon", "1"), "one of --gamma"),
        (("--gamma", "9", "--learn", "everything"), "everything"),
        (("--gamma", "9", "--learn", "itemsets", "--length", "9"), "between 1 and 3"),
        (("--gamma", "9", "--minimum-support", "2"), "--minimum-support is wrong"),
        (("--gamma", "9", "--learn", "itemsets", "--length", "0"), "--length is wrong"),
        (("--gamma", "9", "--records", "0"), "--records is wrong"),
        (("--gamma", "nan"), "--gamma is nan"),
        (("--gamma", "inf"), "--gamma is inf"),
        (("--epsilon", "inf"), "--epsilon is inf"),
        (("--breach", "nan", "0.5"), "--breach is nan"),
        (("--gamma", "9", "--family", "sampled-1"), "sampled-1 cannot do this: By moments"),
        (("--gamma", "9", "--family", "best"), "no family 'best'"),
        (("--breach", "0.5", "0.1"), "0 < rho_1 < rho_2"),
        (("--spec", "none.toml"), "cannot be read"),
    ],
)
def test_bad_input_ends_with_2(command, words, says):
    ended = command("design", *words)
    assert ended.exit_code == 2
    assert says in ended.err


@pytest.mark.slow
def test_the_page_is_true(command, tmp_path):
    """Its samples are valid, their output is what is printed, and every key and family is in it."""
    page = PAGE.read_text(encoding="utf-8")
    samples = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    told = re.findall(r"```console\n\$ owner-agent (.*?)\n(.*?)```", page, re.DOTALL)
    for name, sample, (words, shown) in zip(("census", "study"), samples, told, strict=True):
        (tmp_path / f"{name}.toml").write_text(sample)
        asked = words.replace(f"{name}.toml", str(tmp_path / f"{name}.toml"))
        printed = [line.rstrip() for line in command(*asked.split()).out.splitlines()]
        assert printed == [line.rstrip() for line in shown.splitlines()]
    (lines,) = re.findall(r"\n    learn = \"structure\"\n.*?sex = .*?\n", page, re.DOTALL)
    changes = tomllib.loads(lines.replace("\n    ", "\n"))
    content = {k: v for k, v in tomllib.loads(samples[0]).items() if k != "length"}
    tables = problem_of(design_from({**content, **changes})).goal.sets
    assert set(tables) == {("age",), ("age", "hours"), ("age", "sex")}
    for section in (DesignFile, VariableDemand):
        for key in section.model_fields:
            assert re.search(rf"`{key}`", page), f"{key} is not described"
    problem = problem_of(load_design(tmp_path / "census.toml"))
    for name in builds(problem):
        assert f"`{re.sub('-[0-9]$', '-K', name)}`" in page, name


# Targets and owners ------------------------------------------------------------------------------


STUDY = """
records = 5000
learn = "classifier"
target = "ill"
whole_record = { gamma = 19 }
[[variables]]
name = "ill"
categories = 2
owner = "clinic"
[[variables]]
name = "work"
categories = 4
owner = "town"
[[variables]]
name = "age"
categories = 3
owner = "clinic"
"""


@pytest.fixture
def study(tmp_path) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


@pytest.mark.slow
def test_a_study_plan_is_designed_and_written(command, study, tmp_path):
    """Its variables stand owner by owner; what is written is what is told, and is read back."""
    path = tmp_path / "plan.json"
    words = ("design", "--spec", str(study), "--write-study-plan", str(path))
    told = json.loads(command(*words, "--json").out)
    made = StudyPlanMessage.model_validate_json(path.read_bytes()).to_plan()
    assert made.digest == told["study_plan"]["digest"]
    assert [(name, [v.name for v in own]) for name, own in made.owners] == [
        ("clinic", ["ill", "age"]),
        ("town", ["work"]),
    ]
    assert 18.9 < told["study_plan"]["gamma"] <= 19
    assert told["study_plan"]["sets_over_owners"] > 0
    clinic, town = told["study_plan"]["owners"]
    assert clinic["reported"]["ill"] > clinic["reported"]["age"] > 0
    assert town["reported"] == {"work": pytest.approx(made.reported("town")["work"])}
    assert told["useful"] is True
    shown = " ".join(command("design", "--spec", str(study)).out.split())
    assert (
        f"Study plan {made.digest[:12]}... of 2 owners: gamma 19 about a record over all" in shown
    )
    assert "would multiply to 361" in shown
    # A site file is another thing.
    elsewhere = str(tmp_path / "site.toml")
    assert "several owners" in command("design", "--spec", str(study), "--write", elsewhere).err


def test_a_design_of_one_owner_has_no_study_plan(command, study, tmp_path):
    path = tmp_path / "alone.toml"
    path.write_text(re.sub("owner = .*\n", "", STUDY))
    written = command("design", "--spec", str(path), "--write-study-plan", str(tmp_path / "p.json"))
    assert "needs no study plan" in written.err
    assert json.loads(command("design", "--spec", str(path), "--json").out)["study_plan"] is None


def test_a_design_that_is_of_no_use_says_so_at_once(command, study):
    words = ("design", "--spec", str(study), "--records", "40")
    shown = " ".join(command(*words).out.split())
    assert "Not useful at this number of records" in shown
    told = json.loads(command(*words, "--json").out)
    assert told["useful"] is False
    assert told["kept_of_moderate_association"] < 0.2
    assert f"About {told['records_enough']:,} records would be enough" in shown


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"target": None}, "target"),
        ({"target": "x"}, "x"),
        ({"learn": "pairs"}, "target"),
        ({"learn": {"classifier": 1.0}}, None),
        ({"learn": "magic"}, None),
    ],
)
def test_what_is_learned_is_checked(change, where):
    content = {k: v for k, v in (tomllib.loads(STUDY) | change).items() if v is not None}
    with pytest.raises(InputError) as error:
        problem_of(design_from(content))
    assert isinstance(error.value, ConfigError) or error.value.where == where


def test_owners_hold_all_variables_or_none():
    content = tomllib.loads(STUDY)
    del content["variables"][1]["owner"]
    with pytest.raises(ConfigError):
        design_from(content)
    del content["whole_record"]
    content["variables"] = [v | {"owner": "a", "gamma": 5} for v in content["variables"]]
    with pytest.raises(OptionError) as error:
        problem_of(design_from(content))
    assert error.value.where == "whole_record"
