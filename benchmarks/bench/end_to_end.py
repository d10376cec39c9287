"""Waiting times of users, for a study of three owners and for the start of commands.

Three owners have eleven columns of the same people as CSV. Each publishes; the miner receives,
seals, aligns, counts a table over all owners and grows a tree.
"""

from __future__ import annotations

import math
import os
import resource
import secrets
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import tomlkit

from benchmarks.bench.measuring import Bench, Comparison, Spent
from benchmarks.load import Served, miner
from pramana.demo.run import RestClient, open_study, write_secret

OWNERS = {"clinic": (2, 3, 4, 5), "registry": (2, 2, 3, 4), "school": (5, 3, 2)}
"""The categories of each owner's columns."""

SMALL, LARGE = 1_000_000, 10_000_000
GAMMA = 9.0
STUDY = "bench"
CHUNK = 500_000
MOST_MEMORY = 600.0
"""The memory limit of a process, in MiB."""

LINEAR = 1.1
"""The largest ratio of time per record, and of memory, for ten times the records."""

PEAKS = ("an owner's agent", "the miner", "the miner's jobs")


def passages(bench: Bench) -> list[Comparison]:
    """Compare memory with its limit, and a large study with a smaller one."""
    small, large = bench.size(SMALL), bench.size(LARGE)

    @cache
    def passage(records: int) -> dict[str, float]:
        return pass_through(bench.folder / str(records), records)

    seconds = Comparison(
        f"tables to models, {large:,} records",
        f"the same seconds a record as {small:,}",
        lambda: Spent(passage(large)["seconds"], 0.0),
        lambda: Spent(passage(small)["seconds"] * large / small, 0.0),
        aim=LINEAR,
        clock="elapsed",
        rounds=1,
    )

    def memory(name: str, theirs: str, other: Callable[[], object], aim: float) -> Comparison:
        what = f"memory of {name}, {large:,} records"
        ours = partial(lambda name: passage(large)[name], name)
        return Comparison(what, theirs, ours, other, unit="MiB", aim=aim, rounds=1)

    return [
        seconds,
        *(memory(name, "what it may hold", lambda: MOST_MEMORY, 1.0) for name in PEAKS),
        *(
            memory(
                name,
                f"the same memory as at {small:,}",
                partial(lambda name: passage(small)[name], name),
                LINEAR,
            )
            for name in PEAKS
        ),
    ]


def pass_through(folder: Path, records: int) -> dict[str, float]:
    """Run a study; return the seconds, and the peak memory in MiB of each process in `PEAKS`."""
    folder.mkdir(parents=True)
    with miner(folder / "miner") as served, RestClient(served.url, served.token, None) as admin:
        sites = prepare(folder, served, admin, records)
        began = time.perf_counter()
        with _watching(served.pid) as peak:
            agent = max(_publish(site) for site in sites)
            _models(admin)
        seconds = time.perf_counter() - began
    shutil.rmtree(folder)
    return {"seconds": seconds, **dict(zip(PEAKS, (agent, peak[0], peak[1]), strict=True))}


def _models(admin: RestClient) -> None:
    names = [f"{owner}-{i}" for owner, sizes in OWNERS.items() for i in range(len(sizes))]
    five = [names[0], names[1], names[4], names[5], names[8]]
    admin.get(f"/v1/studies/{STUDY}/alignment")
    for spec in (
        {"kind": "contingency-table", "variables": five},
        {"kind": "decision-tree", "target": names[0]},
    ):
        job = admin.post(f"/v1/studies/{STUDY}/jobs", {"spec": spec})
        admin.wait(f"/v1/jobs/{job['id']}")


def prepare(folder: Path, served: Served, admin: RestClient, records: int) -> list[Path]:
    """Write the owners' tables, install their keys and join the study; return the site files."""
    invitations = open_study(admin, STUDY, STUDY, list(OWNERS))
    linkage = write_secret(folder / "linkage.key", secrets.token_hex(32))
    sites = []
    for number, (owner, sizes) in enumerate(OWNERS.items()):
        home = folder / owner
        home.mkdir()
        write_table(home / "table.csv", owner, sizes, records, seed=number)
        site = home / "site.toml"
        variables = [
            {
                "name": f"{owner}-{i}",
                "categories": [f"c{k}" for k in range(size)],
                "sensitive": True,
                "channel": {"kind": "gamma-diagonal", "gamma": GAMMA},
            }
            for i, size in enumerate(sizes)
        ]
        content = {
            "owner": owner,
            "table": "table.csv",
            "record_id": "record",
            "miner": {"url": served.url, "study": STUDY},
            "variables": variables,
        }
        site.write_text(tomlkit.dumps(content), encoding="utf-8")
        invitation = write_secret(home / "invitation", invitations[owner])
        for words in (
            ("keys", "create"),
            ("keys", "import", "linkage", str(linkage)),
            ("join", "--secret-file", str(invitation)),
        ):
            _run(("-m", "owner_agent", *words, "--site", str(site)))
        sites.append(site)
    return sites


def write_table(path: Path, owner: str, sizes: Sequence[int], records: int, *, seed: int) -> None:
    """Write an owner's columns for all people, with the rows in the owner's own order."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    names = ["record", *(f"{owner}-{i}" for i in range(len(sizes)))]
    schema = pa.schema([(name, pa.string()) for name in names])
    step = 10_000_019 * (seed + 1)
    while math.gcd(step, records) > 1:  # or the steps would repeat some people and skip others
        step += 1
    with csv.CSVWriter(path, schema) as file:
        for start in range(0, records, CHUNK):
            person = np.arange(start, min(start + CHUNK, records), dtype=np.int64) * step % records
            hidden = person % 4
            columns = [pc.utf8_lpad(pc.cast(pa.array(person), pa.string()), 9, "0")]
            for i, size in enumerate(sizes):
                mixed = person * (2 * (10 * seed + i) + 3) // 8
                codes = np.where(mixed % 3 == 0, mixed, hidden) % size
                labels = pa.array([f"c{k}" for k in range(size)])
                columns.append(labels.take(pa.array(codes)))
            file.write_table(pa.table(columns, schema=schema))


def _publish(site: Path) -> float:
    words = ["-m", "owner_agent", "publish", "--yes", "--json", "--site", str(site)]
    with (site.parent / "output").open("wb") as output:
        process = subprocess.Popen([sys.executable, *words], stdout=output, stderr=output)  # noqa: S603
        with _watching(process.pid) as peak:
            _, code, _ = os.wait4(process.pid, 0)
    if code:
        raise RuntimeError((site.parent / "output").read_text())
    return peak[0]


@contextmanager
def _watching(process: int) -> Iterator[list[float]]:
    peak, ended = [0.0, 0.0], threading.Event()

    def look() -> None:
        while not ended.wait(0.02):
            peak[0] = max(peak[0], _memory(process))
            peak[1] = max([peak[1], *map(_memory, _started_by(process))])

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield peak
    finally:
        ended.set()
        watcher.join()


def _memory(process: int) -> float:
    with suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return 0.0


def _started_by(process: int) -> Iterator[int]:
    with suppress(OSError):
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                yield child
                yield from _started_by(child)


STARTED: dict[str, tuple[str, ...]] = {
    "python -c 'import pramana'": ("-c", "import pramana"),
    "owner-agent --help": ("-m", "owner_agent", "--help"),
    "miner-service --help": ("-m", "miner_service", "--help"),
    "pramana --help": ("-m", "pramana", "--help"),
}


def startup(bench: Bench) -> list[Comparison]:  # noqa: ARG001
    """Compare the start of each command with the start of Python with numpy."""
    theirs = partial(_run, ("-c", "import numpy"))
    return [
        Comparison(name, "python -c 'import numpy'", partial(_run, words), theirs, rounds=9)
        for name, words in STARTED.items()
    ]


def _run(words: Sequence[str]) -> Spent:
    began, used = time.perf_counter(), _of_children()
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    return Spent(time.perf_counter() - began, _of_children() - used)


def _of_children() -> float:
    used: Any = resource.getrusage(resource.RUSAGE_CHILDREN)
    return float(used.ru_utime + used.ru_stime)


GROUPS = (passages, startup)
