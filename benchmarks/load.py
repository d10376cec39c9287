"""Owners who upload to a miner in a process of its own, beside a plain server that only stores.

`make load` runs it and prints the ratios, at the end as docs/operations.md has them; `--short`
takes a few seconds. No time alone is a result: each is set beside another of the same run on the
same machine.

Also here:

* Owners who send parts at once, in a process of their own; and one who asks for the health.
* Clients that begin a body and do not end it.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from owner_agent.release.options import PART_RECORDS
from pramana_core.domain import Domain
from pramana_core.plan import Plan
from pramana_core.terminal import console
from pramana_core.wire.channels import PlanMessage
from pramana_core.wire.parts import PART_MEDIA_TYPE, RecordSchema, encode_part
from pramana_core.wire.releases import PartManifest, ReleaseCreate, release_digest

COLUMNS = 8
RECORD_BYTES = 16 + COLUMNS


@dataclass(frozen=True)
class Target:
    """Where an owner sends its parts, with which headers."""

    path: str
    headers: dict[str, str]


@dataclass(frozen=True)
class Served:
    """A server: its port, its process, and, of the miner, the admin's token."""

    port: int
    process: subprocess.Popen[bytes]
    token: str = ""

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def plain_server(folder: Path) -> Iterator[Served]:
    """Run the plain server."""
    folder.mkdir()
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    process = subprocess.Popen(  # noqa: S603 our own interpreter and module
        [sys.executable, "-m", "benchmarks.plain_server", str(folder), str(port)]
    )
    served = Served(port, process)
    with _ending(process):
        while not _answers(served):
            time.sleep(0.05)
        yield served


@contextmanager
def miner(folder: Path) -> Iterator[Served]:
    """Run a miner with an empty data directory."""
    folder.mkdir()
    ready, token = folder / "ready.json", folder / "admin"
    options = ["--port", "0", "--ready-file", str(ready), "--admin-token-file", str(token)]
    process = subprocess.Popen(  # noqa: S603 our own interpreter and module
        [sys.executable, "-m", "miner_service", "serve", "--data", str(folder / "data"), *options],
        stdout=subprocess.DEVNULL,
    )
    with _ending(process):
        while not ready.exists():
            if process.poll() is not None:
                raise RuntimeError("the miner did not start")
            time.sleep(0.05)
        port = int(json.loads(ready.read_text())["url"].rsplit(":", 1)[1])
        yield Served(port, process, token.read_text().strip())


def cut(parts: int, size: int) -> tuple[Plan, list[bytes], list[int]]:
    """Return the parts of a release: a plan, about `size` bytes each, and their records."""
    records = size // RECORD_BYTES
    rng = np.random.default_rng(18)
    keys = np.sort(np.frombuffer(rng.bytes(16 * records * parts), dtype="S16")).view("V16")
    names = [f"v{i}" for i in range(COLUMNS)]
    plan = Plan.unrandomized(Domain.of(**dict.fromkeys(names, ("no", "yes"))))
    schema = RecordSchema.of(plan)
    bodies = [
        encode_part(
            schema,
            keys[i * records : (i + 1) * records],
            {name: rng.integers(0, 2, records).astype(np.uint8) for name in names},
        )
        for i in range(parts)
    ]
    return plan, bodies, [records] * parts


def announce(
    served: Served, owners: int, plan: Plan, bodies: list[bytes], records: list[int]
) -> list[Target]:
    """Open a study whose owners announced one release each; return where their parts go."""
    parts = [
        PartManifest(number=i, records=n, bytes=len(p), sha256=sha256(p).hexdigest())
        for i, (p, n) in enumerate(zip(bodies, records, strict=True))
    ]
    body = ReleaseCreate(
        name="r",
        plan=PlanMessage.from_plan(plan),
        records=sum(records),
        parts=parts,
        digest=release_digest(plan.digest, parts),
    )
    study = f"s{time.monotonic_ns()}"
    targets = []
    with httpx.Client(base_url=served.url, timeout=120) as http:

        def ask(path: str, token: str, message: Any) -> httpx.Response:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            return http.post(path, json=message, headers=headers).raise_for_status()

        ask("/v1/studies", served.token, {"name": study})
        for number in range(owners):
            path = f"/v1/studies/{study}/invitations"
            invited = ask(path, served.token, {"owner": f"o{number}"}).json()
            token = ask("/v1/invitations/accept", "", {"secret": invited["secret"]}).json()["token"]
            release = ask(f"/v1/studies/{study}/releases", token, body.model_dump(mode="json"))
            targets.append(
                Target(release.headers["location"], {"Authorization": f"Bearer {token}"})
            )
    return targets


def seal(served: Served, target: Target) -> str:
    """Seal a release that was sent; return its study."""
    with httpx.Client(base_url=served.url, timeout=120, headers=target.headers) as http:
        answer = http.post(f"{target.path}/seal").raise_for_status().json()
    return str(answer["study"])


def create_jobs(served: Served, study: str, names: list[str], number: int) -> None:
    """Create jobs, each another one: networks in which every variable has a parent."""
    headers = {"Authorization": f"Bearer {served.token}"}
    with httpx.Client(base_url=served.url, timeout=120, headers=headers) as http:
        for which in range(number):
            parents = {
                name: [names[place - 1]] if place and which >> (place - 1) & 1 else []
                for place, name in enumerate(names)
            }
            spec = {"kind": "bayes-net-parameters", "structure": parents}
            http.post(f"/v1/studies/{study}/jobs", json={"spec": spec}).raise_for_status()


@contextmanager
def _ending(process: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _answers(served: Served) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", served.port), 1):
        return True
    return False


# Owners who send parts at once, in a process of their own; and one who asks for the health.

PAUSE = 0.005
_ASKED = b"GET /healthz HTTP/1.1\r\nHost: miner\r\n\r\n"


def upload(served: Served, targets: Sequence[Target], bodies: Sequence[bytes]) -> float:
    """Send every part to every target, all targets at once; return bytes a second."""

    def send(target: Target) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", served.port)
        headers = {**target.headers, "Content-Type": PART_MEDIA_TYPE}
        for number, body in enumerate(bodies):
            connection.request("PUT", f"{target.path}/parts/{number}", body, headers)
            with connection.getresponse() as answer:
                told = answer.read()
                if answer.status != 201:
                    raise RuntimeError(f"{answer.status}: {told.decode()}")
        connection.close()

    began = time.perf_counter()
    with ThreadPoolExecutor(len(targets)) as pool:
        list(pool.map(send, targets))
    return len(targets) * sum(map(len, bodies)) / (time.perf_counter() - began)


@dataclass
class Latencies:
    """How long answers took, in seconds."""

    every: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.every)

    @property
    def p99(self) -> float:
        """The one that a hundredth of all exceed."""
        return statistics.quantiles(self.every, n=100)[98]


@contextmanager
def probing(served: Served) -> Iterator[Latencies]:
    """Ask for the health again and again meanwhile, from a process of its own."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_probe, args=(served.port, theirs))
    process.start()
    ours.recv()
    latencies = Latencies()
    try:
        yield latencies
    finally:
        ours.send(None)
        latencies.every = ours.recv()
        process.join()


def _probe(port: int, pipe: "multiprocessing.connection.Connection") -> None:  # type: ignore[name-defined]  # noqa: UP037
    ended = threading.Event()

    def wait() -> None:
        pipe.recv()
        ended.set()

    found: list[float] = []
    with socket.create_connection(("127.0.0.1", port)) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        pipe.send(None)
        threading.Thread(target=wait, daemon=True).start()
        while not ended.is_set() or len(found) < 2:
            began = time.perf_counter()
            sock.sendall(_ASKED)
            _require_answer(sock)
            found.append(time.perf_counter() - began)
            time.sleep(PAUSE)
    pipe.send(found)


def _require_answer(sock: socket.socket) -> None:
    """Take in one answer: the body of either server ends with its headers, or with a brace."""
    body = b""
    while not body.endswith((b"}", b"0\r\n\r\n")):
        piece = sock.recv(4096)
        if not piece:
            raise RuntimeError("the health was not told")
        body += piece
    if not body.startswith(b"HTTP/1.1 20"):
        raise RuntimeError(body.decode())


# Clients that begin a body and do not end it.


@contextmanager
def held_bodies(
    served: Served, targets: Sequence[Target], body: bytes, *, each: int, share: float
) -> Iterator[list[socket.socket]]:
    """Hold bodies open, `each` of every target, of which a share was sent."""
    with ExitStack() as stack:
        socks = []
        for target in targets:
            for number in range(each):
                sock = stack.enter_context(socket.create_connection(("127.0.0.1", served.port)))
                lines = [
                    f"PUT {target.path}/parts/{number} HTTP/1.1",
                    "Host: miner",
                    f"Content-Type: {PART_MEDIA_TYPE}",
                    f"Content-Length: {len(body)}",
                    *(f"{name}: {value}" for name, value in target.headers.items()),
                ]
                sock.sendall("\r\n".join([*lines, "", ""]).encode())
                sock.sendall(body[: int(share * len(body))])
                socks.append(sock)
        yield socks


def own_memory(process: int) -> int:
    """Return the bytes of memory that a process holds; its workers are not in it."""
    import psutil

    held: int = psutil.Process(process).memory_info().rss
    return held


MEBIBYTE = 1 << 20
LEAST = {"agent": 0.70, 4 * MEBIBYTE: 0.90, 256 * 1024: 0.50}
MOST_TIMES = 20


def throughput(folder: Path, *, owners: int, parts: int, size: int, rounds: int) -> float:
    """Return the miner's throughput as a share of the plain server's; both run in turn."""
    plan, bodies, records = cut(parts, size)
    ratios = []
    with plain_server(folder / f"plain{size}") as plain, miner(folder / f"miner{size}") as served:
        for turn in range(rounds + 1):
            targets = announce(served, owners, plan, bodies, records)
            ours = upload(served, targets, bodies)
            theirs = upload(plain, targets, bodies)
            if turn:  # the first warms both up
                ratios.append(ours / theirs)
                _say(f"  {ours / MEBIBYTE:7.1f} of {theirs / MEBIBYTE:7.1f} MiB/s")
    return statistics.median(ratios)


@dataclass(frozen=True)
class Health:
    """How long /healthz takes idle and under load, and a plain server's GET under the same load.

    Attributes:
        memory: of the miner after it, in MiB.
    """

    idle: Latencies
    busy: Latencies
    plain: Latencies
    memory: float

    @property
    def times(self) -> float:
        """The 99th percentile under load, of the idle median."""
        return self.busy.p99 / self.idle.median

    @property
    def of_plain(self) -> float:
        """The 99th percentile under load, of the plain server's."""
        return self.busy.p99 / self.plain.p99


def health(folder: Path, *, owners: int, jobs: int, parts: int, size: int) -> Health:
    """Ask for the health, idle and while owners send.

    The jobs are created before the owners begin to send, and are being learned meanwhile; what is
    left of them also while the plain server is asked.
    """
    plan, bodies, records = cut(parts, size)
    with plain_server(folder / "other") as other, miner(folder / "health") as served:
        learned = announce(served, 1, plan, bodies, records)
        upload(served, learned, bodies)
        study = seal(served, learned[0])
        targets = announce(served, owners, plan, bodies, records)
        with probing(served) as idle:
            time.sleep(1.0)
        create_jobs(served, study, list(plan.reported_sizes), jobs)
        with probing(served) as busy:
            upload(served, targets, bodies)
        with probing(other) as plain:
            upload(other, targets, bodies)
        return Health(idle, busy, plain, own_memory(served.process.pid) / MEBIBYTE)


def holding(folder: Path, *, owners: int, each: int, size: int) -> float:
    """Return the miner's memory in MiB while clients hold bodies open."""
    plan, bodies, records = cut(each, size)
    with miner(folder / "holding") as served:
        targets = announce(served, owners, plan, bodies, records)
        with held_bodies(served, targets, bodies[0], each=each, share=0.9):
            return own_memory(served.process.pid) / MEBIBYTE


def main() -> None:
    """Measure everything in turn."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--short", action="store_true")
    short = reader.parse_args().short
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rounds = 1 if short else 5
        agents = PART_RECORDS * RECORD_BYTES
        for size in (agents, 4 * MEBIBYTE, 256 * 1024):
            parts = max(2, (2 if short else 16) * MEBIBYTE // size)
            share = throughput(folder, owners=8, parts=parts, size=size, rounds=rounds)
            whose = ", the agent's" if size == agents else ""
            what = f"parts of {size // 1024} KiB{whose}, of a plain server's throughput"
            least = LEAST["agent" if size == agents else size]
            rows.append((what, f"{share:.0%}", f"at least {least:.0%}"))
            _say(f"{what}: {share:.0%}")
        parts = 2 if short else 8
        asked = health(folder, owners=50, jobs=20, parts=parts, size=MEBIBYTE)
        _say(
            f"/healthz while 50 owners send and 20 jobs are there: p99"
            f" {asked.busy.p99 * 1000:.1f} ms, idle median {asked.idle.median * 1000:.2f} ms, the"
            f" plain server's p99 {asked.plain.p99 * 1000:.1f} ms ({len(asked.busy.every)} asked)"
        )
        what = "99th percentile of `/healthz` with 50 owners and 20 jobs, of"
        rows.append(
            (f"{what} its idle median", f"{asked.times:.0f} times", f"at most {MOST_TIMES} times")
        )
        rows.append((f"{what} a plain server's", f"{asked.of_plain:.1f} times", ""))
        _say(f"memory of the service after it: {asked.memory:.0f} MiB")
        memory = holding(folder, owners=25, each=4, size=8 * MEBIBYTE)
        rows.append(("memory while 100 clients hold bodies open", f"{memory:.0f} MiB", "400 MiB"))
        _say(f"memory while 100 clients hold bodies open: {memory:.0f} MiB")
    for row in [("figure", "measured", "wanted"), ("---", "---", "---"), *rows]:
        _say(f"| {' | '.join(row)} |")


def _say(text: str) -> None:
    console().print(text, markup=False, highlight=False)


if __name__ == "__main__":
    main()
