"""`pm.mask`: a frame in, masked records out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pramana.frames.randomness import Rng, generator_of
from pramana.frames.sentences import one_sentence, options_told
from pramana.frames.tables import Frame
from pramana.masking.bounds import bound_cautions, bounds_of
from pramana.masking.columns import (
    AUTO,
    Columns,
    columns_of,
    copies_of,
    method_of,
    methods,
    options_of,
)
from pramana.masking.masked_frame import MaskedFrame
from pramana.masking.recommending import Origin
from pramana.reporting.reports import require_yes_or_no
from pramana_core.errors import OptionError
from pramana_core.terminal import progress_bar

if TYPE_CHECKING:
    import pandas as pd

    from pramana_core.mask import Masked
    from pramana_core.mask.core.bounds import Bounds


@options_told
def mask(
    frame: Frame,
    confidential: str | Sequence[str],
    method: str = AUTO,
    rng: Rng = None,
    *,
    tell: str | Sequence[str] | None = None,
    copies: int = 1,
    keep_order: bool = False,
    bounds: Bounds | None = None,
    **options: Any,
) -> MaskedFrame:
    """Mask confidential numeric columns so that regressions give what they give on the true ones.

    The other columns are released as they are. Masked values are what these tell of the
    confidential ones, and noise in place of the rest: so they tell nothing on a person that the
    other columns do not tell, but there is no gamma, no bound on what a record tells (the guide
    `docs/masking.md` says what is protected and what is not).

    Args:
        frame: the true records, n rows without missing cells.
        confidential: the numeric columns to mask, X.
        method: `egadp` keeps linear relationships exactly, `cgadp` and `shuffle` monotonic ones,
            `nmegadp` and its other forms (`nmegadp-shuffle`, `nmegadp-copula`,
            `nmegadp-copula-shuffle`) those of any shape; `gadp` and `ipso`
            are relatives; `sadp` and `cadp` (additive noise) are what to compare with. `auto` takes
            what `pm.recommend_masking` says.
        rng: None draws from the operating system's randomness. A seed or a generator makes the same
            records again, and whoever guesses it may undo the noise: it is for experiments. For
            releases there are the owner's keys (`owner-agent mask`).
        tell: the columns to release as they are, S; None for all others. The frame's remaining
            columns are left out. Columns that identify people are refused.
        copies: how many masked copies to make; what is estimated from each is put together by
            `pm.combine_copies`, with errors that count the masking.
        keep_order: whether rows and index stay as they are. By default the rows come in random
            order with a new index: the order of a sorted table tells its values.
        bounds: a lower and an upper bound of confidential columns, such as
            `{"income": (0, None)}`; masked values beyond them are cut to them, and a warning says
            what that costs. Without them a warning tells of columns that only masked values have
            below 0.
        options: the method's own, such as `noise=0.2` of `sadp`, `max_leverage=0.4` (how much a
            true value may weigh in its own masked one), `max_told=0.1` (of what the told columns
            leave unknown of a record, its masked value tells at most a tenth), or `bandwidth`,
            `penalty` and `landmarks` of its kernel.

    Returns:
        the masked records, with measures and pictures for whoever has the true ones.

    Raises:
        TableError: it is no table; cells are missing; a confidential column holds no numbers; a
            told one identifies people. `MissingColumn` and `EmptyTable` are of this kind.
        MaskingError: a column has one value only, records are too few (for so many copies), or some
            stand alone.
        OptionError: an unknown method or option, a column that is both told and masked, bounds that
            true values lie beyond.

    Examples:
        >>> import pramana as pm
        >>> store = pm.example("store")
        >>> masked = pm.mask(store, ["expenditure", "debt"], method="egadp", rng=1)
        >>> masked.frame[["expenditure", "debt"]].corr().round(6).equals(
        ...     store[["expenditure", "debt"]].corr().round(6))
        True
    """
    from pramana_core.mask.core.bounds import bounded
    from pramana_core.mask.core.cautions import gravest_first
    from pramana_core.mask.copies import require_few_copies

    named = method_of(method)
    count = copies_of(copies)
    require_yes_or_no(keep_order, "keep_order")
    generator = generator_of(rng)
    columns = columns_of(frame, confidential, tell)
    within = bounds_of(bounds, columns.table, columns.confidential)
    seed = int(generator.integers(1 << 32))
    order = _order(generator, len(columns.table), keep_order=keep_order)
    origin = Origin(columns, order, seed)
    made: list[Masked] = []
    with progress_bar("masking") as bar, one_sentence():
        bar(0, count + 1)
        if named == AUTO:
            named = origin.recommendation.method
        bar(1, count + 1)
        chosen = options_of(named, options)
        require_few_copies(methods()[named], count, len(columns.table), len(columns.confidential))
        for _ in range(count):
            made.append(_masked(columns, named, generator, chosen))
            bar(1 + len(made), count + 1)
    cut = [bounded(columns.confidential, within, one.matrix) for one in made]
    frames = tuple(_released(columns, one, order, keep_order=keep_order) for one in cut)
    return MaskedFrame(
        method=named,
        tell=columns.told,
        confidential=columns.confidential,
        copies=frames,
        warnings=gravest_first(_warnings(columns, made, within)),
        details=made[0].details,
        origin=origin,
        influence=made[0].influence,
    )


def _order(generator: np.random.Generator, records: int, *, keep_order: bool) -> Any:
    # Drawn in any case: the same seed masks alike, in whatever order.
    mixed = generator.permutation(records)
    return np.arange(records) if keep_order else mixed


def _masked(
    columns: Columns, method: str, generator: np.random.Generator, options: dict[str, Any]
) -> Masked:
    told = columns.table[list(columns.told)] if columns.told else None
    hidden = columns.table[list(columns.confidential)].astype("float64")
    try:
        return methods()[method](told, hidden, generator, **options)
    except TypeError as error:
        wrong = [name for name in options if name in str(error)]
        if not wrong:
            raise
        raise OptionError(f"{wrong[0]} is of a wrong type.", where=wrong[0]) from None


def _released(columns: Columns, values: Any, order: Any, *, keep_order: bool) -> pd.DataFrame:
    frame = columns.table.copy()
    for place, name in enumerate(columns.confidential):
        frame[name] = values[:, place]
    found: pd.DataFrame = frame.iloc[order]
    return found if keep_order else found.reset_index(drop=True)


def _warnings(columns: Columns, made: list[Masked], within: Bounds) -> tuple[str, ...]:
    from pramana_core.mask.core.cautions import Caution, Gravity

    true = columns.table[list(columns.confidential)].to_numpy(dtype=float)
    found = list(made[0].warnings)
    found += bound_cautions(columns.confidential, within, true, made[0].matrix)
    if len(made) > 1 and not methods()[made[0].method].independent:
        said = f"Copies by {made[0].method} average out: {len(made)} of them tell more than one."
        found.append(Caution(said, Gravity.GRAVE))
    if columns.dropped:
        names = ", ".join(columns.dropped)
        said = f"Columns neither told nor confidential are not released: {names}."
        found.append(Caution(said, Gravity.NOTE))
    return tuple(found)
