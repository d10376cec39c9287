"""`pramana simulate`: what can be learned from randomized records, before anyone commits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from shared.errors import OptionError
from shared.terminal import console

if TYPE_CHECKING:
    from experiments.simulate.sources import Source
    from shared.domain import Domain
    from shared.plan import Plan

app = typer.Typer(
    help="Learn from randomized records of a known network or table, many times.",
    no_args_is_help=True,
)

Bif = Annotated[Path | None, typer.Option(help="Draw the records from this network (BIF).")]
Table = Annotated[Path | None, typer.Option(help="Take the records of this CSV or Parquet table.")]
Variables = Annotated[
    list[str] | None,
    typer.Option(
        help="The table's columns to use, with commas between; may be given again, for names that"
        " have a comma themselves."
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
Runs = Annotated[int, typer.Option(help="How often to draw, randomize and learn.")]
Seed = Annotated[int, typer.Option(help="Decides records and reports.")]
Json = Annotated[
    Path | None, typer.Option(help="Write the result to this JSON file; - for standard output.")
]


@app.callback()
def _root() -> None:
    """Keep the learners' names as commands of their own."""


@app.command("bayes-net")
def bayes_net(
    bif: Bif = None,
    table: Table = None,
    variables: Variables = None,
    records: Records = None,
    p: Probability = None,
    channels: Channels = None,
    score: Annotated[
        Literal["likelihood", "bic", "bayesian", "bdeu"],
        typer.Option(help="likelihood is of the randomized counts; the others are Ma's, plain."),
    ] = "likelihood",
    order: Annotated[
        Literal["given", "none"],
        typer.Option(help="given: K2 along the file's order; none: hill climbing with tabu."),
    ] = "none",
    max_parents: Annotated[int, typer.Option(help="Most parents of a node.")] = 3,
    tabu: Annotated[int, typer.Option(help="Moves that hill climbing tries from a peak.")] = 50,
    eta: Annotated[
        float, typer.Option(help="Ma's threshold: a relative gain of 1 - eta is demanded.")
    ] = 1.0,
    c_star: Annotated[float, typer.Option(help="Ma's factor of the penalty of bic.")] = 1.0,
    alpha: Annotated[float, typer.Option(help="Dirichlet parameter per cell, of bayesian.")] = 1.0,
    equivalent_sample_size: Annotated[
        float, typer.Option(help="Weight of the prior of bdeu, in records.")
    ] = 10.0,
    draws: Annotated[
        int, typer.Option(help="Bootstrap draws for the links' confidence; 0 for none.")
    ] = 0,
    refine: Annotated[
        bool, typer.Option(help="With an order: also drop and exchange parents, as K2 does not.")
    ] = True,
    estimator: Annotated[
        Literal["moment", "ml"],
        typer.Option(help="Of the counts: by moments or by maximum likelihood."),
    ] = "moment",
    runs: Runs = 10,
    seed: Seed = 1,
    json: Json = None,
) -> None:
    """Count the links in error of networks learned from randomized records.

    Links are compared with the network of --bif, or with what the same search finds in the clean
    table. Exit codes: 0 done; 2 bad input; 4 too large; 6 the reports cannot support the estimate.
    """
    from experiments.simulate.bayes_net import Options, simulate
    from experiments.simulate.display import show_bayes_net
    from experiments.simulate.sources import require_records
    from experiments.simulate.study import STANDARD_OUTPUT, require_place, write_result
    from experiments.simulate.trials import Trials
    from shared.learn.scores import Scoring

    require_place(json)
    with _options_as_typed():
        scoring = Scoring(score, eta, c_star, alpha, equivalent_sample_size)
        options = Options(scoring, order == "given", max_parents, tabu, draws, refine, estimator)
    source, plan = _source_and_plan(bif, table, variables, p, channels, estimator)
    trials = Trials(source, plan, require_records(records, source), runs, seed)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=console(stderr=True),
        transient=True,
    ) as progress:
        task = progress.add_task(f"{runs} runs", total=1.0)
        outcome = simulate(trials, options, lambda share: progress.update(task, completed=share))
    if json is not None:
        write_result(outcome.as_dict(), json)
    if json != STANDARD_OUTPUT:
        show_bayes_net(outcome)


def _source_and_plan(
    bif: Path | None,
    table: Path | None,
    variables: list[str] | None,
    p: float | None,
    channels: Path | None,
    estimator: str,
) -> tuple[Source, Plan]:
    """Read what is simulated and what is done to it. Raises OptionError for a wrong choice."""
    from experiments.simulate.randomization import fitting, read_plan, symmetric

    if (p is None) == (channels is None):
        raise _not_one("--p", "--channels", both=p is not None)
    plan = None if channels is None else read_plan(channels)
    source = _source(bif, table, variables, None if plan is None else plan.domain)
    if plan is not None:
        return source, fitting(plan, source.domain, estimator)
    return source, symmetric(source.domain, p or 0.0)


def _source(
    bif: Path | None, table: Path | None, variables: list[str] | None, known: Domain | None
) -> Source:
    from experiments.simulate.sources import NetworkSource
    from experiments.simulate.tables import read_source

    if bif is not None and table is None:
        if variables:
            raise OptionError(
                "--variables chooses columns of a table; a network is simulated whole.",
                where="--variables",
            )
        return NetworkSource.read(bif)
    if table is not None and bif is None:
        return read_source(table, variables or None, known)
    raise _not_one("--bif", "--table", both=bif is not None)


@contextmanager
def _options_as_typed() -> Iterator[None]:
    """Let errors of what is made from options name the options as they are typed."""
    try:
        yield
    except OptionError as error:
        name = error.where or ""
        option = _TYPED.get(name) or (
            name if name.startswith("--") else "--" + name.replace("_", "-")
        )
        message = re.sub(rf"(?<![\w-]){re.escape(name)}(?!\w)", option, error.message)
        if option not in message:
            message = f"{option}: {message}"
        raise OptionError(message, where=option, remedy=error.remedy) from None


_TYPED = {"refine": "--no-refine"}


def _not_one(one: str, other: str, *, both: bool) -> OptionError:
    return OptionError(
        f"{one} and {other} exclude each other." if both else f"There is no {one} and no {other}.",
        where=one,
        remedy=f"Give either {one} or {other}.",
    )
