"""Ma figure 3.2: the largest belief that a prior can grow to, for several amplifications."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.reproduce.engine import Experiment, Figure, Finding, Result, Setting
from pramana_core.channels import Dense, Symmetric, Transition
from pramana_core.marginals.counts import Tensor
from pramana_core.pictures import plots as style
from pramana_core.privacy import Amplification, gamma

GAMMAS = (1.0, 2.0, 5.0, 10.0, 19.0, 50.0, 100.0)

_SIZES = (2, 3, 5, 8)


def run(setting: Setting) -> Result:
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
        lambda figure: _draw(figure, table),
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


def _draw(figure: Figure, table: pd.DataFrame) -> None:
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


EXPERIMENT = Experiment(
    name="ma-3.2",
    title="The largest posterior belief, for several amplifications γ",
    source="Ma (2006), figure 3.2",
    run=run,
    choices=("The values of gamma are ours; the figure's did not survive.",),
)
