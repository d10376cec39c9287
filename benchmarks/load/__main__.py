"""Run the load and print the ratios, at the end as docs/operations.md has them; `--short` takes a
few seconds.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.load.holding import held_bodies, own_memory
from benchmarks.load.running import (
    RECORD_BYTES,
    announce,
    create_jobs,
    cut,
    miner,
    plain_server,
    seal,
)
from benchmarks.load.uploading import Latencies, probing, upload
from owner_agent.release.options import PART_RECORDS
from shared.terminal import console

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


def health(
    folder: Path, *, owners: int, jobs: int, parts: int, size: int
) -> tuple[Latencies, Latencies, float]:
    """Return how long /healthz takes idle and under load, and the memory then in MiB.

    The jobs are created before the owners begin to send, and are being learned meanwhile.
    """
    plan, bodies, records = cut(parts, size)
    with miner(folder / "health") as served:
        learned = announce(served, 1, plan, bodies, records)
        upload(served, learned, bodies)
        study = seal(served, learned[0])
        targets = announce(served, owners, plan, bodies, records)
        with probing(served) as idle:
            time.sleep(1.0)
        create_jobs(served, study, list(plan.reported_sizes), jobs)
        with probing(served) as busy:
            upload(served, targets, bodies)
        return idle, busy, own_memory(served.process.pid) / MEBIBYTE


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
        idle, busy, memory = health(folder, owners=50, jobs=20, parts=parts, size=MEBIBYTE)
        _say(
            f"/healthz while 50 owners send and 20 jobs are there: p99 {busy.p99 * 1000:.1f} ms,"
            f" {busy.p99 / idle.median:.1f} times the idle median of {idle.median * 1000:.2f} ms"
            f" ({len(busy.every)} asked)"
        )
        times = busy.p99 / idle.median
        what = "99th percentile of `/healthz` with 50 owners and 20 jobs, of its idle median"
        rows.append((what, f"{times:.0f} times", f"at most {MOST_TIMES} times"))
        _say(f"memory of the service after it: {memory:.0f} MiB")
        memory = holding(folder, owners=25, each=4, size=8 * MEBIBYTE)
        rows.append(("memory while 100 clients hold bodies open", f"{memory:.0f} MiB", "400 MiB"))
        _say(f"memory while 100 clients hold bodies open: {memory:.0f} MiB")
    for row in [("figure", "measured", "wanted"), ("---", "---", "---"), *rows]:
        _say(f"| {' | '.join(row)} |")


def _say(text: str) -> None:
    console().print(text, markup=False, highlight=False)


if __name__ == "__main__":
    main()
