"""Pinned: digests, bytes on the wire, keyed draws, models as served, and problem documents."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import time
import tomllib
import warnings
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pydantic import TypeAdapter

from miner_service.http.access.problems import problem_of_failure
from miner_service.http.app import create_app
from miner_service.http.server import exclusive
from miner_service.settings import Settings
from miner_service.store.tokens import rotate_admin_token
from owner_agent.peer.protocol import messages as peer_messages
from owner_agent.peer.protocol.identity import PeerIdentity, PublicIdentity, state
from owner_agent.peer.protocol.tasks import TaskMessage
from owner_agent.randomize.draws import draw_id, pseudonyms
from owner_agent.randomize.reports import Randomized, randomize
from owner_agent.site.planning import planned
from owner_agent.site.site import site_from
from owner_agent.state.keys import Secrets, fingerprint
from pramana_core.channels import (
    Choice,
    Coordinated,
    CutAndPaste,
    Dense,
    Grouped,
    Identity,
    Mixture,
    OneHot,
    Product,
    RandomSymmetric,
    Sampled,
    SubsetSelection,
    Symmetric,
    Transition,
    Withheld,
)
from pramana_core.domain import Domain, Variable
from pramana_core.errors import Refused, error_classes
from pramana_core.plan import Block, Plan
from pramana_core.study_plan import StudyPart, StudyPlan, StudySet
from pramana_core.wire.base import Page
from pramana_core.wire.channels import PlanMessage
from pramana_core.wire.jobs import Job, JobCreate, read_job_spec
from pramana_core.wire.parts import PartJson, RecordSchema, content_digest, encode_part, key_order
from pramana_core.wire.privacy import (
    Invitation,
    InvitationAccept,
    InvitationCreate,
    Owner,
    PrivacyForecast,
    PrivacyQuestion,
    Study,
    StudyCreate,
    StudyPrivacy,
    TokenCreate,
    TokenInfo,
    TokenIssued,
)
from pramana_core.wire.release_kinds import MaskedTableMessage
from pramana_core.wire.releases import (
    Alignment,
    PartManifest,
    PartReceipt,
    Release,
    ReleaseCreate,
    release_digest,
)
from pramana_core.wire.services import problem_of
from pramana_core.wire.study_plans import StudyPlanMessage, StudyPlanView
from tests.json_parts import encode_part_json
from tests.miner_service.crew import crew_of

with warnings.catch_warnings():
    warnings.simplefilter("ignore", UserWarning)
    from fastapi.testclient import TestClient

STUDY = "pinned"
SECRETS = Secrets(
    draw=hashlib.sha256(b"pinned draw key").digest(),
    linkage=hashlib.sha256(b"pinned linkage secret").digest(),
)
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SHA = hashlib.sha256(b"").hexdigest()

A, B, C = Variable("a", ("x", "y")), Variable("b", ("k", "l", "m")), Variable("c", ("no", "yés"))
D = Variable("d", ("1", "2", "3", "4"), (0.5, 1.25, 3.0, 10.0))

FAMILIES: dict[str, tuple[tuple[Variable, ...], Transition]] = {
    "identity": ((B,), Identity(3)),
    "symmetric": ((B,), Symmetric.from_probability(3, 0.3)),
    "symmetric-gamma": ((D,), Symmetric.from_gamma(4, 19.0)),
    "symmetric-joint": ((A, B), Symmetric.from_probability(6, 0.4)),
    "dense": ((A,), Dense.binary(0.1, 0.25)),
    "ternary": ((B,), Dense.ternary(0.1, 0.2)),
    "dense-wide": (
        (A,),
        Dense.from_probabilities([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]]),
    ),
    "dense-joint": (
        (A, C),
        Dense.from_probabilities(
            [[0.7, 0.1, 0.1, 0.1], [0.2, 0.6, 0.1, 0.1], [0, 0.2, 0.8, 0], [0.1, 0.1, 0.1, 0.7]]
        ),
    ),
    "grouped": ((D,), Grouped.from_probability([[0, 2], [1, 3]], 0.2)),
    "grouped-channels": (
        (D,),
        Grouped(((3, 0), (1,), (2,)), (Dense.binary(0.3, 0.1), None, None)),
    ),
    "mixture": ((A, B, C), Mixture.from_gamma(12, 19.0)),
    "random-symmetric": ((A, B), RandomSymmetric.around_gamma(6, 9.0, 0.5)),
    "subset-selection": ((Variable("d", tuple("abcdefg")),), SubsetSelection.from_gamma(7, 2.0)),
    "one-hot": ((B,), OneHot.from_gamma(3, 9.0)),
    "cut-and-paste": ((A, B, C), CutAndPaste.from_probability((2, 3, 2), 1, 0.4)),
    "cut-and-paste-gamma": ((A, B), CutAndPaste.from_gamma((2, 3), 1, 19.0)),
    "sampled": (
        (A, B, C),
        Sampled(
            (2, 3, 2),
            (
                Choice((0, 2), 1 << 31, Mixture.from_gamma(4, 9.0)),
                Choice((1,), (1 << 31) - 5, Symmetric.from_gamma(3, 9.0)),
                Choice((0,), 5, Dense.binary(0.2, 0.1)),
            ),
        ),
    ),
    "withheld": ((B,), Withheld(3)),
    "coordinated": (
        (A, B),
        Coordinated(
            (2, 3),
            (
                Choice((0, 1), 1 << 30, Mixture.from_gamma(6, 9.0)),
                Choice((1,), 1 << 31, Symmetric.from_gamma(3, 3.0)),
            ),
            (5, 1 << 31),
            "0123456789abcdef" * 4,
        ),
    ),
    "product": (
        (A, B, C),
        Product((2, 1), (Mixture.from_gamma(6, 9.0), Symmetric.from_gamma(2, 3.0))),
    ),
}


def sha(content: str | bytes) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def plan_of(family: str) -> Plan:
    return Plan((Block(*FAMILIES[family]),))


def together() -> Plan:
    """A plan of several blocks, one of them joint."""
    p, q = Variable("p", ("s", "t", "u")), Variable("q", ("v", "w"))
    return Plan.combine(
        [
            Plan((Block(*FAMILIES["dense-joint"]), Block(*FAMILIES["symmetric-gamma"]))),
            Plan((Block((p, q), Mixture.from_gamma(6, 30.0)),)),
            Plan.unrandomized(Domain((Variable("r", ("0", "1")),))),
        ]
    )


PLANS = [*FAMILIES, "together"]

BODIES: dict[str, Any] = json.loads(Path(__file__).with_name("bodies.json").read_text("utf-8"))


def filled(body: Any) -> Any:
    """Return a body with `$name` replaced: by a plan's message, or by another body."""
    if isinstance(body, dict):
        return {key: filled(value) for key, value in body.items()}
    if isinstance(body, list):
        return [filled(value) for value in body]
    if isinstance(body, str) and body.startswith("$"):
        plans = {"$plan": together, "$dense": lambda: plan_of("dense")}
        if body in plans:
            return PlanMessage.from_plan(plans[body]()).model_dump()
        return filled(BODIES[body[1:]])
    return body


def named(name: str) -> Plan:
    return together() if name == "together" else plan_of(name)


def true_columns(plan: Plan, records: int = 64) -> dict[str, np.ndarray]:
    """Codes that go through all categories."""
    columns = {}
    for block in plan.blocks:
        cells = np.arange(records) % block.channel.shape[0]
        sizes = [v.size for v in block.variables]
        for variable, codes in zip(block.variables, np.unravel_index(cells, sizes), strict=True):
            columns[variable.name] = codes.astype(np.uint8)
    return columns


def reported(plan: Plan, records: int = 64) -> Randomized:
    keys = pseudonyms(SECRETS, STUDY, [f"person {i}" for i in range(records)])
    return randomize(plan, SECRETS, STUDY, keys, true_columns(plan, records))


# --- plans, draws, parts -------------------------------------------------------------------------


@pytest.mark.parametrize("name", PLANS)
def test_plans_and_their_messages(pin, name: str):
    plan = named(name)
    message = PlanMessage.from_plan(plan)
    assert message.to_plan() == plan
    pin(
        f"plan: {name}",
        {
            "digest": plan.digest,
            "blocks": [block.digest for block in plan.blocks],
            "canonical": sha(plan.canonical_json()),
            "message": message.model_dump_json(),
            "reported": plan.reported_sizes,
        },
    )


def test_masked_tables_and_their_parts(pin):
    table = MaskedTableMessage.model_validate(BODIES["masked table"])
    schema = table.schema_of_parts
    keys = pseudonyms(SECRETS, STUDY, [f"person {i}" for i in range(8)])
    keys = keys[key_order(keys)]
    numbers = np.array([0.1, -2.5, 1e-9, 3.0, 1e15, 7.25, 0.0, 1 / 3])
    columns = {
        name: numbers * (1 + place) if size is None else np.arange(8) % size
        for place, (name, size) in enumerate(schema.sizes.items())
    }
    part = encode_part(schema, keys, columns)
    pin(
        "masked table",
        {
            "digest": table.digest,
            "canonical": table.canonical_json().decode(),
            "names": table.names,
            "part": sha(part),
            "part as JSON": encode_part_json(schema, keys, columns).decode(),
        },
    )


@pytest.mark.parametrize("name", PLANS)
def test_keyed_draws(pin, name: str):
    plan = named(name)
    made = reported(plan)
    again = randomize(plan, SECRETS, STUDY, made.keys, true_columns(plan), 2)
    part = encode_part(RecordSchema.of(plan), made.keys, made.columns)
    pin(
        f"draws: {name}",
        {
            "reports": {n: "".join(map(str, c.tolist())) for n, c in made.columns.items()},
            "digest": made.digest,
            "third epoch": again.digest,
            "ids": [draw_id(SECRETS, STUDY, b) for b in plan.blocks],
            "ids, third epoch": [draw_id(SECRETS, STUDY, b, 2) for b in plan.blocks],
            "part": sha(part),
            "part header": content_digest(part),
            "part as JSON": sha(encode_part_json(RecordSchema.of(plan), made.keys, made.columns)),
        },
    )


@pytest.mark.slow
def test_keyed_draws_of_more_variables_than_cells_are_counted_for(pin):
    sizes = tuple(2 + 7 * i % 29 for i in range(60))
    pairs = list(itertools.combinations(range(60), 2))
    channel = Sampled(
        sizes,
        tuple(
            Choice((a, b), (1 << 32) // len(pairs), Symmetric.from_gamma(sizes[a] * sizes[b], 19.0))
            for a, b in pairs
        ),
    )
    names = (f"v{i}" for i in range(60))
    own = tuple(Variable(n, tuple(map(str, range(k)))) for n, k in zip(names, sizes, strict=True))
    plan = Plan((Block(own, channel),))
    keys = pseudonyms(SECRETS, STUDY, [f"person {i}" for i in range(64)])
    columns = {v.name: np.arange(64, dtype=np.uint8) % v.size for v in own}
    made = randomize(plan, SECRETS, STUDY, keys, columns)
    again = randomize(plan, SECRETS, STUDY, keys, columns, 2)
    pin(
        "draws: sampled at width",
        {"plan": plan.digest, "digest": made.digest, "third epoch": again.digest},
    )


def test_a_study_plan_and_its_parts(pin):
    half, third = Symmetric.from_gamma(2, 3.0), Symmetric.from_gamma(3, 3.0)
    across = (StudyPart(0, (1,), third), StudyPart(1, (0,), half))
    plan = StudyPlan(
        (("north", (A, B)), ("south", (C,))),
        (
            StudySet(1 << 30, (StudyPart(0, (0, 1), Mixture.from_gamma(6, 9.0)),)),
            StudySet(1 << 31, across),
        ),
    )
    message = StudyPlanMessage.from_plan(plan)
    assert message.to_plan() == plan
    pin(
        "study plan",
        {
            "digest": plan.digest,
            "canonical": plan.canonical_json().decode(),
            "blocks": [plan.block(owner).digest for owner in ("north", "south")],
            "together": plan.together.digest,
            "message": sha(message.model_dump_json()),
            "view": StudyPlanView.of(STUDY, plan).model_dump_json(exclude={"plan"}),
        },
    )


def test_pseudonyms_and_fingerprints(pin):
    keys = pseudonyms(SECRETS, STUDY, ["1", "Zoë", "person 7", ""])
    pin("pseudonyms", [key.tobytes().hex() for key in keys])
    pin("fingerprints", [fingerprint("draw", SECRETS.draw), fingerprint("linkage", SECRETS.draw)])


SITE = """
owner = "north"
table = "t.csv"
record_id = "id"
[miner]
url = "https://miner.example"
study = "pinned"
[[variables]]
name = "wide"
sensitive = true
categories = ["a", "b", "c", "d", "e"]
channel = CHANNEL
"""

SITE_CHANNELS: dict[str, str] = BODIES["site channels"]


@pytest.mark.parametrize("name", SITE_CHANNELS)
def test_a_site_files_channels(pin, name: str):
    content = tomllib.loads(SITE.replace("CHANNEL", SITE_CHANNELS[name]))
    plan = planned(site_from(content, Path())).plan
    pin(f"site: {name}", {"digest": plan.digest, "plan": plan.canonical_json().decode()})


# --- messages ------------------------------------------------------------------------------------

JOBS: dict[str, dict[str, Any]] = BODIES["jobs"]


@pytest.mark.parametrize("name", JOBS)
def test_jobs(pin, name: str):
    made = JobCreate.model_validate({"key": "k1", "spec": JOBS[name]})
    assert read_job_spec(made.spec.model_dump_json()) == made.spec
    pin(f"job: {name}", made.model_dump_json())


TASKS: dict[str, dict[str, Any]] = BODIES["tasks"]
SESSION = "0123456789abcdef" * 2


def proposal(task: dict[str, Any]) -> peer_messages.Proposal:
    return peer_messages.Proposal.model_validate(
        {
            "session": SESSION,
            "study": STUDY,
            "initiator": "north",
            "participants": ["north", "south"],
            "task": task,
            "seconds": 60,
        }
    )


@pytest.mark.parametrize("name", TASKS)
def test_tasks_of_peers(pin, name: str):
    made = proposal(TASKS[name])
    adapter: TypeAdapter[Any] = TypeAdapter(TaskMessage)
    read = adapter.validate_python(TASKS[name])
    pin(
        f"task: {name}",
        {
            "task": adapter.dump_json(read).decode(),
            "proposal": made.model_dump_json(),
            "digest": made.digest,
        },
    )


def peers_say() -> dict[str, Any]:
    return {
        name: getattr(peer_messages, name).model_validate(filled(content))
        for name, content in BODIES["peers"]
    }


def test_what_peers_say_and_sign(pin):
    """The name of a statement's kind is part of what is signed: it travels, in a way."""
    key = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"pinned identity").digest())
    public = object.__new__(PublicIdentity)
    object.__setattr__(public, "name", "north")
    identity = PeerIdentity(public, Path(), key)
    said = peers_say()
    said = {name: message for name, message in said.items() if name != "Status"}
    for number, message in enumerate(said.values()):
        signed = state(identity, SESSION, message)
        pin(f"peer message {number}", signed.model_dump())
    statements = [state(identity, SESSION, m) for m in said.values()]
    pin("peer digest", peer_messages.digest_of(statements))


MESSAGES: tuple[Any, ...] = (
    Alignment,
    Invitation,
    InvitationAccept,
    InvitationCreate,
    Job,
    Owner,
    Page[Owner],
    PartJson,
    PartReceipt,
    PrivacyForecast,
    PrivacyQuestion,
    Release,
    ReleaseCreate,
    Study,
    StudyCreate,
    StudyPrivacy,
    TokenCreate,
    TokenInfo,
    TokenIssued,
)


def messages() -> dict[str, Any]:
    """Some of the messages that carry no learned numbers."""
    kinds = {kind.__name__: kind for kind in MESSAGES}
    return {
        str(number): kinds[name].model_validate(filled(content)).model_dump_json()
        for number, (name, content) in enumerate(BODIES["messages"])
    }


def test_messages_of_the_miner(pin):
    parts = [PartManifest(number=0, records=5, bytes=100, sha256=SHA)]
    pin("messages", messages())
    pin("release digest", release_digest(SHA, parts))


# --- problems ------------------------------------------------------------------------------------


def test_problem_documents(pin):
    """Of every class of error, over HTTP and as an exit code."""
    found = {}
    for kind in error_classes():
        more = {"status": 409, "problem_code": "conflict"} if kind is Refused else {"where": "w"}
        error = kind("What was wrong.", remedy="What to do.", **more)
        found[kind.__name__] = {
            "exit": kind.exit_code,
            "text": str(error),
            "problem": problem_of(error, "/v1/x").model_dump(),
        }
    assert len(found) > 40
    pin("problems", dict(sorted(found.items())))
    pin("unforeseen", problem_of_failure(ValueError("secret"), "/v1/x").model_dump())


# --- models as the miner serves them -------------------------------------------------------------

LEARN: dict[str, dict[str, Any]] = BODIES["models"]
"""One of each kind; what other options change is tested where it is learned."""


def publish(client: TestClient, owner: dict[str, str], name: str, plan: Plan, codes: Any) -> None:
    keys = pseudonyms(SECRETS, STUDY, [str(i) for i in range(len(next(iter(codes.values()))))])
    made = randomize(plan, SECRETS, STUDY, keys, codes)
    body = encode_part(RecordSchema.of(plan), made.keys, made.columns)
    part = PartManifest(number=0, records=len(keys), bytes=len(body), sha256=sha(body))
    release = ReleaseCreate(
        name=name,
        plan=PlanMessage.from_plan(plan),
        records=len(keys),
        parts=[part],
        digest=release_digest(plan.digest, [part]),
        draws=[draw_id(SECRETS, STUDY, block) for block in plan.blocks],
    )
    announced = client.post(
        f"/v1/studies/{STUDY}/releases", json=release.model_dump(mode="json"), headers=owner
    )
    assert announced.status_code == 201, announced.text
    path = announced.headers["location"]
    head = {
        "Content-Type": "application/vnd.apache.arrow.stream",
        "Content-Digest": content_digest(body),
    }
    sent = client.put(f"{path}/parts/0", content=body, headers=owner | head)
    assert sent.status_code in (200, 201), sent.text
    sealed = client.post(f"{path}/seal", headers=owner)
    assert sealed.json()["state"] == "sealed", sealed.text


def records(size: int = 3000) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(12)
    a = rng.integers(0, 2, size)
    b = np.where(rng.random(size) < 0.6, a + rng.integers(0, 2, size), rng.integers(0, 3, size))
    c = np.where(rng.random(size) < 0.8, b > 0, a).astype(int)
    d = np.minimum(c + rng.integers(0, 3, size), 3)
    return {n: v.astype(np.uint8) for n, v in {"a": a, "b": b, "c": c, "d": d}.items()}


@pytest.fixture(scope="module")
def miner(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A miner in this process with two owners' releases, and an analyst's way to ask it."""
    with exclusive(folder := tmp_path_factory.mktemp("miner")):
        app = create_app(Settings(folder), crew=crew_of())
    with TestClient(app) as client:
        with app.state.services.database.write() as session:
            token = rotate_admin_token(session, datetime.now(UTC)).text
        admin = {"Authorization": f"Bearer {token}"}
        client.post("/v1/studies", json={"name": STUDY}, headers=admin)
        issued = client.post(f"/v1/studies/{STUDY}/tokens", json={"name": "ana"}, headers=admin)
        analyst = {"Authorization": f"Bearer {issued.json()['token']}"}
        codes = records()
        first = Plan((Block((A,), Dense.binary(0.1, 0.2)), Block((B,), Symmetric.from_gamma(3, 9))))
        second = Plan(
            (
                Block((C,), Symmetric.from_probability(2, 0.1)),
                Block((D,), Mixture.from_gamma(4, 19)),
            )
        )
        for name, plan in (("north", first), ("south", second)):
            invited = client.post(
                f"/v1/studies/{STUDY}/invitations", json={"owner": name}, headers=admin
            )
            joined = client.post(
                "/v1/invitations/accept", json={"secret": invited.json()["secret"]}
            )
            owner = {"Authorization": f"Bearer {joined.json()['token']}"}
            publish(client, owner, "r1", plan, {n: codes[n] for n in plan.domain.names})
        yield client, analyst


PASSING = {"id", "job", "name", "created", "releases"}


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARN)
def test_models_as_they_are_served(pin, miner, name: str):
    """Numbers within 1e-7; within 1e-6 where an iteration is behind them."""
    client, analyst = miner
    asked = client.post(f"/v1/studies/{STUDY}/jobs", json={"spec": LEARN[name]}, headers=analyst)
    assert asked.status_code in (200, 201, 202), asked.text
    path = asked.headers["location"]
    while (job := client.get(path, headers=analyst).json())["state"] in ("queued", "running"):
        time.sleep(0.01)
    assert job["state"] == "succeeded", job
    served = client.get(f"/v1/models/{job['model']}", headers=analyst)
    # The name of the release is its plan's and content's digest; its id is drawn.
    model = {k: v for k, v in json.loads(served.text).items() if k not in PASSING}
    model["releases"] = sorted(json.loads(served.text)["releases"].values())
    pin(f"model: {name}", model, rel=1e-6, absolute=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("view", ["alignment", "privacy"])
def test_what_the_miner_says_of_the_study(pin, miner, view: str):
    client, analyst = miner
    said = client.get(f"/v1/studies/{STUDY}/{view}", headers=analyst).json()
    for owner in said["owners"]:
        owner.pop("release", None)
    pin(f"study: {view}", said, rel=1e-9)


def test_frozen_settings_have_the_same_limits(pin):
    """The limits of a miner that is started without options."""
    limits = dataclasses.asdict(Settings(Path()).limits)
    pin("limits", limits)
