"""The one way to learn a global model of any kind from records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import get_args

from pramana_core.errors import OptionError
from pramana_core.mixed.table import MixedTable
from pramana_core.model_sharing.core.attributes import TreeSchema
from pramana_core.model_sharing.global_models.conjunctive import learn_rule
from pramana_core.model_sharing.global_models.forests import grow_forest
from pramana_core.model_sharing.global_models.model import Codes, GlobalModel, TreeModel
from pramana_core.model_sharing.global_models.naive_bayes import learn_naive_bayes
from pramana_core.model_sharing.global_models.options import GlobalName, GlobalOptions
from pramana_core.model_sharing.growing.growing import GrowthOptions, grow_tree
from pramana_core.progress import Progress, unwatched

Learner = Callable[[TreeSchema, MixedTable, Codes, GlobalOptions, Progress], GlobalModel]


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
        EmptyTable: there are no records.
        MissingColumn, TableError, UnknownCategory: as `TreeSchema.read`.
    """
    if model not in LEARNERS:
        raise OptionError(
            f"There is no global model {model!r}.",
            where="model",
            remedy=f"Choose one of {list(get_args(GlobalName))}.",
        )
    return LEARNERS[model](schema, table, classes, options or GlobalOptions(), on_step)


def _tree(
    schema: TreeSchema,
    table: MixedTable,
    classes: Codes,
    options: GlobalOptions,
    on_step: Progress,
) -> GlobalModel:
    on_step(0, 1)
    growth = GrowthOptions(
        max_depth=options.max_depth,
        min_leaf=options.min_leaf,
        seed=options.seed,
        confidence=options.confidence,
    )
    grown = TreeModel(grow_tree(schema, table, classes, growth))
    on_step(1, 1)
    return grown


def _naive_bayes(
    schema: TreeSchema,
    table: MixedTable,
    classes: Codes,
    options: GlobalOptions,
    on_step: Progress,
) -> GlobalModel:
    on_step(0, 1)
    return learn_naive_bayes(schema, table, classes, options.alpha)


def _rule(
    schema: TreeSchema,
    table: MixedTable,
    classes: Codes,
    options: GlobalOptions,
    on_step: Progress,
) -> GlobalModel:
    on_step(0, 1)
    return learn_rule(
        schema,
        table,
        classes,
        held_out=options.held_out,
        min_leaf=options.min_leaf,
        seed=options.seed,
    )


LEARNERS: Mapping[GlobalName, Learner] = {
    "tree": _tree,
    "naive-bayes": _naive_bayes,
    "forest": grow_forest,
    "conjunctive": _rule,
}
"""What learns each kind of global model."""
