"""A site that follows a study's plan: its part, what does not fit, and what is said of it."""

import json

import pytest

from owner_agent.site.adopting import AdoptedPlan, adopted_json, read_study_plan, study_sentences
from owner_agent.site.planning import planned
from pramana_core.channels import Product, Symmetric
from pramana_core.domain import Variable
from pramana_core.errors import ConfigError, UnprotectedVariable
from pramana_core.study_plan import StudyPart, StudyPlan, StudySet
from tests.owner_agent.site.plans import AGE, PLAN, QUARTER, follow, study_plan


def test_the_part_is_the_plans_beside_public_columns(bench):
    made = planned(follow(bench))
    part, region = made.plan.blocks
    assert part.digest == PLAN.block("clinic-north").digest
    assert region.channel.is_identity
    assert made.plan.domain.names == ("smoker", "age", "region")
    assert made.adopted == AdoptedPlan(PLAN, "clinic-north")
    assert not list(PLAN.departures("clinic-north", made.plan))


def test_variables_of_the_part_keep_the_numbers_they_stand_for(bench):
    text = (bench.folder / "site.toml").read_text()
    bench.write(text.replace('missing = "?"', "representatives = [20, 40, 50, 70]"))
    cut = Variable("age", AGE.categories[:4])
    plan = StudyPlan(
        (("clinic-north", (cut,)),),
        (StudySet(QUARTER, (StudyPart(0, (0,), Symmetric.from_gamma(4, 9.0)),)),),
    )
    follow(bench, plan)
    text = (bench.folder / "site.toml").read_text()
    bench.write(text.replace("sensitive = true", "sensitive = false", 1))
    made = planned(bench.site).plan
    assert made.block_of("age").variables[0].representatives == (20, 40, 50, 70)
    assert made.block_of("age").digest == plan.block("clinic-north").digest


def test_a_plan_that_is_not_the_approved_one_is_refused(bench):
    assert planned(follow(bench, digest=PLAN.digest)).adopted is not None
    other = study_plan(first=QUARTER - 1)
    (bench.folder / "plan.json").write_bytes(other.canonical_json())
    with pytest.raises(ConfigError):
        planned(bench.site)


BLOCK = '[[blocks]]\nvariables = ["smoker", "age"]\nchannel = { kind = "symmetric", p = 0.1 }\n'
BESIDE = 'sensitive = true\nchannel = { kind = "symmetric", gamma = 3 }'


@pytest.mark.parametrize(
    "plan",
    [
        study_plan(Variable("smokes", ("no", "yes"))),
        study_plan(Variable("smoker", ("no", "yes", "?"))),
        study_plan(Variable("smoker", ("no", "si"))),
        study_plan(Variable("smoker", ("yes", "no"))),
        study_plan(owner="clinic-west"),
        StudyPlan(PLAN.owners, (StudySet(QUARTER, PLAN.sets[1].parts[1:]),)),
    ],
    ids=["name", "category", "another", "order", "owner", "no part"],
)
def test_a_plan_that_does_not_fit_the_site_is_refused(bench, plan):
    with pytest.raises(ConfigError):
        planned(follow(bench, plan))


def test_a_channel_or_a_block_beside_the_plans_is_refused(bench):
    follow(bench)
    text = (bench.folder / "site.toml").read_text()
    bench.write(text.replace("sensitive = true", BESIDE, 1))
    with pytest.raises(ConfigError):
        planned(bench.site)
    bench.write(text)
    with pytest.raises(ConfigError):
        follow(bench, more=BLOCK)


WEIGHT = '[[variables]]\nname = "weight"\ncategories = ["low", "high"]\nsensitive = true\n'


def test_what_would_add_to_the_plan_is_refused(bench):
    follow(bench, more=WEIGHT)
    with pytest.raises(UnprotectedVariable):
        planned(bench.site)
    bench.write(
        (bench.folder / "site.toml").read_text() + 'channel = { kind = "symmetric", gamma = 2 }\n'
    )
    with pytest.raises(ConfigError):
        planned(bench.site)


def test_a_part_that_would_give_a_value_away_is_refused(bench):
    """The plan is no more trusted than a site file: one set would report smokers as they are."""
    sure = Product((1, 1), (Symmetric.from_probability(2, 0.0), Symmetric.from_gamma(5, 9.0)))
    plan = StudyPlan(PLAN.owners, (StudySet(QUARTER, (StudyPart(0, (0, 1), sure),)),))
    with pytest.raises(UnprotectedVariable):
        planned(follow(bench, plan))


def test_a_variable_that_no_set_has_is_withheld(bench):
    plan = StudyPlan(PLAN.owners, PLAN.sets[1:])
    channel = planned(follow(bench, plan)).plan.block_of("smoker").channel
    assert [channel.share_reported(axis) for axis in range(2)] == [0.0, 0.25]


# Files -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b'{"owners": [], "sets": []}',
        PLAN.canonical_json().replace(b'"axes":[0,1]', b'"axes":[1,0]'),
    ],
    ids=["cut off", "nobody", "no part"],
)
def test_what_is_no_plan_is_said(tmp_path, content):
    path = tmp_path / "plan.json"
    path.write_bytes(content)
    with pytest.raises(ConfigError):
        read_study_plan(path)
    with pytest.raises(ConfigError):
        read_study_plan(tmp_path / "none.json")


# What is said ------------------------------------------------------------------------------------


def test_what_a_plan_says_of_an_owner():
    told = adopted_json(AdoptedPlan(PLAN, "clinic-north"))
    assert told["digest"] == PLAN.digest
    assert told["record"]["gamma"] == pytest.approx(9, rel=1e-6)
    assert told["own"]["gamma"] == pytest.approx(9, rel=1e-6)
    assert told["reported"] == {"smoker": 0.25, "age": 0.5}
    south = adopted_json(AdoptedPlan(PLAN, "clinic-south"))
    assert south["record"] == told["record"]
    assert south["own"]["gamma"] == pytest.approx(3, rel=1e-6)
    text = " ".join(study_sentences(AdoptedPlan(PLAN, "clinic-north")))
    assert "epsilon 2.198 (gamma 9); 5 % grows to 32.15 % at most" in text
    assert "smoker for 25.0%, age for 50.0% of the records." in text


@pytest.mark.slow
def test_the_report_of_a_plan_has_it(bench, command):
    follow(bench)
    told = command("plan", "--no-report")
    words = " ".join(told.out.split())
    assert f"The study plan {PLAN.digest} bounds the privacy loss" in words
    assert "clinic-north reports smoker for 25.0%, age for 50.0% of the records" in words
    made = json.loads(command("plan", "--json").out)
    assert made["study_plan"] == adopted_json(AdoptedPlan(PLAN, "clinic-north"))
    block = next(b for b in made["blocks"] if "smoker" in b["variables"])
    assert block["gamma"] == pytest.approx(9, rel=1e-6)
    page = bench.folder / "report.html"
    assert command("plan", "--report", str(page)).exit_code == 0
    assert "<h2>The plan of the whole study</h2>" in page.read_text()
    assert PLAN.digest in page.read_text()


def test_the_table_is_checked_against_a_site_file_that_follows_a_plan(bench, command):
    follow(bench)
    told = json.loads(command("check", "--json").out)
    assert (told["rows"], told["variables"], told["problems"]) == (50, 3, [])
    assert told["plan_digest"] == planned(bench.site).plan.digest
