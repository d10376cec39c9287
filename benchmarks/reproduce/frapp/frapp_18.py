"""FRAPP equation 18: is the gamma-diagonal matrix the symmetric one of least condition number?"""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.reproduce.engine import Experiment, Figure, Finding, Result, Setting
from benchmarks.reproduce.frapp.data import GAMMA
from pramana_core.marginals.counts import Tensor
from pramana_core.pictures import plots as style

GAMMAS = (3.0, GAMMA)
ORDERS = (4, 16, 64, 256, 1024)
"""Powers of 4, in which regular symmetric Hadamard matrices are easily made."""

TRIALS, QUICK_TRIALS = 4_000, 400
_SIZES = (2, 3, 4, 6, 8)
_ROUNDING = 1e-9


def run(setting: Setting) -> Result:
    """Search positive definite matrices at random, and build indefinite ones."""
    trials = QUICK_TRIALS if setting.quick else TRIALS
    ratios = searched(setting, trials)
    table = pd.DataFrame(
        [
            (g, n, least_positive(n, g), condition(hadamard_channel(n, g)))
            for g in GAMMAS
            for n in ORDERS
        ],
        columns=["gamma", "size", "gamma_diagonal", "hadamard"],
    )
    setting.progress(1.0)
    return Result(
        {"conditions": table},
        (definite(ratios), *(symmetric(table, g) for g in GAMMAS)),
        lambda figure: _draw(figure, table),
        facts={"trials": trials, "positive_definite": len(ratios)},
    )


def least_positive(size: int, gamma: float) -> float:
    """Return (gamma + n - 1) / (gamma - 1), the gamma-diagonal matrix's (equation 18)."""
    return (gamma + size - 1) / (gamma - 1)


def condition(matrix: Tensor) -> float:
    """Return a symmetric matrix's condition number in the 2-norm."""
    sizes = np.abs(np.linalg.eigvalsh(matrix))
    return float(sizes.max() / sizes.min())


def amplification(matrix: Tensor) -> float:
    """Return the largest ratio within a column."""
    return float((matrix.max(axis=0) / matrix.min(axis=0)).max())


def searched(setting: Setting, trials: int) -> list[float]:
    """Return, of random positive definite matrices, the condition number over equation 18's.

    Random symmetric matrices are scaled until their rows sum to 1 and taken at their own
    amplification; half of them are near the gamma-diagonal one.
    """
    rng = setting.rng("frapp-18")
    found = []
    for trial in setting.steps(range(trials), high=0.8):
        size = int(rng.choice(_SIZES))
        made = rng.uniform(1, rng.choice([2.0, 5.0, GAMMA]), (size, size))
        if trial % 2:
            made = 1 + 0.1 * made
            made[np.diag_indices(size)] *= rng.uniform(2, GAMMA)
        matrix = balanced((made + made.T) / 2)
        if np.linalg.eigvalsh(matrix).min() > _ROUNDING:
            found.append(condition(matrix) / least_positive(size, amplification(matrix)))
    return found


def balanced(matrix: Tensor) -> Tensor:
    """Scale rows and columns of a positive symmetric matrix alike until all sum to 1."""
    scale = np.ones(len(matrix))
    for _ in range(200):
        scale = np.sqrt(scale / (matrix @ scale))
    value: Tensor = scale[:, None] * matrix * scale
    return value


def hadamard_channel(size: int, gamma: float) -> Tensor:
    """Return the symmetric channel with gamma x and x where a regular Hadamard matrix has 1 and -1.

    Its rows have more entries of -1, and its eigenvalues but one are equal in size and of both
    signs. `size` is a power of 4.
    """
    base = 2 * np.eye(4) - np.ones((4, 4))
    signs: Tensor = np.ones((1, 1))
    while len(signs) < size:
        signs = np.kron(signs, base).astype(np.float64)
    if signs[0].sum() > 0:
        signs = -signs
    made = np.where(signs > 0, gamma, 1.0)
    value: Tensor = made / made[0].sum()
    return value


def definite(ratios: list[float]) -> Finding:
    """Check that no positive definite matrix is below equation 18."""
    return Finding(
        min(ratios) >= 1 - 1e-6,
        "The gamma-diagonal matrix has the least condition number of the positive definite ones:"
        f" of {len(ratios):,} drawn at random none is below (gamma + n - 1) / (gamma - 1); the"
        f" nearest is {min(ratios):.3f} times that.",
    )


def symmetric(table: pd.DataFrame, gamma: float) -> Finding:
    """Check that no symmetric matrix is, definite or not, as the paper concludes."""
    rows = table[table["gamma"] == gamma]
    below = rows[rows["hadamard"] < rows["gamma_diagonal"] * (1 - _ROUNDING)]
    listed = "; ".join(
        f"n = {r['size']:.0f}: {r['hadamard']:.3g} against {r['gamma_diagonal']:.3g}"
        for _, r in rows.iterrows()
    )
    return Finding(
        below.empty,
        f"The least of all symmetric ones, it concludes. With gamma = {gamma:g} at the entries of 1"
        f" of a regular Hadamard matrix, whose eigenvalues have both signs: {listed}.",
    )


def _draw(figure: Figure, table: pd.DataFrame) -> None:
    axes = figure.subplots(1, 2)
    for axis, gamma in zip(axes, GAMMAS, strict=True):
        rows = table[table["gamma"] == gamma]
        axis.plot(
            rows["size"], rows["gamma_diagonal"], "o-", color=style.BLUE, label="gamma-diagonal"
        )
        axis.plot(
            rows["size"], rows["hadamard"], "s--", color=style.RED, label="Hadamard, indefinite"
        )
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.set_xticks(list(ORDERS), [str(n) for n in ORDERS])
        axis.minorticks_off()
        axis.set(title=f"γ = {gamma:g}", xlabel="categories n")
        axis.legend(loc="upper left")
    axes[0].set_ylabel("condition number")


EXPERIMENT = Experiment(
    name="frapp-18",
    title="The least condition number of a symmetric matrix at an amplification",
    source="FRAPP (2005), section 3, equations 14 to 18",
    run=run,
    choices=(
        (
            "Equation 14 is for positive definite matrices and the conclusion for all symmetric"
            " ones: the first are drawn at random, of the others a family is built."
        ),
    ),
)
