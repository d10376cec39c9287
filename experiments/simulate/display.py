"""Results of simulations at the terminal."""

from __future__ import annotations

from rich.table import Table

from experiments.simulate.bayes_net import Outcome
from experiments.simulate.study import Series
from shared.terminal import console

_ROWS = {
    "extra": "extra links",
    "missing": "missing links",
    "reversed": "reversed links",
    "kl": "KL from the reference, nats",
    "seconds": "seconds to learn",
}


def show_bayes_net(outcome: Outcome) -> None:
    """Print the means over the runs, beside those of the clean records."""
    out = console()
    trials = outcome.trials
    out.print(
        f"{trials.source.name}: {len(trials.source.domain)} variables,"
        f" {len(outcome.reference.structure.links)} links, {trials.records:,} records,"
        f" {trials.runs} runs, score {outcome.options.scoring.name}\n",
        style="bold",
        markup=False,
        soft_wrap=True,
    )
    shown = Table(box=None, pad_edge=False)
    shown.add_column("mean over the runs")
    shown.add_column("randomized", justify="right")
    shown.add_column("clean records", justify="right")
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
    if trials.source.note:
        out.print(trials.source.note, markup=False, soft_wrap=True)


def _cell(series: Series, name: str) -> str:
    return _number(series.mean()[name], series.se()[name])


def _number(mean: float | None, se: float | None) -> str:
    if mean is None:
        return "n/a"
    return f"{mean:.3g}" if se is None else f"{mean:.3g} ± {se:.2g}"
