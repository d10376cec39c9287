"""The one way to learn a global model of any kind from records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Le

from pramana_core.learn.common.options import Seed, require_limit, require_limits
from pramana_core.mixed import MixedTable
from pramana_core.model_sharing.attributes import TreeSchema
from pramana_core.model_sharing.combine_options import MOST_DEPTH, GlobalName
from pramana_core.model_sharing.global_models.conjunctive import learn_rule
from pramana_core.model_sharing.global_models.model import GlobalModel, TreeModel
from pramana_core.model_sharing.global_models.naive_bayes import learn_naive_bayes
from pramana_core.model_sharing.growing import GrowthOptions, grow_tree


@dataclass(frozen=True)
class GlobalOptions:
    """How a global model is learned from records.

    Args:
        max_depth: the most questions on a path of a tree; None for any.
        min_leaf: the fewest records of a leaf, and of either side of a conjunctive rule.
        seed: decides between splits that are equally good, and which records are held out.

    Raises:
        OptionError: a number out of its range.
    """

    max_depth: Annotated[int, Ge(1), Le(MOST_DEPTH)] | None = None
    min_leaf: Annotated[int, Ge(1), Le(1_000_000)] = 1
    seed: Seed = 0

    def __post_init__(self) -> None:
        require_limits(self)


def learn_global(
    schema: TreeSchema,
    table: MixedTable,
    classes: npt.NDArray[np.intp],
    model: GlobalName = "tree",
    options: GlobalOptions | None = None,
) -> GlobalModel:
    """Learn a global model from n records, be they real or pseudo-data.

    A tree is pruned as C4.5 prunes (`growing.simplified`).

    Args:
        schema: the class and the attributes.
        table: the attributes of the records; other columns are ignored.
        classes: their class codes, n; not all classes need occur.
        model: its kind.
        options: see `GlobalOptions`.

    Raises:
        OptionError: there is no such model.
        NotInstalled: a tree is asked for, and scikit-learn is not installed.
        LimitExceeded: they have too many records and categories; see `grow_tree`.
        EmptyTable: there are no records.
        MissingColumn, TableError, UnknownCategory: as `TreeSchema.read`.
    """
    require_limit(model, GlobalName, "model")
    options = options or GlobalOptions()
    if model == "naive-bayes":
        return learn_naive_bayes(schema, table, classes)
    if model == "conjunctive":
        least, seed = options.min_leaf, options.seed
        return learn_rule(schema, table, classes, min_leaf=least, seed=seed)
    growth = GrowthOptions(options.max_depth, options.min_leaf, options.seed, simplify=True)
    return TreeModel(grow_tree(schema, table, classes, growth))
