"""Count how often intervals contain the truth, and write docs/coverage.md.

    python -m benchmarks.coverage [--repetitions 1000] [--only words of a name]

Results of at least 1,000 repetitions replace earlier ones in results.json, the page's source.
"""

from __future__ import annotations

import argparse
import json
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from benchmarks.coverage import estimates, learned
from benchmarks.coverage.setting import PAGE, Coverage, CoverageResult, Setting, covered, page, row
from pramana_core.terminal import console, progress_bar

RESULTS = Path(__file__).parent / "results.json"
ENOUGH = 1000

ALL: tuple[Setting, ...] = (
    *estimates.SETTINGS,
    *learned.RULES,
    *learned.TREES,
    *learned.WEIGHTS,
    *estimates.MASKED,
)
"""One setting of each kind of interval, in the order of the table in docs/coverage.md."""
_PIECE = 25


def _piece(work: tuple[int, int, int]) -> Coverage:
    setting, begin, end = work
    return covered(ALL[setting], range(begin, end))


def _all(places: list[int], repetitions: int) -> dict[int, Coverage]:
    """Repeat settings on all cores, a few repetitions at a time; return the coverage by setting."""
    work = [
        (place, begin, min(begin + _PIECE, repetitions))
        for place in places
        for begin in range(0, repetitions, _PIECE)
    ]
    parts: dict[int, list[Coverage]] = {place: [] for place in places}
    with ProcessPoolExecutor() as pool, progress_bar("repeating") as on_step:
        for done, (piece, found) in enumerate(zip(work, pool.map(_piece, work), strict=True)):
            parts[piece[0]].append(found)
            on_step(done + 1, len(work))
    return {
        place: Coverage(
            *(np.concatenate([getattr(p, f) for p in found]) for f in ("truth", "low", "high"))
        )
        for place, found in parts.items()
    }


def main() -> None:
    """Repeat the chosen settings and print their coverage; write the page if all were chosen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=ENOUGH)
    parser.add_argument("--only", default="", help="settings whose name contains these words")
    options = parser.parse_args()
    places = [i for i, setting in enumerate(ALL) if options.only in setting.name]
    if not places or options.repetitions < 2:
        parser.error(f"no setting's name contains {options.only!r}, or repetitions are below 2")
    found = _all(places, options.repetitions)
    counted = [CoverageResult.of(ALL[place], found[place]) for place in places]
    for one in counted:
        console().print(row(one), highlight=False, markup=False, soft_wrap=True)
    if options.repetitions >= ENOUGH:
        _record(counted)


def _record(counted: list[CoverageResult]) -> None:
    kept = [CoverageResult(**one) for one in json.loads(RESULTS.read_text(encoding="utf-8"))]
    known = {(one.name, one.where, one.seed): one for one in [*kept, *counted]}
    listed = [known[key] for s in ALL if (key := (s.name, s.where, s.seed)) in known]
    rows = [asdict(one) for one in listed]
    RESULTS.write_text(json.dumps(rows, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(page(listed), encoding="utf-8")


if __name__ == "__main__":
    main()
