"""Owners' public parts made into one study plan, and parts that do not go together."""

import json

import pytest

from owner_agent.design.parts import variables_of_parts
from owner_agent.site.adopting import AdoptedPlan, read_study_plan
from owner_agent.site.public_part import PublicPart
from owner_agent.site.site import site_from
from pramana_core.domain import Variable
from pramana_core.errors import ConfigError, PramanaError
from pramana_core.privacy import ShuffledReport, central_loss

FAMILY = {"parents": ["usual", "other"], "form": ["complete", "foster"]}
CARE = {"health": ["good", "poor"], "class": ["no", "maybe", "yes"]}
NEED = ("--learn", "classifier", "--target", "class", "--gamma", "19", "--records", "9000")


@pytest.fixture
def part(tmp_path):
    """Write the public part of an owner: `(owner, variables)`."""

    def write(owner, variables, name=None):
        content = {
            "owner": owner,
            "table": "t.csv",
            "record_id": "id",
            "variables": [
                {"name": n, "categories": c, "sensitive": True} for n, c in variables.items()
            ],
        }
        path = tmp_path / f"{name or owner}.public.toml"
        path.write_text(PublicPart.of(site_from(content, tmp_path)).text)
        return path

    return write


@pytest.fixture
def design(command):
    """Call `design` on parts: it takes no site file."""
    return lambda *words: command("design", *map(str, words), of_site=False)


def test_the_plan_of_all_parts_is_written_and_fits_each_owner(part, design, tmp_path):
    family, care = part("family", FAMILY), part("care", CARE)
    plan = tmp_path / "plan.json"
    ended = design(family, care, *NEED, "--write-study-plan", plan)
    assert ended.exit_code == 0, ended.err
    said = " ".join(ended.out.split())
    assert "of 2 owners: gamma 19 for a record over all owners" in said
    assert "--owners family,care --people same" in said
    assert f"miner-service study plan set STUDY {plan}" in said
    made = read_study_plan(plan)
    assert 18.9 < made.amplification.gamma <= 19 * (1 + 1e-9)
    for owner, variables in (("family", FAMILY), ("care", CARE)):
        known = {n: Variable(n, tuple(c)) for n, c in variables.items()}
        block = AdoptedPlan(made, owner).part(known)
        assert block.names == tuple(variables)
        # An owner whose site file has a category that is not in the plan is told at home.
        name = block.names[-1]
        known[name] = Variable(name, (*variables[name], "new"))
        with pytest.raises(ConfigError):
            AdoptedPlan(made, owner).part(known)


def test_a_central_epsilon_bounds_a_study_plan_over_all_owners(part, design, tmp_path):
    family, care = part("family", FAMILY), part("care", CARE)
    plan = tmp_path / "plan.json"
    need = ("--central-epsilon", "0.5", "--records", "30000")
    ended = design(family, care, *need, "--write-study-plan", plan)
    assert ended.exit_code == 0, ended.err
    made = read_study_plan(plan)
    assert 0.49 < central_loss(ShuffledReport.of(made.together), 30_000).epsilon <= 0.5


def test_a_study_plan_is_described_as_it_is_written(part, design, tmp_path):
    words = (part("family", FAMILY), part("care", CARE), *NEED)
    plan = tmp_path / "plan.json"
    printed = json.loads(design(*words, "--write-study-plan", plan, "--json").out)
    made, said = read_study_plan(plan), printed["study_plan"]
    assert said["digest"] == made.digest
    assert 18.9 < said["gamma"] <= 19
    assert said["sets_over_owners"] > 0
    assert [one["name"] for one in said["owners"]] == ["family", "care"]
    for one in said["owners"]:
        assert one["reported"] == pytest.approx(made.reported(one["name"]))
    shown = " ".join(design(*words).out.split())
    assert f"Study plan {made.digest[:12]}... of 2 owners" in shown
    assert "would multiply to 361" in shown
    elsewhere = design(*words, "--apply", "--yes")
    assert (elsewhere.exit_code, "several owners" in elsewhere.err) == (2, True)


def test_everything_that_is_wrong_with_parts_is_told_at_once(part, tmp_path):
    changed = part("means", {"housing": ["good", "bad", "none"]})
    changed.write_text(changed.read_text().replace(', "none"', ""))
    parts = [
        part("care", CARE),
        part("care", FAMILY, name="again"),
        part("other", {"health": ["good", "poor"]}),
        changed,
        tmp_path / "absent.toml",
    ]
    with pytest.raises(PramanaError) as raised:
        variables_of_parts(parts)
    said = str(raised.value)
    assert "There are 4 problems" in said
    for words in (
        "both parts of 'care'",
        "Both care and other have a variable 'health'",
        "of means was changed",
        "absent.toml cannot be read",
    ):
        assert words in said


def test_a_target_of_an_owner_whose_part_misses_is_told(part, design):
    ended = design(part("family", FAMILY), *NEED)
    assert ended.exit_code == 2
    assert "'class'" in ended.err


def test_the_number_of_records_is_said_not_read(part, design):
    ended = design(part("family", FAMILY), part("care", CARE), *NEED[:-2])
    assert ended.exit_code == 2
    assert "--records" in ended.err
