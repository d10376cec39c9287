"""Run the load and print the ratios, at the end as docs/operations.md has them; `--short` takes a
few seconds.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.load.running import (
    RECORD_BYTES,
    Latencies,
    announce,
    create_jobs,
    cut,
    held_bodies,
    miner,
    own_memory,
    plain_server,
    probing,
    seal,
    upload,
)
from owner_agent.release.options import PART_RECORDS
from pramana_core.terminal import console

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
