"""All measures of one masked table."""

from __future__ import annotations

from typing import Any

from pramana_core.mask.core.influence import Influence
from pramana_core.mask.core.noise import Randomness
from pramana_core.mask.measures.compared import compared
from pramana_core.mask.measures.expectations import LANDMARKS, MOST_FITTED
from pramana_core.mask.measures.measure import Measures
from pramana_core.mask.measures.security import security_rows, security_steps
from pramana_core.mask.measures.snooper import MOST
from pramana_core.mask.measures.utility import utility_rows, utility_steps
from pramana_core.progress import Progress, unwatched


def measure_all(
    S: Any,  # noqa: N803 - the papers' names
    X: Any,  # noqa: N803
    Y: Any,  # noqa: N803
    *,
    rng: Randomness,
    on_step: Progress = unwatched,
    influence: Influence | None = None,
) -> Measures:
    """Measure what a masked table is good for and what it gives away, utility before security.

    Args:
        S, X, Y: as of `compared`, which also says what is raised.
        rng: draws folds and the records that kernels are made of.
        on_step: called after each step; may raise to stop.
        influence: each record's part in its own masked values (`Masked.influence`).
    """
    data = compared(S, X, Y)
    total, done = security_steps() + utility_steps(data), 0

    def step() -> None:
        nonlocal done
        done += 1
        on_step(done, total)

    rows = [*utility_rows(data, rng, step), *security_rows(data, rng, step, influence)]
    notes = []
    if data.records > MOST_FITTED:
        notes.append(
            f"Kernels are fitted on {MOST_FITTED:,} records drawn at random (what S tells a"
            f" snooper, on up to {MOST:,}), spanned by {LANDMARKS}, and predict all"
            f" {data.records:,}."
        )
    return Measures(tuple(rows), data.records, tuple(notes))
