"""Ma 2.2: what more categories, and groups of them, do to variances and to privacy."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.reproduce.engine import Experiment, Figure, Finding, Result, Setting
from benchmarks.reproduce.ratio_errors import covariance
from pramana_core.channels import Grouped, Symmetric, Transition
from pramana_core.pictures import plots as style
from pramana_core.privacy import conditional_entropy, gamma_within_groups, k_anonymity

P, GAMMA = 0.3, 19.0
SIZES = (2, 3, 4, 6, 8, 12, 16)

GROUPED, WHOLE = 6, 3
"""The categories that are grouped and how many a group has, as in figure 3.1."""

SAME_P, SAME_GAMMA = f"p = {P:g}", f"gamma = {GAMMA:g}"


def run(setting: Setting) -> Result:
    """Compute variances, entropies and K_p of channels with equally frequent categories."""
    table = pd.DataFrame(
        [_row(kind, size, channel(kind, size)) for kind in (SAME_P, SAME_GAMMA) for size in SIZES]
    )
    groups = pd.DataFrame(
        [
            _row(kind, GROUPED, made) | {"grouped": label}
            for kind in (SAME_P, SAME_GAMMA)
            for label, made in (("no", channel(kind, GROUPED)), ("yes", grouped(kind)))
        ]
    )
    setting.progress(1.0)
    return Result(
        {"sizes": table, "groups": groups},
        (
            _randomization(table),
            *(more_categories(table, kind) for kind in (SAME_P, SAME_GAMMA)),
            *(less_variance(groups, kind) for kind in (SAME_P, SAME_GAMMA)),
            _anonymity(groups),
            _amplification(groups),
        ),
        lambda figure: _draw(figure, table, groups),
    )


def channel(kind: str, size: int) -> Transition:
    """Return multi-category randomization with the stated p, or of the stated gamma."""
    if kind == SAME_P:
        return Symmetric.from_probability(size, P)
    return Symmetric.from_gamma(size, GAMMA)


def grouped(kind: str) -> Transition:
    """Return two groups of three with the same p, or of the same gamma within each group."""
    groups = tuple(tuple(range(k, k + WHOLE)) for k in range(0, GROUPED, WHOLE))
    within = P if kind == SAME_P else (WHOLE - 1) / (WHOLE - 1 + GAMMA)
    return Grouped.from_probability(groups, within)


def _row(kind: str, size: int, made: Transition) -> dict[str, float | str]:
    share = np.full(size, 1 / size)
    return {
        "kind": kind,
        "categories": size,
        # Given the records and times N: the sum over the categories of the shares' variances.
        "variance": float(np.diag(covariance(share, [made.matrix()])).sum()),
        "entropy_bits": conditional_entropy(made, share),
        "k_p": k_anonymity(made).categories,
        "gamma_within": gamma_within_groups(made),
    }


def _randomization(table: pd.DataFrame) -> Finding:
    grows = [bool((np.diff(rows["entropy_bits"]) > 0).all()) for _, rows in table.groupby("kind")]
    own = table[table["kind"] == SAME_P]["entropy_bits"]
    return Finding(
        all(grows),
        "More categories are more randomization: the conditional entropy grows with their number"
        f" K, from {own.iloc[0]:.2f} bits at K = {SIZES[0]} to {own.iloc[-1]:.2f} at K ="
        f" {SIZES[-1]} with {SAME_P}, and with {SAME_GAMMA}, too.",
    )


def more_categories(table: pd.DataFrame, kind: str) -> Finding:
    """Check that the estimates' variances grow with the number of categories."""
    own = table[table["kind"] == kind]["variance"]
    return Finding(
        bool((np.diff(own) > 0).all()),
        f"The variances are larger with more categories, the paper says. With {kind} the sum of the"
        f" shares' variances, times N, goes from {own.iloc[0]:.3g} at K = {SIZES[0]} to"
        f" {own.iloc[-1]:.3g} at K = {SIZES[-1]}.",
    )


def less_variance(groups: pd.DataFrame, kind: str) -> Finding:
    """Check that grouping, the paper's remedy, makes the variances smaller."""
    own = groups[groups["kind"] == kind].set_index("grouped")["variance"]
    return Finding(
        bool(own["yes"] < own["no"]),
        "Grouping is to make them smaller. With"
        f" {kind}{' within the groups' if kind == SAME_GAMMA else ''} the sum is {own['no']:.3g}"
        f" for {GROUPED} categories and {own['yes']:.3g} for groups of {WHOLE}.",
    )


def _anonymity(groups: pd.DataFrame) -> Finding:
    found = groups[groups["kind"] == SAME_P].set_index("grouped")["k_p"]
    return Finding(
        bool(found["yes"] < found["no"]),
        f"Grouping lowers K_p from {found['no']:.0f} to {found['yes']:.0f}, worse by that measure.",
    )


def _amplification(groups: pd.DataFrame) -> Finding:
    found = groups[groups["kind"] == SAME_P].set_index("grouped")["gamma_within"]
    return Finding(
        bool(found["yes"] < found["no"]),
        f"It lowers the amplification within a group from {found['no']:.3g} to {found['yes']:.3g}"
        " (over all categories it is infinite, see ma-3.1).",
    )


def _draw(figure: Figure, table: pd.DataFrame, groups: pd.DataFrame) -> None:
    axes = figure.subplots(1, 2, sharey=True)
    for axis, kind, colour in zip(axes, (SAME_P, SAME_GAMMA), (style.BLUE, style.RED), strict=True):
        rows = table[table["kind"] == kind]
        style.curve(axis, rows["categories"], rows["variance"], colour, "o", "no groups")
        own = groups[(groups["kind"] == kind) & (groups["grouped"] == "yes")]
        axis.plot(own["categories"], own["variance"], "*", color=style.BLACK, markersize=12,
                  label=f"two groups of {WHOLE}")  # fmt: skip
        axis.set(title=f"the same {kind}", xlabel="number of categories K")
        axis.legend()
    axes[0].set(ylim=(0, None), ylabel="sum of the shares' variances, times N")


EXPERIMENT = Experiment(
    name="ma-2.2-grouping",
    title="Variance and privacy against the number of categories, and with groups",
    source="Ma (2006), section 2.2",
    run=run,
    choices=(
        (
            "The paper says in words that more categories are more randomization and larger"
            " variances, and not whether p or the amplification is kept; here both, with equally"
            " frequent categories."
        ),
    ),
)
