"""`pramana simulate`: accuracy of models from randomized records, before a real study."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pramana.simulate.commands import setup as given
from pramana.simulate.commands.settings import Settings, options_as_typed
from pramana_core.alike import first_few
from pramana_core.errors import NotConverged, OptionError
from pramana_core.progress import OnShare
from pramana_core.terminal import console, progress_bar

if TYPE_CHECKING:
    from pramana.simulate.study import Outcome, Simulated, Trials
    from pramana_core.design import Goal
    from pramana_core.domain import Domain
    from pramana_core.estimation.estimated import Estimator
    from pramana_core.marginals.counts import Marginals

Kind = Literal[
    "bayes-net-structure",
    "decision-tree",
    "linear-classifier",
    "bayes-classifier",
    "association-rules",
    "model-sharing",
]

KindArgument = Annotated[Kind, typer.Argument(help="The learner.", show_default=False)]

CLASSIFIERS = ("decision-tree", "linear-classifier", "bayes-classifier")

HOLDOUT = 0.3

L2 = 1e-3
"""The default weight of the squared weights, which keeps weights finite for separable classes."""


def simulate(
    kind: KindArgument,
    bif: given.Bif = None,
    table: given.Table = None,
    variables: given.Variables = None,
    intervals: given.Intervals = None,
    records: given.Records = None,
    p: given.Probability = None,
    design: given.Design = None,
    gamma: given.Gamma = None,
    central_epsilon: given.CentralEpsilon = None,
    delta: given.Delta = None,
    owners: given.Owners = None,
    estimator: given.EstimatorOption = None,
    target: given.Target = None,
    settings: given.Settings = None,
    holdout: given.Holdout = HOLDOUT,
    runs: given.Runs = None,
    seed: given.Seed = 1,
    json: given.Json = False,
) -> None:
    """Learn many times from randomized records, or from shared trees, of a known table.

    bayes-net-structure counts wrong links; the classifiers measure accuracy on held-out records;
    rules measures the errors of frequent itemsets; model-sharing learns from trees that owners
    share in place of records. Exit codes: 0 done; 2 bad input; 4 too large; 6 the reports do not
    determine the estimate.
    """
    from pramana_core.terminal import print_json

    runs = (1 if kind == "model-sharing" else 10) if runs is None else runs
    chosen = _Chosen(kind, settings or [])
    if settings == ["help"]:
        console().print(chosen.settings.described(), markup=False, soft_wrap=True)
        return
    where = given.Setup(
        bif,
        table,
        variables,
        intervals,
        records,
        p,
        design,
        gamma,
        estimator,
        owners,
        central_epsilon,
        delta,
    )
    if (target is None) != (kind not in (*CLASSIFIERS, "model-sharing")):
        raise OptionError(
            f"{kind} needs --target."
            if target is None
            else f"--target has no effect on {kind}; omit it.",
            where="--target",
            remedy=None
            if target
            else f"It is one of {first_few(where.source().domain.names, 12)}.",
        )
    found: Any
    if kind == "model-sharing":
        found = _share(where, str(target), chosen.settings, runs, seed)
    else:
        found = _learn(chosen, where, target, (holdout, runs, seed))
    if json:
        print_json(found.as_dict())
        return
    from pramana.simulate.commands.display import report_of, sharing_report
    from pramana_core.report.terminal import print_report

    made = sharing_report(found) if kind == "model-sharing" else report_of(found)
    print_report(made, console(), console(stderr=True))


class _Chosen:
    def __init__(self, kind: Kind, typed: list[str]) -> None:
        from pramana.simulate.bayes_net import RunOptions
        from pramana.simulate.model_sharing_options import SimulationOptions
        from pramana_core.learn.common.options import (
            BayesClassifierOptions,
            LinearOptions,
            RuleOptions,
            Scoring,
            Search,
            TreeOptions,
        )
        from pramana_core.model_sharing.requirements import Requirement

        self.kind = kind
        kinds: dict[str, tuple[type, ...]] = {
            "bayes-net-structure": (Scoring, Search, RunOptions),
            "decision-tree": (TreeOptions,),
            "linear-classifier": (LinearOptions,),
            "bayes-classifier": (BayesClassifierOptions,),
            "association-rules": (RuleOptions,),
            "model-sharing": (SimulationOptions, Requirement),
        }
        self.kinds = kinds[kind]
        renamed = {(Scoring, "name"): "score", (Search, "method"): "search"}
        renamed |= {(SimulationOptions, "model"): "global"}
        # Fields with command options of their own, and fields without effect on the results.
        left_out = {
            "association-rules": ["confidence", "against", "consistent"],
            "model-sharing": ["runs", "seed"],
        }
        given = [] if typed == ["help"] else typed
        self.settings = Settings(
            given, *self.kinds, renamed=renamed, left_out=left_out.get(kind, ())
        )

    def goal(self, domain: Domain, target: str | None) -> Goal:
        """Return the goal of a design for this learner."""
        from pramana.simulate.designs import for_itemsets
        from pramana_core.design import goal

        if self.kind == "bayes-net-structure":
            return goal(domain, "structure")
        if self.kind == "association-rules":
            mining = self.options()
            longest = min(mining.max_length, len(domain.names))
            return for_itemsets(domain, mining.minimum_support, longest)
        return goal(domain, "classifier", target=target)

    def options(self) -> Any:
        """Return the learner's options; for bayes-net-structure a tuple of score and search.

        Raises OptionError.
        """
        from pramana.simulate.bayes_net import RunOptions
        from pramana_core.learn.common.options import Scoring, Search

        typed = self.settings.of
        with options_as_typed():
            if self.kind == "bayes-net-structure":
                run = RunOptions(**typed(RunOptions))
                order: tuple[str, ...] | None = () if run.ordered else None
                return Scoring(**typed(Scoring)), Search(order, **typed(Search))
            (kind,) = self.kinds
            default = {"minimum_support": 0.05} if self.kind == "association-rules" else {}
            return kind(**default | typed(kind))


def _learn(
    chosen: _Chosen, where: given.Setup, target: str | None, repeated: tuple[float, int, int]
) -> Outcome:
    from pramana.simulate.study import simulate

    holdout, runs, seed = repeated
    options = chosen.options()
    pocket = chosen.kind == "linear-classifier" and options.loss == "perceptron"
    if pocket and where.estimator is None and where.design is None:
        # The pocket algorithm cannot use negative estimates, which moments can give.
        where = replace(where, estimator="ml")
    with _watched(f"{runs} runs") as watch:
        trials, estimator = where.prepare(
            lambda domain: chosen.goal(domain, target),
            runs,
            seed,
            holdout=holdout if target is not None else 0.0,
            target=target,
            on_step=watch,
        )
        return simulate(_simulated(chosen, options, trials, target, estimator), trials, watch)


def _simulated(
    chosen: _Chosen, options: Any, trials: Trials, target: str | None, estimator: Estimator
) -> Simulated:
    from pramana.simulate.bayes_net import NetworkSimulation
    from pramana.simulate.itemsets import RulesSimulation
    from pramana.simulate.learners import ClassifierSimulation

    if chosen.kind == "bayes-net-structure":
        scoring, search = options
        return NetworkSimulation(trials, scoring, search, estimator)
    if chosen.kind == "association-rules":
        return RulesSimulation(trials, options, estimator)
    plain = options
    if chosen.kind == "linear-classifier" and options.loss != "perceptron":
        (kind,) = chosen.kinds
        options = replace(options, l2=chosen.settings.of(kind).get("l2", L2))

    def fitting(marginals: Marginals) -> Any:
        """Return options, with the default penalty only if all variables are reported together."""
        together = marginals.can_estimate(marginals.domain.names)
        return options if together or plain.l2 else plain

    pick = fitting if chosen.kind == "linear-classifier" else None
    return ClassifierSimulation(chosen.kind, str(target), options, estimator, pick)


def _share(where: given.Setup, target: str, settings: Settings, runs: int, seed: int) -> Any:
    from pramana.simulate.model_sharing_options import SimulationOptions
    from pramana.simulate.model_sharing_simulation import simulate
    from pramana.simulate.model_sharing_tables import read_sharing_table
    from pramana_core.model_sharing.requirements import Requirement

    if where.table is None or where != given.Setup(table=where.table):
        raise OptionError("model-sharing needs the records of a --table.", where="--table")
    wanted, own = settings.of(Requirement), settings.of(SimulationOptions)
    with options_as_typed():
        requirement = Requirement(**{"exact": False} | wanted) if wanted else None
        options = SimulationOptions(**own, requirement=requirement, runs=runs, seed=seed)
    read = read_sharing_table(where.table, target)
    with _watched(f"{options.folds * options.runs} folds") as watch, options_as_typed():
        return simulate(read, options, watch)


@contextmanager
def _watched(what: str) -> Iterator[OnShare]:
    with progress_bar(what, patience=0) as bar:
        try:
            yield lambda share: bar(share, 1.0)
        except NotConverged as error:
            raise NotConverged(
                error.message, where="--estimator", remedy="Try --estimator moment."
            ) from None
