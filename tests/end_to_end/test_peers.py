"""Three owners in three processes learn the network of Ma's experiment 1 together, over TLS."""

from __future__ import annotations

import csv
import json
import re
import secrets
import signal
import ssl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import numpy as np
import pytest

from owner_agent.peer.protocol.identity import make_identity
from owner_agent.site.site import load_site
from owner_agent.state.environment import utc_now
from owner_agent.state.keys import KeyStore
from pramana.setups import CHANNELS, DOMAIN, OWNERS, STRUCTURE, network
from tests.end_to_end.conftest import free_ports
from tests.forked import Forked
from tests.places import ROOT
from tests.shells import run_script

pytestmark = pytest.mark.end_to_end

AGENT = "tests.end_to_end.patient_agent"
RECORDS = 8_000
LINKAGE = bytes(range(7, 39))


def toml(channel: dict[str, object]) -> str:
    return "{ " + ", ".join(f"{k} = {json.dumps(v)}" for k, v in channel.items()) + " }"


def site_text(owner: str, ports: dict[str, int]) -> str:
    lines = [f'owner = "{owner}"', 'table = "table.csv"', 'record_id = "id"', "[peer]"]
    lines += ['study = "ma"', f'listen = "127.0.0.1:{ports[owner]}"', "smallest_count = 1"]
    for other in ports:
        if other != owner:
            lines += ["[[peer.known]]", f'name = "{other}"', f'certificate = "../{other}.pem"']
            lines += [f'url = "https://127.0.0.1:{ports[other]}"']
    for name in OWNERS[owner]:
        lines += ["[[variables]]", f'name = "{name}"']
        lines += [f"categories = {json.dumps(list(DOMAIN[name].categories))}"]
        lines += [f"sensitive = {json.dumps(name in CHANNELS)}"]
        lines += [f"channel = {toml(CHANNELS[name])}"] if name in CHANNELS else []
    return "\n".join(lines) + "\n"


@dataclass
class Owners:
    """The owners' folders, the true codes, and the processes that run."""

    root: Path
    codes: dict[str, np.ndarray]
    ports: dict[str, int]
    run: Callable[..., subprocess.CompletedProcess[str]]
    until: Callable[..., None]
    running: dict[str, Forked] = field(default_factory=dict)
    before: set[Path] = field(default_factory=set)

    def site(self, owner: str) -> Path:
        return self.root / owner / "site.toml"

    def make(self) -> None:
        for owner, names in OWNERS.items():
            folder = self.root / owner
            folder.mkdir()
            self.site(owner).write_text(site_text(owner, self.ports))
            with (folder / "table.csv").open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(["id", *names])
                for i in np.random.default_rng(len(owner)).permutation(RECORDS):
                    writer.writerow([f"p{i}", *(self.codes[n][i] + 1 for n in names)])
            site = load_site(self.site(owner))
            KeyStore(site.state).create("draw", secrets.token_bytes)
            KeyStore(site.state).add("linkage", LINKAGE)
            pem = make_identity(site, utc_now()).public.pem
            (self.root / f"{owner}.pem").write_bytes(pem)

    def serve(self, owner: str) -> None:
        ready = self.root / f"{owner}.ready"
        ready.unlink(missing_ok=True)
        words = ["peer", "--site", str(self.site(owner)), "--ready-file", str(ready)]
        self.running[owner] = Forked(AGENT, *words, out=self.root / f"{owner}.log")
        self.until(ready.exists, self.running[owner], said=lambda: self.log(owner))

    def begin(self) -> None:
        """For a test: let all serve who do not, and forget what was said and found so far."""
        for owner in ("laboratory", "registry"):
            (self.root / f"{owner}.log").write_text("")
            if owner not in self.running or self.running[owner].poll() is not None:
                self.serve(owner)
        self.before = set(self.root.glob("*/models/*"))

    def end(self, owner: str) -> None:
        """Kill an owner's process."""
        self.running[owner].kill()
        self.running[owner].wait()

    def log(self, owner: str) -> str:
        return (self.root / f"{owner}.log").read_text()

    def learn(self, task: str) -> subprocess.CompletedProcess[str]:
        return self.run(AGENT, *self.learning(task))

    def learning(self, task: str, more: str = "connect_seconds = 3600") -> list[str]:
        peers = self.root / "peers.toml"
        peers.write_text(f"seconds = 3600\n{more}\n[task]\n{task}\n")
        return ["learn", "--peers", str(peers), "--site", str(self.site("clinic")), "--json"]

    @contextmanager
    def learning_without_registry(self, more: str) -> Iterator[Forked]:
        """Let the clinic begin a session while the registry's process stands still."""
        registry, log = self.running["registry"], self.root / "clinic.log"
        log.write_text("")
        registry.send_signal(signal.SIGSTOP)
        process = Forked(AGENT, *self.learning(PARAMETERS, more), out=log)
        try:
            yield process
        finally:
            registry.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()

    def wait_for(self, owner: str, line: str, *processes: Forked) -> None:
        """Wait until an owner has said something."""
        self.until(
            lambda: line in self.log(owner),
            self.running[owner],
            *processes,
            said=lambda: self.log(owner) + self.log("clinic"),
        )

    def results(self, owner: str) -> dict[str, bytes]:
        """What the test's sessions gave an owner."""
        results = self.root / owner / "models"
        return {
            str(p.relative_to(results)): p.read_bytes()
            for p in results.glob("*/*")
            if p.parent not in self.before
        }

    def ledger(self, owner: str) -> dict[str, object]:
        done = self.run("owner_agent", "ledger", "--json", "--site", str(self.site(owner)))
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def stop(self) -> None:
        for process in self.running.values():
            process.send_signal(signal.SIGTERM)
        for process in self.running.values():
            process.wait()


@contextmanager
def stack(root: Path, run, until) -> Iterator[Owners]:
    """Three owners' folders; the laboratory and the registry serve."""
    codes = network().sample(RECORDS, np.random.default_rng(52))
    with free_ports() as port:
        made = Owners(root, codes, {owner: port() for owner in OWNERS}, run, until)
        made.make()
        try:
            made.begin()
            yield made
        finally:
            made.stop()


@pytest.fixture(scope="module")
def shared_owners(tmp_path_factory: pytest.TempPathFactory, run, until) -> Iterator[Owners]:
    with stack(tmp_path_factory.mktemp("owners"), run, until) as made:
        yield made


@pytest.fixture
def owners(shared_owners: Owners) -> Owners:
    """Owners that the tests share; nothing has been said and found when a test begins."""
    shared_owners.begin()
    return shared_owners


PARAMETERS = 'kind = "parameters"\n[task.structure]\n' + "\n".join(
    f"{node} = {json.dumps(list(parents))}" for node, parents in STRUCTURE.families
)


@dataclass(frozen=True)
class Learned:
    """A session that ended well: what was said, and what each owner has of it."""

    owners: Owners
    done: subprocess.CompletedProcess[str]
    logs: dict[str, str]
    files: list[dict[str, bytes]]


@pytest.fixture(scope="module")
def learned(shared_owners: Owners) -> Learned:
    """One session, for all that is looked at of it."""
    shared_owners.begin()
    done = shared_owners.learn(PARAMETERS)
    logs = {owner: shared_owners.log(owner) for owner in ("laboratory", "registry")}
    assert done.returncode == 0, (done.stderr, logs)
    return Learned(shared_owners, done, logs, [shared_owners.results(o) for o in OWNERS])


def test_all_have_one_network_and_each_column_went_where_it_is_a_parent(learned):
    """What it is made of, tests/owner_agent/peer checks by hand."""
    owners, files = learned.owners, learned.files
    outcome = json.loads(learned.done.stdout)
    assert files[0] == files[1] == files[2]
    names = [f"{outcome['session']}/network.{kind}" for kind in ("bif", "json", "svg")]
    assert sorted(files[0]) == names
    assert len(json.loads(files[0][names[1]])["parameters"]) == 64
    sent = {
        (owner, line["miner"].removeprefix("peer:")): {v["name"] for v in line["variables"]}
        for owner in OWNERS
        for line in owners.ledger(owner)["releases"]
        if line["variables"]
    }
    assert {pair: "".join(sorted(names)) for pair, names in sent.items()} == {
        ("clinic", "laboratory"): "S",
        ("clinic", "registry"): "T",
        ("laboratory", "registry"): "BLX",
        ("registry", "laboratory"): "E",
        ("registry", "clinic"): "C",
    }


def test_nothing_logged_or_printed_holds_a_record_id_or_key(learned):
    said = learned.done.stdout + learned.done.stderr + "".join(learned.logs.values())
    assert "p1234" not in said
    assert LINKAGE.hex() not in said
    for owner in OWNERS:
        key = (learned.owners.root / owner / ".pramana" / "keys" / "draw.key").read_text().strip()
        assert key not in said


def test_an_owner_that_is_down_ends_it_at_the_others(owners):
    owners.end("registry")
    done = owners.learn(PARAMETERS)
    assert done.returncode == 5
    assert "peer-unreachable" in done.stderr
    assert "registry" in done.stderr
    assert "registry" in owners.log("laboratory")
    assert "ended without a result" in owners.log("laboratory")
    assert not any(owners.results(owner) for owner in OWNERS)
    # Both are ready for the next session.
    owners.serve("registry")
    assert owners.learn(PARAMETERS).returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_whoever_interrupts_ends_it_for_all(owners, number):
    """Ctrl-C at the clinic while it waits for the registry: the laboratory hears who stopped.

    The clinic is given as long as the session to reach the registry: only the signal ends that.
    """
    with owners.learning_without_registry("connect_seconds = 3600") as learning:
        owners.wait_for("laboratory", "proposes session", learning)
        learning.send_signal(number)
        owners.wait_for("laboratory", "ended without a result")
        owners.running["registry"].send_signal(signal.SIGCONT)
        assert learning.wait() != 0
    assert "clinic interrupted the session" in owners.log("laboratory")
    assert not any(owners.results(owner) for owner in OWNERS)


def test_strangers_do_not_get_through_the_handshake(owners, tmp_path):
    """No certificate, or one that nobody pinned: TLS ends it before a byte of HTTP."""
    url = f"https://127.0.0.1:{owners.ports['registry']}/v1/sessions/{'0' * 32}"
    anybody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
    with pytest.raises(httpx.TransportError):
        httpx.get(url, verify=anybody, timeout=None)
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    text = owners.site("laboratory").read_text().replace('owner = "laboratory"', 'owner = "eve"')
    (stranger / "site.toml").write_text(text)
    done = owners.run("owner_agent", "keys", "identity", "--site", str(stranger / "site.toml"))
    assert done.returncode == 0, done.stderr
    keys = stranger / ".pramana" / "keys"
    anybody.load_cert_chain(keys / "identity.pem", keys / "identity.key")
    with pytest.raises(httpx.TransportError):
        httpx.get(url, verify=anybody, timeout=None)
    # The control: a known owner is known by its certificate, and has no such session.
    keys = owners.root / "laboratory" / ".pramana" / "keys"
    known = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    known.check_hostname, known.verify_mode = False, ssl.CERT_NONE
    known.load_cert_chain(keys / "identity.pem", keys / "identity.key")
    answer = httpx.get(url, verify=known, timeout=None)
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")


def test_an_owner_with_a_new_identity_is_believed_once_the_others_have_its_certificate(owners):
    """Before that they tell it nothing."""
    owners.end("registry")
    for name in ("identity.pem", "identity.key"):
        (owners.root / "registry" / ".pramana" / "keys" / name).unlink()
    pinned = owners.root / "registry.pem"
    fresh, site = owners.root / "fresh.pem", str(owners.site("registry"))
    words = ("keys", "identity", "--certificate", str(fresh), "--site", site)
    assert owners.run("owner_agent", *words).returncode == 0
    owners.serve("registry")
    done = owners.learn(PARAMETERS)
    assert done.returncode == 5
    assert "registry" in done.stderr
    assert not any(owners.results(owner) for owner in OWNERS)
    fresh.replace(pinned)
    owners.end("laboratory")  # a process reads certificates at its start
    owners.serve("laboratory")
    assert owners.learn(PARAMETERS).returncode == 0
    assert all(owners.results(owner) for owner in OWNERS)


def test_the_commands_of_the_docs_run(tmp_path, free_port):
    """Every shell block of docs/peers.md, one after the other, on ports that are free here."""
    page = (ROOT / "docs" / "peers.md").read_text()
    script = "\n".join(re.findall(r"```sh\n(.*?)```", page, re.DOTALL))
    for port in ("8201", "8202"):
        assert port in script
        script = script.replace(port, str(free_port()))
    done = run_script(script, tmp_path, {"owner-agent": "owner_agent"})
    assert done.returncode == 0, done.stderr
    found = {
        owner: sorted((tmp_path / owner / "models").glob("*/*")) for owner in ("north", "south")
    }
    assert len(found["north"]) == len(found["south"]) == 6
    for path_there in found["south"]:
        other = tmp_path / "north" / path_there.relative_to(tmp_path / "south")
        assert other.read_bytes() == path_there.read_bytes()
    assert "ERROR" not in done.stderr
