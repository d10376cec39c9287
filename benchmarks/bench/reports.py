"""Reports of a million people who hold one record each, through a real miner: four gateways bring
them in batches.

The reference does the least that such a service must do with the same bodies: it reads the JSON,
adds up the rows in one SQLite file, batch by batch, and waits for the disk; without HTTP, tokens,
an audit log or receipts.

`python -m benchmarks.bench.reports` says records a second, the service's memory and bytes a report.
"""

from __future__ import annotations

import http.client
import json
import sqlite3
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import numpy as np

from benchmarks.bench.measuring import Bench, Comparison
from benchmarks.load import Served, miner, own_memory
from owner_agent.release.single_record import draw_reports
from pramana_core.channels import Symmetric
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan
from pramana_core.terminal import console
from pramana_core.wire.parts import code_dtype

SIZES = (2, 3, 4, 5, 2, 2, 3, 4, 5, 3, 2)
"""The categories of each variable: 172,800 different rows are possible."""
GAMMA = 3.0
GATEWAYS = 4
RECORDS = 1_000_000
PER_BATCH = (1_000, 10_000)
MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Passage:
    """What it took: seconds, the most MiB that the service held, bytes of its database.

    `idle` is what it held before.
    """

    records: int
    counting: float
    releasing: float
    idle: float
    busy: float
    stored: int
    combinations: int


PLAN = Plan(
    tuple(
        Block((Variable(f"v{place}", tuple(map(str, range(size)))),), channel)
        for place, (size, channel) in enumerate(
            (size, Symmetric.from_gamma(size, GAMMA)) for size in SIZES
        )
    )
)
"""Each variable is randomized alone."""


@cache
def bodies(records: int, per_batch: int) -> tuple[bytes, ...]:
    """Return batches as they are sent, of people whose values all hang on one hidden number."""
    rng = np.random.default_rng(32)
    hidden = rng.random(records)
    columns = {
        name: np.floor(size * (hidden + rng.random(records)) / 2).astype(code_dtype(size))
        for name, size in PLAN.reported_sizes.items()
    }
    drawn = draw_reports(PLAN, "bench", columns, rng.bytes)
    rows = np.stack([drawn[name] for name in PLAN.reported_sizes], axis=1)
    batches = (rows[start : start + per_batch] for start in range(0, records, per_batch))
    return tuple(
        json.dumps(
            {"batch": f"{number:032}", "plan_digest": PLAN.digest, "reports": some.tolist()},
            separators=(",", ":"),
        ).encode()
        for number, some in enumerate(batches)
    )


def counted(served: Served, study: str, sent: Sequence[bytes]) -> float:
    """Open a study, publish its plan and have all batches counted; return the seconds of that."""
    path = f"/v1/studies/{study}"
    with _as_admin(served) as http:
        http.post("/v1/studies", json={"name": study}).raise_for_status()
        body = {"plan": PLAN.as_dict()}
        http.put(f"{path}/reports/plan", json=body).raise_for_status()
        tokens = [
            http.post(f"{path}/tokens", json={"name": f"g{g}", "role": "gateway"}).json()["token"]
            for g in range(GATEWAYS)
        ]
    began = time.perf_counter()
    with ThreadPoolExecutor(GATEWAYS) as pool:
        ended = [
            pool.submit(_bring, served.port, f"{path}/reports", token, sent[place::GATEWAYS])
            for place, token in enumerate(tokens)
        ]
        for one in ended:
            one.result()
    return time.perf_counter() - began


def _as_admin(served: Served) -> httpx.Client:
    headers = {"Authorization": f"Bearer {served.token}"}
    return httpx.Client(base_url=served.url, timeout=600, headers=headers)


def _bring(port: int, path: str, token: str, sent: Sequence[bytes]) -> None:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=600)) as connection:
        for body in sent:
            connection.request("POST", path, body, headers)
            with connection.getresponse() as answer:
                told = answer.read()
            if answer.status != 201:
                raise RuntimeError(f"{answer.status}: {told.decode()}")


def plainly(folder: Path, sent: Sequence[bytes]) -> None:
    """Count the same batches with as little as it takes."""
    sizes = np.array(SIZES)
    steps = np.concatenate([np.cumprod(sizes[::-1])[-2::-1], [1]])
    place = folder / f"plain{time.monotonic_ns()}.db"
    with closing(sqlite3.connect(place, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=FULL")
        database.execute("CREATE TABLE cells (cell INTEGER PRIMARY KEY, records INTEGER)")
        for body in sent:
            rows = np.array(json.loads(body)["reports"])
            if (rows >= sizes).any():
                raise RuntimeError("a code that is none")
            found, many = np.unique(rows @ steps, return_counts=True)
            database.execute("BEGIN IMMEDIATE")
            database.executemany(
                "INSERT INTO cells VALUES (?, ?) ON CONFLICT (cell)"
                " DO UPDATE SET records = records + excluded.records",
                zip(found.tolist(), many.tolist(), strict=True),
            )
            database.execute("COMMIT")


def passage(folder: Path, records: int, per_batch: int) -> Passage:
    """Bring reports to a miner of their own and put them into use."""
    sent = bodies(records, per_batch)
    place = folder / f"miner{per_batch}"
    with miner(place) as served, _as_admin(served) as http:
        idle = own_memory(served.process.pid)
        counting = counted(served, "bench", sent)
        busy = own_memory(served.process.pid)
        stored = sum(file.stat().st_size for file in (place / "data").glob("miner.sqlite*"))
        standing = http.get("/v1/studies/bench/reports").raise_for_status().json()
        began = time.perf_counter()
        made = http.post("/v1/studies/bench/reports/release").raise_for_status().json()
        releasing = time.perf_counter() - began
        busy = max(busy, own_memory(served.process.pid))
    if not standing["records"] == made["records"] == records:
        raise RuntimeError(f"of {records} reports {standing['records']} were counted")
    return Passage(
        records,
        counting,
        releasing,
        idle / MEBIBYTE,
        busy / MEBIBYTE,
        stored,
        standing["combinations"],
    )


def single_records(bench: Bench) -> list[Comparison]:
    """Count the reports of a million people, in small and in large batches."""
    records = bench.size(RECORDS)
    served = bench.enter_context(miner(bench.folder / "reports"))

    def ours(sent: Sequence[bytes]) -> None:
        counted(served, f"s{time.monotonic_ns()}", sent)

    return [
        Comparison(
            f"count {records:,} reports of single records, {per_batch:,} a batch",
            "the same bodies into one SQLite file, without a service",
            partial(ours, bodies(records, per_batch)),
            partial(plainly, bench.folder, bodies(records, per_batch)),
            aim=3.0,
            clock="elapsed",
            rounds=3,
        )
        for per_batch in PER_BATCH
    ]


GROUPS = (single_records,)


def main() -> None:
    """Say what it takes."""
    with TemporaryDirectory() as name:
        for per_batch in PER_BATCH:
            found = passage(Path(name), RECORDS, per_batch)
            console().print(
                f"{found.records:,} reports, {per_batch:,} a batch: counted in"
                f" {found.counting:.1f} s ({found.records / found.counting:,.0f} a second), put"
                f" into use in {found.releasing:.1f} s; the service held {found.busy:.0f} MiB"
                f" ({found.idle:.0f} before); {found.stored / found.records:.1f} bytes a report"
                f" ({found.combinations:,} combinations).",
                soft_wrap=True,
                highlight=False,
            )


if __name__ == "__main__":
    main()
