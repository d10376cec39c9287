"""The page docs/coverage.md, written from the results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.coverage.setting import Covered, Setting

PAGE = Path(__file__).resolve().parents[2] / "docs" / "coverage.md"

_HEAD = """# Do the intervals cover?

An interval of 95 % should hold the truth in 95 of 100 studies, and miss it about equally often on
either side. Here each setting was repeated {repetitions} times: records drawn from a known law,
randomized by their declared matrices, and estimated by the product's own code; repetition *i* draws
from `numpy.random.default_rng([seed, i])`. `make campaign` writes this page; `tests/coverage`
repeats a short form of each setting at every `make test`, beside intervals made narrower, which
must be found out.

*mean* is over all intervals of a setting, with its standard error; *worst* is the interval that
covered least often; *above* and *below* say how often an interval lay wholly above or wholly below
the truth. Intervals are meant to cover in 93 to 97 % of studies; those that cover more are
conservative, and the last table says why.

| what is estimated | setting | seed | intervals | mean | worst | above | below |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |
"""


def row(setting: Setting, found: Covered) -> str:
    """Return one line of the table."""
    cells = (
        setting.name,
        setting.where,
        str(setting.seed),
        str(found.truth.shape[1]),
        f"{found.mean:.3f} ± {found.error:.3f}",
        f"{found.each.min():.3f}",
        f"{found.too_high:.3f}",
        f"{found.too_low:.3f}",
    )
    return f"| {' | '.join(cells)} |"


def page(results: Sequence[tuple[Setting, Covered]]) -> str:
    """Return the whole page: the table, the three worst, and why some intervals are wide."""
    repetitions = min(len(found.truth) for _, found in results)
    text = _HEAD.format(repetitions=f"{repetitions:,}")
    text += "\n".join(row(setting, found) for setting, found in results) + "\n"
    text += "\n## The three worst\n\n"
    for setting, found in sorted(results, key=lambda one: one[1].each.min())[:3]:
        place = int(found.each.argmin())
        name = setting.names[place] if setting.names else f"number {place + 1}"
        share = f"{100 * found.each[place]:.1f} %"
        text += f"* {setting.name}, {setting.where}: {name} covered in {share}.\n"
    wide = [(setting, found) for setting, found in results if setting.why]
    if wide:
        text += "\n## Where the rate is another, and why\n\n"
        text += "| what | mean | why |\n| --- | ---: | --- |\n"
        text += "".join(f"| {s.name}, {s.where} | {f.mean:.3f} | {s.why} |\n" for s, f in wide)
    return text
