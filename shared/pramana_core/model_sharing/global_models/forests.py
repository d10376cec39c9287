"""Random forests, grown by scikit-learn and kept as trees of our own."""

from __future__ import annotations

from pramana_core.errors import EmptyTable
from pramana_core.mixed.table import MixedTable
from pramana_core.model_sharing.core.attributes import TreeSchema
from pramana_core.model_sharing.core.tree import MOST_DEPTH, SharedTree
from pramana_core.model_sharing.global_models.model import Codes, ForestModel
from pramana_core.model_sharing.global_models.options import GlobalOptions
from pramana_core.model_sharing.growing.growing import require_installed
from pramana_core.model_sharing.growing.questions import contracted
from pramana_core.model_sharing.growing.records import Records
from pramana_core.model_sharing.growing.unrestricted import Walk, indicated, indicators
from pramana_core.progress import Progress, unwatched

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
    leaves are those of the bootstrap sample; thresholds are as in `thresholds.between`.

    Args:
        schema: the class and the attributes.
        table: the attributes of the records; other columns are ignored.
        classes: their class codes, n.
        options: how many trees, how large, and the seed.
        on_step: told how many trees are grown; what it raises stops the work.

    Raises:
        NotInstalled: scikit-learn is not installed.
        EmptyTable: there are no records.
        LimitExceeded: there are too many records and categories; see `grow_tree`.
        MissingColumn, TableError, UnknownCategory: as `TreeSchema.read`.
    """
    require_installed()
    from sklearn.ensemble import RandomForestClassifier

    options = options or GlobalOptions()
    records = schema.read(table)
    if not records.records:
        raise EmptyTable("There are no records to grow a forest from.")
    read = Records.of(schema, records, classes)
    places = indicated(read)
    matrix = indicators(read, places)
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
        forest.fit(matrix, classes)
    on_step(options.trees, options.trees)
    grown = zip(forest.estimators_, forest.estimators_samples_, strict=True)
    roots = (
        Walk(read, places, tree.tree_).node(0, sample, read.everything()) for tree, sample in grown
    )
    return ForestModel(tuple(SharedTree(schema, contracted(root)) for root in roots))
