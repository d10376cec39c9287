"""Naive Bayes as a linear function: what each category of an attribute adds to a class's score.

The logarithm of P(class, x) is a sum of one number of each attribute. Its differences between the
classes are the only ones that predict, and they are the multinomial logistic regression that fits
the model's joint distribution best: exactly, for there its loss is least (Ng and Jordan 2002).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pramana_core.learn.bayes_classifier.replicates import Replicates
from pramana_core.marginals.counts import Tensor


@dataclass(frozen=True, eq=False)
class LogOdds:
    """The scores of some classes, less their mean over these classes, by bootstrap samples.

    The first of each array is the model's own.

    Attributes:
        prior: shape (1 + draws, classes).
        tables: what each category adds, by attribute, (1 + draws, classes, categories).
    """

    prior: Tensor
    tables: Mapping[str, Tensor]


def log_odds(replicates: Replicates, classes: Sequence[int], weight: float = 1.0) -> LogOdds:
    """Return the scores of naive Bayes.

    A sample moves a logarithm as it moves the probability, to first order: that of a category
    hardly ever met may be 0 in a sample.

    Args:
        replicates: of a classifier whose attributes depend on the class alone.
        classes: which are told apart.
        weight: how much the attributes count (`BayesClassifier.weight`).
    """
    places = list(classes)
    return LogOdds(
        _centred(replicates.prior[:, places]),
        {name: weight * _centred(table[:, places]) for name, table in replicates.tables.items()},
    )


def _centred(shares: Tensor) -> Tensor:
    """Return logarithms less their mean over the classes (axis 1)."""
    logs = np.log(shares[:1]) + (shares - shares[:1]) / shares[:1]
    found: Tensor = logs - logs.mean(axis=1, keepdims=True)
    return found
