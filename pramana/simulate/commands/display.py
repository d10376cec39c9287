"""Results of simulations at the terminal.

Also here:

* The results of simulated sharing at the terminal.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from rich.table import Table

from pramana.simulate.learners import MEASURES
from pramana.simulate.study import ModelFits, Series, spread
from pramana_core.terminal import console

if TYPE_CHECKING:
    from pramana.simulate import bayes_net, learners
    from pramana.simulate.model_sharing_options import SimulationOptions
    from pramana.simulate.model_sharing_simulation import Simulation
    from pramana.simulate.study import Trials


_RIGHT = {
    "accuracy": "learned from the reports",
    "clean_accuracy": "learned from the clean records",
    "majority": "the most frequent class",
}

_ROWS = {
    "extra": "extra links",
    "missing": "missing links",
    "reversed": "reversed links",
    "kl": "KL from the reference, nats",
    "kl_unlinked": "KL of no links at all, nats",
    "seconds": "seconds to learn",
}


def show_bayes_net(outcome: bayes_net.NetworkOutcome) -> None:
    """Print the means over the runs, beside those of the clean records."""
    out = console()
    trials = outcome.trials
    links = len(outcome.reference.structure.links)
    _heading(trials, f"{links} links, score {outcome.options.scoring.name}")
    shown = _table("mean over the runs", "randomized", "clean records")
    for name, label in _ROWS.items():
        shown.add_row(label, _cell(outcome.randomized, name), _cell(outcome.clean, name))
    shown.add_row(
        "structural distance",
        *(
            _number(outcome.distance[k]["mean"], outcome.distance[k]["se"])
            for k in ("randomized", "clean")
        ),
    )
    out.print(shown)
    against = (
        "the network of the file"
        if trials.source.kind == "bif"
        else "what the same search finds in the whole clean table"
    )
    out.print(
        f"\nThe reference is {against}. ± is the standard error over the runs. Reversed:"
        + (
            " directed otherwise."
            if outcome.options.ordered
            else " directed otherwise by the equivalence class (CPDAG)."
        ),
        soft_wrap=True,
    )
    if outcome.better_than_no_links is False:
        _warn(
            "What was learned from the reports is no nearer to the reference than no links at all."
        )
    note(trials, outcome.fits)


def show_rules(outcome: learners.RulesOutcome) -> None:
    """Print the errors of the itemsets found, by length, and of all together."""
    out = console()
    options = outcome.mining
    _heading(
        outcome.trials,
        f"minimum support {options.minimum_support:g}, {options.decisions} decisions",
    )
    titles = ("frequent", "found", "support error %", "missed %", "false %")
    shown = _table("length", *titles, first="right")
    for row in outcome.means().to_dict("records"):
        errors = [_number(row[name], row[f"{name}_se"]) for name in MEASURES]
        shown.add_row(
            f"{row['length']:g}", f"{row['frequent']:.4g}", f"{row['found']:.4g}", *errors
        )
    out.print(shown)
    mean, se = outcome.totals.mean(), outcome.totals.se()
    false, power = (_number(mean[name], se[name]) for name in ("false_discovery", "power"))
    out.print(
        f"\nOf those found {false} % are false; of the frequent {power} % are found.",
        soft_wrap=True,
    )
    out.print(
        "support error: mean relative error of those rightly found; missed and false are relative"
        " to the number of frequent itemsets (FRAPP 7). ± is the standard error over the runs.",
        soft_wrap=True,
    )
    if outcome.modelled_from is not None:
        out.print(
            f"Itemsets of {outcome.modelled_from} items or more are from a model of the shorter"
            " ones: no record reports them together.",
            soft_wrap=True,
        )
    note(outcome.trials, outcome.fits)


def show_classifier(outcome: learners.ClassifierOutcome) -> None:
    """Print how often the classifiers are right on records held out."""
    out, trials = console(), outcome.trials
    _heading(trials, f"target {outcome.target}, {trials.tested:,} of the records held out")
    shown = _table("share of the records held out that is right", "mean", "sd")
    for name, label in _RIGHT.items():
        both = spread(outcome.runs, name)
        shown.add_row(label, *(f"{v:.4f}" if v is not None else "n/a" for v in both.values()))
    out.print(shown)
    out.print(
        "\nsd is the deviation over the runs, each of which splits the records anew.",
        soft_wrap=True,
    )
    if not outcome.better_than_majority:
        _warn(
            "What was learned from the reports is right no more often than always saying the most"
            " frequent class."
        )
    note(trials, outcome.fits)


def _warn(words: str) -> None:
    console().print(f"\n{words}", style="yellow", markup=False, soft_wrap=True)


def _table(title: str, *others: str, first: Literal["left", "right"] = "left") -> Table:
    shown = Table(box=None, pad_edge=False)
    shown.add_column(title, justify=first)
    for other in others:
        shown.add_column(other, justify="right")
    return shown


def _heading(trials: Trials, rest: str) -> None:
    runs = "1 run" if trials.runs == 1 else f"{trials.runs} runs"
    console().print(
        f"{trials.source.name}: {len(trials.source.domain)} variables, {trials.records:,} records,"
        f" {runs}, {_randomization(trials)}, {rest}\n",
        style="bold",
        markup=False,
        soft_wrap=True,
    )


def _randomization(trials: Trials) -> str:
    gamma = f"{trials.told.told} about the whole record"
    if trials.design is None:
        return gamma
    study = trials.design.study
    held = "" if study is None else f" over {len(study.owners)} owners"
    return f"design {trials.design.name}, {gamma}{held}"


def note(trials: Trials, fits: ModelFits) -> None:
    """Print how many runs contradict the model of their counts, and what is known of the source."""
    if warned := fits.warned:
        _warn(f"Warning (in {len(warned)} of {len(fits.runs)} runs): {warned[0]}")
    if trials.source.note:
        console().print(trials.source.note, markup=False, soft_wrap=True)


def _cell(series: Series, name: str) -> str:
    return _number(series.mean()[name], series.se()[name])


def _number(mean: float | None, se: float | None) -> str:
    if mean is None or math.isnan(mean):
        return "n/a"
    return f"{mean:.3g}" if se is None or math.isnan(se) else f"{mean:.3g} ± {se:.2g}"


# The results of simulated sharing at the terminal.

_SHARED_ROWS = {
    "accuracy": "right",
    "class_match": "as the global basis model says",
    "path_match": "paths shared with the global basis tree",
    "basis_accuracy": "the global basis model, right",
    "majority": "the most frequent class, right",
    "leaves": "leaves of a released tree",
}


def show_sharing(outcome: Simulation) -> None:
    """Print the means over all folds, and what was refused."""
    out, options = console(), outcome.options
    runs = "1 run" if options.runs == 1 else f"{options.runs} runs"
    out.print(
        f"{outcome.table.name}: {outcome.table.records.records:,} records, target"
        f" {outcome.table.target}, {_owners(options)}, {options.method}, global {options.model},"
        f" {_requirement(options)}, {runs} of {options.folds} folds\n",
        style="bold",
        markup=False,
        soft_wrap=True,
    )
    shown = Table(box=None, pad_edge=False)
    shown.add_column("share of the records held out")
    shown.add_column("mean", justify="right")
    shown.add_column("sd", justify="right")
    for name, label in _SHARED_ROWS.items():
        both = outcome.spread(name)
        if both["mean"] is not None:
            digits = 1 if name == "leaves" else 4
            cells = ["n/a" if v is None else f"{v:.{digits}f}" for v in both.values()]
            shown.add_row(label, *cells)
    out.print(shown)
    out.print("\nsd is the deviation over all folds of all runs.", soft_wrap=True)
    if outcome.refused:
        trees = options.owners * len(outcome.folds)
        out.print(
            f"{outcome.refused} of {trees} trees could not meet the requirement and were not"
            f" released.{_advice(options)}",
            style="yellow",
            soft_wrap=True,
        )
    if outcome.without_model:
        out.print(
            f"In {outcome.without_model} of {len(outcome.folds)} folds nothing was released: they"
            " count as told by the most frequent class.",
            style="yellow",
            soft_wrap=True,
        )
    if outcome.table.note:
        out.print(outcome.table.note, markup=False, soft_wrap=True)


def _advice(options: SimulationOptions) -> str:
    """Return what may help where trees are refused."""
    if options.by == "growing":
        return ""
    return " With --by growing only splits are made whose parts can meet it."


def _owners(options: SimulationOptions) -> str:
    return "1 owner" if options.owners == 1 else f"{options.owners} owners"


def _requirement(options: SimulationOptions) -> str:
    asked = options.requirement
    if options.epsilon is not None:
        return f"epsilon {options.epsilon:g}"
    if asked is None:
        return "unpruned"
    parts = [f"{n} {v:g}" for n, v in (("k", asked.k), ("c", asked.c), ("l", asked.l)) if v]
    return ", ".join(parts)
