"""A local tree of mixed data."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from shared.errors import EmptyTable, NotInstalled, OptionError
from shared.mixed.table import CategoricalColumn, Floats, MixedTable
from shared.model_sharing.core.attributes import CategoricalAttribute, TreeSchema
from shared.model_sharing.core.conditions import Condition, Interval, Values
from shared.model_sharing.core.tree import Leaf, Node, SharedTree, Split, whole


@dataclass(frozen=True)
class GrowthOptions:
    """How a tree is grown: by default as far as it goes, as in Sharkey's section 4.1.

    Attributes:
        criterion: what a split lowers, "entropy" or "gini".
        max_depth: the most questions on a way, each of one category or one number; None for any.
        min_leaf: the fewest records of a leaf.
        seed: decides between splits that are equally good.
    """

    criterion: str = "entropy"
    max_depth: int | None = None
    min_leaf: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        if self.criterion not in ("entropy", "gini"):
            raise OptionError(
                f"criterion must be entropy or gini, not {self.criterion!r}.", where="criterion"
            )
        if self.min_leaf < 1 or (self.max_depth is not None and self.max_depth < 1):
            raise OptionError("min_leaf and max_depth must be at least 1.", where="min_leaf")


def require_installed() -> None:
    """Check that trees can be grown here, without loading what grows them. Raises NotInstalled."""
    if find_spec("sklearn") is None:
        raise NotInstalled(
            "Trees of mixed data are grown by scikit-learn, which is not installed.",
            remedy="Install it (pip install 'pramana[models]').",
        )


def grow_tree(
    schema: TreeSchema,
    table: MixedTable,
    classes: npt.NDArray[np.intp],
    options: GrowthOptions | None = None,
) -> SharedTree:
    """Return the tree of n records, with the counts of all classes in its leaves.

    Args:
        schema: the class and the attributes.
        table: the attributes of the records; other columns are ignored.
        classes: the class codes of the records, n.
        options: how it is grown.

    Raises:
        NotInstalled: scikit-learn is not installed.
        EmptyTable: there are no records.
        MissingColumn, TableError, UnknownCategory: see `TreeSchema.read`.
    """
    require_installed()
    from sklearn.tree import DecisionTreeClassifier

    options = options or GrowthOptions()
    records = schema.read(table)
    if not records.records:
        raise EmptyTable("There are no records to learn a tree from.")
    places, matrix = _matrix(schema, records)
    grown = DecisionTreeClassifier(
        criterion=options.criterion,
        max_depth=options.max_depth,
        min_samples_leaf=options.min_leaf,
        random_state=options.seed % (1 << 32),
    ).fit(matrix, classes)
    counts = _counts(grown, matrix, classes, schema.classes)
    box = {name: whole(schema, name) for name in schema.names}
    return SharedTree(schema, _node(grown.tree_, places, counts, 0, box))


def _matrix(schema: TreeSchema, records: MixedTable) -> tuple[list[tuple[str, int | None]], Floats]:
    """Return the attribute and the category that each column is of, and the columns."""
    places: list[tuple[str, int | None]] = []
    columns = []
    for attribute in schema.attributes:
        column = records[attribute.name]
        if isinstance(attribute, CategoricalAttribute) and isinstance(column, CategoricalColumn):
            for code in range(len(attribute.categories)):
                places.append((attribute.name, code))
                columns.append((column.codes == code).astype(np.float32))
        elif not isinstance(column, CategoricalColumn):
            places.append((attribute.name, None))
            columns.append(column.values)
    return places, np.column_stack(columns)


def _counts(grown: Any, matrix: Floats, classes: npt.NDArray[np.intp], number: int) -> Floats:
    """Return the counts of all classes in each of scikit-learn's leaves: nodes x classes."""
    counts = np.zeros((grown.tree_.node_count, number))
    np.add.at(counts, (grown.apply(matrix), classes), 1)
    return counts


def _node(
    grown: Any,
    places: list[tuple[str, int | None]],
    counts: Floats,
    at: int,
    box: dict[str, Condition],
) -> Node:
    """Return a node; questions of one attribute that follow one another are a single split."""
    if grown.children_left[at] < 0:
        return Leaf.of(counts[at])
    name = places[grown.feature[at]][0]
    parts: list[tuple[Condition, Node]] = []
    waiting = [(at, box[name])]
    while waiting:
        here, extent = waiting.pop()
        asked, code = places[grown.feature[here]]
        if grown.children_left[here] < 0 or asked != name:
            parts.append((extent, _node(grown, places, counts, here, {**box, name: extent})))
            continue
        low, high = _halves(extent, code, float(grown.threshold[here]))
        waiting.append((int(grown.children_right[here]), high))
        waiting.append((int(grown.children_left[here]), low))
    return Split(name, tuple(parts))


def _halves(extent: Condition, code: int | None, threshold: float) -> tuple[Condition, Condition]:
    if isinstance(extent, Interval):
        return Interval(extent.above, threshold), Interval(threshold, extent.up_to)
    rest = tuple(other for other in extent.codes if other != code)
    return Values(rest), Values((code,) if code is not None else ())
