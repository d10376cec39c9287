"""A miner in this process, and people who use it."""

from __future__ import annotations

import hashlib
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import numpy as np
import pytest
from sqlalchemy import select

from miner_service.http.app import create_app
from miner_service.http.server import exclusive
from miner_service.jobs.runner import learn_model
from miner_service.settings import Limits, Settings
from miner_service.store.schema import Base
from miner_service.store.sqlite import FILE, SqliteStore
from miner_service.store.tokens import rotate_admin_token
from pramana_core.channels import Symmetric
from pramana_core.domain import Domain, Variable
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Block, Plan
from pramana_core.wire.channels import PlanMessage
from pramana_core.wire.parts import (
    PART_MEDIA_TYPE,
    RecordSchema,
    content_digest,
    encode_part,
    parts_of,
)
from pramana_core.wire.release_kinds import MaskedTableMessage
from pramana_core.wire.releases import PartManifest, ReleaseCreate, release_digest
from pramana_core.wire.services import PROBLEM_MEDIA_TYPE, ProblemDetail
from tests.forked import Forked
from tests.miner_service.crew import crew_of

with warnings.catch_warnings():
    # It warns that it would rather have another HTTP client than the one we pin; it works with it.
    warnings.simplefilter("ignore", UserWarning)
    from fastapi.testclient import TestClient


class Clock:
    """A clock that runs, and that a test can put forward."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead


@dataclass(frozen=True)
class Built:
    """A release before it is sent, and its columns in the order in which they are sent."""

    body: dict[str, Any]
    parts: list[bytes]
    columns: dict[str, Any] = field(default_factory=dict)


def keys_of(ids: Sequence[int]) -> Any:
    """Pseudonyms of made-up records, in the order of `ids`."""
    raw = b"".join(hashlib.sha256(str(i).encode()).digest()[:16] for i in ids)
    return np.frombuffer(raw, dtype="V16")


def build(
    content: Plan | MaskedTableMessage,
    ids: Sequence[int],
    values: dict[str, Any],
    *,
    per_part: int = 1000,
    name: str = "r1",
    encode: Callable[..., bytes] = encode_part,
) -> Built:
    """Build a release of records `ids`, of a plan's reported codes or of a table's values."""
    randomized = isinstance(content, Plan)
    schema = RecordSchema.of(content) if randomized else content.schema_of_parts
    keys, places = keys_of(ids), parts_of(len(ids), per_part)
    order = np.argsort(np.frombuffer(keys.tobytes(), dtype="S16"))
    kind = np.uint8 if randomized else None
    columns = {n: np.asarray(column, dtype=kind)[order] for n, column in values.items()}
    parts = [
        encode(schema, keys[order[a:b]], {n: column[a:b] for n, column in columns.items()})
        for a, b in places
    ]
    built = manifest(content, parts, [b - a for a, b in places], name)
    return replace(built, columns=columns)


def manifest(
    content: Plan | MaskedTableMessage, parts: list[bytes], sizes: list[int], name: str = "r1"
) -> Built:
    """Announce parts."""
    announced = [
        PartManifest(number=i, records=n, bytes=len(p), sha256=hashlib.sha256(p).hexdigest())
        for i, (p, n) in enumerate(zip(parts, sizes, strict=True))
    ]
    told = {"kind": "masked-records", "table": content}
    if isinstance(content, Plan):
        told = {"plan": PlanMessage.from_plan(content)}
    body = ReleaseCreate(
        name=name,
        **told,
        records=sum(sizes),
        parts=announced,
        digest=release_digest(content.digest, announced),
    )
    return Built(body.model_dump(mode="json"), parts)


def assert_problem(response: Any, status: int, code: str, *words: str) -> ProblemDetail:
    """Check the one shape that every error has, and that it has some words; return it."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == PROBLEM_MEDIA_TYPE
    problem = ProblemDetail.model_validate(response.json())
    assert problem.code == code
    assert problem.status == status
    assert problem.type == f"urn:pramana:problem:{code}"
    assert problem.title
    said = f"{problem.detail} {problem.where} {problem.remedy}"
    assert all(word in said for word in words), said
    if status == 401:
        assert response.headers["www-authenticate"] == "Bearer"
    return problem


@dataclass
class Person:
    """Somebody with a token."""

    client: TestClient
    token: str | None
    id: str = ""

    def __call__(self, method: str, path: str, **options: Any) -> Any:
        headers = dict(options.pop("headers", {}))
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        return self.client.request(method, path, headers=headers, **options)

    def get(self, path: str) -> Any:
        """Read what must be there."""
        response = self("GET", path)
        assert response.status_code == 200, response.text
        return response.json()

    def announce(self, study: str, built: Built) -> str:
        """Announce a release; return its path."""
        response = self("POST", f"/v1/studies/{study}/releases", json=built.body)
        assert response.status_code in (200, 201), response.text
        return str(response.headers["location"])

    def put(self, path: str, number: int, body: bytes, **headers: str) -> Any:
        """Send a part."""
        headers = {"Content-Type": PART_MEDIA_TYPE, **headers}
        return self("PUT", f"{path}/parts/{number}", content=body, headers=headers)

    def send(self, study: str, built: Built) -> str:
        """Announce a release and send its parts; return its path."""
        path = self.announce(study, built)
        for number, part in enumerate(built.parts):
            response = self.put(path, number, part, **{"Content-Digest": content_digest(part)})
            assert response.status_code in (200, 201), response.text
        return path

    def publish(self, study: str, built: Built) -> str:
        """Send a release and seal it; return its path."""
        path = self.send(study, built)
        response = self("POST", f"{path}/seal")
        assert response.status_code == 200, response.text
        assert response.json()["state"] == "sealed"
        return path

    def wait(self, path: str) -> Any:
        """Wait for a job's end, asking less and less often: who asks takes the job's processor."""
        pause = 0.01
        while (job := self.get(path))["state"] in ("queued", "running"):
            time.sleep(pause)
            pause = min(2 * pause, 0.2)
        return job

    def learn(self, study: str, spec: Any) -> Any:
        """Run a job to its end; return its model."""
        created = self("POST", f"/v1/studies/{study}/jobs", json={"spec": spec})
        # 200: another test of the same study has learned it.
        assert created.status_code in (200, 202), created.text
        job = self.wait(created.headers["location"])
        assert (job["state"], job["progress"]) == ("succeeded", 1), job
        return self.get(f"/v1/models/{job['model']}")


@dataclass
class Miner:
    """A running miner and its admin."""

    data: Path
    client: TestClient
    clock: Clock
    admin: Person
    services: Any
    app: Any
    nobody: Person = field(init=False)

    def __post_init__(self) -> None:
        self.nobody = Person(self.client, None)

    def study(self, name: str, **said: Any) -> Person:
        """Open a study; return an analyst of it."""
        made = self.admin("POST", "/v1/studies", json={"name": name, **said})
        assert made.status_code in (200, 201), made.text
        issued = self.admin("POST", f"/v1/studies/{name}/tokens", json={"name": "ana"}).json()
        return Person(self.client, issued["token"], issued["id"])

    def owner(self, study: str, name: str) -> Person:
        """Let an owner join a study."""
        invitation = self.admin("POST", f"/v1/studies/{study}/invitations", json={"owner": name})
        secret = invitation.json()["secret"]
        issued = self.nobody("POST", "/v1/invitations/accept", json={"secret": secret}).json()
        return Person(self.client, issued["token"], issued["id"])

    def snapshot(self) -> Any:
        """All rows and all files, to show that a request changed nothing."""
        with self.services.database.read() as session:
            rows = {
                # When a token was used last is noted by every request.
                t.name: session.execute(select(*(c for c in t.c if c.name != "last_used"))).all()
                for t in Base.metadata.sorted_tables
            }
        files = {
            str(p.relative_to(self.data)): hashlib.sha256(p.read_bytes()).hexdigest()
            for folder in ("parts", "columns", "scratch")
            for p in (self.data / folder).rglob("*")
            if p.is_file()
        }
        return rows, files


@cache
def _tables() -> bytes:
    """A database with its tables and nothing in them: making them takes longest of a start."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / FILE
        SqliteStore(file).close()
        return file.read_bytes()


def _make_tables(data: Path) -> None:
    if not data.exists():
        data.mkdir(mode=0o700, parents=True)
        (data / FILE).touch(mode=0o600)
        (data / FILE).write_bytes(_tables())


@contextmanager
def starting(data: Path) -> Iterator[Callable[..., Miner]]:
    """Give what starts miners, which all end with the context."""
    with ExitStack() as stack:

        def start_one(
            limits: Limits | None = None,
            learn: Any = learn_model,
            entered: bool = True,
            crew: Any = None,
            at: Path | None = None,
            **options: Any,
        ) -> Miner:
            clock, place = Clock(), at or data
            settings = Settings(place, limits=limits or Limits(), **options)
            if settings.storage.database is None:
                _make_tables(place)
            with exclusive(place):
                app = create_app(settings, clock=clock, crew=crew or crew_of(learn))
            client = TestClient(app, raise_server_exceptions=False)
            if entered:
                stack.enter_context(client)
            services = app.state.services
            with services.database.write() as session:
                token = rotate_admin_token(session, clock()).text
            return Miner(place, client, clock, Person(client, token), services, app)

        yield start_one


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Miner]]:
    """Start a miner (again on the same data, if called again)."""
    with starting(tmp_path / "data") as start_one:
        yield start_one


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Miner, Person, Person]]:
    """A miner that a module's tests share, an analyst and an owner: for what is refused."""
    with starting(tmp_path_factory.mktemp("asked") / "data") as start_one:
        miner = start_one()
        yield miner, miner.study("s"), miner.owner("s", "north")


@pytest.fixture(scope="session")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The OpenAPI document, which takes long to make and is the same for every miner."""
    with TestClient(
        create_app(Settings(tmp_path_factory.mktemp("documented")), crew=crew_of())
    ) as client:
        told: dict[str, Any] = client.get("/openapi.json").json()
        return told


@pytest.fixture
def miner(start: Callable[..., Miner]) -> Miner:
    """A running miner."""
    return start()


@pytest.fixture
def north(miner: Miner) -> Person:
    """The first owner of the study asia, which has no release yet."""
    miner.study("asia")
    return miner.owner("asia", "north")


def job_specs(first: str, second: str) -> dict[str, dict[str, Any]]:
    """What each kind of job on counts asks for of two variables."""
    return {
        "association-rules": {"minimum_support": 0.1, "variables": [first, second]},
        "bayes-classifier": {"target": first, "features": [second]},
        "bayes-net-parameters": {"structure": {first: [], second: [first]}},
        "bayes-net-structure": {"variables": [first, second]},
        "contingency-table": {"variables": [first, second]},
        "decision-tree": {"target": first, "attributes": [second]},
        "linear-classifier": {"target": first, "features": [second]},
    }


BINARY = ("no", "yes")

PLAN_A = Plan.unrandomized(Domain.of(A=BINARY, B=("low", "mid", "high")))
PLAN_C = Plan.unrandomized(Domain.of(C=BINARY))


def release_of_a() -> Built:
    """Three parts of 100 records of A and B."""
    codes = {"A": [i % 2 for i in range(100)], "B": [i % 3 for i in range(100)]}
    return build(PLAN_A, range(100), codes, per_part=40)


def release_of_c() -> Built:
    """The same 100 records of C."""
    return build(PLAN_C, range(100), {"C": [i % 5 == 0 for i in range(100)]}, per_part=40)


release_a = pytest.fixture(release_of_a, name="release_a")
release_c = pytest.fixture(release_of_c, name="release_c")
_plan_a = pytest.fixture(lambda: PLAN_A, name="plan_a")
_plan_c = pytest.fixture(lambda: PLAN_C, name="plan_c")
_assert_problem = pytest.fixture(lambda: assert_problem, name="assert_problem")
_build = pytest.fixture(lambda: build, name="build")
_manifest = pytest.fixture(lambda: manifest, name="manifest")
_keys_of = pytest.fixture(lambda: keys_of, name="keys_of")


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., tuple[str, Forked, Path]]]:
    """Start a miner's process; return its address and what it printed so far."""
    running: list[Forked] = []

    def start(*options: str) -> tuple[str, Forked, Path]:
        ready = tmp_path / "ready.json"
        log = tmp_path / f"log{len(running)}"
        words = ["serve", "--data", str(tmp_path / "data"), "--port", "0", *options]
        words += ["--ready-file", str(ready)]
        process = Forked("miner_service", *words, out=log, env={**os.environ, "COLUMNS": "60"})
        running.append(process)
        told: dict[str, Any] = {}
        while told.get("pid") != process.pid:  # a killed process leaves its file behind
            assert process.poll() is None, log.read_text()
            time.sleep(0.05)
            told = json.loads(ready.read_text()) if ready.exists() else {}
        return told["url"], process, log

    yield start
    for process in running:
        if process.poll() is None:
            process.kill()
        process.wait()


class Killed:
    """A miner's process that can be killed and started again on the same data.

    `admin` and `owner`, who is one of the study asia, are tokens; jobs wait where `IDLE` is said.
    """

    IDLE = ("--workers", "0")

    def __init__(self, serve: Callable[..., Any], token_file: Path) -> None:
        self._serve = serve
        self._client = httpx.Client(timeout=None)
        words = (*self.IDLE, "--admin-token-file", str(token_file))
        self.url, self.process, self.log = serve(*words)
        self.admin = token_file.read_text().strip()
        self(self.admin, "POST", "/v1/studies", json={"name": "asia"})
        invitations = "/v1/studies/asia/invitations"
        invited = self(self.admin, "POST", invitations, json={"owner": "north"}).json()
        secret = {"secret": invited["secret"]}
        self.owner = self("none", "POST", "/v1/invitations/accept", json=secret).json()["token"]

    def again(self, *words: str) -> None:
        """Kill it, and start another one."""
        self.process.kill()
        self.process.wait()
        self.url, self.process, self.log = self._serve(*words)

    def __call__(self, token: str, method: str, path: str, **options: Any) -> httpx.Response:
        """Ask for what is granted."""
        headers = {"Authorization": f"Bearer {token}", **options.pop("headers", {})}
        answer = self._client.request(method, f"{self.url}{path}", headers=headers, **options)
        assert answer.is_success, answer.text
        return answer

    def put(self, path: str, number: int, part: bytes) -> int:
        """Send a part of the owner's; return the status."""
        headers = {"Content-Type": PART_MEDIA_TYPE, "Content-Digest": content_digest(part)}
        put = f"{path}/parts/{number}"
        return self(self.owner, "PUT", put, content=part, headers=headers).status_code

    def close(self) -> None:
        """Let go of its connections."""
        self._client.close()


@pytest.fixture
def killed(serve: Callable[..., Any], tmp_path: Path) -> Iterator[Killed]:
    """A miner for a test that kills it."""
    with closing(Killed(serve, tmp_path / "admin")) as miner:
        yield miner


SMOKING = Variable("smoker", BINARY)
AGE = Variable("age", ("<30", "30-45", ">=45"), (24.0, 38.0, 57.0))
SPORT = Variable("sport", ("low", "mid", "high"))
ILL = Variable("ill", BINARY)
SURVEYED = 4000


@dataclass
class Survey:
    """A study whose two owners sealed randomized records; a class depends on two of the others."""

    plans: dict[str, Plan]
    reports: dict[str, Any]
    miner: Miner | None = None
    analyst: Person | None = None
    owner: Person | None = None

    @property
    def marginals(self) -> EstimatedMarginals:
        """The same reports, as the library takes them."""
        plan = Plan(tuple(block for plan in self.plans.values() for block in plan.blocks))
        return EstimatedMarginals(ReportedCounts(self.reports, plan.reported_sizes), plan)

    def job(self, **spec: Any) -> Any:
        """Create a job; return the answer."""
        assert self.analyst is not None
        return self.analyst("POST", "/v1/studies/survey/jobs", json={"spec": spec})

    def learn(self, **spec: Any) -> Any:
        """Run a job to its end; return its model."""
        assert self.analyst is not None
        return self.analyst.learn("survey", spec)


def surveyed() -> Survey:
    """Draw the true records and what is reported of them."""
    rng = np.random.default_rng(15)
    true = {
        "smoker": (rng.random(SURVEYED) < 0.3).astype(np.uint8),
        "age": rng.choice(3, SURVEYED, p=[0.3, 0.3, 0.4]).astype(np.uint8),
        "sport": rng.choice(3, SURVEYED, p=[0.5, 0.3, 0.2]).astype(np.uint8),
    }
    odds = -2.5 + 2.5 * true["smoker"] + 1.0 * true["age"]
    true["ill"] = (rng.random(SURVEYED) < 1 / (1 + np.exp(-odds))).astype(np.uint8)
    blocks = {
        v.name: Block((v,), Symmetric.from_probability(v.size, 0.1))
        for v in (SMOKING, AGE, SPORT, ILL)
    }
    reports = {}
    for name, block in blocks.items():
        rows = np.cumsum(block.channel.matrix(), axis=1)[true[name]]
        drawn = rng.random(SURVEYED)[:, None] >= rows[:, :-1]
        reports[name] = drawn.sum(axis=1).astype(np.uint8)
    plans = {
        "north": Plan((blocks["smoker"], blocks["age"])),
        "south": Plan((blocks["sport"], blocks["ill"])),
    }
    return Survey(plans, reports)


def opened_survey(start: Callable[..., Miner], **options: Any) -> Survey:
    """Open a study of randomized records on a miner with these options."""
    found = surveyed()
    found.miner = start(**options)
    found.analyst = found.miner.study("survey")
    for name, plan in found.plans.items():
        found.owner = found.miner.owner("survey", name)
        codes = {v: found.reports[v] for v in plan.domain.names}
        found.owner.publish("survey", build(plan, range(SURVEYED), codes, per_part=SURVEYED))
    return found


@pytest.fixture(scope="module")
def shared_survey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Survey]:
    """A study that a module's tests share; what one has learned is there for the next one."""
    with starting(tmp_path_factory.mktemp("survey") / "data") as start_one:
        yield opened_survey(start_one)


@pytest.fixture
def survey(start: Callable[..., Miner], request: pytest.FixtureRequest) -> Callable[..., Survey]:
    """A study of randomized records; call it to open one, with the miner's options.

    Who names none, or limits alone, gets the one that the module shares, but for `own=True`.
    """

    def opened(*, own: bool = False, limits: Limits | None = None, **options: Any) -> Survey:
        if own or options:
            return opened_survey(start, limits=limits, **options)
        shared: Survey = request.getfixturevalue("shared_survey")
        assert shared.miner is not None
        if limits is not None:
            services = shared.miner.services
            usual = services.settings
            object.__setattr__(services, "settings", replace(usual, limits=limits))
            request.addfinalizer(lambda: object.__setattr__(services, "settings", usual))
        return shared

    return opened
