"""Decision trees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any

import numpy as np

from pramana.estimators.base import estimator
from pramana.estimators.classifiers import Classifier
from pramana_core.learn.common.options import TreeOptions
from pramana_core.learn.learners import TREE
from pramana_core.learn.tree.drawing import draw_tree
from pramana_core.learn.tree.model import DecisionTree as Tree
from pramana_core.learn.tree.node import Node
from pramana_core.learn.tree.text import write_tree_text
from pramana_core.pictures.plots import Picture

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd


@estimator
class DecisionTree(Classifier[Tree]):
    """A decision tree of significant splits (ID3, Ma 7.2).

    A node splits on one variable and has a child for each category. For ID3 as in Ma, pass
    `significance=None, least_records=0, prune=False, shrinkage=None`. If only predictions matter,
    `significance=None, prune=False` can be more accurate.

    Args:
        target: the class variable.
        features: the variables to split on, by default all others; their order decides ties.
        max_depth: the maximum number of splits on a path; None for no limit.
        significance: the largest p-value of a split; None splits until the gain is zero.
        least_records: a node is split only if its reports contain at least as much information
            about the class as this number of unrandomized records.
        prune: whether to undo splits whose gain is less than their description length.
        shrinkage: the typical distance between the class probabilities of a child and its parent.
            Noisier probabilities move further towards the parent's. None disables shrinkage.

    Examples:
        >>> import pramana as pm
        >>> people = pm.example("titanic")
        >>> domain = pm.domain(people, pm.observed_categories(people))
        >>> plan, keys = pm.plan(domain, p=0.1), pm.Keys.for_experiments(1)
        >>> reports = pm.randomize(people, plan, keys, record_id=people.index)
        >>> print(pm.DecisionTree("survived").fit(reports).to_text())
        |--- sex = female
        |   |--- class = 1st, 2nd, crew
        |   |   |--- class: yes
        |   |--- class = 3rd
        |   |   |--- class: no
        |--- sex = male
        |   |--- class: no
        <BLANKLINE>
    """

    learner = TREE

    target: str
    features: Sequence[str] | None = None
    _: KW_ONLY
    max_depth: int | None = TreeOptions.max_depth
    significance: float | None = TreeOptions.significance
    least_records: float = TreeOptions.least_records
    prune: bool = TreeOptions.prune
    shrinkage: float | None = TreeOptions.shrinkage

    def get_depth(self) -> int:
        """Return the largest number of splits on a path."""
        return self._fitted.root.depth

    def get_n_leaves(self) -> int:
        """Return the count of leaves."""
        return len(self._fitted.leaves)

    @property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """The importance of each feature, (features,), with sum 1; all 0 without splits.

        As in scikit-learn: the sum over a feature's splits of gain times share of the records.
        """
        tree = self._fitted
        importances = np.zeros(len(tree.inputs))
        for node in tree.root:
            if node.split is not None:
                importances[tree.inputs.axis(node.split.attribute)] += (
                    node.classes.total * node.split.gain
                )
        return importances / (importances.sum() or 1.0)

    def to_text(self, *, show_weights: bool = False) -> str:
        """Return the rules in the form of scikit-learn's `export_text`.

        In a pruned tree, categories that lead to leaves of one class share a line.

        Args:
            show_weights: whether to add each split's gain and each class's counts, with errors.
        """
        return write_tree_text(self._fitted, show_weights=show_weights)

    def _picture(self) -> Picture:
        return draw_tree(self._fitted)

    def to_frame(self) -> pd.DataFrame:
        """Return the nodes, one row each, a parent before its children; the index is `node`.

        Columns: `parent` (missing for the root); `depth`; `when`, the category that leads to the
        node (`sex = male`); `asks`, the variable on which the node is split (missing in a leaf);
        the split's `gain` in bits and its `p_value`; `class`, the most probable class; `records`,
        the estimated count of records; `effective`, the count of unrandomized records with the same
        information. For each class, such as `yes`: `probability_yes`, used for prediction;
        `low_yes` and `high_yes`, the 95 % interval of the class's share of the node's records
        against the population; `count_yes`, the raw estimate of its records, with its standard
        errors `se_records_yes` and `se_population_yes`.
        """
        import pandas as pd

        model = self._fitted
        frame = pd.DataFrame(list(_rows(model, model.root)))
        frame["parent"] = frame["parent"].astype("Int64")
        frame.index.name = "node"
        return frame


def _rows(tree: Tree, root: Node) -> Iterator[dict[str, Any]]:
    waiting: list[tuple[Node, int | None, int, str]] = [(root, None, 0, "")]
    number = 0
    while waiting:
        node, parent, depth, when = waiting.pop()
        split = node.split
        yield {
            "parent": parent,
            "depth": depth,
            "when": when,
            "asks": None if split is None else split.attribute,
            "gain": None if split is None else split.gain,
            "p_value": None if split is None else split.p_value,
            "class": tree.target.categories[node.classes.decision],
            "records": node.classes.total,
            "effective": node.classes.effective,
            **_of_classes(tree, node),
        }
        if split is not None:
            labels = tree.inputs[split.attribute].categories
            children = [
                (child, number, depth + 1, f"{split.attribute} = {label}")
                for label, child in zip(labels, node.children, strict=True)
            ]
            waiting += reversed(children)
        number += 1


def _of_classes(tree: Tree, node: Node) -> dict[str, float]:
    known = node.classes
    shares: dict[str, float] = {}
    for code, label in enumerate(tree.target.categories):
        shares |= {
            f"probability_{label}": known.probabilities[code],
            f"low_{label}": known.low[code],
            f"high_{label}": known.high[code],
            f"count_{label}": known.counts[code],
            f"se_records_{label}": known.se_records[code],
            f"se_population_{label}": known.se_population[code],
        }
    return shares
