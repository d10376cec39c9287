"""Run the bench, show its ratios, and keep them: `python -m benchmarks.bench --help`.

Also here:

* The bench as a picture: a row for each ratio, left of 1 where we are quicker."""

from __future__ import annotations

import gc
import operator
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated

import typer

from benchmarks.bench.measuring import (
    ROOT,
    SIZES,
    STORED,
    Bench,
    Comparison,
    Result,
    measure,
    read,
    write,
)
from pramana_core.errors import NotInstalled, OptionError, PramanaError, Unreachable
from pramana_core.pictures import plots
from pramana_core.terminal import EXIT_CODES, console, print_json, progress_bar, report_error, run

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table


def picture(results: Sequence[Result]) -> bytes:
    """Return the ratios that have an aim as PNG; where it was missed they are orange, and hollow.

    The others stand in the table.
    """
    shown = [one for one in results if one.shown and one.aim is not None]
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


TOPICS = {
    "counting": "counting:GROUPS",
    "randomizing": "counting:RANDOMIZING",
    "estimating": "counting:ESTIMATING",
    "wide": "learning:WIDE",
    "learning": "learning:GROUPS",
    "end_to_end": "end_to_end:GROUPS",
    "reports": "reports:GROUPS",
    "startup": "end_to_end:STARTUP",
}
"""The topics, in the order of the table, and where the groups of each are."""

PICTURE = ROOT / "docs" / "images" / "bench.png"
QUICK_ROUNDS = 3

Group = Callable[[Bench], Sequence[Comparison]]

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command(epilog=EXIT_CODES)
def bench(
    only: Annotated[
        list[str] | None, typer.Option(help="A topic, or a group of its comparisons; repeatable.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A hundredth of the records and few rounds.")
    ] = False,
    store: Annotated[
        bool, typer.Option("--store", help="Also store results and picture in the checkout.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
    records: Annotated[
        list[int] | None,
        typer.Option(help="A size of what is measured at several: two or more, ascending."),
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder for results and picture.")] = Path(
        "bench-out"
    ),
) -> None:
    """Measure, show, and write `bench.json` and `bench.png`.

    With `--only`, other results that are there stay. A peer that fails is named at the end, and
    what is stored of it stays.
    """
    if store and quick:
        raise OptionError(
            "Quick results are not for keeping.", where="--store", remedy="Leave --quick out."
        )
    if records and (len(records) < 2 or any(map(operator.ge, records, records[1:]))):
        raise OptionError(
            f"Sizes must be at least two, ascending; given {', '.join(map(str, records))}.",
            where="--records",
            remedy="Repeat --records, the smallest size first.",
        )
    chosen = list(_chosen(only or []))
    kept = _named(read(out / "bench.json") if only else [])
    failures: list[PramanaError] = []
    for topic, group in chosen:
        found = []
        for one in _measured(topic, group, records or SIZES, quick=quick):
            if isinstance(one, Result):
                found.append(one)
                kept |= _named([one])
                write(out / "bench.json", list(kept.values()))
            else:
                failures.append(one)
        if found and not as_json:
            console().print(_table(topic, group, found))
    if as_json:
        print_json([asdict(one) for one in kept.values()])
    (out / "bench.png").write_bytes(picture(list(kept.values())))
    if store:
        stored = list((_named(read(STORED) if only or failures else []) | kept).values())
        write(STORED, stored)
        PICTURE.write_bytes(picture(stored))
    if failures:
        for failure in failures:
            report_error(failure)
        raise Unreachable(f"{len(failures)} comparisons could not be measured.")


def _named(results: Sequence[Result]) -> dict[tuple[str, str], Result]:
    return {(one.name, one.reference): one for one in results}


def _chosen(only: Sequence[str]) -> Iterator[tuple[str, Group]]:
    """Yield the groups to be measured, each with its topic."""
    known = set()
    for topic, place in TOPICS.items():
        for group in resolve_name(f"benchmarks.bench.{place}"):
            names = {topic.replace("_", "-"), _name(group)}
            known |= names
            if not only or names & set(only):
                yield topic, group
    unknown = set(only) - known
    if unknown:
        raise OptionError(
            f"There are no comparisons called {', '.join(sorted(unknown))}.",
            where="--only",
            remedy=f"Name some of {', '.join(sorted(known))}.",
        )


def _name(group: Group) -> str:
    return getattr(group, "__name__", "").replace("_", "-")


def _measured(
    topic: str, group: Group, sizes: Sequence[int], *, quick: bool
) -> Iterator[Result | PramanaError]:
    """Measure a group: yield each result, or why it is missing."""
    with (
        tempfile.TemporaryDirectory() as folder,
        progress_bar() as bar,
        Bench(Path(folder), quick=quick, sizes=sizes) as given,
    ):
        bar.stage(f"{topic}: data of {_name(group)}", 0, None)
        comparisons = group(given)
        for place, comparison in enumerate(comparisons):
            bar.stage(f"{topic}: {comparison.name}", place, len(comparisons))
            try:
                yield measure(comparison, QUICK_ROUNDS if quick else None)
            except (NotInstalled, Unreachable) as error:
                yield error
    gc.collect()


def _table(topic: str, group: Group, results: Sequence[Result]) -> Table:
    from rich.table import Table

    table = Table(title=f"{topic}: {_name(group)}", title_justify="left", box=None, pad_edge=False)
    for heading, justify in (
        ("what / reference", "left"),
        ("ours", "right"),
        ("theirs", "right"),
        ("ratio", "right"),
        ("quartiles", "right"),
        ("aim", "right"),
    ):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    for one in results:
        table.add_row(
            f"{one.name}\n[dim]{one.reference}[/]",
            f"{one.ours:.3g} {one.unit}",
            f"{one.theirs:.3g} {one.unit}",
            f"[{'red' if one.missed else 'bold'}]{one.ratio:.3g}[/]",
            f"{one.spread[0]:.3g} to {one.spread[1]:.3g}",
            "" if one.aim is None else f"{one.aim:.3g}",
        )
    return table


if __name__ == "__main__":
    run(app)
