"""Trees as far as they go, by scikit-learn: on ranks of numbers and an indicator of each category.

scikit-learn reads numbers as float32, in which near ones are the same; their ranks are not. Its
tree says only what is asked: records are counted, and thresholds set, by a walk of our own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pramana_core.errors import LimitExceeded
from pramana_core.model_sharing.attributes import CategoricalAttribute
from pramana_core.model_sharing.conditions import Condition, Interval
from pramana_core.model_sharing.offers import Codes, Records, apart, halves
from pramana_core.model_sharing.tree import Node, Split

MOST_CELLS = 400_000_000
"""Records times indicators that are laid out at most, four bytes each."""

MOST_RANKS = 1 << 24
"""So many whole numbers are told apart in float32."""


def grow_unrestricted(records: Records, depth: int, min_leaf: int, seed: int) -> Node:
    """Return the tree of scikit-learn's questions.

    Raises:
        LimitExceeded: there are more than `MOST_CELLS` indicators or `MOST_RANKS` numbers.
    """
    from sklearn.tree import DecisionTreeClassifier

    places = _indicated(records)
    grown = DecisionTreeClassifier(
        criterion="entropy",
        max_depth=depth,
        min_samples_leaf=min_leaf,
        random_state=seed % (1 << 32),
    ).fit(_indicators(records, places), records.classes)
    walk = _Walk(records, places, grown.tree_)
    return walk.node(0, np.arange(len(records)), records.everything())


def _indicated(records: Records) -> list[tuple[str, int | None]]:
    """Return of each column of the matrix the attribute, and the category that it indicates."""
    places: list[tuple[str, int | None]] = []
    for attribute in records.schema.attributes:
        if isinstance(attribute, CategoricalAttribute):
            # One that no record has, or all have, tells nothing.
            present = np.unique(records.codes[attribute.name]).tolist()
            places += [(attribute.name, code) for code in present]
        else:
            places.append((attribute.name, None))
    most_ranks = max(map(len, records.values.values()), default=0)
    if len(places) * len(records) > MOST_CELLS or most_ranks > MOST_RANKS:
        raise LimitExceeded(
            f"{len(records):,} records with {len(places):,} categories and numbers are too many to"
            " learn a tree from.",
            remedy="Leave out attributes of many categories, or group their categories.",
        )
    return places


def _indicators(records: Records, places: list[tuple[str, int | None]]) -> Any:
    """Return the columns: ranks of numbers, and whether a record is of a category."""
    found = np.empty((len(records), len(places)), dtype=np.float32, order="F")
    for place, (name, code) in enumerate(places):
        codes = records.codes[name]
        found[:, place] = codes if code is None else codes == code
    return found


@dataclass(frozen=True, eq=False)
class _Walk:
    """The walk of the records through scikit-learn's tree."""

    records: Records
    places: list[tuple[str, int | None]]
    grown: Any

    def node(self, at: int, rows: Codes, box: dict[str, Condition]) -> Node:
        """Return what is asked of the rows that reach a node, within the box that it is of."""
        if self.grown.children_left[at] < 0:
            return self.records.leaf(rows)
        name, code = self.places[self.grown.feature[at]]
        codes = self.records.codes[name][rows]
        extent = box[name]
        first: Condition
        second: Condition
        if isinstance(extent, Interval):
            left = codes <= math.floor(self.grown.threshold[at])
            neighbours = int(codes[left].max()), int(codes[~left].min())
            first, second = halves(extent, self.records.threshold(name, *neighbours))
        else:
            left = codes != code
            second, first = apart(extent, {int(code or 0)})
        below = (
            self.node(int(self.grown.children_left[at]), rows[left], {**box, name: first}),
            self.node(int(self.grown.children_right[at]), rows[~left], {**box, name: second}),
        )
        return Split(name, ((first, below[0]), (second, below[1])))
