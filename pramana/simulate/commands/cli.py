"""`pramana simulate`: what can be learned from randomized records, before anyone commits.

Its commands `bayes-net`, `tree`, `linear`, `classifier` and `rules` are here;
`model-sharing` is beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pramana.simulate.commands import options as given
from pramana.simulate.commands.model_sharing import model_sharing
from pramana_core.learn.common.options import (
    BayesClassifierOptions,
    LinearOptions,
    RuleOptions,
    TreeOptions,
    limits_of,
)
from pramana_core.learn.networks.structure import Draws, Scoring, Search

if TYPE_CHECKING:
    from pramana_core.learn.prediction import Predictor
    from pramana_core.marginals.counts import Marginals

Order = Annotated[
    Literal["given", "none"],
    typer.Option(help="given: K2 along the file's order; none: as --search says."),
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
        help="End after so many seconds.",
    ),
]
Refine = Annotated[
    bool, typer.Option(help="With an order: also drop and exchange parents, as K2 does not.")
]


@given.with_options(setup=given.Setup, scoring=Scoring, searching=Search)
def bayes_net(
    setup: given.Setup,
    scoring: Callable[..., Scoring],
    searching: Callable[..., Search],
    order: Order = "none",
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
    from pramana.simulate.bayes_net import StructureOptions, ending, simulate
    from pramana.simulate.commands.display import show_bayes_net
    from pramana.simulate.study import require_place
    from pramana_core.design import goal

    require_place(out)
    ordered = order == "given"
    with given.options_as_typed():
        search = searching(order=() if ordered else None, refine=refine)
        options = StructureOptions(
            scoring(), ordered, search.max_parents, draws, refine, method=search.method
        )
    with given.watched(f"{runs} runs") as watch:
        trials, chosen = setup.prepare(
            lambda domain: goal(domain, "structure"), runs, seed, on_step=watch
        )
        options = replace(options, estimator=chosen)
        outcome = simulate(trials, options, ending(watch, limit))
    given.tell(outcome, given.Answer(json, out), show_bayes_net)


L2 = 1e-3
"""The weight of the squared weights unless told otherwise."""

Penalty = Annotated[
    float | None,
    typer.Option(
        help=f"Weight of the squared weights; default {L2}, so that weights stay finite where the"
        " classes can be separated; not for the perceptron."
    ),
]


@given.with_options(setup=given.Setup, options=TreeOptions)
def tree(
    target: given.Target,
    setup: given.Setup,
    options: Callable[..., TreeOptions],
    holdout: given.Holdout = 0.3,
    runs: given.Runs = 10,
    seed: given.Seed = 1,
    json: given.Json = False,
    out: given.Out = None,
) -> None:
    """Measure how often decision trees learned from randomized records are right.

    A part of the records of each run is held out and never randomized; the tree learned from the
    reports of the others is tested on it, and so is one learned from the others as they are. Exit
    codes: 0 done; 2 bad input; 4 too large; 6 the reports cannot support the estimate.
    """
    with given.options_as_typed():
        chosen = options()
    _classify("tree", target, chosen, setup, (holdout, runs, seed), given.Answer(json, out))


@given.with_options(setup=given.Setup, options=LinearOptions)
def linear(
    target: given.Target,
    setup: given.Setup,
    options: Callable[..., LinearOptions],
    l2: Penalty = None,
    holdout: given.Holdout = 0.3,
    runs: given.Runs = 10,
    seed: given.Seed = 1,
    json: given.Json = False,
    out: given.Out = None,
) -> None:
    """Measure how often linear classifiers learned from randomized records are right.

    A part of the records of each run is held out and never randomized; the classifier learned from
    the reports of the others is tested on it, and so is one learned from the others as they are.
    Exit codes: 0 done; 2 bad input; 4 too large; 6 the reports cannot support the estimate.
    """
    with given.options_as_typed():
        plain = options()
        pocket = plain.loss == "perceptron"
        chosen = replace(plain, l2=l2 if l2 is not None else 0.0 if pocket else L2)
    if pocket and setup.estimator is None and setup.design is None:
        # Of negative estimates, as moments have them, the pocket algorithm could make nothing.
        setup = replace(setup, estimator="ml")

    _classify("linear", target, chosen, setup, (holdout, runs, seed), given.Answer(json, out))


@given.with_options(setup=given.Setup, options=BayesClassifierOptions)
def classifier(
    target: given.Target,
    setup: given.Setup,
    options: Callable[..., BayesClassifierOptions],
    holdout: given.Holdout = 0.3,
    runs: given.Runs = 10,
    seed: given.Seed = 1,
    json: given.Json = False,
    out: given.Out = None,
) -> None:
    """Measure how often Bayesian classifiers learned from randomized records are right.

    A part of the records of each run is held out and never randomized; the classifier learned from
    the reports of the others is tested on it, and so is one learned from the others as they are.
    Exit codes: 0 done; 2 bad input; 4 too large; 6 the reports cannot support the estimate.
    """
    with given.options_as_typed():
        chosen = options()
    _classify("classifier", target, chosen, setup, (holdout, runs, seed), given.Answer(json, out))


def _classify(
    called: str,
    target: str,
    options: Any,
    setup: given.Setup,
    repeated: tuple[float, int, int],
    answer: given.Answer,
) -> None:
    """Simulate the learner of some options, and tell the outcome."""
    from pramana.simulate.commands.display import show_classifier
    from pramana.simulate.learners import simulate
    from pramana.simulate.study import require_place
    from pramana_core.design import goal
    from pramana_core.learn.learners import LEARNERS

    require_place(answer.out)
    holdout, runs, seed = repeated
    learner = next(one for one in LEARNERS.values() if isinstance(options, one.options))
    with given.watched(f"{runs} runs") as watch:
        trials, estimator = setup.prepare(
            lambda domain: goal(domain, {"classifier": 1.0}, target=target),
            runs,
            seed,
            holdout=holdout,
            target=target,
            on_step=watch,
        )

        def learn(marginals: Marginals, chance: int) -> Predictor:
            found: Predictor = learner.learn(marginals, target, None, options, seed=chance)
            return found

        outcome = simulate(called, target, trials, learn, asdict(options), estimator, watch)
    given.tell(outcome, answer, show_classifier)


@given.with_options(setup=given.Setup, options=RuleOptions)
def rules(
    setup: given.Setup,
    options: Callable[..., RuleOptions],
    runs: given.Runs = 10,
    seed: given.Seed = 1,
    json: given.Json = False,
    out: given.Out = None,
) -> None:
    """Measure the errors of frequent itemsets mined from randomized records.

    An itemset is a set of categories of different variables. Those found are compared with the
    frequent itemsets of the same records before randomization, by length. Exit codes: 0 done; 2 bad
    input; 4 too large; 6 the reports cannot support the estimate.
    """
    from pramana.simulate.commands.display import show_rules
    from pramana.simulate.designs import for_itemsets
    from pramana.simulate.learners import simulate_rules
    from pramana.simulate.study import require_place

    require_place(out)
    with given.options_as_typed():
        mining = options()
    with given.watched(f"{runs} runs") as watch:
        trials, chosen = setup.prepare(
            lambda domain: for_itemsets(domain, mining.minimum_support, mining.max_length),
            runs,
            seed,
            on_step=watch,
        )
        outcome = simulate_rules(trials, mining, chosen, watch)
    given.tell(outcome, given.Answer(json, out), show_rules)


app = typer.Typer(
    help="Learn from randomized records, or from shared trees, of a known table, many times.",
    no_args_is_help=True,
)

app.command("bayes-net")(bayes_net)
app.command("rules")(rules)
app.command("tree")(tree)
app.command("linear")(linear)
app.command("classifier")(classifier)
app.command("model-sharing")(model_sharing)
