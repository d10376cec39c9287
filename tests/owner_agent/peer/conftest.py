"""Three owners in one process: their applications, with a wire between that can be cut or bent."""

from __future__ import annotations

import base64
import csv
import hashlib
import hmac
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pytest
from starlette.testclient import TestClient

from owner_agent.peer.joint import JointOutcome, run_session
from owner_agent.peer.participant import Participant, opened
from owner_agent.peer.protocol.identity import PeerIdentity, load_identity, make_identity
from owner_agent.peer.protocol.messages import Proposal, Statements
from owner_agent.peer.protocol.steps import ANNOUNCEMENTS, BEGIN, OFFERS, PROPOSE, STATUS
from owner_agent.peer.server import create_peer_app
from owner_agent.release.options import PublishOptions
from owner_agent.site.corrections import CorrectionChoice
from owner_agent.site.site import load_site
from owner_agent.state.environment import Environment, WaitingTimes
from owner_agent.state.keys import KeyStore

NOW = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)
LINKAGE = bytes(range(60, 92))
RECORDS = 2000

UNHURRIED = WaitingTimes(work=1e6, connect=1e6, quick=1e6, least=1e6, last=1e6)
"""The times that owners wait by a real clock; it must not matter how fast the machine is."""

STRUCTURE = {"A": [], "B": ["A"], "C": ["A", "B"], "D": ["C"], "E": ["D", "B"]}
CATEGORIES = {"A": "no yes", "B": "low mid high", "C": "no yes", "D": "no yes", "E": "no yes"}
HOLDINGS = {"north": ("A", "B"), "south": ("C", "D"), "east": ("E",)}
CHANNELS = {
    "A": '{ kind = "binary", p1 = 0.1, p2 = 0.25 }',
    "B": '{ kind = "symmetric", p = 0.3 }',
    "D": '{ kind = "binary", p1 = 0.2, p2 = 0.2 }',
}
"""The sensitive variables; C and E are not."""


def truth(seed: int = 7, records: int = RECORDS) -> dict[str, np.ndarray]:
    """True codes of every variable, drawn along the structure."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 2, records)
    b = (a + rng.integers(0, 3, records) * (rng.random(records) < 0.7)) % 3
    c = (rng.random(records) < 0.2 + 0.3 * a + 0.2 * (b == 2)).astype(int)
    d = (rng.random(records) < 0.3 + 0.4 * c).astype(int)
    e = (rng.random(records) < 0.2 + 0.3 * d + 0.15 * b).astype(int)
    return {"A": a, "B": b, "C": c, "D": d, "E": e}


def site_text(owner: str, variables: dict[str, str | None], more: str = "") -> str:
    """A site file; `variables` gives each variable's channel, or None if it is not sensitive."""
    lines = [f'owner = "{owner}"', 'table = "table.csv"', 'record_id = "id"', more]
    known = [name for name in ("north", "south", "east") if name != owner]
    lines += ["[peer]", 'study = "asia"'] if "[peer]" not in more else []
    for name in known:
        lines += [
            "[[peer.known]]", f'name = "{name}"', f'certificate = "{name}.pem"',
            f'url = "https://{name}.test:8200"',
        ]  # fmt: skip
    for name, channel in variables.items():
        labels = ", ".join(f'"{label}"' for label in CATEGORIES[name].split())
        lines += ["[[variables]]", f'name = "{name}"', f"categories = [{labels}]"]
        lines += [f"sensitive = {'false' if channel is None else 'true'}"]
        lines += [] if channel is None else [f"channel = {channel}"]
    return "\n".join(lines) + "\n"


def write_table(folder: Path, codes: dict[str, np.ndarray], start: int = 0, shuffle: int = 0):
    """Write a table of some variables, its records in an order of its own."""
    with (folder / "table.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *codes])
        records = len(next(iter(codes.values())))
        for i in np.random.default_rng(shuffle).permutation(records):
            labels = [CATEGORIES[n].split()[codes[n][i]] for n in codes]
            writer.writerow([f"Zq{start + i:04d}Person", *labels])


def pseudonym(number: int) -> bytes:
    """The pseudonym of a record, by the definition."""
    message = b"pramana/pseudonym/1\x00asia\x00" + f"Zq{number:04d}Person".encode()
    return hmac.new(LINKAGE, message, hashlib.sha256).digest()[:16]


@dataclass
class Sent:
    """One request as it went over the wire, and what was answered."""

    sender: str
    receiver: str
    line: str
    headers: dict[str, str]
    body: bytes
    status: int
    answer: bytes


Bend = Callable[[str, httpx.Request], httpx.Response | BaseException | None]
"""Called with the receiver and a request: answers in its place, fails it, or passes it on."""


@dataclass
class Wire(httpx.BaseTransport):
    """Carries requests between the owners, remembers them, and can be bent."""

    clients: dict[str, TestClient] = field(default_factory=dict)
    sent: list[Sent] = field(default_factory=list)
    bend: Bend | None = None
    bend_answer: Callable[[str, httpx.Request, httpx.Response], httpx.Response] | None = None
    down: set[str] = field(default_factory=set)
    under_way: int = 0
    quiet: threading.Condition = field(default_factory=threading.Condition)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        with self.quiet:
            if self.under_way < 0:
                raise httpx.ConnectError("closed", request=request)
            self.under_way += 1
        try:
            return self.carry(request)
        finally:
            with self.quiet:
                self.under_way -= 1
                self.quiet.notify_all()

    def close_when_quiet(self) -> None:
        """Wait for what is under way and carry nothing more: an application that is closed while
        it answers never ends."""
        with self.quiet:
            self.quiet.wait_for(lambda: self.under_way == 0)
            self.under_way = -1

    def carry(self, request: httpx.Request) -> httpx.Response:
        """Pass a request on, unless it is bent."""
        receiver = request.url.host.removesuffix(".test")
        body = request.read()
        response: Any = self.bend(receiver, request) if self.bend else None
        if isinstance(response, BaseException):
            raise response
        if receiver in self.down:
            raise httpx.ConnectError("refused", request=request)
        if response is None:
            path = request.url.raw_path.decode()
            kept = {k: v for k, v in request.headers.items() if k.startswith("tls-")}
            got = self.clients[receiver].request(request.method, path, content=body, headers=kept)
            response = httpx.Response(got.status_code, headers=got.headers, content=got.content)
        if self.bend_answer is not None:
            response = self.bend_answer(receiver, request, response)
        self.sent.append(
            Sent(
                request.headers["tls-caller"], receiver,
                f"{request.method} {request.url.path}", dict(request.headers), body,
                response.status_code, response.content,
            )
        )  # fmt: skip
        return response


@dataclass
class Line(httpx.BaseTransport):
    """The wire as one owner calls over it: the others see its certificate, as TLS would show it."""

    wire: Wire
    identity: PeerIdentity

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.headers["tls-caller"] = self.identity.public.name
        request.headers["tls-certificate"] = shown(self.identity)
        return self.wire.handle_request(request)


def shown(identity: PeerIdentity) -> str:
    """A certificate as the header in which it goes over the wire here."""
    return base64.b64encode(identity.public.pem).decode()


def behind_tls(app: Any) -> Any:
    """An application that is told of certificates as the server tells it."""

    async def served(scope: Any, receive: Any, send: Any) -> None:
        given = dict(scope.get("headers", ())).get(b"tls-certificate")
        chain = [] if given is None else [base64.b64decode(given).decode()]
        extensions = {"tls": {"client_cert_chain": chain}}
        await app({**scope, "extensions": extensions}, receive, send)

    return served


@dataclass
class World:
    """All owners, their folders, and the time."""

    root: Path
    wire: Wire = field(default_factory=Wire)
    now: datetime = NOW
    participants: dict[str, Participant] = field(default_factory=dict)
    told: dict[str, list[str]] = field(default_factory=dict)
    steps: list[tuple[str, int, int]] = field(default_factory=list)
    stack: ExitStack = field(default_factory=ExitStack)
    lock_attempts: int = 1 << 30
    patience: WaitingTimes = UNHURRIED

    def folder(self, owner: str) -> Path:
        return self.root / owner

    def environment(self, owner: str, attempts: int = 2) -> Environment:
        return Environment(
            transport=Line(self.wire, load_identity(load_site(self.folder(owner) / "site.toml"))),
            sleep=lambda _seconds: time.sleep(0.002),
            now=lambda: self.now,
            attempts=attempts,
            lock_attempts=self.lock_attempts,
            patience=self.patience,
        )

    def add(self, owner: str, text: str, codes: dict[str, np.ndarray], **table: int) -> None:
        """Make an owner's folder with its keys and identity."""
        folder = self.folder(owner)
        folder.mkdir()
        (folder / "site.toml").write_text(text)
        write_table(folder, codes, **table)
        site = load_site(folder / "site.toml")
        draw = bytes([len(self.told) + 1]) + bytes(range(31))
        KeyStore(site.state).add("draw", draw)
        KeyStore(site.state).add("linkage", LINKAGE)
        identity = make_identity(site, self.now)
        self.told[owner] = []
        for other in self.told:
            self.folder(other).joinpath(f"{owner}.pem").write_bytes(identity.public.pem)
            other_site = load_site(self.folder(other) / "site.toml")
            pem = make_identity(other_site, self.now).public.pem
            (folder / f"{other}.pem").write_bytes(pem)

    def decide(self, owner: str, line: str) -> None:
        """Write a decision into the [peer] section of an owner's site file."""
        path = self.folder(owner) / "site.toml"
        text = path.read_text()
        assert text.count('study = "asia"') == 1
        path.write_text(text.replace('study = "asia"', f'study = "asia"\n{line}'))

    def open(
        self, *, accept: tuple[str, ...] = (), corrections: CorrectionChoice | None = None
    ) -> None:
        """Start every owner."""
        for owner, lines in self.told.items():
            participant = self.stack.enter_context(
                opened(
                    self.folder(owner) / "site.toml", self.environment(owner), lines.append,
                    PublishOptions(accept_added_loss=owner in accept, corrections=corrections),
                )
            )  # fmt: skip
            self.participants[owner] = participant
            client = TestClient(behind_tls(create_peer_app(participant)))
            self.wire.clients[owner] = self.stack.enter_context(client)

    def proposal(self, task: dict[str, Any], **more: Any) -> Proposal:
        """A session of all owners that north begins."""
        content = {
            "session": "ab" * 16, "study": "asia", "initiator": "north",
            "participants": list(self.told), "seconds": 60.0, "task": task, **more,
        }  # fmt: skip
        return Proposal.model_validate(content)

    def run(self, proposal: Proposal) -> JointOutcome:
        """Run a session from its initiator."""
        own = self.participants[proposal.initiator]
        return run_session(own, proposal, lambda *step: self.steps.append(step))

    @property
    def partners(self) -> list[Any]:
        """The three owners as north, which begins the session, asks them."""
        north = self.participants["north"]
        return [north, north.partners("south"), north.partners("east")]

    def ask(self, step: Any, message: Any = None) -> list[Any]:
        """Let all three do a step of the session; return their answers."""
        return [partner.ask(step, "ab" * 16, message) for partner in self.partners]

    def announced(self, task: dict[str, Any]) -> Statements:
        """Begin a session; return what all announce."""
        offers = Statements(all=self.ask(PROPOSE, self.proposal(task)))
        return Statements(all=self.ask(OFFERS, offers))

    def later(self, seconds: float) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)

    def results(self, owner: str) -> dict[str, bytes]:
        """Every file of an owner's results, hidden ones too, by path."""
        results = self.folder(owner) / "models"
        return {
            str(path.relative_to(results)): path.read_bytes()
            for path in sorted(results.rglob("*"))
            if path.is_file()
        }

    def packages(self) -> dict[tuple[str, str], dict[str, np.ndarray]]:
        """Return what went from whom to whom: columns by name, in the order of record numbers."""
        place = {pseudonym(i): i for i in range(10_000)}
        found = {}
        for sent in self.wire.sent:
            if "/parts/" in sent.line and sent.status == 200:
                table = pa.ipc.open_stream(sent.answer).read_all()
                keys = table.column("__key__").to_pylist()
                order = np.argsort([place[key] for key in keys])
                names = [name for name in table.column_names if name != "__key__"]
                columns = {name: table[name].to_numpy()[order] for name in names}
                found[sent.receiver, sent.sender] = columns
        return found

    def nothing_anywhere(self) -> bool:
        """Whether no owner has any file of any result."""
        return not any(self.results(owner) for owner in self.told)


def no_threads_left() -> bool:
    """Wait until sessions' threads are gone."""
    while any("_learn" in thread.name for thread in threading.enumerate()):
        time.sleep(0.005)
    return True


@pytest.fixture
def empty_world(tmp_path: Path) -> Iterator[World]:
    """A world without owners."""
    made = World(tmp_path)
    with made.stack:
        yield made
        assert no_threads_left()
        made.wire.close_when_quiet()


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folders of three owners, with tables, keys and identities; to be copied, not changed."""
    made, codes = World(tmp_path_factory.mktemp("owners")), truth()
    for number, (owner, names) in enumerate(HOLDINGS.items()):
        variables = {name: CHANNELS.get(name) for name in names}
        own = {name: codes[name] for name in names}
        made.add(owner, site_text(owner, variables), own, shuffle=number)
    return made.root


@pytest.fixture
def hurry() -> dict[str, float]:
    """Times for which the owners wait less, or more, than UNHURRIED; to be parametrized."""
    return {}


@pytest.fixture
def closed_world(empty_world: World, folders: Path, hurry: dict[str, float]) -> World:
    """Three owners that are not started yet."""
    empty_world.patience = replace(UNHURRIED, **hurry)
    for owner in HOLDINGS:
        shutil.copytree(folders / owner, empty_world.folder(owner))
        empty_world.told[owner] = []
    return empty_world


@pytest.fixture
def world(closed_world: World) -> World:
    """Three owners, started."""
    closed_world.open()
    return closed_world


@pytest.fixture
def parameters_task() -> dict[str, Any]:
    """The task with the structure that all know."""
    return {"kind": "parameters", "structure": STRUCTURE}


@pytest.fixture
def codes() -> dict[str, np.ndarray]:
    """The true codes of all variables, by record number."""
    return truth()


@pytest.fixture
def make_site() -> Callable[..., str]:
    """The writer of site files: `(owner, variables, more="")`."""
    return site_text


@pytest.fixture
def make_codes() -> Callable[..., dict[str, np.ndarray]]:
    """The maker of true codes: `(seed, records)`."""
    return truth


@pytest.fixture
def ended(world, parameters_task):
    """Run a session that must fail; return its error after checking that all know it.

    Owners that find the same thing out by themselves at one moment each say it in their words.
    """

    def run(kind, match, heard=("north", "south", "east"), task=None, *, alike=True, **more):
        with pytest.raises(kind, match=match) as raised:
            world.run(world.proposal(task or parameters_task, **more))
        assert world.nothing_anywhere()
        for owner in heard:
            session = world.participants[owner].session
            assert session.phase == "ended", owner
            last = world.told[owner][-1]
            assert "ended without a result" in last
            assert raised.value.message in last or (not alike and re.search(match, last)), owner
        return raised.value

    return run


@pytest.fixture
def learned(world: World, parameters_task: dict[str, Any]) -> Callable[[], tuple[list, list]]:
    """Run a session until all have learned; return the partners and their parts."""

    def run() -> tuple[list, list]:
        world.ask(ANNOUNCEMENTS, world.announced(parameters_task))
        world.ask(BEGIN)
        while any(status.phase == "learning" for status in world.ask(STATUS)):
            world.participants["north"].environment.sleep(0)
        return world.partners, [status.part for status in world.ask(STATUS)]

    return run
