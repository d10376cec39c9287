"""Ma figure 3.1: privacy on average, as conditional entropy, against the parameter p."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from benchmarks.reproduce.engine import Experiment, Figure, Finding, Result, Setting
from pramana_core.channels import Grouped, Symmetric, Transition
from pramana_core.pictures import plots as style
from pramana_core.privacy import conditional_entropy, gamma, gamma_within_groups
from pramana_core.ties import first_largest

GROUPS = ((0, 1, 2), (3, 4, 5))

SCHEMES = ("binary", "six categories", "two groups of three")


def channel(scheme: str, p: float) -> Transition:
    """Return the channel of a scheme that replaces a category with probability `p`."""
    if scheme == "two groups of three":
        return Grouped.from_probability(GROUPS, p)
    return Symmetric.from_probability(2 if scheme == "binary" else 6, p)


def run(setting: Setting) -> Result:
    """Compute H(X | X~) of three schemes under a uniform prior."""
    steps = 51 if setting.quick else 201
    table = pd.DataFrame(
        {
            "scheme": scheme,
            "p": p,
            "entropy_bits": _entropy(channel(scheme, p)),
        }
        for scheme in SCHEMES
        for p in np.linspace(0, 1, steps).tolist()
    )
    return Result(
        {"entropy": table},
        (
            _closed_form(table),
            *_peaks(table),
            _grouping_on_average(table),
            _grouping_within(),
            _grouping_at_all(),
        ),
        lambda figure: _draw(figure, table),
    )


def _entropy(scheme: Transition) -> float:
    size = scheme.shape[0]
    return conditional_entropy(scheme, np.full(size, 1 / size))


def _others(scheme: str) -> int:
    return {"binary": 1, "six categories": 5}.get(scheme, 2)


def _closed_form(table: pd.DataFrame) -> Finding:
    """With a uniform prior H(X | X~) = h(p) + p log2(number of other categories), h binary."""
    error = 0.0
    for scheme, p, entropy in table.itertuples(index=False):
        expected = p * math.log2(_others(scheme))
        expected -= sum(q * math.log2(q) for q in (p, 1 - p) if q > 0)
        error = max(error, abs(entropy - expected))
    return Finding(
        error < 1e-6,
        "The measure of 3.1.1 equals h(p) + p log2(m) at every p, with m the number of other"
        f" categories of the group: the largest difference is {error:.1e} bits.",
    )


def _peaks(table: pd.DataFrame) -> list[Finding]:
    findings = []
    for scheme in SCHEMES:
        rows = table[table["scheme"] == scheme]
        best = rows.iloc[first_largest(rows["entropy_bits"])]
        findings.append(
            Finding(
                None,
                f"{scheme.capitalize()}: at most {best['entropy_bits']:.3f} bits, at"
                f" p = {best['p']:.3f}; every category of a group is reported equally at"
                f" p = {_others(scheme) / (_others(scheme) + 1):.3f}.",
            )
        )
    return findings


def _grouping_on_average(table: pd.DataFrame) -> Finding:
    wide = table.pivot_table(index="p", columns="scheme", values="entropy_bits")
    lost = (wide["six categories"] - wide["two groups of three"])[wide.index > 0]
    return Finding(
        bool((lost > 0).all()),
        "Grouping the categories keeps less privacy on average: the entropy is lower at every"
        f" p > 0, by up to {lost.max():.2f} bits.",
    )


def _amplifications() -> list[tuple[float, float, float]]:
    """Return (ungrouped, within groups, grouped) amplifications over the p where Ma gives both."""
    rows = []
    for p in np.linspace(0.02, 0.66, 33).tolist():
        grouped = channel("two groups of three", p)
        rows.append(
            (gamma(channel("six categories", p)), gamma_within_groups(grouped), gamma(grouped))
        )
    return rows


def _grouping_within() -> Finding:
    lower = [inside < plain for plain, inside, _ in _amplifications()]
    return Finding(
        all(lower),
        "Within a group the amplification is 2 (1 - p) / p, below the 5 (1 - p) / p without groups,"
        " at every p up to 2/3.",
    )


def _grouping_at_all() -> Finding:
    """3.1.2 calls the grouped scheme's worst case better; the definition says otherwise."""
    lower = [whole < plain for plain, _, whole in _amplifications()]
    worst = max(whole for _, _, whole in _amplifications())
    return Finding(
        all(lower),
        "The paper concludes that grouping is better in the worst case. By its own definition, over"
        f" all six categories, the amplification is lower with groups at {lower.count(True)} of"
        f" {len(lower)} values of p: the group is reported truthfully, so it is"
        f" {'infinite' if math.isinf(worst) else f'at most {worst:.3g}'}.",
    )


def _draw(figure: Figure, table: pd.DataFrame) -> None:
    axes = figure.subplots(1, 2)
    panels = ((axes[0], SCHEMES[:1], "(a) binary"), (axes[1], SCHEMES[1:], "(b) six categories"))
    for axis, schemes, title in panels:
        for scheme, colour, line in zip(
            schemes, (style.BLUE, style.RED), ("-", "--"), strict=False
        ):
            rows = table[table["scheme"] == scheme]
            name = "one group of six" if scheme == "six categories" else scheme
            axis.plot(rows["p"], rows["entropy_bits"], line, color=colour, label=name)
        axis.set(
            title=title,
            xlim=(0, 1),
            ylim=(0, None),
            xlabel="probability p that a category is replaced",
        )
    axes[0].set_ylabel("conditional entropy H(X | X̃), bits")
    axes[1].legend(loc="lower right")


EXPERIMENT = Experiment(
    name="ma-3.1",
    title="Conditional entropy against the randomization parameter",
    source="Ma (2006), figure 3.1",
    run=run,
)
