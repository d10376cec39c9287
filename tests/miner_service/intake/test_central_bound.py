"""The central bound of a study: what it is, and each case in which it is not stated."""

from __future__ import annotations

import hashlib
import html
import math

import numpy as np
import pytest

from pramana_core.channels import Identity, Symmetric, Withheld
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan
from pramana_core.privacy import DELTA, ShuffledReport, central_loss, known_set_loss
from pramana_core.rounding import rounded_up
from tests.miner_service.http.pages.browsers import Browser
from tests.miner_service.intake.test_single_reports import ROWS, Setting
from tests.miner_service.intake.test_study_plans import AGREED, own_plan, put
from tests.miner_service.masking import masked
from tests.miner_service.sharing import private, share

ONE, OTHER = "1" * 64, "2" * 64
GAMMA = 3.0


def bound(gamma, records):
    return central_loss(ShuffledReport.of_gamma(gamma), records).epsilon


def block(name, gamma):
    channel = Identity(2) if gamma is None else Symmetric.from_gamma(2, gamma)
    return Block((Variable(name, ("no", "yes")),), channel)


@pytest.fixture
def release(build):
    """A release of columns at their gammas, None for public ones, under one linkage secret."""

    def make(name, ids, linkage=ONE, draws="first", codes=None, **gammas):
        zeros = {column: np.zeros(len(ids), np.uint8) for column in gammas}
        plan = Plan(tuple(block(column, gamma) for column, gamma in gammas.items()))
        built = build(plan, ids, {**zeros, **(codes or {})}, name=name)
        built.body["linkage"] = linkage
        built.body["draws"] = [
            hashlib.sha256(f"{draws} {column}".encode()).hexdigest() for column in gammas
        ]
        return built

    return make


@pytest.fixture
def study(miner):
    """An analyst of a study, and two owners."""
    return miner.study("s"), miner.owner("s", "north"), miner.owner("s", "south")


def central(person, study="s"):
    return person.get(f"/v1/studies/{study}/privacy")["central"]


def unstated(person, study="s"):
    told = central(person, study)
    return told["epsilon"] is None and bool(told["unstated"])


def test_everybody_in_a_study_of_one_owner_reads_it(study, release):
    analyst, north, _ = study
    assert unstated(analyst)
    north.publish("s", release("r1", range(2_000), ill=GAMMA))
    told = central(analyst)
    assert told == central(north)
    assert told["epsilon"] == pytest.approx(bound(GAMMA, 2_000), rel=1e-6)
    assert told["epsilon"] < math.log(GAMMA) / 4
    assert (told["delta"], told["records"], told["unstated"]) == (DELTA, 2_000, "")


def test_it_stands_beside_the_local_bound_on_pages(miner, study, release):
    analyst, north, _ = study
    north.publish("s", release("r1", range(2_000), ill=GAMMA))
    browser = Browser(miner)
    browser.sign_in(analyst.token)
    words = f"<dd>{rounded_up(central(analyst)['epsilon'])}</dd>"
    for part in ("", "/privacy"):
        page = browser.get(f"/pages/studies/s{part}").text
        assert f"<dd>{rounded_up(math.log(GAMMA))}</dd>" in page
        assert words in page
    north.publish("s", masked(range(2_000)))
    page = html.unescape(browser.get("/pages/studies/s/privacy").text)
    assert central(analyst)["unstated"] in page
    assert words not in page


def test_losses_under_the_same_pseudonyms_add_and_then_hide_among_all(study, release):
    analyst, north, south = study
    north.publish("s", release("r1", range(2_000), ill=GAMMA))
    south.publish("s", release("r1", range(2_000), tall=5.0))
    assert central(analyst)["epsilon"] == pytest.approx(bound(15, 2_000), rel=1e-6)
    assert unstated(north), "whose records match is not for an owner"


def test_the_same_draws_add_nothing_and_new_ones_double_the_local_loss(study, release):
    analyst, north, _ = study
    north.publish("s", release("r1", range(2_000), ill=GAMMA))
    north.publish("s", release("again", range(2_000), ill=GAMMA, more=1.0))
    assert central(analyst)["epsilon"] == pytest.approx(bound(GAMMA, 2_000), rel=1e-6)
    north.publish("s", release("anew", range(2_000), draws="second", ill=GAMMA))
    assert central(analyst)["epsilon"] == pytest.approx(bound(GAMMA**2, 2_000), rel=1e-6)


def test_a_record_hides_among_those_of_its_owners_and_loses_what_these_tell(study, release):
    """1,500 records are at north alone, 500 at both, 2,500 at south alone."""
    analyst, north, south = study
    north.publish("s", release("r1", range(2_000), ill=GAMMA))
    south.publish("s", release("r1", range(1_500, 4_500), tall=5.0))
    told = central(analyst)
    assert told["records"] == 500
    assert told["epsilon"] == pytest.approx(bound(15, 500), rel=1e-6)


def test_a_late_batch_hides_among_itself(study, release):
    analyst, north, _ = study
    north.publish("s", release("r1", range(2_000), ill=GAMMA))
    north.publish("s", release("more", range(2_300), ill=GAMMA))
    told = central(analyst)
    assert told["records"] == 300
    assert told["epsilon"] == pytest.approx(bound(GAMMA, 300), rel=1e-6)
    north.publish("s", release("one", range(2_301), ill=GAMMA))
    assert central(analyst)["epsilon"] == pytest.approx(math.log(GAMMA), rel=1e-6)


def test_public_columns_tell_records_apart(study, release):
    analyst, north, south = study
    east = np.arange(2_000) < 300
    north.publish("s", release("r1", range(2_000), codes={"east": east}, ill=GAMMA, east=None))
    assert central(analyst)["epsilon"] == pytest.approx(bound(GAMMA, 300), rel=1e-6)
    old = np.arange(2_000) >= 280
    south.publish("s", release("r1", range(2_000), codes={"old": old}, tall=5.0, old=None))
    told = central(analyst)
    assert told["records"] == 20
    assert told["epsilon"] == pytest.approx(bound(15, 20), rel=1e-6)


def test_equal_bytes_under_another_plan_have_groups_of_their_own(miner, study, release):
    analyst, north, _ = study
    codes = {"a": np.arange(2_000) < 300, "b": np.arange(2_000) < 20}
    north.publish("s", release("r1", range(2_000), codes=codes, a=None, b=GAMMA))
    assert central(analyst)["records"] == 300
    other = miner.study("t")
    miner.owner("t", "north").publish(
        "t", release("r1", range(2_000), codes=codes, a=GAMMA, b=None)
    )
    assert central(other, "t")["records"] == 20


def test_a_release_that_was_never_complete_is_not_comparable(study, release):
    analyst, north, _ = study
    north.publish("s", release("r1", range(2_000), ill=GAMMA))
    built = release("r2", range(2_000), ill=GAMMA)
    path = north.announce("s", built)
    north.put(path, 0, built.parts[0])
    north("POST", f"{path}/withdraw")
    assert unstated(analyst)


def test_a_withdrawn_release_has_been_seen(study, release):
    analyst, north, _ = study
    path = north.publish("s", release("r1", range(2_000), ill=GAMMA))
    north.publish("s", release("r2", range(2_000), draws="second", ill=GAMMA))
    north("POST", f"{path}/withdraw")
    assert central(analyst)["epsilon"] == pytest.approx(bound(GAMMA**2, 2_000), rel=1e-6)


def test_it_is_not_stated_where_nobody_can_tell_which_records_are_alike(study, release):
    analyst, north, _ = study
    path = north.publish("s", release("r1", range(100), ill=GAMMA))
    north.publish("s", release("r2", range(2_000), ill=GAMMA))
    assert not unstated(analyst)
    north("POST", f"{path}/withdraw")
    assert unstated(analyst)


def test_it_is_not_stated_while_a_release_is_incomplete(study, release):
    analyst, north, _ = study
    north.publish("s", release("r1", range(2_000), ill=GAMMA))
    built = release("r2", range(2_500), ill=GAMMA)
    path = north.announce("s", built)
    assert not unstated(analyst)
    north.put(path, 0, built.parts[0])
    assert unstated(analyst)


def test_it_is_not_stated_under_several_secrets_or_none(miner, release):
    analyst = miner.study("s", people="different")
    north, south = miner.owner("s", "north"), miner.owner("s", "south")
    north.publish("s", release("r1", range(2_000), ill=GAMMA))
    built = release("r1", range(2_000, 4_000), draws="other", ill=GAMMA)
    del built.body["linkage"]
    south.publish("s", built)
    assert unstated(analyst)


def test_different_people_hide_among_those_of_their_owner(miner, release):
    analyst = miner.study("s", people="different")
    for place, name in enumerate(("north", "south")):
        ids = range(2_000 * place, 2_000 * place + 2_000 - place)
        miner.owner("s", name).publish("s", release("r1", ids, draws=name, ill=GAMMA))
    told = central(analyst)
    assert told["records"] == 1_999
    assert told["epsilon"] == pytest.approx(bound(GAMMA, 1_999), rel=1e-6)


def test_it_is_not_stated_where_the_same_draws_report_a_record_differently(study, release):
    analyst, north, _ = study
    codes = {"ill": np.arange(2_000) % 2}
    north.publish("s", release("r1", range(2_000), codes=codes, ill=GAMMA))
    codes = {"ill": np.r_[1, codes["ill"][1:]]}
    north.publish("s", release("r2", range(2_000), codes=codes, ill=GAMMA))
    assert unstated(analyst)


def test_it_is_not_stated_beside_what_nothing_bounds_and_a_private_tree_adds(study, release):
    analyst, north, _ = study
    north.publish("s", release("r1", range(2_000), smokes=GAMMA))
    share(north, "s", private(1.0))
    assert central(analyst)["epsilon"] == pytest.approx(1.0 + bound(GAMMA, 2_000), rel=1e-6)
    north.publish("s", masked(range(2_000)))
    assert unstated(analyst)


def test_it_is_not_stated_of_columns_that_are_public_alone(study, release):
    analyst, north, _ = study
    north.publish("s", release("r1", range(2_000), ill=None))
    assert unstated(analyst)


def test_single_records_have_the_local_bound_alone(miner):
    lungs = Setting(miner)
    lungs.send(ROWS * 200, "first")
    assert unstated(lungs.analyst, "lungs")
    lungs.analyst("POST", "/v1/studies/lungs/reports/release")
    assert unstated(lungs.analyst, "lungs")
    model = lungs.job()
    assert model["central"]["epsilon"] is None


def test_a_forecast_has_it_before_and_not_after(study, release):
    _, north, _ = study
    north.publish("s", release("r1", range(2_000), ill=GAMMA))
    plan = release("r2", range(10), tall=2.0).body["plan"]
    told = north("POST", "/v1/studies/s/privacy", json={"plan": plan}).json()
    assert told["before"]["central"] == central(north)
    assert told["after"]["central"] is None


def test_a_model_states_that_of_the_releases_it_used(study, release):
    analyst, north, south = study
    north.publish("s", release("r1", range(2_000), ill=GAMMA))
    south.publish("s", release("r1", range(2_000), tall=5.0))
    spec = {"kind": "contingency-table", "variables": ["ill", "tall"]}
    model = analyst.learn("s", spec)
    assert model["central"] == central(analyst)
    assert model["central"]["epsilon"] == pytest.approx(bound(15, 2_000), rel=1e-6)
    assert north.get(f"/v1/models/{model['id']}")["central"] is None


# A plan that was fixed before any report was seen ------------------------------------------------


WIDE = Symmetric.from_gamma(64, 5.0)


def wide(name, build, ids=range(2_000), title="r1", more=()):
    """A release of columns of 64 categories at gamma 5."""
    labels, names = tuple(f"x{i}" for i in range(64)), (name, *more)
    plan = Plan(tuple(Block((Variable(one, labels),), WIDE) for one in names))
    built = build(plan, ids, {one: np.arange(len(ids)) % 64 for one in names}, name=title)
    built.body["linkage"] = ONE
    built.body["draws"] = [hashlib.sha256(f"first {one}".encode()).hexdigest() for one in names]
    return built


def bound_of_one_wide_column(records=2_000):
    return central_loss(ShuffledReport.of(WIDE), records).epsilon


def test_one_plan_has_its_own_bound_and_later_plans_the_worst(study, build):
    """A later plan may be designed after the results of earlier reports were seen."""
    analyst, north, south = study
    own = bound_of_one_wide_column()
    north.publish("s", wide("place", build))
    found = central(analyst)
    assert (found["epsilon"], found["known_set"]) == (own, None)
    assert own < 0.6 * bound(5, 2_000)
    north.publish("s", wide("place", build, title="again"))
    assert central(analyst)["epsilon"] == own
    # At other records, it is again the only release.
    south.publish("s", wide("town", build, range(2_000, 5_000), title="other"))
    assert central(analyst)["epsilon"] == own
    south.publish("s", wide("town", build, title="same"))
    assert central(analyst)["epsilon"] == pytest.approx(bound(25, 2_000), rel=1e-6)


def test_parts_of_one_study_plan_have_their_own_bound_until_one_is_drawn_anew(study, build):
    analyst, north, south = study
    put(analyst)

    def part(owner, name="r1", draws="first"):
        hidden = Block((Variable("name", ("x", "y")),), Withheld(2))
        plan = Plan((*own_plan(owner).blocks, hidden))
        codes = {n: np.full(2_000, k - 1) for n, k in plan.reported_sizes.items()}
        built = build(plan, range(2_000), codes, name=name, per_part=100_000)
        built.body["linkage"] = ONE
        built.body["draws"] = [
            hashlib.sha256(f"{draws} {owner} {place}".encode()).hexdigest() for place in range(2)
        ]
        return built

    north.publish("s", part("north"))
    alone = central_loss(ShuffledReport.of(own_plan("north")), 2_000).epsilon
    assert central(analyst)["epsilon"] == pytest.approx(alone, rel=1e-9)
    south.publish("s", part("south"))
    joint = ShuffledReport.of(AGREED.together)
    assert joint.set_weights == pytest.approx((0.25,))
    found = central(analyst)
    assert found["epsilon"] == pytest.approx(central_loss(joint, 2_000).epsilon, rel=1e-9)
    assert found["known_set"] == pytest.approx(known_set_loss(joint, 2_000).epsilon, rel=1e-9)
    assert alone < found["epsilon"] < bound(9, 2_000) < found["known_set"]
    north.publish("s", part("north", "r2", "second"))
    anew = central(analyst)
    assert anew["epsilon"] == pytest.approx(bound(81, 2_000), rel=1e-6)
    # The sets of one owner's two draws and of the other owner may be one rare combination.
    assert anew["known_set"] == pytest.approx(math.log(81), rel=1e-6)


def learned(analyst, variable):
    return analyst.learn("s", {"kind": "contingency-table", "variables": [variable]})


def test_a_model_of_an_updated_study_has_the_bound_of_the_study(miner, build):
    analyst, north = miner.study("s"), miner.owner("s", "north")
    for title in ("r1", "again"):
        north.publish("s", wide("place", build, title=title))
    found = learned(analyst, "place")["central"]
    assert found == central(analyst)
    assert found["epsilon"] == bound_of_one_wide_column()


@pytest.mark.parametrize("withdrawn", [True, False])
def test_a_model_has_the_worst_bound_if_its_plan_may_depend_on_other_releases(
    miner, build, withdrawn
):
    analyst, north = miner.study("s"), miner.owner("s", "north")
    path = north.publish("s", wide("place", build))
    if withdrawn:
        north("POST", f"{path}/withdraw")
    north.publish("s", wide("place", build, title="r2", more=["town"]))
    found = learned(analyst, "place")["central"]
    assert found["epsilon"] == pytest.approx(bound(25, 2_000), rel=1e-6)
