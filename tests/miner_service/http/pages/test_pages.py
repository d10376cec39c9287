"""The pages of a study, its jobs, models and people, as admin, analyst and owner see them."""

from __future__ import annotations

import html
import json
import re
from urllib.parse import unquote, urlsplit

import pytest

from miner_service.http.pages.job_forms import job_forms
from pramana_core.rounding import rounded_up
from pramana_core.wire.jobs import JobCreate
from tests.miner_service.http.pages.browsers import Browser
from tests.miner_service.http.pages.conftest import MARKUP, TURNED

PARTS = ("", "/owners", "/releases", "/privacy", "/jobs", "/models")


def text_of(answer):
    """What a page says, without its tags."""
    return html.unescape(re.sub(r"<[^>]*>", "", answer.text))


def addresses(study):
    """Every page of the study that all may see, and of its jobs and models."""
    found = [f"/pages/studies/s{part}" for part in PARTS]
    for job in study.jobs.values():
        model = f"/pages/models/{job['model']}"
        found += [f"/pages/jobs/{job['id']}", model]
    return found


def test_a_study_says_what_was_released_and_what_it_tells(study):
    browser = study.browser(study.analyst)
    told = text_of(browser.get("/pages/studies/s"))
    api = study.analyst.get("/v1/studies/s/privacy")
    epsilon = f"{rounded_up(api['record']['determined']['epsilon'])}"
    assert epsilon in told
    assert "symmetric, kept 0.9; gamma 9, epsilon 2.198" in told
    assert "200 records are at every owner, 400 at any" in told
    drawn = browser.get("/pages/studies/s").text
    assert 'aria-label="200 of 300 records are at every owner"' in drawn
    assert '<rect class="shared" x="0.00" width="50.00"' in drawn
    assert drawn.count('class="spent"') >= 5


def test_an_owner_sees_what_is_hers(study):
    south = study.browser(study.owners["south"])
    for address in ("/pages/studies/s", "/pages/studies/s/releases", "/pages/studies/s/privacy"):
        answer = south.get(address)
        assert answer.status_code == 200
        assert "alert(1)" not in answer.text, address
        assert "at every owner, 400" not in text_of(answer)
    assert "The owners have different records." in south.get("/pages/studies/s").text
    for job in study.jobs.values():
        assert south.get(f"/pages/jobs/{job['id']}").status_code == 404
        assert south.get(f"/pages/models/{job['model']}").status_code == 404
        assert south.get(f"/pages/models/{job['model']}/page").status_code == 404
    assert south.get("/pages/studies/s/people").status_code == 403
    assert south.get("/pages/studies/s/jobs/new?kind=decision-tree").status_code == 403
    assert south.get("/pages/operator").status_code == 403
    refused = south.post("/pages/studies/s/jobs", {"kind": "decision-tree", "target": "C"})
    assert refused.status_code == 403
    assert "owner does not permit this" in text_of(refused)


def test_who_is_of_another_study_sees_nothing(study):
    stranger = study.browser(study.miner.study("t"))
    for address in addresses(study):
        assert stranger.get(address).status_code == 404, address
    assert stranger.get("/pages/studies").text.count("/pages/studies/s") == 0


def test_every_kind_of_job_has_a_form_that_asks_what_the_api_asks(study):
    assert set(job_forms()) == {
        "association-rules",
        "bayes-classifier",
        "bayes-net-parameters",
        "bayes-net-structure",
        "contingency-table",
        "decision-tree",
        "linear-classifier",
        "model-sharing",
        "regression",
    }
    for form in job_forms().values():
        named = {one.path[0] for one in form.inputs} | {"kind"}
        assert named | {"items", "numeric"} >= set(form.of.spec.model_fields) >= named, form.kind


def test_a_job_is_begun_and_seen(study):
    browser = study.browser(study.analyst)
    page = browser.get("/pages/studies/s/jobs/new?kind=decision-tree")
    assert html.escape(MARKUP, quote=False) in page.text
    asked = {"kind": "decision-tree", "target": TURNED, "attributes": [MARKUP]}
    before = len(study.analyst.get("/v1/studies/s/jobs")["items"])
    refused = browser.post("/pages/studies/s/jobs", {**asked, "max_depth": "many"})
    assert refused.status_code == 422
    assert "max depth: this is not a number" in text_of(refused)
    assert f'<option dir="auto" value="{html.escape(TURNED)}" selected>' in refused.text
    assert len(study.analyst.get("/v1/studies/s/jobs")["items"]) == before
    sent = {**asked, "records": "common", "max_depth": "3", "prune": "on", "significance": ""}
    begun = browser.post("/pages/studies/s/jobs", sent)
    assert urlsplit(str(begun.url)).path.startswith("/pages/jobs/j-")
    job = study.analyst.wait(f"/v1{urlsplit(str(begun.url)).path.removeprefix('/pages')}")
    assert job["state"] == "succeeded"
    spec = {"kind": "decision-tree", "target": TURNED, "attributes": [MARKUP], "records": "common"}
    wanted = {**spec, "max_depth": 3, "prune": True, "significance": None}
    settled = JobCreate.model_validate({"spec": wanted}).spec.model_dump(mode="json")
    for chosen in ("order", "estimator"):  # by the miner
        del job["spec"][chosen], settled[chosen]
    assert job["spec"] == settled
    done = browser.get(f"/pages/jobs/{job['id']}")
    assert "data-follow" not in done.text
    assert f"/pages/models/{job['model']}" in done.text


def test_a_job_that_waits_is_cancelled(start, build, plan_a):
    miner = start(entered=False)
    analyst = miner.study("s")
    with miner.client:
        owner = miner.owner("s", "north")
        codes = {"A": [0, 1] * 50, "B": [0] * 100}
        owner.publish("s", build(plan_a, range(100), codes))
        browser = Browser(miner)
        browser.sign_in(analyst.token)
        miner.app.state.crew.stop()
        asked = {"kind": "contingency-table", "variables": ["A"]}
        begun = browser.post("/pages/studies/s/jobs", asked)
        assert begun.status_code == 200, text_of(begun)
        assert "data-follow" in begun.text
        over = browser.post(urlsplit(str(begun.url)).path + "/cancel", {})
        assert '"state cancelled"' in over.text
        assert "Cancel the job" not in over.text


def test_a_model_is_framed_and_fetched(study):
    browser = study.browser(study.analyst)
    tree, table = (study.jobs[name]["model"] for name in ("tree", "table"))
    shown = browser.get(f"/pages/models/{tree}")
    told = study.analyst.get(f"/v1/models/{tree}")["told"]
    assert f"{rounded_up(told['epsilon'])}" in text_of(shown)
    framed = browser.get(f"/pages/models/{tree}/page")
    assert framed.text == study.analyst("GET", f"/v1/models/{tree}/page").text
    assert "frame-ancestors 'self'" in framed.headers["content-security-policy"]
    assert "script-src" not in framed.headers["content-security-policy"]
    media_types = {"json": "application/json", "svg": "image/svg+xml", "text": "text/plain"}
    for form, media in media_types.items():
        file = browser.get(f"/pages/models/{tree}/files/{form}")
        assert file.headers["content-type"].startswith(media)
        assert file.headers["content-disposition"].startswith("attachment")
    assert browser.get(f"/pages/models/{tree}/files/json").json() == study.analyst.get(
        f"/v1/models/{tree}"
    )
    csv = browser.get(f"/pages/models/{table}/files/csv")
    assert csv.text == study.analyst("GET", f"/v1/models/{table}/csv").text
    assert browser.get(f"/pages/models/{tree}/files/bif").status_code == 404


def shown_file(answer, name):
    """The file that a page hands over."""
    saved = f'download="{name}" href="data:application/json;charset=utf-8,([^"]*)"'
    return unquote(re.search(saved, answer.text)[1])


def test_invitations_and_tokens_are_shown_once(study):
    browser = study.browser(study.miner.admin)
    made = browser.post("/pages/studies/s/invitations", {"owner": "east", "valid_hours": "24"})
    invitation = json.loads(shown_file(made, "s-east.invitation"))
    assert (invitation["miner"], invitation["owner"]) == ("http://testserver", "east")
    secret = invitation["secret"]
    assert secret not in browser.get("/pages/studies/s/people").text
    listed = study.miner.admin.get("/v1/studies/s/invitations")["items"]
    (waiting,) = [one for one in listed if one["owner"] == "east"]
    browser.post(f"/pages/invitations/{waiting['id']}/revoke", {"study": "s"})
    taken = study.miner.nobody("POST", "/v1/invitations/accept", json={"secret": secret})
    assert taken.status_code != 201
    issued = browser.post("/pages/studies/s/tokens", {"name": "bob", "valid_days": "3"})
    token = json.loads(shown_file(issued, "s-bob.json"))["token"]
    assert token not in browser.get("/pages/studies/s/people").text
    assert type(study.analyst)(study.miner.client, token)("GET", "/v1/studies/s").status_code == 200
    wrong = browser.post("/pages/studies/s/invitations", {"owner": "<b>"})
    assert wrong.status_code == 422
    assert "letters, digits" in text_of(wrong)


def test_empty_states_say_the_next_command(start):
    miner = start()
    browser = Browser(miner)
    assert "miner-service study create" in browser.sign_in(miner.admin.token).text
    miner.study("s")
    assert "miner-service study invite" in text_of(browser.get("/pages/studies/s"))
    assert "owner-agent publish" in browser.get("/pages/studies/s/releases").text
    assert "owner-agent join" in browser.get("/pages/studies/s/owners").text
    for part in ("jobs", "models"):
        assert "pramana study run" in browser.get(f"/pages/studies/s/{part}").text
    twice = browser.post("/pages/studies", {"name": "s", "people": "same"})
    assert twice.status_code == 409
    vast = {"max_central_epsilon": "1", "central_records": str(10**19)}
    assert (
        browser.post("/pages/studies", {"name": "t", "people": "same", **vast}).status_code == 422
    )
    fits = vast | {"central_records": "1000"}
    assert (
        browser.post("/pages/studies", {"name": "t", "people": "same", **fits}).status_code == 200
    )


def test_the_operator_sees_health_queue_and_disk(study):
    shown = text_of(study.browser(study.miner.admin).get("/pages/operator"))
    for words in ("ready", "queued", "Workers", "GiB free"):
        assert words in shown


@pytest.mark.parametrize("address", ["/nowhere", "/studies/none", "/static/x.css"])
def test_what_is_not_there_is_a_page(study, address):
    answer = study.browser(study.miner.admin).get(f"/pages{address}")
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/html")


def test_a_model_is_renamed_and_nothing_else_of_it_changes(study):
    browser = study.browser(study.analyst)
    job = study.jobs["tree"]
    before = study.analyst.get(f"/v1/models/{job['model']}")
    assert before["name"].startswith("s: decision tree of 2 columns, ")
    shown = browser.post(f"/pages/jobs/{job['id']}/name", {"name": f" {MARKUP} of May "})
    assert urlsplit(str(shown.url)).path == f"/pages/models/{job['model']}"
    after = study.analyst.get(f"/v1/models/{job['model']}")
    assert after == {**before, "name": f"{MARKUP} of May"}
    assert study.analyst.get(f"/v1/jobs/{job['id']}")["name"] == after["name"]
    for place in ("jobs", "models"):
        listed = browser.get(f"/pages/studies/s/{place}").text
        assert html.escape(after["name"]) in listed
        assert MARKUP not in listed
    path = f"/v1/jobs/{job['id']}/name"
    assert study.analyst("PUT", path, json={"name": " "}).status_code == 422
    assert study.owners["north"]("PUT", path, json={"name": "mine"}).status_code == 404
    assert study.analyst("PUT", path, json={"name": before["name"]}).status_code == 200


def test_compared_models_show_their_worth_and_what_differs(study):
    browser = study.browser(study.analyst)
    found = [study.analyst.get(f"/v1/models/{study.jobs[n]['model']}") for n in ("tree", "table")]
    query = "&".join(f"model={one['id']}" for one in [*found, {"id": "m-none"}])
    shown = text_of(browser.get(f"/pages/studies/s/compare?{query}"))
    assert found[0]["worth"]["verdict"] in shown
    for differs in ("expected accuracy", "decision-tree", "contingency-table", "significance"):
        assert differs in shown
    alone = browser.get(f"/pages/studies/s/compare?model={found[0]['id']}")
    assert "expected accuracy" not in text_of(alone)
