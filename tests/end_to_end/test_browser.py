"""The miner's pages in a real browser: what admin, analyst and owner do there, by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from miner_service.http.pages.job_forms import job_forms
from pramana.demo.processes import Processes
from tests.end_to_end import browsing
from tests.miner_service.conftest import SURVEYED, Person, build, surveyed
from tests.miner_service.masking import masked
from tests.miner_service.sharing import model, share

pytestmark = [pytest.mark.end_to_end, pytest.mark.slow]


@dataclass
class Service:
    """A miner process with two studies, and who may ask it: an analyst of each, by its name."""

    url: str
    admin: Person
    analysts: dict[str, Person]
    owners: dict[str, Person]


@pytest.fixture(scope="module")
def service(tmp_path_factory) -> Iterator[Service]:
    """Two owners randomized records of the same people; of others one masked, one shared a tree."""
    root = tmp_path_factory.mktemp("browser")
    token = root / "admin.token"
    place = ["--data", str(root / "miner"), "--admin-token-file", str(token)]
    with Processes(root) as processes:
        url = processes.serve("miner", "miner_service", "serve", *place)
        with httpx.Client(base_url=url, timeout=None) as client:
            made = Service(url, Person(client, token.read_text().strip()), {}, {})
            budget = {"title": "Who falls ill", "max_epsilon_record": 20}
            _open(made, "survey", ("north", "south"), budget)
            _open(made, "debts", ("west", "east"), {})
            records = surveyed()
            for name, plan in records.plans.items():
                codes = {v: records.reports[v] for v in plan.domain.names}
                built = build(plan, range(SURVEYED), codes, per_part=SURVEYED)
                made.owners[name].publish("survey", built)
            made.owners["west"].publish("debts", masked(range(400), per_part=400))
            share(made.owners["east"], "debts", model())
            yield made


def _open(made: Service, study: str, owners: tuple[str, ...], more: dict[str, Any]) -> None:
    client = made.admin.client
    assert made.admin("POST", "/v1/studies", json={"name": study, **more}).status_code == 201
    issued = made.admin("POST", f"/v1/studies/{study}/tokens", json={"name": "ana"}).json()
    made.analysts[study] = Person(client, issued["token"], issued["id"])
    for name in owners:
        invited = made.admin("POST", f"/v1/studies/{study}/invitations", json={"owner": name})
        secret = {"secret": invited.json()["secret"]}
        taken = made.admin("POST", "/v1/invitations/accept", json=secret).json()
        made.owners[name] = Person(client, taken["token"], taken["id"])


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """The browser, which the tests of the module share."""
    with browsing.browser() as started:
        yield started


@pytest.fixture
def somebody(chromium, service) -> Iterator[Callable[..., browsing.Person]]:
    """Seat somebody at a browser; at the end nothing may have gone wrong there."""
    seated = []

    def seat(token: str = "", **options: Any) -> browsing.Person:
        found = browsing.Person(chromium, service.url, **options)
        seated.append(found)
        if token:
            found.sign_in(token)
        return found

    yield seat
    for one in seated:
        one.context.close()
    assert [fault for one in seated for fault in one.faults] == []


def test_an_admin_makes_a_study_invites_an_owner_and_gives_an_analyst_a_token(somebody, service):
    page = somebody(service.admin.token).page
    page.get_by_label("Name", exact=True).fill("garden")
    page.get_by_label("Title").fill("What grows")
    page.get_by_label("Its owners hold").select_option("the same people")
    page.get_by_role("button", name="Create the study").click()
    page.get_by_role("heading", name="garden").wait_for()
    assert "No owner has joined yet" in page.inner_text("main")
    page.get_by_role("link", name="People").click()
    page.get_by_label("Owner").fill("north")
    page.get_by_role("button", name="Invite").click()
    secret = page.locator("pre.secret").inner_text()
    taken = service.admin("POST", "/v1/invitations/accept", json={"secret": secret.strip()})
    assert taken.status_code == 201
    page.get_by_label("Analyst").fill("bob")
    page.get_by_role("button", name="Issue the token").click()
    token = page.locator("pre.secret").inner_text().strip()
    assert token not in page.content().replace(page.locator("pre.secret").inner_html(), "")
    bob = somebody(token).page
    assert bob.get_by_role("link", name="garden").count() == 1
    assert bob.get_by_role("link", name="survey").count() == 0
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Token").wait_for()


FILLED: dict[str, dict[str, Any]] = {
    "association-rules": {"minimum support": "0.2"},
    "bayes-classifier": {"target": "ill"},
    "bayes-net-parameters": {},
    "bayes-net-structure": {"draws": "5"},
    "contingency-table": {"variables": ["smoker", "ill"]},
    "decision-tree": {"target": "ill"},
    "linear-classifier": {"target": "ill"},
    "model-sharing": {},
    "regression": {"target": "debt"},
}
"""What is filled in at the form of each kind of job, by its labels."""

OF_DEBTS = ("model-sharing", "regression")


def study_of(kind: str) -> str:
    """The study that has what a kind of job learns from."""
    return "debts" if kind in OF_DEBTS else "survey"


def fill(page: Any, filled: dict[str, Any]) -> None:
    """Fill in fields by their labels."""
    for label, value in filled.items():
        if isinstance(value, list):
            group = page.get_by_role("group", name=label)
            for name in value:
                group.get_by_label(name).check()
            continue
        asked = page.get_by_label(label, exact=True)
        if not asked.is_visible():
            page.get_by_text("More options").click()
        if asked.evaluate("one => one.tagName") == "SELECT":
            asked.select_option(value)
        else:
            asked.fill(value)


@pytest.fixture(scope="module")
def models(chromium, service) -> dict[str, str]:
    """The page of the model of each kind, whose job was begun by its form and then followed."""
    found = {}
    for study in ("survey", "debts"):
        ana = browsing.Person(chromium, service.url)
        page = ana.sign_in(service.analysts[study].token)
        for kind in (one for one in FILLED if study_of(one) == study):
            ana.open(f"/pages/studies/{study}/jobs")
            page.get_by_label("Learn").select_option(kind)
            page.get_by_role("button", name="Go on").click()
            fill(page, FILLED[kind])
            page.get_by_role("button", name="What would it take?").click()
            assert "It would take" in page.get_by_role("status").inner_text()
            page.get_by_role("button", name="Start the job").click()
            page.locator("#state.succeeded").wait_for()
            page.get_by_role("link", name="See the model").click()
            page.wait_for_url("**/pages/models/*")
            found[kind] = page.url.removeprefix(service.url)
        ana.context.close()
        assert ana.faults == []
    return found


def test_each_kind_of_job_is_begun_by_its_form_and_its_model_opened(models, somebody, service):
    assert set(models) == set(FILLED) == set(job_forms())
    for kind, address in models.items():
        page = somebody(service.analysts[study_of(kind)].token).open(address)
        framed = page.frame_locator("iframe.model")
        assert framed.locator("h1").inner_text()
        assert "±" in framed.locator("body").inner_text() or framed.locator("svg").count(), kind
