"""The options of every simulation: records, randomization, runs, result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pramana.simulate.commands.settings import options_as_typed
from pramana_core.errors import OptionError, UnknownVariable
from pramana_core.progress import OnShare
from pramana_core.terminal import console

if TYPE_CHECKING:
    from pramana.simulate.sources import Source
    from pramana.simulate.study import Trials
    from pramana_core.design import Goal
    from pramana_core.domain import Domain
    from pramana_core.estimation.estimated import Estimator

Bif = Annotated[Path | None, typer.Option(help="Draw the records from this network (BIF).")]
Table = Annotated[Path | None, typer.Option(help="Take the records of this CSV or Parquet table.")]
Variables = Annotated[
    list[str] | None,
    typer.Option(help="The table's columns to use, with commas between; may be given again."),
]
Intervals = Annotated[
    int | None,
    typer.Option(
        help="Cut columns of more different numbers into this many equal intervals (default: more"
        " than 8 into 3 to 8 of nearly equal numbers of records)."
    ),
]
Records = Annotated[
    int | None,
    typer.Option(
        min=2,
        max=20_000_000,
        help="Records in each run (default 10000 of a network, all of a table).",
    ),
]
Probability = Annotated[
    float | None,
    typer.Option(
        "--p",
        help="Replace every variable's category with this probability, by each of the K - 1"
        " others with p / (K - 1).",
    ),
]
Design = Annotated[
    str | None,
    typer.Option(
        help="Instead of --p, a plan designed for --gamma: auto, the designer's choice, or of a"
        " family: independent, gamma-diagonal, random-gamma-diagonal,"
        " mask, cut-and-paste, sampled."
    ),
]
Gamma = Annotated[
    float | None, typer.Option(help="The largest amplification of the whole record, of --design.")
]
CentralEpsilon = Annotated[
    float | None,
    typer.Option(
        help="The largest epsilon for whoever does not know whose report is whose, of --design;"
        " --gamma, by default 10,000, limits gamma besides."
    ),
]
Delta = Annotated[
    float | None, typer.Option(help="The chance that --central-epsilon fails; 1e-8 by default.")
]
Owners = Annotated[
    str | None,
    typer.Option(
        help="Several owners report parts of each record by one study plan, of --design: how many"
        ' owners, or the columns of each ("a,b; c,d").',
    ),
]
EstimatorOption = Annotated[
    Literal["moment", "ml", "pooled"] | None,
    typer.Option(
        "--estimator",
        help="Of the counts; default by moments, with --design what is predicted to err less.",
    ),
]
Target = Annotated[
    str | None, typer.Option(help="The variable to predict, of tree, linear and classifier.")
]
Holdout = Annotated[
    float,
    typer.Option(min=0, max=0.9, help="The share of each run's records kept, true, for the test."),
]
Runs = Annotated[
    int | None,
    typer.Option(
        min=1, help="How often to draw, randomize and learn (default 10; of model-sharing 1)."
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Decides records and reports.")]
Json = Annotated[bool, typer.Option("--json", help="Write the result as JSON.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="An option of the learner as name=value; may be given again. `pramana simulate KIND"
        " --set help` lists them.",
    ),
]


@dataclass(frozen=True)
class Setup:
    """The options on records and randomization, as typed; one of a kind must be given."""

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
        """Return the trials, and the estimator of the counts; `wanted` is the goal of a design.

        Raises OptionError, UnknownVariable.
        """
        from pramana.simulate.designs import designed, estimator_of, owners_of, symmetric
        from pramana.simulate.study import Trials
        from pramana_core.design import gamma_of_central, require_gamma

        self._require_randomization()
        source = self._source()
        if target not in (None, *source.domain.names):
            raise UnknownVariable(
                f"{source.name} has no variable {target!r} that can be predicted. {source.note}",
                where="--target",
                remedy=f"The variables are {list(source.domain.names)}.",
            )
        records = source.records if self.records is None else self.records
        if holdout and not 0 < round(holdout * records) < records - 1:
            raise OptionError(
                f"Holding out {holdout:g} of {records} records leaves too few on one side.",
                where="--holdout",
            )
        if self.design is None:
            plan = symmetric(source.domain, self.p or 0.0)
            estimator = self.estimator or "moment"
            return Trials(source, plan, records, runs, seed, holdout=holdout), estimator
        owners = () if self.owners is None else owners_of(source.domain, self.owners)
        domain = source.domain.project([n for _, own in owners for n in own] or source.domain.names)
        with options_as_typed():
            reported = records - round(holdout * records)
            gamma = self.gamma or 0.0
            if self.central_epsilon is not None:
                gamma = gamma_of_central(self.central_epsilon, self.delta, reported, self.gamma)
            require_gamma(gamma)
            found = designed(domain, self.design, gamma, wanted(domain), reported, on_step, owners)
        if found.advice:
            console(stderr=True).print(found.advice, style="yellow", markup=False, soft_wrap=True)
        trials = Trials(source, found.plan, records, runs, seed, found, holdout)
        return trials, self.estimator or estimator_of(found)

    def _require_randomization(self) -> None:
        _require_one("--p", "--design", self.p, self.design)
        if self.owners is not None and self.design is None:
            raise OptionError(
                "--owners belongs to --design.",
                where="--owners",
                remedy="Give --design and --gamma with it, the bound over all owners.",
            )
        bounded = self.gamma is not None or self.central_epsilon is not None
        if (self.design is None) == bounded:
            raise OptionError(
                "--gamma and --central-epsilon belong to --design."
                if bounded
                else "--design needs --gamma or --central-epsilon.",
                where="--gamma",
                remedy="Give --design with --gamma or --central-epsilon, or --p alone.",
            )

    def _source(self) -> Source:
        from pramana.simulate.sources import NetworkSource
        from pramana.simulate.tables import read_source

        _require_one("--bif", "--table", self.bif, self.table)
        if self.table is not None:
            return read_source(self.table, self.variables or None, self.intervals)
        for option, value in (("--variables", self.variables), ("--intervals", self.intervals)):
            if value:
                raise OptionError(
                    f"{option} is for the columns of a table; a network is simulated whole.",
                    where=option,
                )
        assert self.bif is not None  # noqa: S101 - narrows the type
        return NetworkSource.read(self.bif)


def _require_one(one: str, other: str, *values: object) -> None:
    given = sum(value is not None for value in values)
    if given != 1:
        raise OptionError(
            f"{one} and {other} exclude each other."
            if given
            else f"Neither {one} nor {other} is given.",
            where=one,
            remedy=f"Give either {one} or {other}.",
        )
