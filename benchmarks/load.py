"""Uploads of many owners to a miner, compared with uploads to a plain server that only stores data.

`make load` runs this module and prints the ratios, at the end as the table of docs/operations.md.
With `--short` it takes a few seconds. Only ratios of times from one run on one machine count.
"""

from __future__ import annotations

import argparse
import http.client
import json
import socket
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np

from owner_agent.release.options import PART_RECORDS
from pramana.demo.run import Processes, RestClient, open_study
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
    """The URL for uploading an owner's parts, with the request headers."""

    path: str
    headers: dict[str, str]


@dataclass(frozen=True)
class Served:
    """A running server: its address, its process and, for a miner, the admin token."""

    url: str
    pid: int
    token: str = ""

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])


@contextmanager
def serving(folder: Path, module: str, *words: str) -> Iterator[Served]:
    """Run a server while the context lasts."""
    with Processes(folder) as processes:
        url = processes.serve("server", module, *words)
        pid = json.loads((folder / "server.ready").read_text())["pid"]
        token = folder / "admin"
        yield Served(url, pid, token.read_text().strip() if token.exists() else "")


def plain_server(folder: Path) -> AbstractContextManager[Served]:
    """Run the plain server on a new folder."""
    folder.mkdir()
    return serving(folder, "benchmarks.plain_server", "--data", str(folder))


def miner(folder: Path) -> AbstractContextManager[Served]:
    """Run a miner with an empty data directory in a new folder."""
    folder.mkdir()
    place = ("--data", str(folder / "data"), "--admin-token-file", str(folder / "admin"))
    return serving(folder, "miner_service", "serve", *place)


def cut(parts: int, size: int) -> tuple[Plan, list[bytes], list[int]]:
    """Return a release's plan, its parts of about `size` bytes, and the record counts of parts."""
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
    """Open a study in which each owner announces a release; return the targets for the parts."""
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
    with RestClient(served.url, served.token) as admin:
        secrets = open_study(admin, study, study, [f"o{number}" for number in range(owners)])
        for secret in secrets.values():
            token = admin.post("/v1/invitations/accept", {"secret": secret})["token"]
            with RestClient(served.url, token) as owner:
                release = owner.post(f"/v1/studies/{study}/releases", body.model_dump(mode="json"))
            path, headers = f"/v1/releases/{release['id']}", {"Authorization": f"Bearer {token}"}
            targets.append(Target(path, headers))
    return targets


def upload(served: Served, targets: Sequence[Target], bodies: Sequence[bytes]) -> float:
    """Send every part to every target, all targets at once; return bytes per second."""

    def send(target: Target) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", served.port)
        headers = {**target.headers, "Content-Type": PART_MEDIA_TYPE}
        for number, body in enumerate(bodies):
            connection.request("PUT", f"{target.path}/parts/{number}", body, headers)
            with connection.getresponse() as answer:
                text = answer.read()
                if answer.status != 201:
                    raise RuntimeError(f"{answer.status}: {text.decode()}")
        connection.close()

    began = time.perf_counter()
    with ThreadPoolExecutor(len(targets)) as pool:
        list(pool.map(send, targets))
    return len(targets) * sum(map(len, bodies)) / (time.perf_counter() - began)


@contextmanager
def open_bodies(
    served: Served, targets: Sequence[Target], body: bytes, *, each: int, share: float
) -> Iterator[list[socket.socket]]:
    """Keep `each` uploads to every target open until the context ends, each partly sent."""
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
    """Return the memory of a process in bytes, without its workers."""
    import psutil

    used: int = psutil.Process(process).memory_info().rss
    return used


MEBIBYTE = 1 << 20
LEAST = {"agent": 0.70, 4 * MEBIBYTE: 0.90, 256 * 1024: 0.50}


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


def holding(folder: Path, *, owners: int, each: int, size: int) -> float:
    """Return the miner's memory in MiB while clients keep bodies open."""
    plan, bodies, records = cut(each, size)
    with miner(folder / "holding") as served:
        targets = announce(served, owners, plan, bodies, records)
        with open_bodies(served, targets, bodies[0], each=each, share=0.9):
            return own_memory(served.pid) / MEBIBYTE


def main() -> None:
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
        memory = holding(folder, owners=25, each=4, size=8 * MEBIBYTE)
        rows.append(("memory while 100 clients hold bodies open", f"{memory:.0f} MiB", "400 MiB"))
        _say(f"memory while 100 clients hold bodies open: {memory:.0f} MiB")
    for row in [("figure", "measured", "wanted"), ("---", "---", "---"), *rows]:
        _say(f"| {' | '.join(row)} |")


def _say(text: str) -> None:
    console().print(text, markup=False, highlight=False)


if __name__ == "__main__":
    main()
