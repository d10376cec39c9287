"""The miner's pages in a real browser: what admin, analyst and owner do there, by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np
import pytest

from miner_service.http.pages.job_forms import job_forms
from owner_agent.release.joining import read_invitation
from pramana.demo.run import Processes
from pramana_core.channels import Symmetric
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan
from tests.end_to_end import browsing
from tests.miner_service.conftest import SURVEYED, Person, build, surveyed
from tests.miner_service.masking import masked
from tests.miner_service.sharing import model, share

NEVER_IDLE = httpx.Limits(max_keepalive_connections=0)
"""A connection for each request: the service closes idle ones after as long as httpx keeps them."""

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
        with httpx.Client(base_url=url, timeout=None, limits=NEVER_IDLE) as client:
            made = Service(url, Person(client, token.read_text().strip()), {}, {})
            budget = {"title": "Who falls ill", "max_epsilon_record": 20}
            _open(made, "survey", ("north", "south"), budget)
            _open(made, "debts", ("west", "east"), {})
            _open(made, "wide", ("far",), {})
            records = surveyed()
            for name, plan in records.plans.items():
                codes = {v: records.reports[v] for v in plan.domain.names}
                built = build(plan, range(SURVEYED), codes, per_part=SURVEYED)
                made.owners[name].publish("survey", built)
            made.owners["far"].publish("wide", _wide())
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
    page.get_by_label("Its owners have").select_option("the same people")
    page.get_by_role("button", name="Create the study").click()
    page.get_by_role("heading", name="garden").wait_for()
    assert "study invite garden" in page.inner_text("main")
    page.get_by_role("link", name="People").click()
    page.get_by_label("Owner").fill("north")
    with page.expect_download() as invited:
        page.get_by_role("button", name="Invite").click()
    assert invited.value.suggested_filename == "garden-north.invitation"
    invitation = read_invitation(invited.value.path())
    assert invitation.miner == service.url
    taken = service.admin("POST", "/v1/invitations/accept", json={"secret": invitation.secret})
    assert taken.status_code == 201
    page.get_by_label("Analyst").fill("bob")
    with page.expect_download() as issued:
        page.get_by_role("button", name="Issue the access file").click()
    bob = somebody().open("/pages/sign-in")
    bob.get_by_label("choose your access file").set_input_files(issued.value.path())
    bob.get_by_role("heading", name="garden").wait_for()
    bob.get_by_role("link", name="Studies").click()
    assert bob.get_by_role("link", name="garden").count() == 1
    assert bob.get_by_role("link", name="survey").count() == 0
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Token").wait_for()


FILLED: dict[str, dict[str, Any]] = {
    "association-rules": {"minimum support": "0.2"},
    "bayes-classifier": {"target": "ill"},
    "bayes-net-parameters": {"structure": '{"ill": ["smoker", "age"], "smoker": [], "age": []}'},
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
    """Fill in fields by their labels, unfolding what they wait in; those of a list are checked."""
    for label, value in filled.items():
        if isinstance(value, list):
            group = page.get_by_role("group", name=label)
            for name in value:
                group.get_by_label(name).check()
            continue
        asked = page.get_by_label(label, exact=label != "structure")
        # A click does not wait for the page that it leads to.
        asked.wait_for(state="attached")
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
            page.get_by_role("button", name="Choose options").click()
            fill(page, FILLED[kind])
            page.get_by_role("button", name="Start the job").click()
            page.locator("#state:is(.succeeded, .failed), .problem, .narrow").first.wait_for()
            assert page.locator("#state.succeeded").count(), page.inner_text("main")
            page.get_by_role("link", name="See the model").click()
            page.wait_for_url("**/pages/models/*")
            found[kind] = page.url.removeprefix(service.url)
        ana.context.close()
        assert ana.faults == []
    return found


def test_each_kind_of_job_is_begun_by_its_form_and_its_model_opened(models, somebody, service):
    assert set(models) == set(FILLED) == set(job_forms())
    page = somebody(service.admin.token).page
    for address in models.values():
        page.goto(service.url + address)
        framed = page.frame_locator("iframe.model")
        assert framed.locator("h1").inner_text() in ("survey", "debts")
        # The frame is as high as what is in it, so that there is one scroll bar.
        page.wait_for_function(
            "() => { const it = document.querySelector('iframe.model');"
            " const inner = it.contentDocument.documentElement;"
            " return it.clientHeight >= inner.offsetHeight; }"
        )


def test_a_network_has_the_parents_that_were_checked(models, service):
    model = models["bayes-net-parameters"].rpartition("/")[2]
    told = service.analysts["survey"].get(f"/v1/models/{model}")
    parents = {node["name"]: set(node["parents"]) for node in told["nodes"]}
    assert parents == {"smoker": set(), "age": set(), "ill": {"smoker", "age"}}


def test_a_job_that_runs_is_watched_and_cancelled(somebody, service):
    ana = somebody(service.analysts["wide"].token, refused={503})
    page = ana.open(long_job(service, "watched"))
    page.locator("#state.running").wait_for()
    # A busy service refuses to say how the job is: the page asks again, and is not left for that.
    page.evaluate("document.title = 'open'")
    page.route("**/pages/jobs/*", lambda route: route.fulfill(status=503), times=1)
    for status in (503, 200):
        with page.expect_response(
            lambda answer, status=status: (
                (answer.request.resource_type, answer.status) == ("fetch", status)
            )
        ):
            pass
    assert page.title() == "open"
    page.locator("#log li", has_text="Run 1 began").wait_for()
    assert page.get_by_role("progressbar").count() == 1
    page.get_by_role("button", name="Cancel the job").click()
    page.locator("#state.cancelled").wait_for()
    assert page.get_by_role("button", name="Cancel the job").count() == 0


def long_job(service: Service, key: str) -> str:
    """Begin a job that takes hours if it is not cancelled; return its page."""
    spec = {"kind": "contingency-table", "variables": list("abcde"), "estimator": "ml"}
    made = service.analysts["wide"](
        "POST", "/v1/studies/wide/jobs", json={"key": key, "spec": spec}
    )
    assert made.status_code == 202, made.text
    return f"/pages/jobs/{made.json()['id']}"


def _wide() -> Any:
    """Return reports of 5 columns of 9 categories at much noise, of 3,000 records."""
    records, rng = 3000, np.random.default_rng(5)
    blocks = tuple(
        Block((Variable(name, tuple("abcdefghi")),), Symmetric.from_probability(9, 0.8))
        for name in "abcde"
    )
    codes = {block.names[0]: rng.integers(9, size=records, dtype=np.uint8) for block in blocks}
    return build(Plan(blocks), range(records), codes, per_part=records)


def test_a_token_that_ends_while_a_page_is_open_leads_to_the_way_in_and_back(somebody, service):
    issued = service.admin("POST", "/v1/studies/wide/tokens", json={"name": "eve"}).json()
    eve = somebody(issued["token"], refused={401})
    job = long_job(service, "followed")
    page, other = eve.open(job), eve.tab()
    other.goto(f"{service.url}/pages/studies/wide/jobs/new?kind=decision-tree")
    page.locator("#state.running").wait_for()
    assert service.admin("DELETE", f"/v1/tokens/{issued['id']}").status_code == 204
    # What was open is of no more use: a form is refused.
    other.get_by_label("target").select_option("a")
    other.get_by_role("button", name="Start the job").click()
    other.get_by_role("link", name="Sign in").wait_for()
    # The page of the job reads itself again, is refused too, and is there again after signing in.
    page.get_by_label("Token").fill(service.analysts["wide"].token)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Cancel the job").click()
    page.locator("#state.cancelled").wait_for()


def test_an_owner_sees_her_own_part_only(models, somebody, service):
    north = somebody(service.owners["north"].token, refused={403, 404})
    page = north.page
    for part in ("", "/releases", "/privacy"):
        north.open(f"/pages/studies/survey{part}")
        shown = page.inner_text("main")
        assert "smoker" in shown, part
        assert "sport" not in shown, part
    north.open("/pages/studies/survey/jobs")
    assert page.get_by_role("button", name="Choose options").count() == 0
    north.open("/pages/studies/survey/people")
    assert page.get_by_role("heading", name="Not allowed").count() == 1
    for address in ("/pages/studies/debts", models["regression"]):
        north.open(address)
        assert page.get_by_role("heading", name="Not found").count() == 1
    north.open(models["decision-tree"])
    assert page.locator("iframe.model").count() == 1


def test_the_keyboard_reaches_every_control_of_a_form_in_its_order(somebody, service):
    ana = somebody(service.analysts["survey"].token)
    page = ana.open("/pages/studies/survey/jobs/new?kind=bayes-net-structure")
    page.keyboard.press("Tab")
    assert page.evaluate(_WHERE) == "Skip to the content"
    page.keyboard.press("Enter")
    reached = []
    page.get_by_text("More options").focus()
    page.keyboard.press("Enter")
    page.locator("main").focus()
    wanted = page.evaluate(_CONTROLS)
    for _ in wanted:
        page.keyboard.press("Tab")
        while page.evaluate("document.activeElement.closest('form, summary') === null"):
            page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('summary')"):
            page.keyboard.press("Tab")
        reached.append(page.evaluate(_WHERE))
    assert reached == wanted
    assert len(wanted) > 15
    focused = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert focused == "solid"


_NAMED = "(one.name ? one.name + '=' + (one.type === 'checkbox' ? one.value : '') : one.innerText)"
_WHERE = f"(() => {{ const one = document.activeElement; return {_NAMED}; }})()"
_CONTROLS = (
    "[...document.querySelectorAll('main form input:not([type=hidden]), main form select,"
    f" main form textarea, main form button')].map(one => {_NAMED})"
)


def pages_of(service: Service, models: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Every page, and whose token shows it."""
    yield "", "/pages/sign-in"
    admin = service.admin.token
    parts = ("", "/owners", "/releases", "/privacy", "/jobs", "/models", "/people")
    yield from ((admin, one) for one in ("/pages/studies", "/pages/operator", "/pages/none"))
    yield from ((admin, f"/pages/studies/survey{part}") for part in parts)
    yield admin, "/pages/studies/debts/privacy"
    for kind, shown in models.items():
        study = study_of(kind)
        ana = service.analysts[study].token
        yield ana, f"/pages/studies/{study}/jobs/new?kind={kind}"
        yield ana, f"{shown}/page"
    ana = service.analysts["survey"]
    yield ana.token, models["decision-tree"]
    done = next(one for one in ana.get("/v1/studies/survey/jobs")["items"] if one["model"])
    yield ana.token, f"/pages/jobs/{done['id']}"


def test_no_page_has_a_serious_fault_of_access(models, somebody, service):
    seated: dict[str, browsing.Person] = {}
    found = []
    for token, address in pages_of(service, models):
        person = seated.get(token) or somebody(token, refused={404})
        seated[token] = person
        page = person.open(address)
        for details in page.locator("details").all():
            details.evaluate("one => { one.open = true; }")
        for width, light, rules in browsing.LOOKS:
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=light)
            found += browsing.faults_of(page, rules=rules)
            wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            found += [f"{address} is {wide} px too wide at {width}"] if wide > 0 else []
    assert found == []


def test_a_print_has_the_figures_and_no_navigation(somebody, service):
    page = somebody(service.admin.token, light="dark").open("/pages/studies/survey")
    assert page.locator("nav:visible").count() == 2
    page.emulate_media(media="print")
    assert page.locator("nav:visible, form:visible, header:visible").count() == 0
    assert page.locator("svg.bar:visible").count() > 4
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(255, 255, 255)", "no dark ground on paper"


def test_axe_sees_a_fault_where_there_is_one(somebody, service):
    page = somebody(service.admin.token).page
    page.evaluate("document.querySelector('label[for=title]').remove()")
    page.evaluate("document.querySelector('h1').style.color = '#eee'")
    told = "\n".join(browsing.faults_of(page))
    assert "label" in told
    assert "color-contrast" in told
