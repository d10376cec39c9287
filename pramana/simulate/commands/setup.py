"""The options of every simulation: records, randomization, runs and result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pramana.simulate.commands.settings import options_as_typed
from pramana_core.alike import first_few
from pramana_core.errors import EstimationError, OptionError, UnknownVariable
from pramana_core.progress import OnShare
from pramana_core.terminal import console

if TYPE_CHECKING:
    from pramana.simulate.sources import Source
    from pramana.simulate.study import Trials
    from pramana_core.design import Goal
    from pramana_core.domain import Domain
    from pramana_core.estimation.estimated import Estimator

HALF = 0.5
"""With a central bound, tables must keep this share of a moderate association. Below it, noise
dominates the association, and the records are too few to hide a single record."""

Bif = Annotated[Path | None, typer.Option(help="Draw records from this network (BIF).")]
Table = Annotated[Path | None, typer.Option(help="Take the records of this CSV or Parquet table.")]
Variables = Annotated[
    list[str] | None,
    typer.Option(help="The table's columns to use, separated by commas. Repeatable."),
]
Intervals = Annotated[
    int | None,
    typer.Option(
        help=(
            "Cut columns with more different numbers than this into this many intervals of equal"
            " width (default: cut columns with more than 8 numbers into 3 to 8 intervals with"
            " nearly equal counts of records)."
        )
    ),
]
Records = Annotated[
    int | None,
    typer.Option(
        min=2,
        max=20_000_000,
        help="Records per run (default: 10000 of a network, all of a table).",
    ),
]
Probability = Annotated[
    float | None,
    typer.Option(
        "--p",
        help=(
            "Replace every variable's category with this probability, by each of the K - 1 other"
            " categories with probability p / (K - 1)."
        ),
    ),
]
Design = Annotated[
    str | None,
    typer.Option(
        help="Instead of --p, a plan designed for --gamma: auto (the designer's choice) or one of"
        " independent, gamma-diagonal, random-gamma-diagonal, mask, cut-and-paste, sampled."
    ),
]
Gamma = Annotated[
    float | None, typer.Option(help="With --design, the largest amplification of the whole record.")
]
CentralEpsilon = Annotated[
    float | None,
    typer.Option(
        help="With --design, the largest epsilon that the plan may state against anyone who cannot"
        " link reports to people; --gamma, by default 10,000, also limits gamma."
    ),
]
Delta = Annotated[
    float | None,
    typer.Option(help="The probability that --central-epsilon fails; 1e-8 by default."),
]
Owners = Annotated[
    str | None,
    typer.Option(
        help="With --design, several owners report parts of each record under one study plan: the"
        ' number of owners, or the columns of each ("a,b; c,d").',
    ),
]
EstimatorOption = Annotated[
    Literal["moment", "ml", "pooled"] | None,
    typer.Option(
        "--estimator",
        help="Estimator of the counts (default: moment; with --design the more accurate one).",
    ),
]
Target = Annotated[
    str | None, typer.Option(help="The variable to predict, for tree, linear and classifier.")
]
Holdout = Annotated[
    float,
    typer.Option(
        min=0, max=0.9, help=("The share of each run's records to test on and not learn from.")
    ),
]
Runs = Annotated[
    int | None,
    typer.Option(
        min=1,
        help=(
            "Number of runs, each of which draws, randomizes and learns (default 10; for"
            " model-sharing 1)."
        ),
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of records and reports.")]
Json = Annotated[bool, typer.Option("--json", help="Write the result as JSON.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="An option of the learner as name=value. Repeatable. `pramana simulate KIND"
        " --set help` lists them.",
    ),
]


@dataclass(frozen=True)
class Setup:
    """The command-line options for records, randomization, estimation and owners."""

    bif: Bif = None
    table: Table = None
    variables: Variables = None
    intervals: Intervals = None
    records: Records = None
    p: Probability = None
    design: Design = None
    gamma: Gamma = None
    estimator: EstimatorOption = None
    owners: Owners = None
    central_epsilon: CentralEpsilon = None
    delta: Delta = None

    def prepare(
        self,
        wanted: Callable[[Domain], Goal],
        runs: int,
        seed: int,
        *,
        holdout: float = 0.0,
        target: str | None = None,
        on_step: OnShare = lambda _share: None,
    ) -> tuple[Trials, Estimator]:
        """Return the trials and the estimator of counts. `wanted` returns the goal of a design.

        Raises OptionError, UnknownVariable.
        """
        from pramana.simulate.designs import designed, estimator_of, owners_of, symmetric
        from pramana.simulate.study import Trials
        from pramana_core.privacy import DELTA, GAMMA_LIMIT, CentralLoss
        from pramana_core.rounding import rounded_up
        from pramana_core.ties import exceeds

        self._require_randomization()
        with options_as_typed():
            central = CentralLoss.of(self.central_epsilon, self.delta)
        source = self.source(target)
        if target not in (None, *source.domain.names):
            raise UnknownVariable(
                f"{source.name} has no variable {target!r} to predict. {source.note}",
                where="--target",
                remedy=f"The variables are {first_few(source.domain.names, 12)}.",
            )
        records = source.records if self.records is None else self.records
        if holdout and not 0 < round(holdout * records) < records - 1:
            raise OptionError(
                f"A share of {holdout:g} of {records} records to hold out leaves too few records"
                " for learning or for testing.",
                where="--holdout",
            )
        delta = DELTA if self.delta is None else self.delta
        if self.design is None:
            plan = symmetric(source.domain, self.p or 0.0)
            estimator = self.estimator or "moment"
            return Trials(source, plan, records, runs, seed, None, holdout, delta), estimator
        owners = () if self.owners is None else owners_of(source.domain, self.owners)
        domain = source.domain.project([n for _, own in owners for n in own] or source.domain.names)
        with options_as_typed():
            reported = records - round(holdout * records)
            gamma = GAMMA_LIMIT if self.gamma is None else self.gamma
            found = designed(
                domain, self.design, gamma, wanted(domain), reported, on_step, owners, central
            )
        kept = found.chosen.prediction.kept
        if self.central_epsilon is not None and exceeds(HALF, kept):
            raise EstimationError(
                f"{reported:,} records are too few for this central epsilon: at gamma"
                f" {rounded_up(found.chosen.gamma)}, only {kept:.0%} of a moderate association"
                " would remain in the tables, and noise would replace the rest.",
                where="--central-epsilon",
                remedy="Use more records or a larger --central-epsilon; with --gamma alone the"
                " simulation runs.",
            )
        if found.advice:
            console(stderr=True).print(found.advice, style="yellow", markup=False, soft_wrap=True)
        trials = Trials(source, found.plan, records, runs, seed, found, holdout, delta)
        return trials, self.estimator or estimator_of(found)

    def _require_randomization(self) -> None:
        _require_one("--p", "--design", self.p, self.design)
        if self.owners is not None and self.design is None:
            raise OptionError(
                "--owners needs --design.",
                where="--owners",
                remedy="Add --design, and --gamma as the bound over all owners.",
            )
        bounded = self.gamma is not None or self.central_epsilon is not None
        if (self.design is None) == bounded:
            raise OptionError(
                "--gamma and --central-epsilon need --design."
                if bounded
                else "--design needs --gamma or --central-epsilon.",
                where="--gamma",
                remedy="Pass --design with --gamma or --central-epsilon, or --p alone.",
            )

    def source(self, target: str | None = None) -> Source:
        from pramana.simulate.sources import NetworkSource
        from pramana.simulate.tables import read_source

        _require_one("--bif", "--table", self.bif, self.table)
        if self.table is not None:
            return read_source(self.table, self.variables or None, self.intervals, target)
        for option, value in (("--variables", self.variables), ("--intervals", self.intervals)):
            if value:
                raise OptionError(
                    f"{option} applies only to tables; all variables of a network are simulated.",
                    where=option,
                )
        assert self.bif is not None  # noqa: S101 - narrows the type
        return NetworkSource.read(self.bif)


def _require_one(one: str, other: str, *values: object) -> None:
    given = sum(value is not None for value in values)
    if given != 1:
        raise OptionError(
            f"{one} and {other} cannot be used together."
            if given
            else f"Both {one} and {other} are missing.",
            where=one,
            remedy=f"Pass either {one} or {other}.",
        )
