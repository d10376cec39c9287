"""`pramana simulate`: what can be learned from randomized records, before anyone commits.

Its commands `bayes-net`, `tree`, `linear`, `classifier` and `rules` are here;
`model-sharing` is beside it.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pramana.simulate.commands import options as given
from pramana.simulate.commands.model_sharing import model_sharing
from pramana_core.learn.common.options import (
    BayesClassifierOptions,
    BayesModel,
    Criterion,
    Decisions,
    Encoding,
    Keep,
    LinearOptions,
    Loss,
    RuleOptions,
    TreeOptions,
    limits_of,
)
from pramana_core.learn.networks.structure import Draws, ScoreName, Scoring, Search, SearchName

if TYPE_CHECKING:
    from pramana_core.learn.prediction import Predictor
    from pramana_core.marginals.counts import Marginals

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
SearchMaxParents = Annotated[int, _search("max_parents", "Most parents of a node")]
Tabu = Annotated[int, _search("tabu", "Moves that hill climbing tries from a peak")]
Eta = Annotated[float, _score("eta", "Ma's threshold: a relative gain of 1 - eta is demanded")]
CStar = Annotated[float, _score("c_star", "Ma's factor of the penalty of bic")]
ScoreAlpha = Annotated[float, _score("alpha", "Dirichlet parameter per cell, of bayesian")]
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
        help="End after so many seconds.",
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
    max_parents: SearchMaxParents = Search.max_parents,
    tabu: Tabu = Search.tabu,
    eta: Eta = Scoring.eta,
    c_star: CStar = Scoring.c_star,
    alpha: ScoreAlpha = Scoring.alpha,
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
    from pramana.simulate.bayes_net import StructureOptions, ending, simulate
    from pramana.simulate.commands.display import show_bayes_net
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
        outcome = simulate(trials, options, ending(watch, limit))
    given.tell(outcome, given.Answer(json, out), show_bayes_net)


L2 = 1e-3
"""The weight of the squared weights unless told otherwise."""

_tree = partial(given.learner, TreeOptions)
_linear = partial(given.learner, LinearOptions)
_bayes = partial(given.learner, BayesClassifierOptions)
CriterionOption = Annotated[Criterion, _tree("criterion", "What chooses an attribute")]
MaxDepth = Annotated[int | None, _tree("max_depth", "Most attributes on a path")]
Significance = Annotated[
    float, _tree("significance", "Split only if chance shows as much no more often; 1: no test")
]
LeastRecords = Annotated[
    float, _tree("least_records", "Least effective records of a node to split")
]
Prune = Annotated[bool, _tree("prune", "Take splits back that do not pay")]
Shrinkage = Annotated[
    float,
    _tree("shrinkage", "How far children usually are from their parent; 0: leaves as they are"),
]
LossOption = Annotated[Loss, _linear("loss", "What is minimized")]
Penalty = Annotated[
    float | None,
    _linear(
        "l2",
        f"Weight of the squared weights; default {L2}, so that weights stay finite where the"
        " classes can be separated; not for the perceptron",
    ),
]
EncodingOption = Annotated[
    Encoding, _linear("encoding", "A column per category, or the categories' numbers 1 to K")
]
KeepOption = Annotated[Keep, _linear("keep", "Which of the perceptron's weights stay")]
ModelOption = Annotated[
    BayesModel,
    _bayes("model", "On what attributes depend besides the class; auto: as the reports support"),
]
MaxParents = Annotated[
    int, _bayes("max_parents", "Most attributes that one depends on, in the model kdb")
]
Alpha = Annotated[float, _bayes("alpha", "Records added to every cell")]


@given.with_setup
def tree(
    target: given.Target,
    setup: given.Setup,
    criterion: CriterionOption = TreeOptions.criterion,
    max_depth: MaxDepth = TreeOptions.max_depth,
    significance: Significance = TreeOptions.significance or 1.0,
    least_records: LeastRecords = TreeOptions.least_records,
    prune: Prune = TreeOptions.prune,
    shrinkage: Shrinkage = TreeOptions.shrinkage or 0.0,
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
        options = TreeOptions(criterion, max_depth, significance, least_records, prune, shrinkage)
    answer = given.Answer(json, out)
    _classify("tree", target, options, asdict(options), setup, (holdout, runs, seed), answer)


@given.with_setup
def linear(
    target: given.Target,
    setup: given.Setup,
    loss: LossOption = LinearOptions.loss,
    l2: Penalty = None,
    encoding: EncodingOption = LinearOptions.encoding,
    keep: KeepOption = LinearOptions.keep,
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
    pocket = loss == "perceptron"
    with given.options_as_typed():
        penalty = l2 if l2 is not None else 0.0 if pocket else L2
        options = LinearOptions(loss=loss, l2=penalty, encoding=encoding, keep=keep)
    if pocket and setup.estimator is None and setup.design is None:
        # Of negative estimates, as moments have them, the pocket algorithm could make nothing.
        setup = replace(setup, estimator="ml")
    _classify(
        "linear",
        target,
        options,
        {"loss": loss, "l2": penalty, "encoding": encoding, "keep": keep},
        setup,
        (holdout, runs, seed),
        given.Answer(json, out),
    )


@given.with_setup
def classifier(
    target: given.Target,
    setup: given.Setup,
    model: ModelOption = BayesClassifierOptions.model,
    max_parents: MaxParents = BayesClassifierOptions.max_parents,
    alpha: Alpha = BayesClassifierOptions.alpha,
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
        options = BayesClassifierOptions(model, max_parents, alpha)
    answer = given.Answer(json, out)
    _classify("classifier", target, options, asdict(options), setup, (holdout, runs, seed), answer)


def _classify(
    called: str,
    target: str,
    options: object,
    told: dict[str, Any],
    setup: given.Setup,
    repeated: tuple[float, int, int],
    answer: given.Answer,
) -> None:
    """Simulate the learner of some options, and tell the outcome with some of them."""
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

        outcome = simulate(called, target, trials, learn, told, estimator, watch)
    given.tell(outcome, answer, show_classifier)


_rules = partial(given.learner, RuleOptions)
MinSupport = Annotated[
    float, _rules("minimum_support", "The least share of the records of a frequent itemset")
]
MaxLength = Annotated[int | None, _rules("max_length", "Most items of an itemset")]
DecisionsOption = Annotated[
    Decisions,
    _rules("decisions", "point: the estimate decides; controlled: few discoveries are false"),
]
FalseDiscovery = Annotated[
    float, _rules("false_discovery", "The share of false discoveries allowed, of controlled")
]


@given.with_setup
def rules(
    setup: given.Setup,
    min_support: MinSupport = 0.05,
    max_length: MaxLength = RuleOptions.max_length,
    decisions: DecisionsOption = RuleOptions.decisions,
    false_discovery: FalseDiscovery = RuleOptions.false_discovery,
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
        mining = RuleOptions(min_support, max_length, decisions, false_discovery=false_discovery)
    with given.watched(f"{runs} runs") as watch:
        trials, chosen = setup.prepare(
            lambda domain: for_itemsets(domain, min_support, max_length), runs, seed, on_step=watch
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
