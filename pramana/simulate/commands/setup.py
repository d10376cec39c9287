"""What every simulation is asked on the command line: records, randomization, runs, result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pramana.simulate.commands.settings import options_as_typed
from pramana_core.errors import OptionError
from pramana_core.progress import OnShare
from pramana_core.terminal import console

if TYPE_CHECKING:
    from pramana.simulate.sources import Source
    from pramana.simulate.study import Trials
    from pramana_core.design import Goal
    from pramana_core.domain import Domain
    from pramana_core.estimation.estimated import Estimator
    from pramana_core.plan import Plan

Bif = Annotated[Path | None, typer.Option(help="Draw the records from this network (BIF).")]
Table = Annotated[Path | None, typer.Option(help="Take the records of this CSV or Parquet table.")]
Variables = Annotated[
    list[str] | None,
    typer.Option(
        help="The table's columns to use, with commas between; may be given again, for names that"
        " have a comma themselves."
    ),
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
    typer.Option(help="Records in each run (default 10000 of a network, all of a table)."),
]
Probability = Annotated[
    float | None,
    typer.Option(
        "--p",
        help="Replace every variable's category with this probability, by each of the K - 1"
        " others with p / (K - 1).",
    ),
]
Channels = Annotated[
    Path | None, typer.Option(help="Instead of --p, a plan as releases carry it (JSON).")
]
Design = Annotated[
    str | None,
    typer.Option(
        help="Instead of --p, a plan designed for --gamma: auto, the designer's choice, or of a"
        " family: independent, gamma-diagonal, ran-gd, mask, cut-and-paste, sampled."
    ),
]
Gamma = Annotated[
    float | None, typer.Option(help="The largest amplification of the whole record, of --design.")
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
    float, typer.Option(help="The share of each run's records kept, true, for the test.")
]
Runs = Annotated[
    int | None,
    typer.Option(help="How often to draw, randomize and learn (default 10; of model-sharing 1)."),
]
Seed = Annotated[int, typer.Option(help="Decides records and reports.")]
Json = Annotated[bool, typer.Option("--json", help="Write the result as JSON.")]
Out = Annotated[Path | None, typer.Option(help="Write the result to this JSON file.")]
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
    channels: Channels = None
    design: Design = None
    gamma: Gamma = None
    estimator: EstimatorOption = None
    owners: Owners = None

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
        """Return what is repeated, and the estimator of the counts.

        Args:
            wanted: the goal of a design, given the variables.
            runs, seed, holdout: see `Trials`.
            target: a variable that the records must have.
            on_step: told the share of the designer's work that is done.

        Raises:
            OptionError: options that exclude each other, or what is made of them.
            UnknownVariable: no such target.
        """
        from pramana.simulate.sources import require_records, require_target
        from pramana.simulate.study import Trials, require_repeatable

        self._require_randomization()
        source, plan = self._source()
        if target is not None:
            require_target(target, source)
        records = require_records(self.records, source)
        require_repeatable(records, runs, seed, holdout)
        if self.design is None:
            made = self._plan(source, plan)
            return Trials(source, made, records, runs, seed, holdout=holdout), self._estimator
        from pramana.simulate.designs import designed, estimator_of, owners_of
        from pramana_core.design import require_gamma

        gamma = self.gamma or 0.0
        owners = () if self.owners is None else owners_of(source.domain, self.owners)
        held = [name for _, own in owners for name in own] or source.domain.names
        domain = source.domain.project(held)
        with options_as_typed():
            require_gamma(gamma)
            goal = wanted(domain)
        reported = records - round(holdout * records)
        found = designed(domain, self.design, gamma, goal, reported, on_step, owners)
        if found.advice:
            console(stderr=True).print(found.advice, style="yellow", markup=False, soft_wrap=True)
        trials = Trials(source, found.plan, records, runs, seed, found, holdout)
        return trials, self.estimator or estimator_of(found)

    @property
    def _estimator(self) -> Estimator:
        return self.estimator or "moment"

    def _require_randomization(self) -> None:
        ways = {"--p": self.p, "--channels": self.channels, "--design": self.design}
        given = [name for name, value in ways.items() if value is not None]
        if not given:
            raise OptionError(
                "None of --p, --channels and --design is given.",
                where="--p",
                remedy="Give one of them; --design takes --gamma with it.",
            )
        if len(given) > 1:
            raise _not_one(given[0], given[1], both=True)
        if self.owners is not None and self.design is None:
            raise OptionError(
                "--owners belongs to --design.",
                where="--owners",
                remedy="Give --design and --gamma with it, the bound over all owners.",
            )
        if (self.design is None) != (self.gamma is None):
            raise OptionError(
                "--design needs --gamma." if self.gamma is None else "--gamma belongs to --design.",
                where="--gamma",
                remedy="Give --design with --gamma, or --p or --channels alone.",
            )

    def _source(self) -> tuple[Source, Plan | None]:
        from pramana.simulate.designs import read_plan
        from pramana.simulate.sources import NetworkSource
        from pramana.simulate.tables import read_source

        plan = None if self.channels is None else read_plan(self.channels)
        if (self.bif is None) == (self.table is None):
            raise _not_one("--bif", "--table", both=self.bif is not None)
        if self.table is not None:
            known = None if plan is None else plan.domain
            return read_source(self.table, self.variables or None, known, self.intervals), plan
        for option, verb, value in (
            ("--variables", "chooses", self.variables),
            ("--intervals", "cuts", self.intervals),
        ):
            if value:
                raise OptionError(
                    f"{option} {verb} columns of a table; a network is simulated whole.",
                    where=option,
                )
        assert self.bif is not None  # noqa: S101 - narrows the type
        return NetworkSource.read(self.bif), plan

    def _plan(self, source: Source, plan: Plan | None) -> Plan:
        from pramana.simulate.designs import fitting, symmetric

        if plan is not None:
            return fitting(plan, source.domain, self._estimator)
        return symmetric(source.domain, self.p or 0.0)


def whole(owners: str) -> int:
    """Return a number of owners. Raises OptionError."""
    if not owners.isdigit():
        raise OptionError(f"--owners must be a number here, not {owners!r}.", where="--owners")
    return int(owners)


def _not_one(one: str, other: str, *, both: bool) -> OptionError:
    return OptionError(
        f"{one} and {other} exclude each other."
        if both
        else f"Neither {one} nor {other} is given.",
        where=one,
        remedy=f"Give either {one} or {other}.",
    )
