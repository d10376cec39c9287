"""What more records than one machine has would take, by what the bench measured.

Seconds of processors and bytes are a fixed part and a part for each record: the line through the
smallest and the largest size that were measured. How far such a line can be trusted is said beside
every plan: the smaller two sizes foretell the largest. `python -m benchmarks.bench.scale` prints
a plan.

Also here:

* The tables of docs/scale.md, which `--write` puts there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.bench.end_to_end import MINER, OWNER, SIZES
from benchmarks.bench.measuring import ROOT, STORED, Result, read
from pramana_core.errors import NotReady
from pramana_core.terminal import EXIT_CODES, console, print_json, run

PAGE = ROOT / "docs" / "scale.md"
HOUR = 3600.0
MEBIBYTE, TERABYTE = 2**20, 10**12
BATCHES = "reports of single records, 10,000 a batch"
_SIZED = re.compile(r"(?P<stage>.+), (?P<records>[\d,]+) records")
_COUNTED = re.compile(rf"count (?P<records>[\d,]+) {BATCHES}")

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@dataclass(frozen=True)
class ScaleRow:
    """What grows by records: `fixed` and `each`, in seconds of processors or in bytes."""

    fixed: float
    each: float

    def __call__(self, records: float) -> float:
        """Return what so many records take."""
        return self.fixed + self.each * records


def fit(points: Mapping[int, float]) -> ScaleRow:
    """Return the line through two sizes; where a part would be negative, all is for each record.

    Args:
        points: what two numbers of records took.
    """
    (few, little), (many, much) = sorted(points.items())
    each = (much - little) / (many - few)
    fixed = little - each * few
    return ScaleRow(fixed, each) if min(fixed, each) >= 0 else ScaleRow(0.0, much / many)


@dataclass(frozen=True)
class Prediction:
    """What the largest size took beside what two smaller ones foretell."""

    stage: str
    records: int
    predicted: float
    measured: float

    @property
    def error(self) -> float:
        """How far the prediction is off, as a share of what was measured."""
        return self.predicted / self.measured - 1.0


@dataclass(frozen=True)
class Model:
    """The constants: lines by stage, and what a single record's report takes.

    Attributes:
        seconds: of processors, by stage: of one owner, or of the miner for all owners.
        bytes: of all owners, by what they are.
        report: seconds that pass while the miner counts one report of a single record.
        predictions: of the largest size.
    """

    seconds: Mapping[str, ScaleRow]
    bytes: Mapping[str, ScaleRow]
    report: float
    predictions: tuple[Prediction, ...]

    @classmethod
    def of(cls, results: Sequence[Result]) -> Model:
        """Return the constants that results have.

        Raises:
            NotReady: a stage was not measured at three sizes, or reports were not counted.
        """
        found = dict(_sized(results))
        lines: dict[str, ScaleRow] = {}
        predictions = []
        for stage in ("publish", *OWNER, *MINER, *SIZES):
            points = found.get(stage, {})
            if len(points) < 3:
                raise NotReady(
                    f"The bench has {stage!r} at {len(points)} sizes; a plan needs 3.",
                    remedy="Run `make bench` to its end.",
                )
            *_, few, many, most = sorted(points)
            foretold = fit({few: points[few], many: points[many]})(most)
            predictions.append(Prediction(stage, most, foretold, points[most]))
            lines[stage] = fit({few: points[few], most: points[most]})
        counted = [
            one.ours / int(named["records"].replace(",", ""))
            for one in results
            if (named := _COUNTED.fullmatch(one.name))
        ]
        if not counted:
            raise NotReady(
                "The bench has no reports of single records.", remedy="Run `make bench` to its end."
            )
        return cls(
            {stage: lines[stage] for stage in ("publish", *OWNER, *MINER)},
            {stage: lines[stage] for stage in SIZES},
            min(counted),
            tuple(predictions),
        )


def _sized(results: Sequence[Result]) -> Iterator[tuple[str, dict[int, float]]]:
    """Yield each stage with its seconds or bytes by numbers of records."""
    found: dict[str, dict[int, float]] = {}
    for one in results:
        named = _SIZED.fullmatch(one.name)
        if named:
            number = one.ours if one.unit == "s" else one.ours * MEBIBYTE
            found.setdefault(named["stage"], {})[int(named["records"].replace(",", ""))] = number
    yield from found.items()


@dataclass(frozen=True)
class Means:
    """What a plan may use, and what that costs.

    Attributes:
        hours: within which each step is to end.
        cores: of a machine.
        price: of a machine for an hour.
        busy: the share of a machine's time in which its cores work for the plan.
    """

    hours: float = 24.0
    cores: int = 16
    price: float = 1.0
    busy: float = 0.6


@dataclass(frozen=True)
class Step:
    """One step of a plan: core-hours, and what becomes of them with the means that there are."""

    name: str
    core_hours: float
    machines: int
    hours: float
    cost: float


PUBLISHING, RECEIVING, ALIGNING = 3, 2, 1
"""So many cores a step can use: an owner's command reads, names and draws at once; one service
takes parts and seals; one job aligns. What counts is spread over all machines that there are."""


def step(name: str, seconds: float, means: Means, most: int | None = None) -> Step:
    """Spread seconds of processors over as few machines as end within the hours.

    Of a step that can use so many cores at `most` one machine takes as long as it takes.
    """
    core_hours = seconds / HOUR
    cores = means.cores if most is None else min(most, means.cores)
    machine_hours = core_hours / (cores * means.busy)
    machines = max(1, math.ceil(machine_hours / means.hours)) if most is None else 1
    return Step(name, core_hours, machines, machine_hours / machines, machine_hours * means.price)


def passing(name: str, seconds: float, means: Means) -> Step:
    """Return a step of one machine of which the seconds that pass were measured, not cores' own."""
    hours = seconds / HOUR
    return Step(name, hours, 1, hours, hours * means.price)


def plan(model: Model, records: float, means: Means) -> list[Step]:
    """Return the steps for records of three owners' eleven columns."""
    seconds = model.seconds
    return [
        step("each of the owners publishes", seconds["publish"](records), means, PUBLISHING),
        step(
            "the miner receives and seals", seconds["receive and seal"](records), means, RECEIVING
        ),
        step("it aligns", seconds["align"](records), means, ALIGNING),
        step("a table of five variables", seconds["count five variables"](records), means),
        step("a tree of all eleven", seconds["grow a tree"](records), means),
    ]


def clients(model: Model, reports: float, means: Means) -> list[Step]:
    """Return the steps for so many people who report their one record through gateways."""
    return [
        passing("gateways' batches are counted", model.report * reports, means),
        step("a table of five variables", model.seconds["count five variables"](reports), means),
        step("a tree of all eleven", model.seconds["grow a tree"](reports), means),
    ]


# The tables of docs/scale.md, which `--write` puts there.

RECORDS, CLIENTS = 1e10, 1e7
BEGIN, END = "<!-- {}: written by benchmarks/bench/scale.py -->\n", "<!-- end of {} -->\n"


def tables(model: Model) -> dict[str, str]:
    """Return the tables of the page, by the names of their places."""
    means = Means()
    constants = []
    for one in model.predictions:
        line = model.seconds.get(one.stage) or model.bytes[one.stage]
        factor, each, unit = (1, "bytes", "MB") if one.stage in SIZES else (1e6, "µs", "s")
        whole = 1e6 if one.stage in SIZES else 1.0
        constants.append(
            (
                one.stage,
                f"{line.each * factor:.3g} {each}",
                f"{line.fixed / whole:.2g} {unit}",
                f"{one.predicted / whole:,.4g} {unit}",
                f"{one.measured / whole:,.4g} {unit}",
                f"{one.error:+.0%}",
            )
        )
    most = model.predictions[0].records
    return {
        "constants": _markdown(
            (
                "stage",
                "each record",
                "at least",
                f"foretold for {most:,}",
                "measured",
                "error",
            ),
            constants,
        ),
        "records": _markdown(_HEADINGS, map(_row, plan(model, RECORDS, means))),
        "bytes": _markdown(
            ("what", "a record", f"{RECORDS:.0e} records"),
            [
                (name, f"{line.each:.1f} bytes", f"{line(RECORDS) / TERABYTE:.2f} TB")
                for name, line in model.bytes.items()
            ],
        ),
        "clients": _markdown(_HEADINGS, map(_row, clients(model, CLIENTS, means))),
    }


_HEADINGS = ("step", "core-hours", "machines", "hours", "machine-hours")


def _row(one: Step) -> tuple[str, ...]:
    return (
        one.name,
        f"{one.core_hours:,.3g}",
        str(one.machines),
        f"{one.hours:.3g}",
        f"{one.machines * one.hours:.3g}",
    )


def _markdown(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    aligned = ("---", *("---:" for _ in headings[1:]))
    return "".join(f"| {' | '.join(row)} |\n" for row in (headings, aligned, *rows))


def written(page: str, model: Model) -> str:
    """Return the page with its tables written anew."""
    for name, table in tables(model).items():
        begin, end = BEGIN.format(name), END.format(name)
        before, _, rest = page.partition(begin)
        page = before + begin + table + end + rest.partition(end)[2]
    return page


@app.command(epilog=EXIT_CODES)
def scale(
    records: Annotated[float, typer.Option(help="Records of three owners.")] = RECORDS,
    hours: Annotated[float, typer.Option(help="Within which each step is to end.")] = 24.0,
    cores: Annotated[int, typer.Option(help="Of a machine.")] = 16,
    price: Annotated[float, typer.Option(help="Of a machine for an hour.")] = 1.0,
    of: Annotated[Path, typer.Option(help="What the bench wrote.")] = STORED,
    write: Annotated[bool, typer.Option("--write", help="Write docs/scale.md anew.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what more records would take, by what was measured."""
    model = Model.of(read(of))
    if write:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), model), encoding="utf-8")
    steps = plan(model, records, Means(hours, cores, price))
    if as_json:
        print_json([asdict(one) for one in steps])
        return
    for one in steps:
        console().print(
            f"{one.name}: {one.core_hours:,.3g} core-hours, {one.machines} machines for"
            f" {one.hours:.3g} h, {one.cost:.2f}"
        )
    worst = max(model.predictions, key=lambda found: abs(found.error))
    console().print(
        f"The model foretells the largest size that was measured within {abs(worst.error):.0%}"
        f" ({worst.stage}).",
    )


if __name__ == "__main__":
    run(app)
