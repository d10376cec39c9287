"""What the initiator alone learns, and so alone may ask columns for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import comb
from typing import Any

from owner_agent.peer.protocol.needs import Holdings
from owner_agent.peer.protocol.task_messages import (
    BayesTask,
    LinearTask,
    RulesTask,
    TableTask,
    TreeTask,
)
from owner_agent.peer.tasks.own_results import (
    items_of,
    learn_bayes,
    learn_classifier,
    learn_decision_tree,
    learn_rules,
    learn_table,
)
from owner_agent.peer.tasks.task import LearningTask, require_distinct
from pramana_core.errors import LimitExceeded, OptionError

MOST_TABLES = 4096
"""An owner sends no more tables of counts than this."""


def _named(
    variables: Callable[[Any], tuple[str, ...]],
) -> Callable[[Any, Holdings, str, str], tuple[str, ...]]:
    """Return the rule by which the initiator may ask for every variable that a task names."""

    def asks(task: Any, holdings: Holdings, sender: str, _receiver: str) -> tuple[str, ...]:
        return tuple(name for name in holdings[sender] if name in variables(task))

    return asks


def _table_variables(task: TableTask | RulesTask) -> tuple[str, ...]:
    return tuple(task.variables)


def _tree_variables(task: TreeTask) -> tuple[str, ...]:
    return (*task.attributes, task.target)


def _feature_variables(task: LinearTask | BayesTask) -> tuple[str, ...]:
    return (*task.features, task.target)


def _rules_scopes(task: RulesTask) -> list[tuple[str, ...]]:
    """Itemsets of at most k items need the tables over k variables, and no larger ones."""
    return _subsets(task.variables, task.options().max_length, "max_length")


def _tree_scopes(task: TreeTask) -> list[tuple[str, ...]]:
    """A tree of depth d needs the tables over d attributes and the class."""
    paths = _subsets(task.attributes, task.options().max_depth, "max_depth")
    return [(*path, task.target) for path in paths]


def _bayes_scopes(task: BayesTask) -> list[tuple[str, ...]]:
    """Each attribute with all it may depend on, and the class."""
    families = _subsets(task.features, task.options().depends_on + 1, "features")
    return [(*family, task.target) for family in families]


def _subsets(names: Sequence[str], size: int | None, where: str) -> list[tuple[str, ...]]:
    """Return all sets of so many names. Raises LimitExceeded."""
    wanted = len(names) if size is None else min(size, len(names))
    if comb(len(names), wanted) > MOST_TABLES:
        raise LimitExceeded(
            f"There are {comb(len(names), wanted)} tables over {wanted} of {len(names)} variables;"
            f" at most {MOST_TABLES} are sent.",
            where=f"task.{where}",
            remedy=f'Set send = "records" in the [peer] section, give a smaller {where}, or learn'
            " over fewer variables.",
        )
    return list(combinations(names, wanted))


def _check_table(task: TableTask) -> None:
    require_distinct(task.variables, "variables")


def _check_rules(task: RulesTask) -> None:
    require_distinct(task.variables, "variables")
    items = task.items or {}
    for name, labels in items.items():
        require_distinct(labels, f"items.{name}")
    strange = sorted(set(items) - set(task.variables))
    if strange:
        raise OptionError(
            f"The task has items of {strange}, which are not among its variables.",
            where="task.items",
            remedy="Name them in the task's variables too.",
        )
    if items and task.present is not None:
        raise OptionError("Give items or present, and not both.", where="task.present")
    task.options()


def _check_tree(task: TreeTask) -> None:
    require_distinct(_tree_variables(task), "target and attributes")
    task.options()


def _check_features(task: LinearTask | BayesTask) -> None:
    require_distinct(_feature_variables(task), "target and features")
    task.options()


TABLE = LearningTask(
    variables=_table_variables,
    check=_check_table,
    asks=_named(_table_variables),
    scopes=lambda task: [tuple(task.variables)],
    learn=learn_table,
    fewer="ask for fewer variables",
)

RULES = LearningTask(
    variables=_table_variables,
    check=_check_rules,
    asks=_named(_table_variables),
    scopes=_rules_scopes,
    learn=learn_rules,
    fewer="ask for fewer variables, or a smaller max_length",
    fits=items_of,
)

TREE = LearningTask(
    variables=_tree_variables,
    check=_check_tree,
    asks=_named(_tree_variables),
    scopes=_tree_scopes,
    learn=learn_decision_tree,
    fewer="give it fewer attributes, or a smaller max_depth",
)

LINEAR = LearningTask(
    variables=_feature_variables,
    check=_check_features,
    asks=_named(_feature_variables),
    scopes=lambda task: [_feature_variables(task)],
    learn=learn_classifier,
    fewer="give it fewer features",
)

BAYES = LearningTask(
    variables=_feature_variables,
    check=_check_features,
    asks=_named(_feature_variables),
    scopes=_bayes_scopes,
    learn=learn_bayes,
    fewer="give it fewer features, or ask for naive Bayes",
)
