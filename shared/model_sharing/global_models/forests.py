"""Random forests, grown by scikit-learn and kept as trees of our own."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shared.errors import EmptyTable
from shared.mixed.table import CategoricalColumn, Floats, MixedTable
from shared.model_sharing.core.attributes import TreeSchema
from shared.model_sharing.core.conditions import Condition, Interval, Values
from shared.model_sharing.core.tree import MOST_DEPTH, Leaf, Node, SharedTree, Split, whole
from shared.model_sharing.global_models.model import Codes, ForestModel
from shared.model_sharing.global_models.options import GlobalOptions
from shared.model_sharing.growing.growing import require_installed
from shared.progress import Progress, unwatched

_AT_ONCE = 10
"""Trees that are grown before progress is told."""


def grow_forest(
    schema: TreeSchema,
    table: MixedTable,
    classes: Codes,
    options: GlobalOptions | None = None,
    on_step: Progress = unwatched,
) -> ForestModel:
    """Return a random forest of n records.

    Each tree is grown from a bootstrap sample, each split from a random choice of the numbers and
    the indicators of categories, as many as the square root of their number. The counts of its
    leaves are those of the bootstrap sample.

    Args:
        schema: the class and the attributes.
        table: the attributes of the records; other columns are ignored.
        classes: their class codes, n.
        options: how many trees, how large, and the seed.
        on_step: told how many trees are grown; what it raises stops the work.

    Raises:
        NotInstalled: scikit-learn is not installed.
        EmptyTable: there are no records.
        MissingColumn, TableError, UnknownCategory: as `TreeSchema.read`.
    """
    require_installed()
    from sklearn.ensemble import RandomForestClassifier

    options = options or GlobalOptions()
    records = schema.read(table)
    if not records.records:
        raise EmptyTable("There are no records to grow a forest from.")
    columns = _Columns(records)
    forest = RandomForestClassifier(
        n_estimators=0,
        max_depth=options.max_depth or MOST_DEPTH,
        min_samples_leaf=options.min_leaf,
        max_leaf_nodes=options.most_leaves,
        random_state=options.seed % (1 << 32),
        warm_start=True,
    )
    while forest.n_estimators < options.trees:
        on_step(forest.n_estimators, options.trees)
        forest.n_estimators = min(forest.n_estimators + _AT_ONCE, options.trees)
        forest.fit(columns.matrix, classes)
    on_step(options.trees, options.trees)
    trees = (_tree(schema, grown.tree_, columns, forest.classes_) for grown in forest.estimators_)
    return ForestModel(tuple(trees))


class _Columns:
    """The records as scikit-learn sees them: ranks of numbers, and an indicator of each category.

    Ranks, for scikit-learn rounds numbers to 24 bits.
    """

    def __init__(self, records: MixedTable):
        self.places: list[tuple[str, int | None]] = []
        self.values: dict[str, Floats] = {}
        found: list[npt.NDArray[np.float32]] = []
        for column in records.columns:
            if isinstance(column, CategoricalColumn):
                for code in range(len(column.categories)):
                    self.places.append((column.name, code))
                    found.append((column.codes == code).astype(np.float32))
            else:
                self.values[column.name], ranks = np.unique(column.values, return_inverse=True)
                self.places.append((column.name, None))
                found.append(ranks.astype(np.float32))
        self.matrix = np.column_stack(found)

    def halves(
        self, feature: int, threshold: float, extent: Condition
    ) -> tuple[Condition, Condition]:
        """Return what a question leaves on either side of an extent of its attribute."""
        name, code = self.places[feature]
        if isinstance(extent, Interval):
            values, rank = self.values[name], int(threshold)
            low, high = float(values[rank]), float(values[rank + 1])
            end = low + (high - low) / 2
            end = end if end < high else low
            return Interval(extent.above, end), Interval(end, extent.up_to)
        rest = tuple(other for other in extent.codes if other != code)
        return Values(rest), Values((code,) if code is not None else ())


def _tree(schema: TreeSchema, grown: Any, columns: _Columns, known: Codes) -> SharedTree:
    """Return one of scikit-learn's trees, whose nodes are numbered parents first."""
    counts = np.zeros((grown.node_count, schema.classes))
    shares = grown.value[:, 0, :]
    shares = shares / shares.sum(axis=1, keepdims=True)
    counts[:, known] = np.rint(shares * grown.weighted_n_node_samples[:, None])
    boxes: list[dict[str, Condition]] = [{} for _ in range(grown.node_count)]
    asked: dict[int, tuple[str, Condition, Condition]] = {}
    for at in range(grown.node_count):
        if grown.children_left[at] < 0:
            continue
        feature = int(grown.feature[at])
        name = columns.places[feature][0]
        extent = boxes[at].get(name) or whole(schema, name)
        low, high = columns.halves(feature, float(grown.threshold[at]), extent)
        asked[at] = name, low, high
        boxes[grown.children_left[at]] = {**boxes[at], name: low}
        boxes[grown.children_right[at]] = {**boxes[at], name: high}
    nodes: dict[int, Node] = {}
    for at in reversed(range(grown.node_count)):
        if at not in asked:
            nodes[at] = Leaf.of(counts[at])
            continue
        name, low, high = asked[at]
        left, right = (nodes.pop(int(c[at])) for c in (grown.children_left, grown.children_right))
        nodes[at] = Split(name, ((low, left), (high, right)))
    return SharedTree(schema, nodes[0])
