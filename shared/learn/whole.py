"""Comparing structures by the likelihood of whole records.

Gains of single links are each of a table of their own, and what they say of two structures need not
agree: the more of a record a table has, the more it tells of what is reported with noise. Where
whole records can be maximized (`Marginals.explanation`), all structures are compared on them, with
the same penalty of (log N)/2 per parameter.
"""

from __future__ import annotations

import math

from shared.counts import Marginals
from shared.learn.search import Better, Parents, identity


def whole_records(marginals: Marginals) -> Better | None:
    """Return what compares structures over all variables; None where records are too large."""
    alone: Parents = {name: frozenset() for name in marginals.domain.names}
    if marginals.explanation(alone) is None:
        return None
    scores: dict[frozenset[tuple[str, str]], float] = {}

    def score(parents: Parents) -> float:
        key = identity(parents)
        explained = None if key in scores else marginals.explanation(parents)
        if explained is not None:
            penalty = math.log(marginals.records) / 2 * explained.parameters
            scores[key] = explained.log_likelihood - penalty
        return scores[key]

    return lambda first, second: score(first) - score(second)
