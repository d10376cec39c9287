"""The one way to learn a global model of any kind from records.

Also here:

* How global models are learned: names, limits and defaults, once for all who take them.
* Random forests, grown by scikit-learn and kept as trees of our own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le

from pramana_core.errors import EmptyTable
from pramana_core.learn.common.options import InnerShare, Seed, require_limit, require_limits
from pramana_core.mixed.table import MixedTable
from pramana_core.model_sharing.attributes import TreeSchema
from pramana_core.model_sharing.global_models.conjunctive import learn_rule
from pramana_core.model_sharing.global_models.model import (
    Codes,
    ForestModel,
    GlobalModel,
    TreeModel,
)
from pramana_core.model_sharing.global_models.naive_bayes import learn_naive_bayes
from pramana_core.model_sharing.growing.growing import GrowthOptions, grow_tree, require_installed
from pramana_core.model_sharing.growing.offers import Records, contracted
from pramana_core.model_sharing.growing.required import (
    CONFIDENCE,
    MOST_CONFIDENCE,
    Walk,
    indicated,
    indicators,
)
from pramana_core.model_sharing.tree import MOST_DEPTH, SharedTree
from pramana_core.progress import Progress, unwatched

# How global models are learned: names, limits and defaults, once for all who take them.

GlobalName = Literal["tree", "naive-bayes", "forest", "conjunctive"]


@dataclass(frozen=True)
class GlobalOptions:
    """How a global model is learned from records.

    Args:
        max_depth: the most questions on a way of a tree, or of one of a forest; None for any.
        min_leaf: the fewest records of a leaf, and of either side of a conjunctive rule.
        confidence: what a single tree is cut back by once it is grown, as the paper's J48 does
            (`growing.simplified`); None for not at all. The value is C4.5's own; PGEN's trees of
            five owners tell with it 92.5 % of car right for 90.6 uncut, 97.6 of nursery for 96.6,
            76.5 of adult for 74.6; those of all records 97.6 for 97.9, 99.5 for 99.8, 84.0 for
            81.9. Tried beside it: five records at least in a leaf, which lift PGEN alike and cost
            the others 2 points; BIC, which lifts adult most and nursery not; tests of the
            likelihood ratio at .01 and .05, which lift less at the paper's size.
        trees: how many trees a forest has.
        most_leaves: the most leaves of each of them.
        alpha: what naive Bayes adds to the count of each category.
        held_out: the share of the records that a conjunctive rule is pruned by and not grown from;
            a third, as in Weka's ConjunctiveRule.
        seed: decides between splits that are equally good, what a tree of a forest sees, and which
            records are held out.

    Raises:
        OptionError: a number out of its range.
    """

    max_depth: Annotated[int, Ge(1), Le(MOST_DEPTH)] | None = None
    min_leaf: Annotated[int, Ge(1), Le(1_000_000)] = 1
    confidence: Annotated[float, Gt(0), Le(MOST_CONFIDENCE)] | None = CONFIDENCE
    trees: Annotated[int, Ge(1), Le(500)] = 50
    most_leaves: Annotated[int, Ge(2), Le(10_000)] = 500
    alpha: Annotated[float, Gt(0), Le(1_000_000)] = 1.0
    held_out: InnerShare = 1 / 3
    seed: Seed = 0

    def __post_init__(self) -> None:
        require_limits(self)


# Random forests, grown by scikit-learn and kept as trees of our own.

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
    leaves are those of the bootstrap sample; thresholds are as in `between`.

    Args, Raises: as of `learn_global`; `on_step` is told how many trees are grown.
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


def learn_global(
    schema: TreeSchema,
    table: MixedTable,
    classes: Codes,
    model: GlobalName = "tree",
    options: GlobalOptions | None = None,
    on_step: Progress = unwatched,
) -> GlobalModel:
    """Learn a global model from n records, be they real or pseudo-data.

    Args:
        schema: the class and the attributes.
        table: the attributes of the records; other columns are ignored.
        classes: their class codes, n; not all classes need occur.
        model: its kind.
        options: see `GlobalOptions`.
        on_step: told of the progress; what it raises stops the work.

    Raises:
        OptionError: there is no such model.
        NotInstalled: a tree or a forest is asked for, and scikit-learn is not installed.
        LimitExceeded: they have too many records and categories; see `grow_tree`.
        EmptyTable: there are no records.
        MissingColumn, TableError, UnknownCategory: as `TreeSchema.read`.
    """
    require_limit(model, GlobalName, "model")
    options = options or GlobalOptions()
    if model == "forest":
        return grow_forest(schema, table, classes, options, on_step)
    on_step(0, 1)
    if model == "naive-bayes":
        return learn_naive_bayes(schema, table, classes, options.alpha)
    if model == "conjunctive":
        share, least = options.held_out, options.min_leaf
        return learn_rule(schema, table, classes, held_out=share, min_leaf=least, seed=options.seed)
    growth = GrowthOptions(
        max_depth=options.max_depth,
        min_leaf=options.min_leaf,
        seed=options.seed,
        confidence=options.confidence,
    )
    grown = TreeModel(grow_tree(schema, table, classes, growth))
    on_step(1, 1)
    return grown
