"""What the initiator alone learns, and so alone may ask columns for."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from itertools import combinations
from math import comb
from typing import TypeVar

import numpy as np

from owner_agent.peer.protocol.messages import (
    BayesTask,
    LinearTask,
    RulesTask,
    TableTask,
    TreeTask,
)
from owner_agent.peer.tasks.task import Findings, LearningTask, require_distinct
from pramana_core.domain import Domain
from pramana_core.errors import LimitExceeded, OptionError
from pramana_core.learn.bayes_classifier.exchange import (
    draw_bayes_classifier,
    write_bayes_classifier_json,
    write_bayes_classifier_text,
)
from pramana_core.learn.bayes_classifier.learning import learn_bayes_classifier
from pramana_core.learn.common.documents import write_json
from pramana_core.learn.linear.exchange import draw_weights, write_linear_json
from pramana_core.learn.linear.fitting import learn_linear
from pramana_core.learn.linear.model import LinearClassifier
from pramana_core.learn.networks.exchange.bif import write_bif
from pramana_core.learn.rules.drawing import draw_itemsets, draw_rules
from pramana_core.learn.rules.export import itemsets_csv, rules_csv, rules_json
from pramana_core.learn.rules.itemsets import items_wanted
from pramana_core.learn.rules.mining import mine_itemsets
from pramana_core.learn.rules.rules import derive_rules
from pramana_core.learn.tree.documents import write_tree_json
from pramana_core.learn.tree.drawing import draw_tree
from pramana_core.learn.tree.growth import learn_tree
from pramana_core.learn.tree.text import write_tree_text
from pramana_core.marginals.counts import Marginals, MarginalTable
from pramana_core.marginals.support_counts import Item
from pramana_core.progress import Progress

# Learners whose result is the initiator's alone: tables, rules, trees and classifiers.
#
# Each runs on the marginals that the initiator has, and returns the files that it keeps.

_PERCENT = 100
"""Where a task has more than one stage, its progress is counted in hundredths of the whole."""


class Table(LearningTask[TableTask]):
    """A contingency table."""

    fewer = "ask for fewer variables"

    def variables(self) -> tuple[str, ...]:
        """Return the variables of the table."""
        return tuple(self.task.variables)

    def check(self) -> None:
        """Check that each variable is named once."""
        require_distinct(self.task.variables, "variables")

    def learn(self, marginals: Marginals, _nodes: Sequence[str], watch: Progress) -> Findings:
        """Count the table; `table.csv`."""
        watch(0, 1)
        written = _table_csv(marginals.marginal(self.task.variables))
        watch(1, 1)
        return Findings.kept({"table.csv": written})


class Rules(LearningTask[RulesTask]):
    """Frequent itemsets and the rules between their parts."""

    fewer = "ask for fewer variables, or a smaller max_length"

    def variables(self) -> tuple[str, ...]:
        """Return the variables of the items."""
        return tuple(self.task.variables)

    def check(self) -> None:
        """Check that items are of the variables, and options in their limits."""
        task = self.task
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

    def scopes(self) -> list[tuple[str, ...]]:
        """Itemsets of at most k items need the tables over k variables, and no larger ones."""
        return _subsets(self.task.variables, self.task.options().max_length, "max_length")

    def require_fit(self, domain: Domain) -> None:
        """Check that every category that the items name exists. Raises UnknownCategory."""
        self._items(domain)

    def _items(self, domain: Domain) -> tuple[Item, ...]:
        """Return the items: of the task's own variables, whatever else is in the domain."""
        own = domain.project(self.task.variables)
        return items_wanted(own, self.task.present, self.task.items)

    def learn(self, marginals: Marginals, _nodes: Sequence[str], watch: Progress) -> Findings:
        """Mine itemsets and derive their rules; `rules.json`, and tables and pictures of both."""
        task = self.task
        items = self._items(marginals.domain)
        found = mine_itemsets(marginals, items, task.options(), _part(watch, 0, 70))
        rules = derive_rules(
            found,
            marginals,
            task.minimum_confidence,
            certain=task.certain,
            on_step=_part(watch, 70, _PERCENT),
        )
        return Findings.kept(
            {
                "rules.json": write_json(rules_json(found, rules)),
                "itemsets.csv": itemsets_csv(found),
                "rules.csv": rules_csv(found, rules),
                "itemsets.svg": draw_itemsets(found),
                "rules.svg": draw_rules(found.domain, rules),
            }
        )


class Tree(LearningTask[TreeTask]):
    """A decision tree."""

    fewer = "give it fewer attributes, or a smaller max_depth"

    def variables(self) -> tuple[str, ...]:
        """Return the attributes and the class."""
        return (*self.task.attributes, self.task.target)

    def check(self) -> None:
        """Check that each variable is named once, and options are in their limits."""
        require_distinct(self.variables(), "target and attributes")
        self.task.options()

    def scopes(self) -> list[tuple[str, ...]]:
        """A tree of depth d needs the tables over d attributes and the class."""
        paths = _subsets(self.task.attributes, self.task.options().max_depth, "max_depth")
        return [(*path, self.task.target) for path in paths]

    def learn(self, marginals: Marginals, _nodes: Sequence[str], watch: Progress) -> Findings:
        """Grow the tree; `tree.json`, as text and as a picture."""
        task = self.task
        tree = learn_tree(marginals, task.target, task.attributes, task.options(), watch)
        return Findings.kept(
            {
                "tree.json": write_tree_json(tree),
                "tree.txt": write_tree_text(tree, show_weights=True),
                "tree.svg": draw_tree(tree).svg(),
            }
        )


FeaturesT_co = TypeVar("FeaturesT_co", LinearTask, BayesTask, covariant=True)


class _Classifier(LearningTask[FeaturesT_co]):
    """What classifiers of features have in common."""

    def variables(self) -> tuple[str, ...]:
        """Return the features and the class."""
        return (*self.task.features, self.task.target)

    def check(self) -> None:
        """Check that each variable is named once, and options are in their limits."""
        require_distinct(self.variables(), "target and features")
        self.task.options()


class Linear(_Classifier[LinearTask]):
    """A linear classifier."""

    fewer = "give it fewer features"

    def learn(self, marginals: Marginals, _nodes: Sequence[str], watch: Progress) -> Findings:
        """Fit the classifier; `linear.json`, its weights as a table and as a picture."""
        task = self.task
        model = learn_linear(
            marginals, task.target, task.features, task.options(), seed=task.seed, on_step=watch
        )
        return Findings.kept(
            {
                "linear.json": write_linear_json(model),
                "weights.csv": _weights_csv(model),
                "weights.svg": draw_weights(model),
            }
        )


class Bayes(_Classifier[BayesTask]):
    """A Bayesian network classifier."""

    fewer = "give it fewer features, or ask for naive Bayes"

    def scopes(self) -> list[tuple[str, ...]]:
        """Each attribute with all it may depend on, and the class."""
        families = _subsets(self.task.features, self.task.options().depends_on + 1, "features")
        return [(*family, self.task.target) for family in families]

    def learn(self, marginals: Marginals, _nodes: Sequence[str], watch: Progress) -> Findings:
        """Learn the classifier; `bayes.json`, as text, as a picture and as a network in BIF."""
        task = self.task
        model = learn_bayes_classifier(marginals, task.target, task.features, task.options(), watch)
        return Findings.kept(
            {
                "bayes.json": write_bayes_classifier_json(model),
                "bayes.txt": write_bayes_classifier_text(model),
                "bayes.svg": draw_bayes_classifier(model),
                "bayes.bif": write_bif(model.network, "classifier"),
            }
        )


def _part(watch: Progress, start: int, end: int) -> Progress:
    """Report a stage as its part of the whole."""

    def step(done: int, total: int) -> None:
        watch(start + (end - start) * done // max(total, 1), _PERCENT)

    return step


def _table_csv(table: MarginalTable) -> str:
    """Return a row for each cell: its labels, count, errors (of the noise; in all), interval."""
    import pandas as pd

    labels = [variable.categories for variable in table.domain]
    low, high = table.interval(population=True)
    cells = pd.MultiIndex.from_product(labels, names=list(table.domain.names))
    columns = {
        "count": table.counts.ravel(),
        "se_records": np.sqrt(table.variance(population=False)).ravel(),
        "se_population": np.sqrt(table.variance(population=True)).ravel(),
        "low": low.ravel(),
        "high": high.ravel(),
    }
    frame = pd.DataFrame(columns, index=cells).reset_index()
    written: str = frame.to_csv(index=False, float_format="%.17g", lineterminator="\n")
    return written


def _weights_csv(model: LinearClassifier) -> str:
    """Return a row for each weight of each plane; an absent error or end is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["class", "column", "weight", "se_population", "se_records", "low", "high"])
    for plane in model.planes:
        for weight in plane.weights:
            ends = [end if math.isfinite(end) else None for end in weight.interval or ()]
            errors = [weight.se, weight.se_records, *(ends or (None, None))]
            writer.writerow([plane.positive, weight.column, weight.estimate, *errors])
    return text.getvalue()


MOST_TABLES = 4096
"""An owner sends no more tables of counts than this."""


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
