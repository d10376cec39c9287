"""`pm.combine_copies`: what the same analysis gave on each masked copy, put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Ge

from pramana.frames.sentences import one_sentence, options_told
from pramana.frames.tables import shown
from pramana_core.errors import OptionError
from pramana_core.learn.common.options import InnerShare, require_limit
from pramana_core.marginals.counts import LEVEL

if TYPE_CHECKING:
    import pandas as pd

_WANTED = (
    "a list with one entry per copy: a number, a list of them, a dict or series by parameter, or a"
    " fitted model with params and bse"
)


@options_told
def combine_copies(
    estimates: Sequence[Any],
    errors: Sequence[Any] | None = None,
    *,
    records: int | None = None,
    level: float = LEVEL,
) -> pd.DataFrame:
    """Combine what the same analysis gave on each masked copy.

    The estimate is the mean over the m copies. Its variance is u + b/m, where u is the mean of the
    variances that the analyses state and b the variance between copies (Reiter 2003, for partially
    synthetic records). So the error counts what masking added.

    Args:
        estimates: one entry per copy, all of the same parameters: numbers, lists, dicts or series;
            or fitted models that have `params` and `bse`, such as those of statsmodels.
        errors: their standard errors in the same form; None for models.
        records: the number of records, for intervals by Student's t; None for normal ones.
        level: the confidence of the intervals, above 0 and below 1.

    Returns:
        A row per parameter: `estimate`, `standard_error` (against the population), `low`, `high`,
        `p_value` of the test that it is 0, `freedom`, and `added`, the share of the variance that
        masking added.

    Raises:
        OptionError: entries of different parameters, errors that are negative or missing, no
            copies, or a level out of its range.

    Examples:
        >>> import pramana as pm
        >>> masked = pm.mask(pm.example("store"), ["debt"], method="egadp", copies=3, rng=1)
        >>> means = [copy["debt"].mean() for copy in masked.copies]
        >>> errors = [copy["debt"].sem() for copy in masked.copies]
        >>> pm.combine_copies(means, errors).columns.tolist()
        ['estimate', 'standard_error', 'low', 'high', 'p_value', 'freedom', 'added']
    """
    import pandas as pd

    from pramana_core.mask.copies import combine_copies as combine

    with one_sentence():
        require_limit(level, InnerShare, "level")
        require_limit(records, Annotated[int, Ge(1)] | None, "records")
    if errors is None:
        found = list(estimates)
        if not all(hasattr(one, "params") and hasattr(one, "bse") for one in found):
            raise OptionError(
                "errors must be given, one entry per copy, unless estimates are models that have"
                " params and bse.",
                where="errors",
            )
        estimates, errors = [one.params for one in found], [one.bse for one in found]
    values, spreads = _table(estimates, "estimates"), _table(errors, "errors")
    if values.shape != spreads.shape or set(values.columns) != set(spreads.columns):
        raise OptionError(
            "errors must be of the same copies and parameters as estimates;"
            f" they are of {spreads.shape[0]} copies of {spreads.shape[1]} parameters, not"
            f" {values.shape[0]} of {values.shape[1]}.",
            where="errors",
        )
    spreads = spreads[values.columns]
    if bool((spreads < 0).any(axis=None)):
        raise OptionError("errors must be 0 or more; some are negative.", where="errors")
    with one_sentence():
        combined = combine(values.to_numpy(), spreads.to_numpy() ** 2, records)
        low, high = combined.interval(level)
    names = ("estimate", "standard_error", "p_value", "freedom", "added")
    frame = pd.DataFrame({name: getattr(combined, name) for name in names}, index=values.columns)
    frame.insert(2, "low", low)
    frame.insert(3, "high", high)
    return frame


def _table(given: Any, argument: str) -> pd.DataFrame:
    """Return entries as a frame of numbers, a row per copy and a column per parameter."""
    import pandas as pd

    try:
        rows = [pd.Series(one, dtype=float) for one in ([] if isinstance(given, str) else given)]
    except (TypeError, ValueError):
        rows = []
    if not rows:
        raise OptionError(f"{argument} must be {_WANTED}, not {shown(given)}.", where=argument)
    if any(set(row.index) != set(rows[0].index) for row in rows):
        raise OptionError(
            f"{argument} must be of the same parameters in every copy; they differ.", where=argument
        )
    return pd.DataFrame(rows, columns=rows[0].index).reset_index(drop=True)
