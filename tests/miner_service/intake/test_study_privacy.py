"""What a study tells over all owners, and the budget that limits it."""

from __future__ import annotations

import hashlib
import math
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from miner_service.cli.main import app
from pramana_core.channels import Identity, Symmetric
from pramana_core.domain import Variable
from pramana_core.errors import BudgetExceeded
from pramana_core.plan import Block, Plan
from pramana_core.rounding import rounded_up
from pramana_core.wire.channels import PlanMessage
from tests.miner_service.http.pages.browsers import Browser


def block(name, gamma):
    channel = Identity(2) if gamma is None else Symmetric.from_gamma(2, gamma)
    return Block((Variable(name, ("no", "yes")),), channel)


def plan(**gammas):
    return Plan(tuple(block(name, gamma) for name, gamma in gammas.items()))


def draw(text):
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def release(build):
    """A release of ten records, with its draws."""

    def make(made, ids=range(10), name="r1", draws=None):
        codes = {v: np.zeros(len(ids), np.uint8) for v in made.domain.names}
        built = build(made, ids, codes, name=name)
        if draws is not None:
            built.body["draws"] = [draw(d) for d in draws]
        return built

    return make


@pytest.fixture
def three(miner, release):
    """The study of the threat model: three owners with gamma 3, 87 and 675."""
    analyst = miner.study("asia")
    owners = {name: miner.owner("asia", name) for name in ("north", "south", "west")}
    for (name, owner), gamma in zip(owners.items(), (3, 87, 675), strict=True):
        owner.publish("asia", release(plan(**{f"{name}_ill": gamma})))
    return miner, analyst, owners


def total(person, which="determined", study="asia"):
    return person.get(f"/v1/studies/{study}/privacy")["record"][which]


def test_the_study_of_three_owners_is_told_to_everybody_in_it(three):
    miner, analyst, owners = three
    for person in (analyst, miner.admin, *owners.values()):
        told = person.get("/v1/studies/asia/privacy")
        assert told["prior"] == 0.05
        determined, independent = told["record"]["determined"], told["record"]["independent"]
        # 3 * 87 * 675, less what the channels' resolution of 2^-32 takes.
        assert determined["gamma"] == pytest.approx(176_175, rel=1e-5)
        assert determined["epsilon"] == pytest.approx(12.079, abs=5e-4)
        assert f"{determined['grows_to']:.2%}" == "99.99%"
        assert independent["gamma"] == pytest.approx(675, rel=1e-5)
        assert f"{independent['grows_to']:.1%}" == "97.3%"
        each = {o["owner"]: o["determined"]["gamma"] for o in told["owners"]}
        assert each == pytest.approx({"north": 3, "south": 87, "west": 675}, rel=1e-5)
        columns = {c["variable"]: c["amplification"]["epsilon"] for c in told["columns"]}
        assert columns["south_ill"] == pytest.approx(math.log(87), rel=1e-6)
        assert told["budget"] == {
            "max_epsilon_record": None, "max_epsilon_column": None, "left_for_record": None,
            "max_central_epsilon": None, "central_delta": 1e-8, "central_records": None,
            "left_for_columns": {},
        }  # fmt: skip
        (dashboard,) = [
            s for s in person.get("/v1/dashboard")["studies"] if s["study"]["name"] == "asia"
        ]
        assert dashboard["privacy"] == told


@pytest.mark.slow
def test_what_was_withdrawn_or_never_finished_was_told_and_what_never_arrived_was_not(
    miner, release
):
    analyst, owner = miner.study("asia"), miner.owner("asia", "north")
    owner.announce("asia", release(plan(a=3)))
    assert total(analyst)["epsilon"] == 0
    path = owner.announce("asia", built := release(plan(b=5), name="r2"))
    owner.put(path, 0, built.parts[0])
    assert total(analyst)["gamma"] == pytest.approx(5, rel=1e-6)
    assert owner("POST", f"{path}/withdraw").status_code == 200
    sealed = owner.publish("asia", release(plan(c=7), name="r3"))
    assert owner("POST", f"{sealed}/withdraw").status_code == 200
    assert total(analyst)["gamma"] == pytest.approx(35, rel=1e-6)
    assert miner.admin("DELETE", "/v1/studies/asia/owners/north").status_code == 204
    assert total(analyst)["gamma"] == pytest.approx(35, rel=1e-6)


def test_the_same_draws_add_nothing_and_unnamed_ones_count_every_time(miner, release):
    analyst, owner = miner.study("asia"), miner.owner("asia", "north")
    owner.publish("asia", release(plan(a=3), draws=["first"]))
    owner.publish("asia", release(plan(a=3), range(12), name="more", draws=["first"]))
    assert total(analyst)["gamma"] == pytest.approx(3, rel=1e-6)
    # Another channel is another draw, whatever the owner says.
    owner.publish("asia", release(plan(a=5), name="other", draws=["first"]))
    assert total(analyst)["gamma"] == pytest.approx(15, rel=1e-6)
    owner.publish("asia", release(plan(a=3), range(13), name="unsaid"))
    assert total(analyst)["gamma"] == pytest.approx(45, rel=1e-6)


def test_a_forecast_tells_before_and_after_and_stores_nothing(three, assert_problem):
    miner, analyst, owners = three
    asked = {"plan": PlanMessage.from_plan(plan(smokes=2)).model_dump(mode="json")}
    before = miner.snapshot()
    told = owners["north"]("POST", "/v1/studies/asia/privacy", json=asked).json()
    assert told["before"] == owners["north"].get("/v1/studies/asia/privacy")
    after = told["after"]["record"]["determined"]["gamma"]
    assert after == pytest.approx(2 * 176_175, rel=1e-5)
    assert told["refused"] is None
    assert miner.snapshot() == before
    # Staff say whose release it would be; an owner asks for itself.
    named = {**asked, "owner": "south"}
    by_analyst = analyst("POST", "/v1/studies/asia/privacy", json=named).json()
    grown = {o["owner"]: o["determined"]["gamma"] for o in by_analyst["after"]["owners"]}
    assert grown["south"] == pytest.approx(174, rel=1e-5)
    for person, body, status, code in (
        (analyst, asked, 422, "option-invalid"),
        (analyst, {**asked, "owner": "nobody"}, 404, "not-found"),
        (owners["north"], named, 403, "forbidden"),
    ):
        assert_problem(person("POST", "/v1/studies/asia/privacy", json=body), status, code)


# The budget --------------------------------------------------------------------------------------


@pytest.fixture
def limited(miner):
    """A study that may tell epsilon 3 of a record and 1.5 of a column."""
    miner.study("asia", max_epsilon_record=3.0, max_epsilon_column=1.5)
    return miner


def test_a_release_over_the_budget_is_refused_before_any_part_of_it(
    limited, release, assert_problem
):
    north, south = limited.owner("asia", "north"), limited.owner("asia", "south")
    north.publish("asia", release(plan(a=4, b=2)))  # epsilon 2.079
    before = limited.snapshot()
    over = release(plan(c=3))  # 1.099 more
    answer = south("POST", "/v1/studies/asia/releases", json=over.body)
    problem = assert_problem(answer, 409, "budget-exceeded")
    assert problem.where == "record"
    assert limited.snapshot() == before
    told = south("POST", "/v1/studies/asia/privacy", json={"plan": over.body["plan"]}).json()
    assert told["refused"] == f"{problem.detail} {problem.remedy}"
    assert told["before"]["budget"]["left_for_record"] == pytest.approx(0.9206, abs=1e-4)
    # What is left can be used to the end, and the same release announced again stays.
    fits = release(plan(c=math.exp(0.92)))
    path = south.publish("asia", fits)
    assert south.announce("asia", fits) == path


def test_the_remainder_can_be_released_as_it_is_written(miner, release, assert_problem):
    """ln 43 of 5 leaves 1.23880: written as 1.239, a release of this epsilon would be refused."""
    analyst = miner.study("asia", max_epsilon_record=5.0, max_epsilon_column=5.0)
    north = miner.owner("asia", "north")
    north.publish("asia", release(plan(ill=43)))
    browser = Browser(miner)
    browser.sign_in(analyst.token)
    over = release(plan(tall=math.exp(1.239)), name="r2")
    answer = north("POST", "/v1/studies/asia/releases", json=over.body)
    assert " 1.238 " in assert_problem(answer, 409, "budget-exceeded").detail
    page = browser.get("/pages/studies/asia").text
    assert ">69.36 %<" in page, "a belief of 5 % grows to 0.693548"
    assert len(re.findall(r">1\.238<", page)) == 3, "of the record twice, of the column once"
    north.publish("asia", release(plan(tall=math.exp(1.238)), name="r2"))


CENTRAL = {"max_central_epsilon": 0.5, "central_records": 2000}
HIDDEN = range(2000)


def test_a_central_budget_is_that_of_a_record_among_so_many(miner, release, assert_problem):
    """At 2,000 records and delta 1e-8 a central epsilon of .5 allows a record more than .5."""
    miner.study("asia", **CENTRAL)
    north, south = miner.owner("asia", "north"), miner.owner("asia", "south")
    most = most_of(north)
    assert 1 < most < math.log(19)
    half = math.exp(most / 2)
    north.publish("asia", release(plan(a=half), HIDDEN))
    seen = north.get("/v1/studies/asia/privacy")
    assert seen["budget"]["left_for_record"] == pytest.approx(most / 2, rel=1e-5)
    assert seen["budget"]["central_delta"] == 1e-8
    over = release(plan(b=half * 1.01), HIDDEN)
    answer = south("POST", "/v1/studies/asia/releases", json=over.body)
    assert assert_problem(answer, 409, "budget-exceeded").where == "record"
    south.publish("asia", release(plan(b=half), HIDDEN))
    # All of it is taken: what the page states of these records is what was wanted.
    stated = miner.admin.get("/v1/studies/asia/privacy")["central"]
    assert 0.49 < stated["epsilon"] <= 0.5 * (1 + 1e-6)
    assert stated["records"] == 2000


def test_central_bounds_have_the_delta_of_the_study(miner, release):
    miner.study("asia", **CENTRAL, central_delta=1e-5)
    north = miner.owner("asia", "north")
    north.publish("asia", release(plan(a=math.exp(most_of(north))), HIDDEN))
    told = north.get("/v1/studies/asia/privacy")
    assert told["central"]["delta"] == 1e-5
    assert 0.49 < told["central"]["epsilon"] <= 0.5 * (1 + 1e-6)
    assert not any("central" in warning for warning in told["warnings"])


def test_a_central_bound_above_the_budget_is_a_warning(miner, release):
    miner.study("asia", **CENTRAL)
    north = miner.owner("asia", "north")
    made = plan(a=math.exp(most_of(north)))
    first, more = (release(made, range(n), name=f"r{n}", draws=["x"]) for n in (2000, 3900))
    first.body["linkage"] = more.body["linkage"] = "1" * 64
    north.publish("asia", first)
    assert not any("central" in one for one in north.get("/v1/studies/asia/privacy")["warnings"])
    # The same draws cost nothing, but the records of only the second release hide among 1,900.
    north.publish("asia", more)
    told = north.get("/v1/studies/asia/privacy")
    assert 0.5 < told["central"]["epsilon"] < 0.6
    (warning,) = (one for one in told["warnings"] if "central" in one)
    assert f"{rounded_up(told['central']['epsilon'])}" in warning


@pytest.mark.parametrize(
    ("made", "ids", "where"),
    [(plan(a=1.1), range(1999), "records"), (plan(a=1.1, b=None), HIDDEN, "b")],
)
def test_a_central_budget_needs_records_that_are_alike(
    miner, release, assert_problem, made, ids, where
):
    miner.study("asia", **CENTRAL)
    north = miner.owner("asia", "north")
    answer = north("POST", "/v1/studies/asia/releases", json=release(made, ids).body)
    assert assert_problem(answer, 409, "budget-exceeded").where == where
    # The control: the same is taken where only a record's own loss has a limit.
    miner.study("free", max_epsilon_record=most_of(north))
    miner.owner("free", "north").publish("free", release(made, ids))


def most_of(person):
    return person.get("/v1/studies/asia/privacy")["budget"]["left_for_record"]


def test_half_a_central_budget_or_too_many_records_are_refused(miner, assert_problem):
    vast = {"max_central_epsilon": 1, "central_records": 10**19}
    for given in ({"max_central_epsilon": 1}, {"central_records": 100}, vast):
        answer = miner.admin("POST", "/v1/studies", json={"name": "s", **given})
        assert_problem(answer, 422, "request-invalid")


def test_a_column_has_a_budget_of_its_own(limited, release, assert_problem):
    north, south = limited.owner("asia", "north"), limited.owner("asia", "south")
    answer = north("POST", "/v1/studies/asia/releases", json=release(plan(a=5)).body)
    assert assert_problem(answer, 409, "budget-exceeded").where == "a"
    north.publish("asia", release(plan(a=4), draws=["x"]))
    left = {c["variable"]: c["left"] for c in north.get("/v1/studies/asia/privacy")["columns"]}
    assert left["a"] == pytest.approx(1.5 - math.log(4), abs=1e-6)
    # The same draws of more records cost nothing; another draw of the column would.
    north.publish("asia", release(plan(a=4), range(11), name="r2", draws=["x"]))
    anew = release(plan(a=4), range(12), name="r3", draws=["y"])
    answer = north("POST", "/v1/studies/asia/releases", json=anew.body)
    assert_problem(answer, 409, "budget-exceeded")
    # Another owner's column of that name may be about the same people: it is the same secret.
    answer = south("POST", "/v1/studies/asia/releases", json=release(plan(a=2)).body)
    assert_problem(answer, 409, "budget-exceeded")
    # A column told as it is costs nothing of either budget.
    south.publish("asia", release(plan(public=None)))
    south.publish("asia", release(plan(a=None), name="plain"))
    told = south.get("/v1/studies/asia/privacy")
    of_south = {c["variable"]: c["left"] for c in told["columns"] if c["owner"] == "south"}
    assert of_south == {"public": None, "a": None}
    assert told["budget"]["left_for_columns"] == pytest.approx({"a": left["a"]}, abs=1e-9)
    assert told["record"]["determined"]["gamma"] == pytest.approx(4, rel=1e-6)


def test_what_is_announced_is_held_back_until_it_is_withdrawn(limited, release, assert_problem):
    north, south = limited.owner("asia", "north"), limited.owner("asia", "south")
    path = north.announce("asia", first := release(plan(a=4, b=4)))
    assert total(north)["epsilon"] == 0
    left = south.get("/v1/studies/asia/privacy")["budget"]["left_for_record"]
    assert left == pytest.approx(3 - 2 * math.log(4), abs=1e-6)
    # Nothing left of `a` and `b`, and yet their columns are spoken for: a designer is told.
    told = south.get("/v1/studies/asia/privacy")
    assert told["columns"] == []
    spoken_for = 1.5 - math.log(4)
    assert told["budget"]["left_for_columns"] == pytest.approx(
        {"a": spoken_for, "b": spoken_for}, abs=1e-6
    )
    other = release(plan(c=4))
    answer = south("POST", "/v1/studies/asia/releases", json=other.body)
    assert_problem(answer, 409, "budget-exceeded")
    assert north.announce("asia", first) == path  # it takes nothing more
    assert north("POST", f"{path}/withdraw").status_code == 200
    south.publish("asia", other)


def test_an_owner_that_was_removed_holds_nothing_back(limited, release, assert_problem):
    north, south = limited.owner("asia", "north"), limited.owner("asia", "south")
    path = north.announce("asia", first := release(plan(a=4, b=4)))
    assert limited.admin("DELETE", "/v1/studies/asia/owners/north").status_code == 204
    south.publish("asia", release(plan(c=4)))
    # Back again, what it had announced is asked about anew.
    back = limited.owner("asia", "north")
    answer = back("POST", "/v1/studies/asia/releases", json=first.body)
    assert_problem(answer, 409, "budget-exceeded")
    # Nor can it send what it announced before without asking; nothing of it is kept.
    before = limited.snapshot()
    assert_problem(back.put(path, 0, first.parts[0]), 409, "budget-exceeded")
    assert limited.snapshot() == before
    assert total(back)["epsilon"] == pytest.approx(math.log(4), rel=1e-6)


def test_a_refusal_does_not_depend_on_whose_records_are_whose(limited, release, assert_problem):
    """Else publishing one person's record would tell an owner whether others know that person."""
    north, south = limited.owner("asia", "north"), limited.owner("asia", "south")
    north.publish("asia", release(plan(a=4, b=4), range(10)))
    for ids in ([5], [77]):
        body = release(plan(c=4), ids, name=f"one-{ids[0]}").body
        answer = south("POST", "/v1/studies/asia/releases", json=body)
        assert_problem(answer, 409, "budget-exceeded")


@pytest.fixture
def change(miner):
    """A command that changes the study; it returns the error, if any."""

    def invoke(command, *words):
        words = ["study", command, "asia", *words, "--data", str(miner.data)]
        return CliRunner().invoke(app, words)

    return invoke


def test_a_budget_is_changed_on_the_command_line(miner, release, assert_problem, change):
    def budget(*words):
        assert change("budget", *words).exit_code == 0

    miner.study("asia", max_epsilon_record=1)
    north, south = miner.owner("asia", "north"), miner.owner("asia", "south")
    over = release(plan(a=4))
    answer = north("POST", "/v1/studies/asia/releases", json=over.body)
    assert_problem(answer, 409, "budget-exceeded")
    budget("--max-epsilon-record", "2")
    path = north.announce("asia", over)
    # Lowered before anything left, it holds for what was announced.
    budget("--max-epsilon-column", "1")
    assert_problem(north.put(path, 0, over.parts[0]), 409, "budget-exceeded")
    budget()
    assert north.put(path, 0, over.parts[0]).status_code == 201
    budget("--max-epsilon-record", "1.4")
    assert north("POST", f"{path}/seal").status_code == 200
    answer = south("POST", "/v1/studies/asia/releases", json=release(plan(b=2)).body)
    assert_problem(answer, 409, "budget-exceeded")
    assert (miner.data / "audit.jsonl").read_text().count('"action": "change_budget"') == 4


LARGER = "a larger budget, or none"
RECORD = "a budget for a record instead of a central one"
FEWER = f"fewer --records, or {RECORD}"
CENTRAL_OPTIONS = ("--central-epsilon", "5", "--records", "20")


@pytest.mark.parametrize(
    ("last", "words", "first", "number", "remedy"),
    [
        (4, ("--max-epsilon-record", "2"), "r2", "2.773", LARGER),
        (4, ("--max-epsilon-column", "1"), "r1", "1.387", LARGER),
        (4, ("--central-epsilon", "0.001", "--records", "20"), "r1", "1.387", LARGER),
        (4, ("--central-epsilon", "5", "--records", "21"), "r1", "20", FEWER),
        (None, CENTRAL_OPTIONS, "r2", "'b'", RECORD),
        (4, CENTRAL_OPTIONS, None, "", ""),
        (4, ("--max-epsilon-record", "2.7726", "--max-epsilon-column", "1.3863"), None, "", ""),
    ],
)
def test_a_budget_must_cover_what_was_released(
    miner, release, change, last, words, first, number, remedy
):
    """The refusal names the first release that exceeds the budget, and nothing changes."""
    miner.study("asia")
    paths = {
        name: miner.owner("asia", owner).publish("asia", release(made, range(20), name=name))
        for name, owner, made in (("r1", "north", plan(a=4)), ("r2", "south", plan(b=last)))
    }
    before = miner.snapshot()
    done = change("budget", *words)
    if first is None:
        assert done.exit_code == 0, done.output
        return
    assert isinstance(done.exception, BudgetExceeded)
    assert paths[first].endswith(done.exception.where)
    owner = {"r1": "north", "r2": "south"}[first]
    for part in (f"Release {first} of owner {owner}", number):
        assert part in done.exception.message
    assert f"Set {remedy} (" in done.exception.remedy
    assert miner.snapshot() == before
    assert "change_budget" not in (miner.data / "audit.jsonl").read_text()


def test_a_correction_of_people_is_stored_and_warns_if_the_budget_is_exceeded(
    miner, release, change
):
    miner.study("asia", max_epsilon_record=1.5, people="different")
    for owner in ("north", "south"):
        miner.owner("asia", owner).publish("asia", release(plan(a=4), name=owner))
    assert "warning: Release south of owner south" in change("people", "same").stdout
    assert miner.admin.get("/v1/studies/asia")["people"] == "same"
    assert "warning" not in change("people", "different").stdout


def test_a_forecast_refuses_public_columns_under_a_central_budget(miner, release, assert_problem):
    miner.study("asia", **CENTRAL)
    north = miner.owner("asia", "north")
    body = release(plan(a=1.1, b=None), HIDDEN).body
    answer = north("POST", "/v1/studies/asia/releases", json=body)
    problem = assert_problem(answer, 409, "budget-exceeded")
    told = north("POST", "/v1/studies/asia/privacy", json={"plan": body["plan"]}).json()
    assert told["refused"] == f"{problem.detail} {problem.remedy}"
