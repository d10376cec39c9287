"""How many copies of a table may leave: each says something exact of the true values."""

from __future__ import annotations

from pramana_core.errors import MaskingError
from pramana_core.mask.core.masked import Method

RECORDS_PER_NOISE = 10
"""So many records there must be for each column of noise, over all copies."""


def require_few_copies(method: Method, copies: int, records: int, columns: int) -> None:
    """Check that several copies do not give the true values away by linear algebra.

    Noise that is orthogonal to X in the sample is an equation on each column of X, for whoever
    takes the noise out of a masked column by a regression on S. With as many columns of noise as
    there are records beyond S, the equations leave one solution and its mirror image; long before,
    who knows some records learns the others. Copies whose noise is independent of X (GADP, IPSO)
    sharpen only what S tells of X, which one tells nearly as well; additive noise averages out.

    Args:
        method: the method.
        copies: m, how many copies leave.
        records: n.
        columns: q, the masked columns.

    Raises:
        MaskingError: there are too many copies for the records.
    """
    most = max(1, records // (RECORDS_PER_NOISE * columns))
    if method.orthogonal and copies > most:
        raise MaskingError(
            f"{copies} copies of {columns} columns by {method.name} are too many for {records}"
            " records: the noise of each copy is orthogonal to the true values, and so many"
            " equations narrow them down.",
            where="copies",
            remedy=f"Make at most {most} (a tenth of the records, divided by the columns), or use"
            " more records.",
        )
