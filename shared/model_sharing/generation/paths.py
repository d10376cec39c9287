"""Path-based generation of pseudo-data, PGEN (section 2.2, figure 3)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shared.mixed.table import CategoricalColumn, Column, MixedTable, NumericColumn
from shared.model_sharing.core.attributes import Attribute, CategoricalAttribute
from shared.model_sharing.core.conditions import Condition, Interval, Values
from shared.model_sharing.core.tree import SharedTree


def pgen(tree: SharedTree, rng: np.random.Generator) -> MixedTable:
    """Return pseudo-data of a tree, as many records on each path as it counts.

    Args:
        tree: the tree.
        rng: the randomness.

    Returns:
        The attributes and, last, the class.
    """
    paths = list(tree.paths())
    sizes = np.rint([path.leaf.records for path in paths]).astype(int)
    columns: list[Column] = []
    for attribute in tree.schema.attributes:
        drawn = [
            _drawn(attribute, path.conditions.get(attribute.name), size, rng)
            for path, size in zip(paths, sizes, strict=True)
        ]
        together = np.concatenate(drawn)
        if isinstance(attribute, CategoricalAttribute):
            columns.append(CategoricalColumn(attribute.name, together, attribute.categories))
        else:
            columns.append(NumericColumn(attribute.name, together))
    codes = [
        _classes(path.leaf.classes(tree.schema.classes), s, rng)
        for path, s in zip(paths, sizes, strict=True)
    ]
    target = tree.schema.target
    columns.append(CategoricalColumn(target.name, np.concatenate(codes), target.categories))
    return MixedTable(tuple(columns), int(sizes.sum()))


def _drawn(
    attribute: Attribute, condition: Condition | None, size: int, rng: np.random.Generator
) -> npt.NDArray[np.float64] | npt.NDArray[np.intp]:
    if isinstance(attribute, CategoricalAttribute):
        codes = (
            condition.codes if isinstance(condition, Values) else range(len(attribute.categories))
        )
        return rng.choice(np.array(list(codes), dtype=np.intp), size)
    known = condition if isinstance(condition, Interval) else Interval()
    low, high = max(known.above, attribute.low), min(known.up_to, attribute.high)
    return rng.uniform(low, high, size)


def _classes(
    counts: npt.NDArray[np.float64], size: int, rng: np.random.Generator
) -> npt.NDArray[np.intp]:
    return rng.permutation(np.repeat(np.arange(len(counts)), np.rint(counts).astype(int)))[:size]
