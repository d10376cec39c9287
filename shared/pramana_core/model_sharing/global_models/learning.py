"""Learning global models of any kind from records or pseudo-data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from pramana_core.learn.common.options import require_limit
from pramana_core.mixed import MixedTable
from pramana_core.model_sharing.attributes import TreeSchema
from pramana_core.model_sharing.combine_options import GlobalName
from pramana_core.model_sharing.global_models.conjunctive import learn_rule
from pramana_core.model_sharing.global_models.model import GlobalModel
from pramana_core.model_sharing.global_models.naive_bayes import learn_naive_bayes
from pramana_core.model_sharing.growing import GrowthOptions, grow_tree


def learn_global(
    schema: TreeSchema,
    table: MixedTable,
    classes: npt.NDArray[np.intp],
    model: GlobalName = "tree",
    options: GrowthOptions | None = None,
) -> GlobalModel:
    """Learn a global model from n records and their class codes; a tree is pruned as in C4.5.

    Raises OptionError: the kind is unknown. TableError: there are no records. Other errors are
    those of `TreeSchema.read` and `grow_tree`.
    """
    require_limit(model, GlobalName, "model")
    options = options or GrowthOptions()
    if model == "naive-bayes":
        return learn_naive_bayes(schema, table, classes)
    if model == "conjunctive":
        return learn_rule(schema, table, classes, min_leaf=options.min_leaf, seed=options.seed)
    return grow_tree(schema, table, classes, replace(options, simplify=True))
