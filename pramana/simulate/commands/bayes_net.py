"""`pramana simulate bayes-net`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated, Literal

import typer

from pramana.simulate.commands import options as given
from pramana_core.learn.common.options import limits_of
from pramana_core.learn.networks.structure import Draws, ScoreName, Scoring, Search, SearchName

_score, _search = partial(given.learner, Scoring), partial(given.learner, Search)
Score = Annotated[
    ScoreName, _score("name", "likelihood is of the randomized counts; the others Ma's, plain")
]
Order = Annotated[
    Literal["given", "none"],
    typer.Option(help="given: K2 along the file's order; none: as --search says."),
]
Method = Annotated[
    SearchName,
    typer.Option(
        "--search",
        help="chow-liu: from the tables of pairs; auto: that, or hill climbing where some records"
        " report all variables.",
    ),
]
MaxParents = Annotated[int, _search("max_parents", "Most parents of a node")]
Tabu = Annotated[int, _search("tabu", "Moves that hill climbing tries from a peak")]
Eta = Annotated[float, _score("eta", "Ma's threshold: a relative gain of 1 - eta is demanded")]
CStar = Annotated[float, _score("c_star", "Ma's factor of the penalty of bic")]
Alpha = Annotated[float, _score("alpha", "Dirichlet parameter per cell, of bayesian")]
SampleSize = Annotated[
    float, _score("equivalent_sample_size", "Weight of the prior of bdeu, in records")
]
DrawsOption = Annotated[
    int,
    typer.Option(
        help=f"Bootstrap draws for the links' confidence; 0 for none ({limits_of(Draws)})."
    ),
]
Limit = Annotated[
    float | None,
    typer.Option(
        min=0,
        help="End after so many seconds; what it will take is predicted before it starts.",
    ),
]
Refine = Annotated[
    bool, _search("refine", "With an order: also drop and exchange parents, as K2 does not")
]


@given.with_setup
def bayes_net(
    setup: given.Setup,
    score: Score = Scoring.name,
    order: Order = "none",
    search: Method = Search.method,
    max_parents: MaxParents = Search.max_parents,
    tabu: Tabu = Search.tabu,
    eta: Eta = Scoring.eta,
    c_star: CStar = Scoring.c_star,
    alpha: Alpha = Scoring.alpha,
    equivalent_sample_size: SampleSize = Scoring.equivalent_sample_size,
    draws: DrawsOption = 0,
    refine: Refine = Search.refine,
    runs: given.Runs = 10,
    seed: given.Seed = 1,
    limit: Limit = None,
    json: given.Json = False,
    out: given.Out = None,
) -> None:
    """Count the links in error of networks learned from randomized records.

    Links are compared with the network of --bif, or with what the same search finds in the clean
    table. Exit codes: 0 done; 2 bad input; 4 too large; 6 the reports cannot support the estimate.
    """
    from pramana.simulate.bayes_net import StructureOptions, simulate
    from pramana.simulate.commands.display import announce, show_bayes_net
    from pramana.simulate.limits import ending, predicted_seconds
    from pramana.simulate.study import require_place
    from pramana_core.design import goal

    require_place(out)
    ordered = order == "given"
    with given.options_as_typed():
        scoring = Scoring(score, eta, c_star, alpha, equivalent_sample_size)
        options = StructureOptions(
            scoring, ordered, max_parents, tabu, draws, refine, method=search
        )
    with given.watched(f"{runs} runs") as watch:
        trials, chosen = setup.prepare(
            lambda domain: goal(domain, "structure"), runs, seed, on_step=watch
        )
        options = replace(options, estimator=chosen)
        announce(predicted_seconds(trials, options), runs)
        outcome = simulate(trials, options, ending(watch, limit))
    given.tell(outcome, given.Answer(json, out), show_bayes_net)
