"""`pramana simulate bayes-net`."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import typer

from pramana.simulate.commands import options as given

Score = Annotated[
    Literal["likelihood", "bic", "bayesian", "bdeu"],
    typer.Option(help="likelihood is of the randomized counts; the others are Ma's, plain."),
]
Order = Annotated[
    Literal["given", "none"],
    typer.Option(help="given: K2 along the file's order; none: hill climbing with tabu."),
]


def bayes_net(
    bif: given.Bif = None,
    table: given.Table = None,
    variables: given.Variables = None,
    intervals: given.Intervals = None,
    records: given.Records = None,
    p: given.Probability = None,
    channels: given.Channels = None,
    design: given.Design = None,
    gamma: given.Gamma = None,
    score: Score = "likelihood",
    order: Order = "none",
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
    estimator: given.EstimatorOption = None,
    runs: given.Runs = 10,
    seed: given.Seed = 1,
    json: given.Json = None,
) -> None:
    """Count the links in error of networks learned from randomized records.

    Links are compared with the network of --bif, or with what the same search finds in the clean
    table. Exit codes: 0 done; 2 bad input; 4 too large; 6 the reports cannot support the estimate.
    """
    from pramana.simulate.bayes_net import Options, simulate
    from pramana.simulate.commands.display import show_bayes_net
    from pramana.simulate.study import STANDARD_OUTPUT, require_place, write_result
    from shared.design import goal
    from shared.learn.networks.options import Scoring

    require_place(json)
    setup = given.Setup(
        bif, table, variables, intervals, records, p, channels, design, gamma, estimator
    )
    ordered = order == "given"
    with given.options_as_typed():
        scoring = Scoring(score, eta, c_star, alpha, equivalent_sample_size)
        options = Options(scoring, ordered, max_parents, tabu, draws, refine)
    with given.watched(f"{runs} runs") as watch:
        trials, chosen = setup.prepare(
            lambda domain: goal(domain, "structure"), runs, seed, on_step=watch
        )
        outcome = simulate(trials, replace(options, estimator=chosen), watch)
    if json is not None:
        write_result(outcome.as_dict(), json)
    if json != STANDARD_OUTPUT:
        show_bayes_net(outcome)
