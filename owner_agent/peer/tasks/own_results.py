"""Learners whose result is the initiator's alone: tables, rules, trees and classifiers.

Each runs on the marginals that the initiator has, and returns the files that it keeps.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence

import numpy as np

from owner_agent.peer.protocol.task_messages import (
    BayesTask,
    LinearTask,
    RulesTask,
    TableTask,
    TreeTask,
)
from owner_agent.peer.tasks.findings import Findings
from pramana_core.domain import Domain
from pramana_core.learn.bayes_classifier.exchange.documents import write_bayes_classifier_json
from pramana_core.learn.bayes_classifier.exchange.drawing import draw_bayes_classifier
from pramana_core.learn.bayes_classifier.exchange.text import write_bayes_classifier_text
from pramana_core.learn.bayes_classifier.learning import learn_bayes_classifier
from pramana_core.learn.common.documents import write_json
from pramana_core.learn.linear.exchange.documents import write_linear_json
from pramana_core.learn.linear.exchange.drawing import draw_weights
from pramana_core.learn.linear.fitting import learn_linear
from pramana_core.learn.linear.model import LinearClassifier
from pramana_core.learn.networks.exchange.bif import write_bif
from pramana_core.learn.rules.exchange.drawing import draw_itemsets, draw_rules
from pramana_core.learn.rules.exchange.export import itemsets_csv, rules_csv, rules_json
from pramana_core.learn.rules.items import items_wanted
from pramana_core.learn.rules.mining import mine_itemsets
from pramana_core.learn.rules.rules import derive_rules
from pramana_core.learn.tree.exchange.documents import write_tree_json
from pramana_core.learn.tree.exchange.drawing import draw_tree
from pramana_core.learn.tree.exchange.text import write_tree_text
from pramana_core.learn.tree.growth import learn_tree
from pramana_core.marginals.counts import Marginals, MarginalTable
from pramana_core.marginals.support_counts import Item
from pramana_core.progress import Progress

_PERCENT = 100
"""Where a task has more than one stage, its progress is told in hundredths of the whole."""


def learn_table(
    task: TableTask, marginals: Marginals, _nodes: Sequence[str], watch: Progress
) -> Findings:
    """Count a contingency table; `table.csv`."""
    watch(0, 1)
    written = _table_csv(marginals.marginal(task.variables))
    watch(1, 1)
    return Findings.kept({"table.csv": written})


def learn_rules(
    task: RulesTask, marginals: Marginals, _nodes: Sequence[str], watch: Progress
) -> Findings:
    """Mine itemsets and derive their rules; `rules.json`, and tables and pictures of both."""
    items = items_of(task, marginals.domain)
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


def learn_decision_tree(
    task: TreeTask, marginals: Marginals, _nodes: Sequence[str], watch: Progress
) -> Findings:
    """Grow a decision tree; `tree.json`, as text and as a picture."""
    tree = learn_tree(marginals, task.target, task.attributes, task.options(), watch)
    return Findings.kept(
        {
            "tree.json": write_tree_json(tree),
            "tree.txt": write_tree_text(tree, show_weights=True),
            "tree.svg": draw_tree(tree),
        }
    )


def learn_classifier(
    task: LinearTask, marginals: Marginals, _nodes: Sequence[str], watch: Progress
) -> Findings:
    """Fit a linear classifier; `linear.json`, its weights as a table and as a picture."""
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


def learn_bayes(
    task: BayesTask, marginals: Marginals, _nodes: Sequence[str], watch: Progress
) -> Findings:
    """Learn a Bayesian classifier; `bayes.json`, as text, as a picture and as a network in BIF."""
    model = learn_bayes_classifier(marginals, task.target, task.features, task.options(), watch)
    return Findings.kept(
        {
            "bayes.json": write_bayes_classifier_json(model),
            "bayes.txt": write_bayes_classifier_text(model),
            "bayes.svg": draw_bayes_classifier(model),
            "bayes.bif": write_bif(model.network, "classifier"),
        }
    )


def items_of(task: RulesTask, domain: Domain) -> tuple[Item, ...]:
    """Return the items of a task: of its own variables, whatever else is in the domain.

    Raises:
        UnknownCategory: it names a category that does not exist.
    """
    return items_wanted(domain.project(task.variables), task.present, task.items)


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
    """Return a row for each weight of each plane; an error or end there is none of is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["class", "column", "weight", "se_population", "se_records", "low", "high"])
    for plane in model.planes:
        for weight in plane.weights:
            ends = [end if math.isfinite(end) else None for end in weight.interval or ()]
            errors = [weight.se, weight.se_records, *(ends or (None, None))]
            writer.writerow([plane.positive, weight.column, weight.estimate, *errors])
    return text.getvalue()
