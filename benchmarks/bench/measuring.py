"""Comparisons of two ways to do the same work, which run alternately; the median ratio counts.

Absolute times depend on the machine and the hour; the ratio of alternate runs is more stable. A
ratio is ours over theirs, so less is better, whatever the unit.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from pramana_core.errors import NotInstalled, Unreachable

ROOT = Path(__file__).parents[2]
STORED = Path(__file__).parent / "results.json"
ENVIRONMENT = ROOT / ".venv-bench"


class Spent(NamedTuple):
    """Elapsed seconds, processor seconds, and the number that the work returned, if any."""

    elapsed: float
    processor: float
    result: float = math.nan


Run: TypeAlias = Callable[[], object]


@dataclass(frozen=True)
class Comparison:
    """Work to be done by our code and by another library.

    Attributes:
        name: the work, with its size.
        reference: the other library and its method; name and reference together are unique.
        ours: does the work once. If the result is a `Spent`, as from processes that measure their
            own time, it replaces the measured time. If `unit` is not seconds, the result, or that
            of a `Spent`, is the measured number. Any other result is ignored.
        theirs: does the same work with the other library; its result is used like that of `ours`.
        unit: the unit of both numbers.
        aim: the largest acceptable ratio.
        clock: processor seconds, which other processes on the machine disturb less; or elapsed
            seconds, if processes or disks do the work.
        rounds: how often each side runs; if several, each side first runs once unmeasured.
    """

    name: str
    reference: str
    ours: Run
    theirs: Run
    unit: str = "s"
    aim: float | None = None
    clock: Literal["processor", "elapsed"] = "processor"
    rounds: int = 7


@dataclass(frozen=True)
class Result:
    """The result of a comparison: medians of both sides and of their ratio, with its quartiles."""

    name: str
    reference: str
    ratio: float
    ours: float
    theirs: float
    unit: str
    spread: tuple[float, float]
    aim: float | None
    clock: str
    rounds: int

    @property
    def missed(self) -> bool:
        return self.aim is not None and self.ratio > self.aim


def measure(comparison: Comparison, rounds: int | None = None) -> Result:
    """Run both sides in turn, alternating which side runs first."""
    rounds = min(rounds or comparison.rounds, comparison.rounds)
    sides = (comparison.ours, comparison.theirs)
    if rounds > 1:
        for side in sides:
            side()
    pairs = []
    for turn in range(rounds):
        order = (1, 0) if turn % 2 else (0, 1)
        numbers = {place: _number(comparison, sides[place]) for place in order}
        pairs.append((numbers[0], numbers[1]))
    if isinstance(comparison.theirs, Peer):
        comparison.theirs.end()  # its data would stay in memory
    ratios = [a / b for a, b in pairs]
    low, high = np.quantile(ratios, [0.25, 0.75])
    return Result(
        comparison.name,
        comparison.reference,
        _short(statistics.median(ratios)),
        _short(statistics.median(a for a, _ in pairs)),
        _short(statistics.median(b for _, b in pairs)),
        comparison.unit,
        (_short(low), _short(high)),
        comparison.aim,
        comparison.clock,
        rounds,
    )


def _number(comparison: Comparison, run: Run) -> float:
    began, used = time.perf_counter(), time.process_time()
    result: Any = run()
    spent = Spent(time.perf_counter() - began, time.process_time() - used)
    if comparison.unit != "s":
        return float(result.result if isinstance(result, Spent) else result)
    return float(getattr(result if isinstance(result, Spent) else spent, comparison.clock))


def _short(number: float) -> float:
    return float(f"{number:.4g}")


def read(path: Path) -> list[Result]:
    documents = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    return [Result(**one | {"spread": tuple(one["spread"])}) for one in documents]


def write(path: Path, results: Sequence[Result]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps([asdict(one) for one in results], indent=2, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


class Bench(ExitStack):
    """The data, sizes and peers of a group of comparisons; leaving the context stops the peers.

    Args:
        folder: an empty folder for data.
        quick: whether to use small data and few rounds, as a test that everything runs.
        environment: the peers' environment, which `make bench` creates.
    """

    def __init__(self, folder: Path, *, quick: bool = False, environment: Path = ENVIRONMENT):
        super().__init__()
        self.folder = folder
        self.quick = quick
        self._environment = environment

    def size(self, records: int) -> int:
        """Return this count of records, or a hundredth of it with `quick`."""
        return records // 100 if self.quick else records

    def label(self, records: int) -> str:
        """Return `size(records)` as written in names of comparisons, such as 10k or 1M."""
        size = self.size(records)
        return f"{size // 1_000_000}M" if size % 1_000_000 == 0 else f"{size // 1000}k"

    def saved(self, **arrays: np.ndarray) -> str:
        """Write arrays, each as `<name>.npy`, to a new folder, and return the folder."""
        place = self.folder / f"data-{len(list(self.folder.iterdir()))}"
        place.mkdir()
        for name, array in arrays.items():
            np.save(place / f"{name}.npy", array)
        return str(place)

    def peer(self, function: str, **arguments: Any) -> Peer:
        """Return a peer that runs a function of `bench_peers` in its own process, in one thread."""
        peer = Peer(self._environment, function, arguments)
        self.callback(peer.end)
        return peer


class Peer:
    """Another library in its own process; a call does the work once and returns the time spent.

    The first call starts the process and prepares its data.
    """

    def __init__(self, environment: Path, function: str, arguments: Mapping[str, Any]):
        self._environment = environment
        self._function = function
        self._arguments = arguments
        self._process: subprocess.Popen[str] | None = None

    def __call__(self) -> Spent:
        if self._process is None:
            self._process = self._start()
            self._ask(prepare=self._function, arguments=self._arguments)
        answer = self._ask(run=self._function)
        return Spent(answer["elapsed"], answer["processor"], answer["result"])

    def _start(self) -> subprocess.Popen[str]:
        python = self._environment / "bin" / "python"
        if not python.exists():
            raise NotInstalled(
                f"The other libraries (peers) are not installed in {self._environment}.",
                remedy="Run `make bench`, which installs them.",
            )
        names = ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "NUMBA_NUM", "POLARS_MAX")
        one = {f"{name}_THREADS": "1" for name in names}
        return subprocess.Popen(  # noqa: S603 our own module
            [python, "-m", "benchmarks.bench_peers"],
            cwd=ROOT,
            env={**os.environ, **one, "PYTHONWARNINGS": "ignore"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def _ask(self, **request: object) -> dict[str, Any]:
        if self._process is None or self._process.stdin is None or self._process.stdout is None:
            raise AssertionError
        line = ""
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        answer: dict[str, Any] = json.loads(line or '{"failed": "its process ended"}')
        if "failed" in answer:
            self.end()  # the next call prepares anew
            raise Unreachable(f"The peer {self._function} failed: {answer['failed']}.")
        return answer

    def end(self) -> None:
        """Stop the process; the next call starts it again."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
