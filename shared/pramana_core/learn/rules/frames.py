"""Itemsets and rules as data frames: the columns of mlxtend, followed by the errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pramana_core.learn.rules.decisions import VERDICTS
from pramana_core.learn.rules.itemsets import FoundItemsets, Level
from pramana_core.learn.rules.rules import Rule
from pramana_core.marginals.score_interval import possible

if TYPE_CHECKING:
    import pandas as pd

ITEMSET_ERRORS = (
    "support_se",
    "support_low",
    "support_high",
    "se_records",
    "se_population",
    "verdict",
    "p_value",
)
"""The additional columns of itemsets, after mlxtend's `support` and `itemsets`."""

MEASURED, ENDS = ("support", "confidence", "lift", "leverage"), ("se", "low", "high")

SIDES = ("antecedent support", "consequent support")
"""The columns on the two sides of rules, with mlxtend's names; they have no errors."""


def itemsets_frame(found: FoundItemsets, *, examined: bool = False) -> pd.DataFrame:
    """Return a frame with a row for each frequent or, if `examined`, each examined itemset."""
    import pandas as pd

    kept = [np.ones(len(v), np.bool_) if examined else v.chosen for v in found.levels]
    itemsets = [
        frozenset(found.item_labels[place] for place in row)
        for level, rows in zip(found.levels, kept, strict=True)
        for row in level.itemsets[rows].tolist()
    ]
    population = found.options.against == "population"
    columns = [_columns(level, population=population) for level in found.levels]
    joined = {
        name: np.concatenate([part[name][rows] for part, rows in zip(columns, kept, strict=True)])
        for name in ("support", *ITEMSET_ERRORS)
    }
    # Without itemsets the column must still have objects, not floats.
    sets = pd.Series(itemsets, dtype=object)
    return pd.DataFrame({"support": joined.pop("support"), "itemsets": sets, **joined})


def rules_frame(found: FoundItemsets, rules: Sequence[Rule]) -> pd.DataFrame:
    """Return a frame with a row for each rule: its two sides, `SIDES`, `MEASURED` and their errors.

    Args:
        found: the itemsets from which the rules were derived.
        rules: the rules; in the frame, their sides are frozensets of `variable=category`.
    """
    import pandas as pd

    sides = {
        f"{side}s": pd.Series(
            [frozenset(found.labels(getattr(rule, side))) for rule in rules],
            dtype=object,
        )
        for side in ("antecedent", "consequent")
    }
    measured = {
        name: np.array([getattr(rule, name.replace(" ", "_")) for rule in rules], float)
        for name in (*SIDES, *MEASURED)
    }
    errors = {
        f"{name}_{end}": np.array([_error_and_ends(rule, name)[place] for rule in rules], float)
        for name in MEASURED
        for place, end in enumerate(ENDS)
    }
    return pd.DataFrame({**sides, **measured, **errors})


def _error_and_ends(rule: Rule, name: str) -> tuple[float, float, float]:
    return getattr(rule, f"{name}_se"), *getattr(rule, f"{name}_interval")


def _columns(level: Level, *, population: bool) -> dict[str, Any]:
    low, high = possible(level.low, level.high, level.support)
    return {
        "support": level.support,
        "support_se": level.se_population if population else level.se_records,
        "support_low": low,
        "support_high": high,
        "se_records": level.se_records,
        "se_population": level.se_population,
        "verdict": np.array(VERDICTS, dtype=object)[level.verdict],
        "p_value": level.p_value,
    }
