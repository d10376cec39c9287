"""What the pages of a study say once: sums, who is awaited, blocks, jobs; what may be red."""

from __future__ import annotations

import html
import json
import re
from urllib.parse import unquote, urlsplit

import pytest

from miner_service.http.pages.studies import sum_words
from miner_service.store.people import find_study
from owner_agent.release.joining import read_invitation
from pramana_core.channels import Identity, Symmetric
from pramana_core.domain import Variable
from pramana_core.errors import NotConverged
from pramana_core.plan import Block, Plan
from pramana_core.rounding import rounded_up
from pramana_core.wire.privacy import StudyPrivacy
from tests.miner_service.conftest import build
from tests.miner_service.http.pages.browsers import Browser
from tests.miner_service.intake.test_study_plans import AGREED, own_plan, put
from tests.miner_service.masking import masked

YES = ("no", "yes")
ALARM = '<p class="problem"'
RECORDS = 200


def symmetric(*names: str) -> Block:
    """A block of binary variables that are randomized together."""
    return Block(tuple(Variable(n, YES) for n in names), Symmetric.from_gamma(2 ** len(names), 9.0))


def reports(plan: Plan) -> dict[str, list[int]]:
    return {name: [i % 2 for i in range(RECORDS)] for name in plan.domain.names}


@pytest.fixture
def seated(start):
    """Open a study; return its miner, an analyst, a function that lets owners release, and a way
    to look at it."""

    def opened(**options):
        miner = start(**options)
        analyst = miner.study("s")

        def publish(owner, plan, first=0):
            ids = range(first, first + RECORDS)
            miner.owner("s", owner).publish("s", build(plan, ids, reports(plan)))

        browser = Browser(miner)
        browser.sign_in(analyst.token)
        return miner, analyst, publish, browser

    return opened


def rows(page: str) -> list[str]:
    """The labels of all bars of a page, without tags and marks."""
    labels = re.findall(r'<th scope="row" class="label">(.*?)</th>', page)
    return [re.sub(r"<[^>]*>|[\u2066-\u2069]", " ", html.unescape(one)).strip() for one in labels]


def test_a_block_has_one_line_and_so_have_the_unchanged_columns(seated):
    _, _, publish, browser = seated()
    public = [Block((Variable(name, YES),), Identity(2)) for name in ("x", "y")]
    publish("north", Plan((symmetric("a", "b", "c"), symmetric("d"), symmetric("e"), *public)))
    for part in ("", "/privacy"):
        shown = browser.get(f"/pages/studies/s{part}").text
        labels = [label for label in rows(shown) if label.endswith("north") and label != "north"]
        assert sorted(re.findall(r"\b[a-exy]\b", label) for label in labels) == [
            ["a", "b", "c"], ["d"], ["e"], ["x", "y"]
        ]  # fmt: skip


@pytest.mark.parametrize("people", ["overlapping", "different"])
def test_the_overview_says_how_owners_add_up(seated, people):
    miner, analyst, publish, browser = seated()
    with miner.services.database.write() as session:
        find_study(session, "s").people = people
    assert sum_words(_privacy(analyst)) == ""
    publish("north", Plan((symmetric("a"),)))
    assert sum_words(_privacy(analyst)) == "", "one owner's epsilon is the record's"
    publish("south", Plan((symmetric("b"),)), first=RECORDS)
    words = sum_words(_privacy(analyst))
    assert bool(words) == (people == "different"), "no sum where the largest owner's counts"
    assert words in html.unescape(browser.get("/pages/studies/s").text)


def test_parts_of_a_study_plan_do_not_add_up_and_the_overview_says_both_figures(seated):
    miner, analyst, _, browser = seated()
    owners = {name: miner.owner("s", name) for name in ("north", "south")}
    put(analyst)
    for name, person in owners.items():
        plan = own_plan(name)
        codes = {column: [0] * RECORDS for column in plan.reported_sizes}
        person.publish("s", build(plan, range(RECORDS), codes))
    privacy = _privacy(analyst)
    words = sum_words(privacy)
    added = sum(one.determined.epsilon for one in privacy.owners)
    record = AGREED.amplification.epsilon
    assert record < added - 0.1
    assert f"{rounded_up(added)}" in words
    assert f"{rounded_up(record)}" in words
    assert words in html.unescape(browser.get("/pages/studies/s").text)


def _privacy(analyst) -> StudyPrivacy:
    return StudyPrivacy.model_validate(analyst.get("/v1/studies/s/privacy"))


def test_the_overview_names_who_is_awaited(seated):
    miner, _, publish, browser = seated()
    publish("north", Plan((symmetric("a"),)))
    miner.owner("s", "joined-only")
    miner.admin("POST", "/v1/studies/s/invitations", json={"owner": "invited-only"})
    shown = browser.get("/pages/studies/s").text
    steps = [one for one in re.findall(r"<p>(.*?)</p>", shown) if "custodian" in one]
    assert ["invited-only" in one for one in steps] == [True, False]
    assert ["joined-only" in one for one in steps] == [False, True]


def test_jobs_models_and_headings_stand_once_on_a_page(study):
    browser = study.browser(study.analyst)
    overview = browser.get("/pages/studies/s").text
    for job in study.jobs.values():
        assert overview.count(f"/jobs/{job['id']}") == 1
        assert overview.count(f"/models/{job['model']}") == 1
    job = next(iter(study.jobs.values()))
    parts = ("", "/owners", "/releases", "/privacy", "/jobs", "/models", "/people")
    for address in (
        *(f"/pages/studies/s{part}" for part in parts), f"/pages/jobs/{job['id']}"
    ):  # fmt: skip
        shown = browser.get(address).text
        heads = re.findall(r"<h[1-4][^>]*>(.*?)</h[1-4]>|aria-current=\"page\">(.*?)</a>", shown)
        said = ["".join(one).casefold() for one in heads]
        assert len(said) == len(set(said)), (address, said)


def test_what_is_no_error_is_not_red(seated):
    """A bound that is missing, sums that leave something out, an owner who is awaited."""
    miner, _, publish, browser = seated()
    publish("north", Plan((symmetric("a"),)))
    miner.owner("s", "west").publish("s", masked(range(RECORDS), per_part=RECORDS))
    for part in ("", "/privacy", "/releases"):
        shown = browser.get(f"/pages/studies/s{part}").text
        assert ALARM not in shown, part
    assert '<p class="said"' in browser.get("/pages/studies/s").text
    refused = browser.post("/pages/studies/s/jobs", {"kind": "decision-tree", "target": "none"})
    assert ALARM in refused.text


def test_a_refused_job_offers_the_choice_that_works(seated, build):
    miner, analyst, _, browser = seated()
    for owner, name, ids in (("north", "a", range(200)), ("south", "b", range(50, 250))):
        codes = {name: [i % 2 for i in range(RECORDS)]}
        miner.owner("s", owner).publish("s", build(Plan((symmetric(name),)), ids, codes))
    asked = {"kind": "contingency-table", "variables": ["a", "b"], "records": "identical"}
    refused = browser.post("/pages/studies/s/jobs", asked)
    assert refused.status_code == 409
    offered = [html.unescape(one) for one in re.findall(r'href="([^"]*/new\?[^"]*)"', refused.text)]
    assert len(offered) == 2
    there = urlsplit(offered[0])
    form = browser.get(f"/pages/studies/s/jobs/new?{there.query}").text
    assert '<option value="common" selected>' in form
    assert re.findall(r'name="variables" value="(\w)" checked', form) == ["a", "b"]
    begun = browser.post("/pages/studies/s/jobs", {**asked, "records": "common"})
    job = analyst.wait(f"/v1{urlsplit(str(begun.url)).path.removeprefix('/pages')}")
    assert job["state"] == "succeeded", job


@pytest.mark.parametrize(
    ("remedy", "chosen"),
    [
        ("Use the estimator 'ml' or 'pooled'.", {"ml", "pooled"}),
        ('Use the estimator "ml" with records "any".', {"ml"}),
        ("Allow more.", {""}),
    ],
)
def test_a_failed_job_leads_to_its_form_with_the_option_that_works(seated, remedy, chosen):
    def fails(*_words):
        raise NotConverged("No convergence.", remedy=remedy)

    _, analyst, publish, browser = seated(learn=fails)
    publish("north", Plan((symmetric("a"), symmetric("b"))))
    spec = {"kind": "bayes-net-parameters", "structure": {"a": ["b"], "b": []}}
    made = analyst("POST", "/v1/studies/s/jobs", json={"spec": spec})
    job = analyst.wait(made.headers["location"])
    assert job["state"] == "failed"
    shown = browser.get(f"/pages/jobs/{job['id']}").text
    queries = [html.unescape(one) for one in re.findall(r'href="[^"]*/new\?([^"]*)"', shown)]
    assert len(queries) == len(chosen)
    estimators = set()
    for query in queries:
        form = browser.get(f"/pages/studies/s/jobs/new?{query}").text
        (options,) = re.findall(r'name="estimator">(.*?)</select>', form)
        estimators |= set(re.findall(r'<option value="(\w+)" selected', options))
        assert json.dumps(spec["structure"]) in html.unescape(form)
        records = '<option value="any" selected>' in form
        assert records == ("any" in remedy)
    assert estimators == chosen - {""}


def test_an_invitation_is_a_file_that_join_takes_and_a_token_one_that_signs_in(study, tmp_path):
    browser = study.browser(study.miner.admin)
    made = browser.post("/pages/studies/s/invitations", {"owner": "east", "valid_hours": "24"})
    name, text = _file(made)
    (tmp_path / name).write_text(text)
    invitation = read_invitation(tmp_path / name)
    assert (invitation.owner, invitation.study) == ("east", "s")
    assert invitation.miner == "http://testserver"
    assert invitation.secret not in browser.get("/pages/studies/s/people").text
    taken = study.miner.nobody("POST", "/v1/invitations/accept", json={"secret": invitation.secret})
    assert taken.status_code == 201
    _, text = _file(browser.post("/pages/studies/s/tokens", {"name": "cleo", "valid_days": "3"}))
    assert json.loads(text)["token"] not in browser.get("/pages/studies/s/people").text
    cleo = Browser(study.miner)
    assert cleo.sign_in(text).url.path == "/pages/studies/s"
    for wrong in ("{}", text[:-3], text.replace('"token"', '"secret"')):
        refused = Browser(study.miner).sign_in(wrong)
        assert refused.status_code == 401
        assert json.loads(text)["token"] not in refused.text


def _file(answer) -> tuple[str, str]:
    """The name and text of the file that a page has for download."""
    name, data = re.findall(r'download="([^"]+)" href="data:[^,"]*,([^"]+)"', answer.text)[0]
    return name, unquote(data)


def test_every_link_is_relative(study):
    browser = study.browser(study.miner.admin)
    job = next(iter(study.jobs.values()))
    for address in (
        "/pages/studies", "/pages/operator", "/pages/studies/s", "/pages/studies/s/people",
        "/pages/studies/s/jobs/new?kind=decision-tree", f"/pages/jobs/{job['id']}",
        f"/pages/models/{job['model']}", f"/pages/models/{job['model']}/page", "/pages/none",
    ):  # fmt: skip
        links = re.findall(r'\b(?:href|src|action)="([^"]*)"', browser.get(address).text)
        assert [one for one in links if one.startswith("/") or "://" in one] == [], address
