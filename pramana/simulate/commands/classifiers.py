"""`pramana simulate tree`, `linear` and `classifier`."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from pramana.simulate.commands import options as given
from pramana_core.learn.bayes_classifier.options import BayesClassifierOptions, BayesModel
from pramana_core.learn.linear.options import Encoding, Keep, LinearOptions, Loss
from pramana_core.learn.tree.options import Criterion, TreeOptions

if TYPE_CHECKING:
    from pramana_core.learn.prediction import Predictor
    from pramana_core.marginals.counts import Marginals

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
    from pramana.simulate.classifiers import simulate
    from pramana.simulate.commands.display import show_classifier
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
