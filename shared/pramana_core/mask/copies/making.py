"""Masked copies of one table, each with noise of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pramana_core.errors import OptionError
from pramana_core.mask.core.masked import Masked
from pramana_core.mask.core.randomness import Randomness

MOST_COPIES = 100


def masked_copies(
    method: Callable[..., Masked],
    S: Any,  # noqa: N803 - the papers' names
    X: Any,  # noqa: N803
    rng: Randomness,
    m: int,
    **options: Any,
) -> tuple[Masked, ...]:
    """Mask a table m times, independently given the table.

    What further copies cost depends on the method. Where the noise is independent of X (GADP,
    IPSO) they sharpen only what S tells of X, which one copy tells nearly as well. Where it is
    orthogonal to X (EGADP, NMEGADP and their kin) each is an equation on X, and many solve for it:
    `require_few_copies` says how many may leave. Additive noise (SADP, CADP) averages out: m copies
    tell what one copy with an m-th of the noise tells. Shuffled columns hold the same values in
    every copy.

    Args:
        method: a masking method, `(S, X, rng, **options) -> Masked`.
        S: the non-confidential columns, n x p.
        X: the confidential columns, n x q.
        rng: the randomness; each copy goes on where the one before ended.
        m: how many copies, 1 to 100.
        options: the method's.

    Returns:
        m results.

    Raises:
        OptionError: m is out of range.
        PramanaError: what the method raises.
    """
    if not 1 <= m <= MOST_COPIES:
        raise OptionError(
            f"The number of copies must be 1 to {MOST_COPIES}, not {m}.", where="copies"
        )
    return tuple(method(S, X, rng, **options) for _ in range(m))
