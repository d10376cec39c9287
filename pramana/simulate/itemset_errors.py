"""How wrong frequent itemsets are that were found in reports (FRAPP 7, accuracy metrics)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from pramana_core.learn.rules.itemsets import FoundItemsets

Supports = Mapping[tuple[int, ...], float]
"""Itemsets, as ascending places of their items, with their supports."""

MEASURES = ("support_error", "false_negatives", "false_positives")
"""The columns of `by_length` that are errors, all in percent."""


def chosen(found: FoundItemsets) -> dict[tuple[int, ...], float]:
    """Return the itemsets that were taken for frequent, with their supports."""
    return {itemset.items: itemset.support for itemset in found.frequent}


def by_length(truth: Supports, found: Supports) -> pd.DataFrame:
    """Compare found with truly frequent itemsets.

    Args:
        truth: the frequent itemsets of the records.
        found: those taken for frequent; places of the same items.

    Returns:
        A row per length that has truly frequent itemsets: `length`, `frequent` and `found` (their
        numbers), `support_error` (the mean relative error of the supports of those rightly found;
        NaN if none is), `false_negatives` and `false_positives` relative to the number of truly
        frequent ones, in percent.
    """
    lengths = sorted({len(items) for items in truth})
    rows = [(length, *_compared(_of(truth, length), _of(found, length))) for length in lengths]
    return pd.DataFrame(rows, columns=["length", "frequent", "found", *MEASURES])


def overall(truth: Supports, found: Supports) -> dict[str, float | None]:
    """Compare itemsets of all lengths together.

    Returns:
        The numbers of `by_length`, and `false_discovery`, the share of the itemsets found that are
        not frequent, and `power`, the share of the frequent ones that are found, both in percent.
        None where there is nothing to take a share of; of no discoveries none is false.
    """
    frequent, number, *errors = _compared(truth, found)
    right = len(set(truth) & set(found))
    named = dict(zip(("frequent", "found", *MEASURES), (frequent, number, *errors), strict=True))
    named["false_discovery"] = 100 * (number - right) / max(number, 1)
    named["power"] = 100 * right / frequent if frequent else np.nan
    return {name: None if np.isnan(value) else float(value) for name, value in named.items()}


def _of(itemsets: Supports, length: int) -> Supports:
    return {items: support for items, support in itemsets.items() if len(items) == length}


def _compared(truth: Supports, found: Supports) -> tuple[int, int, float, float, float]:
    right = [items for items in truth if items in found]
    errors = [abs(found[items] - truth[items]) / truth[items] for items in right]
    return (
        len(truth),
        len(found),
        100 * float(np.mean(errors)) if errors else np.nan,
        100 * (len(truth) - len(right)) / len(truth) if truth else np.nan,
        100 * (len(found) - len(right)) / len(truth) if truth else np.nan,
    )
