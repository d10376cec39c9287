"""The comparison of designs, printed for people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from pramana_core.design import NOTE, Design, Option
from pramana_core.privacy import DELTA, PRIOR, Amplification, ShuffledReport
from pramana_core.report.numbers import belief, percent
from pramana_core.rounding import rounded_up
from pramana_core.study_plan import StudyPlan
from pramana_core.wire.privacy import CentralMessage

_LENGTHS, _FEWER, _WIDE = 5, 3, 100
"""Table lengths shown, at widths from `_WIDE` and below; --json has all."""

_HOPELESS = 10.0
"""Relative error above which an estimate is useless; shown as ">"."""


def show_design(console: Console, made: Design) -> None:
    """Print all families of channels, with the chosen family marked, and the next step."""
    goal = made.problem.goal
    lengths = list(goal.by_length())
    most = _LENGTHS if console.width >= _WIDE else _FEWER
    shown = lengths if len(lengths) <= most else [*lengths[: most - 1], lengths[-1]]
    title = f"Predicted relative errors in percent at {made.problem.records:,} records"
    table = Table(
        title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False
    )
    table.add_column("family", overflow="fold")
    for heading in ("gamma", "estimator", "loss", *map(str, shown)):
        table.add_column(heading, justify="left" if heading == "estimator" else "right")
    for option in made.able:
        style = "bold green" if option is made.chosen else None
        table.add_row(*_design_row(option, made, shown), style=style)
    console.print(table)
    console.print(
        "Families of channels are sorted by loss, which is 1 minus the expected correlation "
        "between estimated and true associations. Columns 1, 2, ... are for tables of 1, 2, ... "
        "variables; gamma is for the"
        " whole record." + (f" The prediction omits {goal.omitted:,} tables." * bool(goal.omitted)),
        style="dim",
    )
    if made.unable:
        console.print("Unsuitable families:")
    for option in made.unable:
        console.print(f"{option.family}: {option.reason}", style="dim", markup=False)
    console.print(NOTE, style="dim")
    if made.advice:
        console.print(made.advice, style="yellow", markup=False)
    if made.study_plan is not None:
        _show_study_plan(console, made.study_plan)
    console.print(f"{made.chosen.family}: {_described(made.chosen)}", style="bold", markup=False)


def _show_study_plan(console: Console, plan: StudyPlan) -> None:
    """Print how often each owner reports its variables, and how the owners share epsilon."""
    amplification = plan.amplification
    over = sum(one.weight for one in plan.sets if len(one.parts) > 1)
    whole = sum(one.weight for one in plan.sets)
    apart = amplification.gamma ** len(plan.owners)
    console.print(
        f"Study plan {plan.digest[:12]}... of {len(plan.owners)} owners: gamma"
        f" {amplification.written_gamma} for a record over all owners. With separate plans, the"
        f" gammas would multiply to {apart:,.0f}.",
        markup=False,
    )
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for heading in ("owner", "reports, in percent of the records"):
        table.add_column(heading, overflow="fold")
    for name, _ in plan.owners:
        shares = plan.reported(name).items()
        table.add_row(name, ", ".join(f"{n} {100 * share:.3g}" for n, share in shares))
    console.print(table)
    one = "; the other records report variables of one owner, at full epsilon"
    others = "" if over == whole else one
    console.print(
        f"{over / whole:.0%} of the records report variables of several owners, each with a share"
        f" of epsilon{others}.",
        markup=False,
    )


def _design_row(option: Option, made: Design, lengths: Sequence[int]) -> tuple[str, ...]:
    errors = option.prediction.by_length
    return (
        ("* " if option is made.chosen else "  ") + option.family,
        rounded_up(option.gamma),
        option.estimator,
        f"{option.prediction.loss:.3f}",
        *(f">{100 * _HOPELESS:.0f}" if errors[k] > _HOPELESS else f"{100 * errors[k]:.3g}"
          for k in lengths),
    )  # fmt: skip


def _described(option: Option) -> str:
    family, _, number = option.family.rpartition("-")
    blocks = () if option.plan is None else option.plan.blocks
    if option.family in {"sampled-mixed", "sampled-subsets"}:
        sizes = sorted({len(c.axes) for b in blocks for c in b.channel.choices})
        spread = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        return (
            f"each record reports one of {option.sets:,} sets of {spread} variables, drawn at"
            " random, and no other variable."
        )
    if family == "sampled":
        return f"each record reports {number} variables, drawn at random, and no others."
    return next(b.channel.told for b in blocks if not b.channel.is_identity)


_LEARNED = {
    "counts": "the frequency of each category",
    "pairs": "the dependence of each pair of variables",
    "itemsets": "which categories occur together",
    "structure": "a network of the variables' dependences",
    "tree": "a tree that predicts {!r}",
    "classifier": "a Bayes classifier that predicts {!r}",
}


def recommendation(made: Design, learn: str, delta: float | None = None) -> str:
    """Return sentences on the chosen design: its goal, its accuracy and its privacy bounds."""
    chosen, prediction = made.chosen, made.chosen.prediction
    length, error = min(prediction.by_length.items())
    size = "one variable" if length == 1 else f"{length} variables"
    typical = f"; the typical error of a cell of {size} is {error:.0%}" if error < _HOPELESS else ""
    shown = "Moderate" if made.useful else "Only strong"
    learned = _LEARNED[learn].format(made.problem.goal.target)
    bound = Amplification(math.log(chosen.gamma))
    return (
        f"Recommended: {chosen.family}. It learns {learned} from {made.problem.records:,} records."
        f" {shown} associations are detectable, and estimates keep {prediction.kept:.0%} of a "
        f"moderate association{typical}. Local bound: a report multiplies the odds of any "
        f"statement about a record by at most {bound.written_gamma} (gamma), so that a belief of"
        f" {percent(PRIOR)} grows to at most {belief(bound, PRIOR)}. Against readers who cannot"
        f" attribute reports to people: {central_of(made, delta).description}."
    )


def central_of(made: Design, delta: float | None = None) -> CentralMessage:
    """Return the central bound of the chosen design, or why the bound is not stated."""
    if made.problem.needs.public:
        return CentralMessage(unstated="public columns distinguish records")
    report = ShuffledReport.of(made.plan)
    return CentralMessage.of(report, made.problem.records, DELTA if delta is None else delta)


def show_next_step(
    console: Console, study_plan: Path | None, plan: StudyPlan | None, *, applied: bool
) -> None:
    """Print the next commands to use the design, for a site file or for a study plan."""
    if plan is not None:
        owners = ",".join(name for name, _ in plan.owners)
        sentence = (
            "To use the plan, add --write-study-plan FILE; owners fetch it with `owner-agent join`."
            if study_plan is None
            else f"Wrote {study_plan}. Next, on the miner's machine: `miner-service study plan set"
            f" STUDY {study_plan}` (for a new study, first: `miner-service study create STUDY"
            f" --owners {owners} --people same`)"
        )
    elif applied:
        sentence = "The plan is in the site file. Next: owner-agent plan, then publish."
    else:
        sentence = "To use the plan, add --apply, which asks before it changes the site file."
    console.print(sentence, markup=False, soft_wrap=study_plan is not None)
