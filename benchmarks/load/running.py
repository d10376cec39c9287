"""The two servers as processes, and a study with owners and the releases they announced."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from pramana_core.domain import Domain
from pramana_core.plan import Plan
from pramana_core.wire.channels import PlanMessage
from pramana_core.wire.parts import RecordSchema, encode_part
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
        [sys.executable, "-m", "benchmarks.load.plain", str(folder), str(port)]
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
            told = ask(f"/v1/studies/{study}/releases", token, body.model_dump(mode="json"))
            targets.append(Target(told.headers["location"], {"Authorization": f"Bearer {token}"}))
    return targets


def seal(served: Served, target: Target) -> str:
    """Seal a release that was sent; return its study."""
    with httpx.Client(base_url=served.url, timeout=120, headers=target.headers) as http:
        told = http.post(f"{target.path}/seal").raise_for_status().json()
    return str(told["study"])


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
