"""Ma figure 7.3: randomizing items together against randomizing them one by one.

A group of |G| items randomized together by symmetric randomization over its 2^|G| cells gives each
item a marginal channel. Applying these marginal channels to the items independently would be as
good for single items; the figure compares the simultaneous amplification of both.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.reproduce.engine import Experiment, Figure, Finding, Result, Setting
from pramana.setups.owner import numbered
from pramana_core.channels import Symmetric
from pramana_core.pictures import plots as style
from pramana_core.plan import Block, Plan
from pramana_core.privacy import Amplification, gamma
from pramana_core.ties import first_smallest

GROUPS = (2, 3)


def run(setting: Setting) -> Result:
    """Compute both amplifications from the plans themselves and compare with the closed forms."""
    rows = []
    for items in GROUPS:
        cells = 2**items
        last = 1 - 1 / cells
        for p in np.linspace(0.02, last - 0.01, 30 if setting.quick else 120).tolist():
            together, alone = plans(items, p)
            rows.append(
                {
                    "items": items,
                    "p": p,
                    "gamma_s": Amplification.together(together.blocks).gamma,
                    "gamma_independent": Amplification.together(alone.blocks).gamma,
                    "gamma_item": gamma(alone.blocks[0].channel),
                }
            )
    table = pd.DataFrame(rows)
    return Result(
        {"gamma": table},
        (
            _closed_forms(table),
            *(_smaller(items, table[table["items"] == items]) for items in GROUPS),
            *_examples(table),
        ),
        lambda figure: _draw(figure, table),
    )


def plans(items: int, p: float) -> tuple[Plan, Plan]:
    """Return the plan over a group of items together, and that of its marginal channels alone.

    Args:
        items: |G|.
        p: the probability that the group's cell is replaced.
    """
    variables = tuple(numbered(f"I{k + 1}", 2) for k in range(items))
    block = Block(variables, Symmetric.from_probability(2**items, p))
    alone = []
    for variable in variables:
        channel = block.restrict([variable.name])
        assert channel is not None  # noqa: S101 - symmetric channels are lumpable (prop. 7.2)
        alone.append(Block((variable,), channel))
    return Plan((block,)), Plan(tuple(alone))


def _closed_forms(table: pd.DataFrame) -> Finding:
    """Ma 7.1.3 prints both amplifications for any |G|."""
    p, cells = table["p"], 2.0 ** table["items"]
    printed_s = (1 - p) / p * (cells - 1)
    change = p * cells / (2 * (cells - 1))
    printed_ind = ((1 - p + p * (cells / 2 - 1) / (cells - 1)) / change) ** table["items"]
    error = max(
        float((table["gamma_s"] / printed_s - 1).abs().max()),
        float((table["gamma_independent"] / printed_ind - 1).abs().max()),
    )
    return Finding(
        error < 1e-6,
        "The amplifications of the plans are the printed closed forms at every p; the largest"
        f" relative difference is {error:.1e} (probabilities are published as multiples of 2^-32).",
    )


def _smaller(items: int, rows: pd.DataFrame) -> Finding:
    """The claim of 7.1.3 is made for every p below 1 - 2^-|G|."""
    ratio = rows["gamma_independent"] / rows["gamma_s"]
    larger = rows[ratio < 1]
    text = (
        f"|G| = {items}: one by one the simultaneous amplification is up to"
        f" {ratio.max():,.0f} times that of randomizing together, which the paper says reduces it"
    )
    if larger.empty:
        return Finding(True, f"{text}; at every p drawn it does.")
    first = larger.iloc[0]
    return Finding(
        False,
        f"{text}. From p = {first['p']:.2f}, where both are below {first['gamma_s']:.2f}, it is the"
        " other way round: one by one has the smaller one.",
    )


def _examples(table: pd.DataFrame) -> list[Finding]:
    findings = []
    for items, rows in table.groupby("items"):
        near = rows.iloc[first_smallest((rows["p"] - 0.3).abs(), scale=1.0)]
        findings.append(
            Finding(
                None,
                f"|G| = {items}, p = {near['p']:.2f}: {near['gamma_s']:.1f} together and"
                f" {near['gamma_independent']:.1f} one by one.",
            )
        )
    return findings


def _draw(figure: Figure, table: pd.DataFrame) -> None:
    axes = figure.subplots(1, len(GROUPS), sharey=True)
    for axis, items in zip(axes, GROUPS, strict=True):
        rows = table[table["items"] == items]
        axis.semilogy(
            rows["p"],
            rows["gamma_independent"],
            "--",
            color=style.RED,
            label=rf"one by one, $(\gamma_\mathrm{{ind}})^{items}$",
        )
        axis.semilogy(rows["p"], rows["gamma_s"], color=style.BLUE, label=r"together, $\gamma_s$")
        axis.set(title=f"groups of {items} items", xlabel="probability p that a cell is replaced")
        axis.legend(loc="upper right")
    axes[0].set(
        ylim=(0.8, 1.5 * table["gamma_independent"].max()), ylabel="simultaneous amplification γ"
    )


EXPERIMENT = Experiment(
    name="ma-7.3",
    title="Amplification of items randomized together and one by one",
    source="Ma (2006), figure 7.3 and section 7.1.3",
    run=run,
)
