"""How wrong found itemsets are, against the true ones (FRAPP 7, accuracy metrics)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shared.errors import OptionError
from shared.learn.rules.found import FoundItemsets


@dataclass(frozen=True)
class LengthAccuracy:
    """The errors among itemsets of one length; shares are of the truly frequent, in percent.

    Attributes:
        length: the number of items.
        frequent: how many itemsets are truly frequent.
        found: how many were held frequent.
        support_error_pct: the mean relative error of the supports of those rightly found; NaN if
            none is.
        false_negative_pct: the truly frequent that were not found.
        false_positive_pct: those found that are not frequent.
    """

    length: int
    frequent: int
    found: int
    support_error_pct: float
    false_negative_pct: float
    false_positive_pct: float


def accuracy_by_length(truth: FoundItemsets, found: FoundItemsets) -> tuple[LengthAccuracy, ...]:
    """Compare found with truly frequent itemsets, length by length while any is truly frequent.

    Args:
        truth: mined from the true records.
        found: mined from estimates, of the same items.

    Raises:
        OptionError: the two are not of the same items.
    """
    if truth.items != found.items:
        raise OptionError("Itemsets are compared with those of the same items.", where="items")
    compared = []
    for length in range(1, len(truth.levels) + 1):
        true = {itemset.items: itemset.support for itemset in truth.length(length)}
        if not true:
            break
        seen = {itemset.items: itemset.support for itemset in found.length(length)}
        right = [items for items in true if items in seen]
        errors = [abs(seen[items] - true[items]) / true[items] for items in right]
        compared.append(
            LengthAccuracy(
                length,
                len(true),
                len(seen),
                100 * float(np.mean(errors)) if errors else float("nan"),
                100 * (len(true) - len(right)) / len(true),
                100 * (len(seen) - len(right)) / len(true),
            )
        )
    return tuple(compared)
