"""Run the bench, show its ratios, and keep them: `python -m benchmarks.bench --help`."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from benchmarks.bench.measuring import (
    ROOT,
    STORED,
    Bench,
    Comparison,
    Result,
    measure,
    read,
    write,
)
from pramana_core.errors import NotInstalled, Unreachable
from pramana_core.pictures import plots
from pramana_core.terminal import console

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Group = Callable[[Bench], Sequence[Comparison]]

TOPICS = ("counting", "learning", "end_to_end")
"""The modules of groups, in the order of the table."""

PICTURE = ROOT / "docs" / "images" / "bench.png"
QUICK_ROUNDS = 3


def picture(results: Sequence[Result]) -> bytes:
    """Return the ratios that have an aim as PNG; where it was missed they are orange, and hollow.

    The others stand in the table.
    """
    shown = [one for one in results if one.aim is not None]
    names = [one.name for one in shown]
    notes = [f"{one.ratio:.2g} of {one.reference}" for one in shown]
    size = plots.size_of(names, notes)
    return plots.picture(partial(_draw, shown, names, notes), size, "png", "bench", dpi=100)


def _draw(
    results: Sequence[Result], names: Sequence[str], notes: Sequence[str], figure: Figure
) -> None:
    axis = figure.subplots()
    axis.set_xscale("log")
    axis.xaxis.set_major_formatter(lambda ratio, _place: f"{ratio:g}")
    axis.axvline(1.0, color=plots.BLACK, linewidth=1.0)
    for row, one in enumerate(results):
        colour = plots.ORANGE if one.missed else plots.BLUE
        plots.interval(axis, row, one.ratio, one.spread, one.name, colour, hollow=one.missed)
        if one.aim is not None:
            axis.plot([one.aim], [row], "|", color=plots.GREY, markersize=9, markeredgewidth=2)
    plots.rows(axis, names, notes)
    axis.set_xlabel("ours / theirs, less is better; a grey bar is the aim", fontsize=9)


def groups() -> dict[str, Group]:
    """Return the groups of comparisons by name."""
    found = [g for t in TOPICS for g in resolve_name(f"benchmarks.bench.{t}:GROUPS")]
    return {group.__name__.replace("_", "-"): group for group in found}


def bench(only: Sequence[str], out: Path, *, quick: bool = False, store: bool = False) -> None:
    """Measure groups, show the ratios, and write `bench.json` and `bench.png`."""
    kept = _named(read(out / "bench.json") if only else [])
    failures: list[str] = []
    for name, group in groups().items():
        if only and name not in only:
            continue
        with tempfile.TemporaryDirectory() as folder, Bench(Path(folder), quick=quick) as given:
            for comparison in group(given):
                try:
                    one = measure(comparison, QUICK_ROUNDS if quick else None)
                except (NotInstalled, Unreachable) as error:
                    failures.append(str(error))
                    continue
                kept |= _named([one])
                write(out / "bench.json", list(kept.values()))
                console().print(_line(one), highlight=False)
    (out / "bench.png").write_bytes(picture(list(kept.values())))
    if store:
        stored = list((_named(read(STORED) if only or failures else []) | kept).values())
        write(STORED, stored)
        PICTURE.write_bytes(picture(stored))
    if failures:
        raise Unreachable("; ".join(failures))


def _named(results: Sequence[Result]) -> dict[tuple[str, str], Result]:
    return {(one.name, one.reference): one for one in results}


def _line(one: Result) -> str:
    colour = "red" if one.missed else "bold"
    return (
        f"[{colour}]{one.ratio:.3g}[/] ({one.spread[0]:.3g} to {one.spread[1]:.3g}) {one.name}:"
        f" {one.ours:.3g} {one.unit}, {one.reference}: {one.theirs:.3g} {one.unit}"
    )


def main() -> None:
    """Read the command line."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--only", action="append", default=[], choices=list(groups()))
    reader.add_argument("--quick", action="store_true", help="a hundredth of the records")
    reader.add_argument("--store", action="store_true", help="keep the results in the checkout")
    reader.add_argument("--out", type=Path, default=Path("bench-out"))
    given = reader.parse_args()
    if given.store and given.quick:
        reader.error("quick results are not for keeping: leave out --store or --quick")
    bench(given.only, given.out, quick=given.quick, store=given.store)


if __name__ == "__main__":
    main()
