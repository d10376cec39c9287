"""Results of simulations at the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rich.table import Table

from pramana_core.terminal import console

if TYPE_CHECKING:
    from pramana.simulate.model_sharing_options import SimulationOptions
    from pramana.simulate.model_sharing_simulation import Simulation
    from pramana.simulate.study import Outcome, Trials

Found = Mapping[str, Any]
"""A result as JSON."""


def show_learned(outcome: Outcome) -> None:
    """Print what the runs of a learner show."""
    out, trials, found = console(), outcome.trials, outcome.as_dict()
    heading, titles, rows, said, doubt = _SHOWN.get(found["learner"], _classifier)(found)
    runs = "1 run" if trials.runs == 1 else f"{trials.runs} runs"
    out.print(
        f"{trials.source.name}: {len(trials.source.domain)} variables, {trials.records:,} records,"
        f" {runs}, {_randomization(trials)}, {heading}\n",
        style="bold",
        markup=False,
        soft_wrap=True,
    )
    out.print(_table(titles, rows))
    out.print(f"\n{said}", markup=False, soft_wrap=True)
    if doubt:
        _warn(doubt)
    if warned := outcome.warned:
        _warn(f"Warning (in {len(warned)} of {len(outcome.fits)} runs): {warned[0]}")
    if trials.source.note:
        out.print(trials.source.note, markup=False, soft_wrap=True)


Shown = tuple[str, tuple[str, ...], Iterator[tuple[str, ...]], str, str]
"""What stands in the heading, the titles of the table, its rows, a sentence, and a warning."""


def _bayes_net(found: Found) -> Shown:
    names = {
        "extra": "extra links",
        "missing": "missing links",
        "reversed": "reversed links",
        "kl": "KL from the reference, nats",
        "kl_unlinked": "KL of no links at all, nats",
        "seconds": "seconds to learn",
    }

    def rows() -> Iterator[tuple[str, ...]]:
        for name, label in names.items():
            yield (label, *(_number(p["mean"][name], p["se"][name]) for p in (found, clean)))
        yield "structural distance", *(_number(*distance[k].values()) for k in distance)

    clean, distance = found["clean"], found["structural_distance"]
    bif = found["source"]["kind"] == "bif"
    against = "the network of the file" if bif else "what the same search finds in the whole table"
    classes = "" if found["setting"]["order"] == "given" else " by the equivalence class (CPDAG)"
    said = (
        f"The reference is {against}. ± is the standard error over the runs. Reversed: directed"
        f" otherwise{classes}."
    )
    doubt = "What was learned from the reports is no nearer to the reference than no links at all."
    doubt = doubt if found["better_than_no_links"] is False else ""
    heading = f"{found['true_links']} links, score {found['score']}"
    titles = ("mean over the runs", "randomized", "clean records")
    return (
        heading,
        titles,
        rows(),
        said,
        "" if found["better_than_no_links"] is not False else doubt,
    )


def _rules(found: Found) -> Shown:
    setting, overall = found["setting"], found["overall"]
    names = ("support_error", "false_negative", "false_positive")

    def rows() -> Iterator[tuple[str, ...]]:
        for row in found["by_length"]:
            errors = (_number(row[f"{name}_pct"], row[f"{name}_se"]) for name in names)
            yield f"{row['length']:g}", f"{row['frequent']:.4g}", f"{row['found']:.4g}", *errors

    false, power = (
        _number(overall["mean"][name], overall["se"][name]) for name in ("false_discovery", "power")
    )
    said = (
        f"Of those found {false} % are false; of the frequent {power} % are found.\nsupport error:"
        " mean relative error of those rightly found; missed and false are relative to the number"
        " of frequent itemsets (FRAPP 7). ± is the standard error over the runs."
    )
    if found["modelled_from"] is not None:
        said += (
            f"\nItemsets of {found['modelled_from']} items or more are from a model of the shorter"
            " ones: no record reports them together."
        )
    heading = f"minimum support {setting['minimum_support']:g}, {setting['decisions']} decisions"
    titles = ("length", "frequent", "found", "support error %", "missed %", "false %")
    return heading, titles, rows(), said, ""


def _classifier(found: Found) -> Shown:
    names = {
        "accuracy": "learned from the reports",
        "clean_accuracy": "learned from the clean records",
        "majority": "the most frequent class",
    }

    def rows() -> Iterator[tuple[str, ...]]:
        for name, label in names.items():
            cells = ("n/a" if v is None else f"{v:.4f}" for v in found[name].values())
            yield label, *cells

    heading = (
        f"target {found['setting']['target']}, {found['setting']['tested']:,} of the records held"
        " out"
    )
    doubt = (
        "What was learned from the reports is right no more often than always saying the most"
        " frequent class."
    )
    said = "sd is the deviation over the runs, each of which splits the records anew."
    titles = ("share of the records held out that is right", "mean", "sd")
    return heading, titles, rows(), said, "" if found["better_than_majority"] else doubt


_SHOWN: dict[str, Callable[[Found], Shown]] = {"bayes-net": _bayes_net, "rules": _rules}


def _warn(words: str) -> None:
    console().print(f"\n{words}", style="yellow", markup=False, soft_wrap=True)


def _table(titles: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> Table:
    shown = Table(box=None, pad_edge=False)
    for place, title in enumerate(titles):
        shown.add_column(title, justify="right" if place else "left")
    for row in rows:
        shown.add_row(*row)
    return shown


def _randomization(trials: Trials) -> str:
    gamma = f"{trials.told.told} about the whole record"
    if trials.design is None:
        return gamma
    study = trials.design.study_plan
    held = "" if study is None else f" over {len(study.owners)} owners"
    return f"design {trials.design.chosen.family}, {gamma}{held}"


def _number(mean: float | None, se: float | None) -> str:
    if mean is None:
        return "n/a"
    return f"{mean:.3g}" if se is None else f"{mean:.3g} ± {se:.2g}"


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
    owners = "1 owner" if options.owners == 1 else f"{options.owners} owners"
    runs = "1 run" if options.runs == 1 else f"{options.runs} runs"
    out.print(
        f"{outcome.table.name}: {outcome.table.records.records:,} records, target"
        f" {outcome.table.target}, {owners}, {options.method}, global {options.model},"
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
        advice = "" if options.by == "growing" else " With by=growing splits can meet it."
        out.print(
            f"{outcome.refused} of {trees} trees could not meet the requirement and were not"
            f" released.{advice}",
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


def _requirement(options: SimulationOptions) -> str:
    asked = options.requirement
    if options.epsilon is not None:
        return f"epsilon {options.epsilon:g}"
    if asked is None:
        return "unpruned"
    parts = [f"{n} {v:g}" for n, v in (("k", asked.k), ("c", asked.c), ("l", asked.l)) if v]
    return ", ".join(parts)
