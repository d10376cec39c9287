"""Run the bench, show its ratios, and store them: `python -m benchmarks.bench --help`."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.bench import end_to_end, groups
from benchmarks.bench.measuring import STORED, Bench, Comparison, Result, measure, read, write
from pramana_core.errors import NotInstalled, Unreachable
from pramana_core.terminal import console

Group = Callable[[Bench], Sequence[Comparison]]

QUICK_ROUNDS = 3


GROUPS: dict[str, Group] = {
    group.__name__.replace("_", "-"): group for group in (*groups.GROUPS, *end_to_end.GROUPS)
}


def bench(only: Sequence[str], out: Path, *, quick: bool = False, store: bool = False) -> None:
    """Measure groups, show the ratios, and write `bench.json`.

    Raises:
        Unreachable: a peer failed or is not installed; raised after all other comparisons.
    """
    kept = _named(read(out / "bench.json") if only else [])
    failures: list[str] = []
    for name, group in GROUPS.items():
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
    if store:
        write(STORED, list((_named(read(STORED) if only or failures else []) | kept).values()))
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
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--only", action="append", default=[], choices=list(GROUPS))
    reader.add_argument("--quick", action="store_true", help="a hundredth of the records")
    reader.add_argument("--store", action="store_true", help="store the results in the checkout")
    reader.add_argument("--out", type=Path, default=Path("bench-out"))
    given = reader.parse_args()
    if given.store and given.quick:
        reader.error("quick results cannot be stored: omit --store or --quick")
    bench(given.only, given.out, quick=given.quick, store=given.store)


if __name__ == "__main__":
    main()
