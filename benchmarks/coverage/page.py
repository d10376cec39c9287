"""The page docs/coverage.md, written from the results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.coverage.setting import CoverageResult

PAGE = Path(__file__).resolve().parents[2] / "docs" / "coverage.md"

_HEAD = """# Do the intervals cover?

An interval of 95 % should hold the truth in 95 of 100 studies, and miss it about equally often on
either side. Here each setting was repeated {repetitions} times: records drawn from a known law,
randomized by their declared matrices or masked, and estimated by the product's own code; repetition
*i* draws from `numpy.random.default_rng([seed, i])`. `make campaign` writes this page;
`tests/coverage` repeats a short form of one setting of each kind at every `make test`, and of all
at every `make campaign`, beside intervals made narrower, which must be found out.

*mean* is over all intervals of a setting, with its standard error; *worst* is the interval that
covered least often; *above* and *below* say how often an interval lay wholly above or wholly below
the truth. Intervals are meant to cover in 93 to 97 % of studies; those that cover more are
conservative, and the last table says why.

| what is estimated | setting | seed | intervals | mean | worst | above | below |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |
"""


def row(found: CoverageResult) -> str:
    """Return one line of the table."""
    cells = (
        found.name,
        found.where,
        str(found.seed),
        str(found.intervals),
        f"{found.mean:.3f} ± {found.error:.3f}",
        f"{found.worst:.3f}",
        f"{found.above:.3f}",
        f"{found.below:.3f}",
    )
    return f"| {' | '.join(cells)} |"


def page(results: Sequence[CoverageResult]) -> str:
    """Return the whole page: the table, the three worst, and why some intervals are wide."""
    repetitions = min(found.repetitions for found in results)
    text = _HEAD.format(repetitions=f"{repetitions:,}")
    text += "\n".join(row(found) for found in results) + "\n"
    text += "\n## The three worst\n\n"
    for found in sorted(results, key=lambda one: one.worst)[:3]:
        share = f"{100 * found.worst:.1f} %"
        text += f"* {found.name}, {found.where}: {found.of_worst} covered in {share}.\n"
    wide = [found for found in results if found.why]
    if wide:
        text += "\n## Where the rate is another, and why\n\n"
        text += "| what | mean | why |\n| --- | ---: | --- |\n"
        text += "".join(f"| {f.name}, {f.where} | {f.mean:.3f} | {f.why} |\n" for f in wide)
    return text
