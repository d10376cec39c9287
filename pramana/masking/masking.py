"""`pm.mask`, which masks a frame's records, and `pm.recommend_masking`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pramana.frames.randomness import Rng, generator_of
from pramana.frames.sentences import checked_options, one_sentence
from pramana.frames.tables import Frame, shown
from pramana.masking.columns import Columns, columns_of
from pramana.masking.masked_frame import MaskedFrame, Origin, recommended
from pramana_core.alike import did_you_mean
from pramana_core.errors import OptionError
from pramana_core.learn.common.options import require_limit
from pramana_core.terminal import progress_bar

if TYPE_CHECKING:
    import pandas as pd

    from pramana_core.mask import Masked
    from pramana_core.mask.recommending import Recommendation

AUTO = "auto"
"""The name that selects the method of `recommend_masking`."""


@checked_options
def recommend_masking(
    frame: Frame, confidential: str | Sequence[str], *, tell: str | Sequence[str] | None = None
) -> Recommendation:
    """Recommend the simplest masking method that keeps the relationships of a table.

    Linear dependence needs `egadp`, monotonic dependence needs data shuffling, and any other
    dependence needs `nmegadp` (according to AlAhmadi).

    Args:
        frame: the true records, n rows without missing cells.
        confidential: the numeric columns to mask.
        tell: the columns to release unchanged; None for all others.

    Returns:
        the recommendation: `method`, `kind`, the evidence and a sentence that explains it.

    Raises:
        TableError, OptionError: see `pm.mask`.

    Examples:
        >>> import pramana as pm
        >>> advice = pm.recommend_masking(pm.example("store"), ["expenditure", "debt"])
        >>> advice.kind, advice.method
        ('non-monotonic', 'nmegadp')
    """
    return recommended(columns_of(frame, confidential, tell), 0)


@checked_options
def mask(
    frame: Frame,
    confidential: str | Sequence[str],
    method: str = AUTO,
    rng: Rng = None,
    *,
    tell: str | Sequence[str] | None = None,
    keep_order: bool = False,
    **options: Any,
) -> MaskedFrame:
    """Mask confidential numeric columns; regressions give the same results as on true values.

    The other columns are released unchanged. Masked values are predictions from these columns, with
    noise in place of the residuals. So the masked values of a person reveal no more than the
    person's other columns do, but no gamma bounds what a record reveals (`docs/masking.md`).

    Args:
        frame: the true records, n rows without missing cells.
        confidential: the numeric columns to mask, X.
        method: `egadp` keeps linear relationships exactly; `cgadp` and `shuffle` keep monotonic
            relationships; `nmegadp` and its variants (`nmegadp-shuffle`, `nmegadp-copula`,
            `nmegadp-copula-shuffle`) keep relationships of any shape; `gadp` and `ipso` are related
            methods; `sadp` and `cadp` (additive noise) are for comparison. `auto` chooses by
            `pm.recommend_masking`.
        rng: None draws from the operating system's randomness. A seed or a generator, for
            experiments, repeats the same records; anyone who guesses the seed may undo the noise.
            Releases use the owner's keys (`owner-agent mask`).
        tell: the columns to release unchanged, S; None for all others. Columns not named are
            omitted. Columns that identify people raise an error.
        keep_order: whether to keep rows and index in order. By default the rows are in random order
            with a new index, since the order of a sorted table reveals its values.
        options: options of the method, such as `noise=0.2` of `sadp`, `max_leverage=0.4` (the
            largest weight of a true value in its own masked value), or `max_told=0.1` (the largest
            `told` of `MaskedFrame.exposure`).

    Returns:
        the masked records, with measures and pictures for readers who may see the true records.

    Raises:
        TableError: `frame` is not a table, has missing cells, a confidential column without
            numbers, or a released column that identifies people. Subclasses: `MissingColumn`,
            `EmptyTable`.
        MaskingError: a column has only one value, records are too few, or some records are
            isolated.
        OptionError: an unknown method or option, or a column that is both released and masked.

    Examples:
        >>> import pramana as pm
        >>> store = pm.example("store")
        >>> masked = pm.mask(store, ["expenditure", "debt"], method="egadp", rng=1)
        >>> masked.frame[["expenditure", "debt"]].corr().round(6).equals(
        ...     store[["expenditure", "debt"]].corr().round(6))
        True
    """
    from pramana_core.mask import METHODS
    from pramana_core.mask.core.cautions import gravest_first

    known = [AUTO, *METHODS]
    named: Any = method
    if not isinstance(named, str) or named not in known:
        raise OptionError(
            f"method must be one of {', '.join(map(repr, known))}, not"
            f" {shown(method)}{did_you_mean([method], known)}.",
            where="method",
        )
    with one_sentence():
        require_limit(keep_order, bool, "keep_order")
    generator = generator_of(rng)
    columns = columns_of(frame, confidential, tell)
    seed, records = int(generator.integers(1 << 32)), len(columns.table)
    # Drawn in both cases, so that a seed gives the same masked values in either order.
    mixed = generator.permutation(records)
    origin = Origin(columns, np.arange(records) if keep_order else mixed, seed)
    with progress_bar("masking") as bar, one_sentence():
        bar(0, 2)
        chosen = METHODS[origin.recommendation.method if method == AUTO else method]
        bar(1, 2)
        made = chosen(columns.s, columns.x, generator, **options)
        bar(2, 2)
    return MaskedFrame(
        method=chosen.name,
        tell=columns.unchanged,
        confidential=columns.confidential,
        frame=_released(origin, made.matrix, keep_order),
        origin=origin,
        warnings=gravest_first([*made.warnings, *_cautions(columns, made)]),
        details=made.details,
        influence=made.influence,
    )


def _released(origin: Origin, values: Any, keep_order: bool) -> pd.DataFrame:
    frame = origin.columns.table.copy()
    for place, name in enumerate(origin.columns.confidential):
        frame[name] = values[:, place]
    found: pd.DataFrame = frame.iloc[origin.order]
    return found if keep_order else found.reset_index(drop=True)


def _cautions(columns: Columns, made: Masked) -> Sequence[str]:
    from pramana_core.mask.core.cautions import Caution, Gravity, below_zero

    hidden, true, masked = columns.confidential, columns.x.matrix(), made.matrix
    found = [
        Caution(f"{fact}; shuffling methods produce only true values.")
        for fact in below_zero(hidden, true, masked)
    ]
    if columns.dropped:
        names = ", ".join(columns.dropped)
        words = f"Columns in neither tell nor confidential are not released: {names}."
        found.append(Caution(words, Gravity.NOTE))
    return found
