"""Computing all measures of one masked table."""

from __future__ import annotations

from typing import Any

from pramana_core.errors import MaskingError, TableError
from pramana_core.mask.core.influence import Influence
from pramana_core.mask.core.inputs import Inputs, inputs
from pramana_core.mask.core.noise import Randomness
from pramana_core.mask.measures.expectations import LANDMARKS, MOST_FITTED
from pramana_core.mask.measures.measure import Measures
from pramana_core.mask.measures.security import SECURITY_STEPS, security_rows
from pramana_core.mask.measures.snooper import MOST
from pramana_core.mask.measures.utility import models_of, utility_rows
from pramana_core.mixed import Floats, read_mixed
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
    """Measure the utility and the security of a masked table.

    S, X and Y are as for `compared`. `influence` is that of each record on its own masked values.
    `on_step` is called after each step.
    """
    given, masked = compared(S, X, Y)
    total, done = SECURITY_STEPS + len(list(models_of(given))), 0

    def step() -> None:
        nonlocal done
        done += 1
        on_step(done, total)

    rows = utility_rows(given, masked, rng, step)
    rows += security_rows(given, masked, rng, step, influence)
    notes = []
    if given.records > MOST_FITTED:
        notes.append(
            f"Kernels with {LANDMARKS} landmarks are fitted on {MOST_FITTED:,} random records (for"
            f" the snooper's E(X|S), on up to {MOST:,}) and predict all {given.records:,}."
        )
    return Measures(tuple(rows), tuple(notes))


def compared(S: Any, X: Any, Y: Any) -> tuple[Inputs, Floats]:  # noqa: N803 - the papers' names
    """Return the checked S and X of n records, and the masked values of X, n x q.

    Constant columns of X are left out. The columns of Y and X have the same names, or order.

    Raises EmptyTable, TableError: there are no records, values are missing, or columns or lengths
    differ. MaskingError: there are fewer than ten records, or all columns of X are constant.
    """
    x, y = read_mixed(X, "X"), read_mixed(Y, "Y")
    if y.records != x.records:
        raise TableError(
            f"Y has {y.records} records and X has {x.records}.",
            where="Y",
            remedy="Pass the same records in the same order.",
        )
    if x.records < 10:
        raise MaskingError(
            f"{x.records} records are too few to measure anything; at least 10 are needed.",
            where="X",
        )
    if len(x.columns) != len(y.columns) or x.numeric != x.names or y.numeric != y.names:
        raise TableError(
            "X and Y must have the same numeric columns.",
            where="Y",
            remedy="Pass as X the columns that were masked, and as Y their masked values.",
        )
    kept = [place for place, column in enumerate(x.columns) if not column.is_constant]
    if not kept:
        raise MaskingError(
            "All columns of X are constant, so there is nothing to measure.", where="X"
        )
    names = [x.names[place] for place in kept]
    others = names if set(x.names) == set(y.names) else [y.names[place] for place in kept]
    return inputs(S, x.project(names)), y.project(others).matrix()
