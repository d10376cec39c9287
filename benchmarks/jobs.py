"""Jobs that would run for very long: how soon they end when cancelled, and whom they hold up.

A miner with its usual settings runs the largest jobs of two kinds that it accepts. Printed are the
seconds from the request to cancel one to the end of its process (at most 1 is wanted), and the time
that a small table of another study takes meanwhile, over its usual time (at most 2).
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from benchmarks.costs import Case
from benchmarks.load import Served, announce, miner, seal
from pramana_core.terminal import console
from pramana_core.wire.parts import PART_MEDIA_TYPE, RecordSchema, encode_part

WANTED_SECONDS, WANTED_RATIO = 1.0, 2.0
SMALL = Case({"kind": "contingency-table"}, 3, 3_000)
TABLES = 9


def large(kind: str) -> list[Case]:
    """Return cases of a kind, from far too large on down."""
    if kind == "contingency-table":
        spec = {"kind": kind, "estimator": "ml"}
        return [Case(spec, n, 5_000, reported="withheld") for n in range(17, 6, -1)]
    return [Case({"kind": kind, "target": "v0"}, n, 5_000, categories=4) for n in range(40, 4, -4)]


class MinerUnderTest:
    """A miner, as its admin asks it.

    Args:
        served: the miner, with the admin's token.
    """

    def __init__(self, served: Served) -> None:
        self._http = httpx.Client(base_url=served.url, timeout=60, trust_env=False)
        self._served = served
        self._small = self.publish(SMALL)

    def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        """Send a request, of the admin unless its headers say whose it is."""
        headers = {"Authorization": f"Bearer {self._served.token}", **more.pop("headers", {})}
        return self._http.request(method, path, headers=headers, **more)

    def publish(self, case: Case) -> str:
        """Open a study whose one owner sealed the records of a case; return its name."""
        random = np.random.default_rng(18).bytes(16 * case.records)
        keys = np.sort(np.frombuffer(random, dtype="S16")).view("V16")
        body = encode_part(RecordSchema.of(case.plan), keys, case.reports())
        (target,) = announce(self._served, 1, case.plan, [body], [case.records])
        headers = {**target.headers, "Content-Type": PART_MEDIA_TYPE}
        path = f"{target.path}/parts/0"
        self.ask("PUT", path, content=body, headers=headers).raise_for_status()
        return seal(self._served, target)

    def create(self, study: str, case: Case, key: str | None = None) -> httpx.Response:
        """Ask for the job of a case."""
        body = {"spec": case.job.model_dump(mode="json"), "key": key}
        return self.ask("POST", f"/v1/studies/{study}/jobs", json=body)

    def state(self, path: str) -> str:
        """Return the state of a job."""
        return str(self.ask("GET", path).raise_for_status().json()["state"])

    def tables(self, name: str) -> float:
        """Return the median of the seconds that small tables take, one after the other."""
        took = []
        for number in range(TABLES):
            began = time.perf_counter()
            path = self.create(self._small, SMALL, f"{name}-{number}").headers["location"]
            while (state := self.state(path)) in ("queued", "running"):
                time.sleep(0.005)
            took.append(time.perf_counter() - began)
            if state != "succeeded":
                raise RuntimeError(f"a small table {state}")
        return statistics.median(took)

    def cancel(self, path: str) -> float:
        """Cancel a job; return after how many seconds its process had ended."""
        began = datetime.now(UTC)
        self.ask("DELETE", path).raise_for_status()
        while True:
            for line in self.ask("GET", f"{path}/log").raise_for_status().json()["items"]:
                if "process" in line["line"] and "has ended" in line["line"]:
                    return (datetime.fromisoformat(line["at"]) - began).total_seconds()
            time.sleep(0.02)


def measure(asked: MinerUnderTest, kind: str) -> tuple[float, float]:
    """Run the largest job of a kind; return its seconds to the end, and others' ratio meanwhile."""
    usual = asked.tables(f"before-{kind}")
    for case in large(kind):
        study = asked.publish(case)
        created = asked.create(study, case)
        if created.status_code == 202:
            break
        if created.json()["code"] != "limit-exceeded":
            raise RuntimeError(created.text)
    else:
        raise RuntimeError(f"no {kind} is small enough")
    path = created.headers["location"]
    _say(f"{case}: {json.dumps(_predicted(asked, path))}")
    _into(asked, path)
    meanwhile = asked.tables(kind)
    if asked.state(path) != "running":
        _say(f"  it {asked.state(path)} by itself in the meantime, and is run again")
        path = asked.create(study, case, "again").headers["location"]
        _into(asked, path)
    ended = asked.cancel(path)
    _say(f"  small table {meanwhile:.3f} s, usually {usual:.3f} s: {meanwhile / usual:.2f} times")
    _say(f"  cancelled: its process had ended after {ended:.2f} s")
    return ended, meanwhile / usual


def _into(asked: MinerUnderTest, path: str) -> None:
    """Wait until a job is in the middle of what it computes."""
    while asked.state(path) == "queued":
        time.sleep(0.01)
    time.sleep(1.0)


def _predicted(asked: MinerUnderTest, path: str) -> dict[str, float]:
    answer = asked.ask("GET", path, headers={"Pramana-Protocol": "2"}).json()
    return {name: answer[name] for name in ("predicted_seconds", "predicted_bytes")}


def main(kinds: Sequence[str] = ("contingency-table", "linear-classifier")) -> int:
    """Measure, print, and return 1 where a wanted figure was not reached."""
    with tempfile.TemporaryDirectory() as folder, miner(Path(folder) / "miner") as served:
        asked = MinerUnderTest(served)
        asked.tables("warm")
        found = [measure(asked, kind) for kind in kinds]
    worst, ratio = max(end for end, _ in found), max(ratio for _, ratio in found)
    _say(f"cancelled within {worst:.2f} s (wanted: {WANTED_SECONDS:g})")
    _say(f"others take {ratio:.2f} times their usual time (wanted: {WANTED_RATIO:g})")
    return int(worst > WANTED_SECONDS or ratio > WANTED_RATIO)


def _say(line: str) -> None:
    console().print(line, markup=False, highlight=False)


if __name__ == "__main__":
    sys.exit(main())
