"""The measures of a rule as functions of three supports, under the names that mlxtend gives them.

A rule A -> C of supports s(AC), s(A), s(C): confidence s(AC) / s(A); lift s(AC) / (s(A) s(C));
leverage s(AC) - s(A) s(C) (Piatetsky-Shapiro 1991); conviction (1 - s(C)) / (1 - confidence)
(Brin et al. 1997); Zhang's metric (2000); Jaccard's and Kulczynski's similarities; certainty, the
share of what C lacks that A adds.
"""

from __future__ import annotations

import numpy as np

from pramana_core.marginals.support_counts import Floats

MEASURES = (
    "antecedent support",
    "consequent support",
    "support",
    "confidence",
    "lift",
    "representativity",
    "leverage",
    "conviction",
    "zhangs_metric",
    "jaccard",
    "certainty",
    "kulczynski",
)
"""mlxtend's columns, in its order."""


def measures(whole: Floats, antecedent: Floats, consequent: Floats) -> dict[str, Floats]:
    """Return all measures of rules, arrays of one shape, from the three supports of each.

    `representativity` is 1: no value is missing where supports are estimated.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        confidence = whole / antecedent
        leverage = whole - antecedent * consequent
        found = (
            antecedent,
            consequent,
            whole,
            confidence,
            confidence / consequent,
            np.ones_like(whole),
            leverage,
            np.where(confidence < 1, (1 - consequent) / (1 - confidence), np.inf),
            _zhang(leverage, whole, antecedent, consequent),
            whole / (antecedent + consequent - whole),
            np.where(consequent == 1, 0.0, (confidence - consequent) / (1 - consequent)),
            (confidence + whole / consequent) / 2,
        )
    return dict(zip(MEASURES, found, strict=True))


def _zhang(leverage: Floats, whole: Floats, antecedent: Floats, consequent: Floats) -> Floats:
    largest = np.maximum(whole * (1 - antecedent), antecedent * (consequent - whole))
    return np.where(largest == 0, 0.0, leverage / largest)
