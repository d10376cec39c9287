"""One comparison, and the file that keeps them all.

Both sides of a ratio run in turn, several times; the median of the ratios is what counts. Absolute
times are printed for orientation and hold for one machine only.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pramana_core.terminal import console

RESULTS = Path(__file__).parent / "results.json"
ROUNDS = 9


@dataclass(frozen=True)
class Measured:
    """One comparison: the medians in milliseconds and of the ratios ours / other."""

    what: str
    ours_ms: float
    other: str
    other_ms: float
    ratio: float
    peak_mib: float | None = None
    """The most memory that the process of ours held, where it had one of its own."""


def compare(
    what: str,
    ours: Callable[[], object],
    other: str,
    theirs: Callable[[], object],
    *,
    rounds: int = ROUNDS,
    clock: Callable[[], float] = time.perf_counter,
) -> Measured:
    """Run both sides in turn, after one unmeasured round; `clock` tells seconds."""

    def seconds(act: Callable[[], object]) -> float:
        began = clock()
        act()
        return clock() - began

    times = [(seconds(ours), seconds(theirs)) for _ in range(rounds + 1)][1:]
    return Measured(
        what,
        round(1e3 * statistics.median(a for a, _ in times), 2),
        other,
        round(1e3 * statistics.median(b for _, b in times), 2),
        round(statistics.median(a / b for a, b in times), 3),
    )


def record(measured: Sequence[Measured]) -> None:
    """Print comparisons, and write them to results.json in the place of earlier ones."""
    out = console()
    for m in measured:
        out.print(f"[bold]{m.what}[/]: {m.ours_ms} ms")
        out.print(f"    {m.other}: {m.other_ms} ms; ratio ours / other {m.ratio}")
    kept = {one["what"]: one for one in json.loads(RESULTS.read_text(encoding="utf-8"))}
    kept |= {m.what: asdict(m) for m in measured}
    RESULTS.write_text(json.dumps(list(kept.values()), indent=2) + "\n", encoding="utf-8")
