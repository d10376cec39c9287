"""What is asked of many splits at once: whether parts meet a requirement, and how pure they are."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pramana_core.mixed.table import Floats
from pramana_core.model_sharing.anonymity.requirements import SLACK, Requirement


def allowed(requirement: Requirement, counts: Floats) -> npt.NDArray[np.bool_]:
    """Return of m parts whether a leaf of each would meet a requirement (`Requirement.met_by`).

    Args:
        requirement: the requirement.
        counts: how many records of each part are of each class: m x classes.
    """
    records = counts.sum(axis=1)
    met = np.ones(len(counts), dtype=bool)
    if requirement.k is not None:
        met &= records >= requirement.k * (1 - SLACK)
    if requirement.c is None or requirement.l is None:
        return met
    most = counts.max(axis=1)
    if requirement.exact:
        rest = np.sort(counts, axis=1)[:, : max(counts.shape[1] - requirement.l + 1, 0)].sum(axis=1)
    else:
        rest = (records - most) / (requirement.l - 1)
        met &= records - most >= (requirement.l - 1) * (1 - SLACK)
    found: npt.NDArray[np.bool_] = met & (most < requirement.c * rest * (1 - SLACK))
    return found


def evidence(parts: Floats, counts: Floats) -> Floats:
    """Return twice the logarithm of the likelihood ratio of splits against none.

    By chance alone it has nearly the chi-square distribution with one degree of freedom less than
    there are classes (Wilks 1938).

    Args:
        parts: the counts of the classes on the first sides: splits x classes.
        counts: those of both sides together.
    """
    whole = impurity(counts[None, :], "entropy")
    return 2 * (whole - impurity(parts, "entropy") - impurity(counts - parts, "entropy"))


def impurity(counts: Floats, criterion: str) -> Floats:
    """Return the impurity of m parts, times their records: entropy in nats, or Gini's index.

    Args:
        counts: how many records of each part are of each class: m x classes.
        criterion: "entropy" or "gini".
    """
    records = counts.sum(axis=1)
    if criterion == "gini":
        squares = np.divide((counts**2).sum(axis=1), records, where=records > 0, out=records.copy())
        return np.asarray(records - squares)
    logs = np.log(np.where(counts > 0, counts, 1.0))
    return np.asarray(
        records * np.log(np.where(records > 0, records, 1.0)) - (counts * logs).sum(axis=1)
    )
