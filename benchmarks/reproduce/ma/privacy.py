"""Ma figures 3.1 and 3.2: privacy on average, against p, and in the worst case, against priors.

Also here:

* Ma figure 3.1: privacy on average, as conditional entropy, against the parameter p.
* Ma figure 3.2: the largest belief that a prior can grow to, for several amplifications.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from benchmarks.reproduce.engine import Experiment, Figure, Finding, Result, Setting
from pramana_core.channels import Dense, Grouped, Symmetric, Transition
from pramana_core.marginals.counts import Tensor
from pramana_core.pictures import plots as style
from pramana_core.privacy import Amplification, conditional_entropy, gamma, gamma_within_groups
from pramana_core.ties import first_largest

# Ma figure 3.1: privacy on average, as conditional entropy, against the parameter p.

GROUPS = ((0, 1, 2), (3, 4, 5))

SCHEMES = ("binary", "six categories", "two groups of three")


def channel(scheme: str, p: float) -> Transition:
    """Return the channel of a scheme that replaces a category with probability `p`."""
    if scheme == "two groups of three":
        return Grouped.from_probability(GROUPS, p)
    return Symmetric.from_probability(2 if scheme == "binary" else 6, p)


def run_3_1(setting: Setting) -> Result:
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
        lambda figure: _draw_entropy(figure, table),
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


def _draw_entropy(figure: Figure, table: pd.DataFrame) -> None:
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


MA_3_1 = Experiment(
    name="ma-3.1",
    title="Conditional entropy against the randomization parameter",
    source="Ma (2006), figure 3.1",
    run=run_3_1,
)


# Ma figure 3.2: the largest belief that a prior can grow to, for several amplifications.

GAMMAS = (1.0, 2.0, 5.0, 10.0, 19.0, 50.0, 100.0)

_SIZES = (2, 3, 5, 8)


def run_3_2(setting: Setting) -> Result:
    """Tabulate rho_2* over rho_1 and hold the bound against channels and priors at random."""
    priors = np.linspace(0.005, 0.995, 100 if setting.quick else 199)
    table = pd.DataFrame(
        {
            "gamma": g,
            "rho_1": prior,
            "rho_2": Amplification.of_gamma(g).grown(prior),
        }
        for g in GAMMAS
        for prior in priors.tolist()
    )
    return Result(
        {"bound": table},
        (_formula(table), _never_exceeded(setting), _attained(table), _named_point()),
        lambda figure: _draw_bound(figure, table),
        height=5.4,
    )


def _formula(table: pd.DataFrame) -> Finding:
    """The pair solves the equation that defines it."""
    r1, r2 = table["rho_1"], table["rho_2"]
    solved = r2 * (1 - r1) / (r1 * (1 - r2))
    error = float((solved / table["gamma"] - 1).abs().max())
    return Finding(
        error < 1e-9,
        "Every pair drawn satisfies rho_2* (1 - rho_1) / (rho_1 (1 - rho_2*)) = gamma; the largest"
        f" relative error is {error:.1e}.",
    )


def _never_exceeded(setting: Setting) -> Finding:
    """Try channels and priors at random: no posterior may pass the bound of its own prior."""
    rng = setting.rng("ma-3.2")
    trials = 200 if setting.quick else 2000
    nearest = 0.0
    for _ in range(trials):
        size = int(rng.choice(_SIZES))
        channel = Dense.from_probabilities(rng.dirichlet(np.full(size, 4.0), size).tolist())
        prior = rng.dirichlet(np.ones(size))
        ratio = _posteriors(channel, prior) / _bounds(channel, prior)
        nearest = max(nearest, float(ratio.max()))
    return Finding(
        nearest <= 1 + 1e-9,
        f"No posterior of {trials:,} channels and priors drawn at random is above the bound of its"
        f" gamma and prior; the nearest reaches {100 * nearest:.1f} % of it.",
    )


def _posteriors(channel: Transition, prior: Tensor) -> Tensor:
    """Return p(true | reported) by Bayes' rule, true categories in rows."""
    joint = prior[:, None] * channel.matrix()
    posterior: Tensor = joint / joint.sum(axis=0)
    return posterior


def _bounds(channel: Transition, prior: Tensor) -> Tensor:
    amplification = gamma(channel)
    return np.array([[Amplification.of_gamma(amplification).grown(float(p))] for p in prior])


def _attained(table: pd.DataFrame) -> Finding:
    """Binary symmetric randomization reaches the bound: it cannot be improved."""
    gap = 0.0
    for g, rows in table[table["gamma"] > 1].groupby("gamma"):
        channel = Symmetric.from_gamma(2, float(str(g)))
        for prior, bound in zip(rows["rho_1"], rows["rho_2"], strict=True):
            worst = _posteriors(channel, np.array([prior, 1 - prior]))[0].max()
            gap = max(gap, abs(float(worst) / bound - 1))
    return Finding(
        gap < 1e-6,
        "Binary symmetric randomization of the same gamma reaches the bound at every prior"
        f" (within {gap:.1e}), so the bound cannot be lowered.",
    )


def _named_point() -> Finding:
    reached = Amplification.of_gamma(19.0).grown(0.05)
    return Finding(
        abs(reached - 0.5) < 1e-12,
        f"gamma = 19 takes a belief of 5 % to {100 * reached:.0f} %, the pair (5 %, 50 %) from"
        " which FRAPP takes its gamma.",
    )


def _draw_bound(figure: Figure, table: pd.DataFrame) -> None:
    axis = figure.subplots()
    for g, colour in zip(GAMMAS, style.shades(len(GAMMAS)), strict=True):
        rows = table[table["gamma"] == g]
        line = "--" if g == 1 else "-"
        name = "γ = 1 (nothing learned)" if g == 1 else f"γ = {g:g}"
        axis.plot(rows["rho_1"], rows["rho_2"], line, color=colour, label=name)
    axis.set(
        xlim=(0, 1), ylim=(0, 1.01), xlabel="prior belief ρ₁", ylabel="largest posterior belief ρ₂*"
    )
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


MA_3_2 = Experiment(
    name="ma-3.2",
    title="The largest posterior belief, for several amplifications γ",
    source="Ma (2006), figure 3.2",
    run=run_3_2,
    choices=("The values of gamma are ours; the figure's did not survive.",),
)
