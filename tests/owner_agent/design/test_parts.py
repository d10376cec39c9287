"""Owners' public parts made into one study plan, and parts that do not go together."""

import json

import pytest

from owner_agent.design.parts import design_of_parts
from owner_agent.site.adopting import AdoptedPlan, read_study_plan
from owner_agent.site.public_part import PublicPart
from owner_agent.site.site import site_from
from pramana_core.domain import Variable
from pramana_core.errors import ConfigError, PramanaError

FAMILY = {"parents": ["usual", "other"], "form": ["complete", "foster"]}
CARE = {"health": ["good", "poor"], "class": ["no", "maybe", "yes"]}
NEED = ("--learn", "classifier", "--target", "class", "--gamma", "19", "--records", "9000")


@pytest.fixture
def part(tmp_path):
    """Write the public part of an owner: `(owner, variables, people)`."""

    def write(owner, variables, people=None, name=None):
        content = {
            "owner": owner,
            "table": "t.csv",
            "record_id": "id",
            "variables": [
                {"name": n, "categories": c, "sensitive": True} for n, c in variables.items()
            ],
        }
        path = tmp_path / f"{name or owner}.public.toml"
        path.write_text(PublicPart.of(site_from(content, tmp_path), people).text)
        return path

    return write


@pytest.fixture
def design(command):
    """Call `design` on parts: it takes no site file."""
    return lambda *words: command("design", *map(str, words), of_site=False)


def test_the_plan_of_all_parts_is_written_and_fits_each_owner(part, design, tmp_path):
    family, care = part("family", FAMILY, "same"), part("care", CARE)
    plan = tmp_path / "plan.json"
    ended = design(family, care, *NEED, "--write-study-plan", plan)
    assert ended.exit_code == 0, ended.err
    said = " ".join(ended.out.split())
    assert "of 2 owners: gamma 19 about a record over all of them" in said
    assert f"--owners family,care --people same --plan {plan}" in said
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


def test_the_same_parts_make_the_same_plan_as_a_design_file(part, design, tmp_path):
    parts = part("family", FAMILY), part("care", CARE)
    spec = tmp_path / "study.toml"
    spec.write_text(
        "".join(
            f'[[variables]]\nname = "{n}"\nowner = "{owner}"\ncategories = {json.dumps(c)}\n'
            for owner, held in (("family", FAMILY), ("care", CARE))
            for n, c in held.items()
        )
    )
    digests = [
        json.loads(design(*words, *NEED, "--json").out)["study_plan"]["digest"]
        for words in (parts, ("--spec", spec))
    ]
    assert digests[0] == digests[1]


@pytest.mark.parametrize(
    ("other", "said", "unsaid"),
    [
        (["good", "poor"], "Both care and means have a variable 'health'.", "contradict"),
        (["poor", "good"], "Both care and means have a variable 'health'.", "contradict"),
        (
            ["good", "bad", "?"],
            "contradict each other (care alone has 'poor'; means alone has 'bad', '?')",
            "-",
        ),
    ],
)
def test_a_variable_of_two_owners_is_told(part, other, said, unsaid):
    with pytest.raises(PramanaError) as raised:
        design_of_parts([part("care", CARE), part("means", {"health": other})])
    assert said in str(raised.value)
    assert unsaid not in str(raised.value).split("Both")[1].split(" In a study")[0]
    assert "--leave-out health" in str(raised.value.remedy)


def test_everything_that_is_wrong_with_parts_is_told_at_once(part, tmp_path):
    changed = part("means", {"housing": ["good", "bad", "none"]})
    changed.write_text(changed.read_text().replace(', "none"', ""))
    parts = [
        part("care", CARE),
        part("care", FAMILY, name="again"),
        part("other", {"x": ["0", "1"]}, "different"),
        changed,
        tmp_path / "absent.toml",
    ]
    with pytest.raises(PramanaError) as raised:
        design_of_parts(parts)
    said = str(raised.value)
    assert "There are 4 problems" in said
    for words in (
        "both parts of 'care'",
        "of other people than the other owners'",
        "is not as means wrote it",
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


def test_parts_and_a_design_file_are_not_given_together(part, design, tmp_path):
    ended = design(part("family", FAMILY), "--spec", tmp_path / "x.toml", *NEED)
    assert ended.exit_code == 2
    assert "not both" in ended.err
