"""Warnings of what does not fit: reports their plan, or the model of counts the reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from pramana.frames.sentences import warn_caller
from pramana_core.estimation.plausibility.examination import examine
from pramana_core.marginals.counts import Codes
from pramana_core.plan import Plan


def warn_of_misfits(codes: Mapping[str, Codes], plan: Plan) -> None:
    """Warn of reports that a plan can hardly have made of any true records.

    The evidence is that by which the miner examines a release (`examine`): it warns of at most one
    frame of honest reports in 1,000.

    Args:
        codes: the reported codes by variable, N of each.
        plan: how they are said to have been randomized.
    """
    if all(block.channel.is_identity for block in plan.blocks):
        return
    # Whoever made the frame may have sorted it by what was reported.
    order = np.random.default_rng(0).permutation(len(next(iter(codes.values()))))
    found = examine({name: column[order] for name, column in codes.items()}, plan)
    if found.inconsistent:
        warn_caller(
            f"frame does not look as if plan had randomized it (p = {found.p_value:.0e}, by"
            f" {' and '.join(found.worst)}); it may hold true values, or be of another plan."
        )


def warn_of_lack_of_fit(sentences: Iterable[str]) -> None:
    """Warn of each model of counts that the reports contradict."""
    for words in sentences:
        warn_caller(words)
