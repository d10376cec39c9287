"""Decision trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pramana.estimators.classifiers import Classifier
from pramana.reporting.estimating import EstimatedCounts
from shared.learn.tree.exchange.documents import tree_json
from shared.learn.tree.growth import learn_tree
from shared.learn.tree.model import DecisionTree as TreeModel
from shared.learn.tree.options import Criterion, TreeOptions


class DecisionTree(Classifier):
    """A decision tree of splits that are beyond chance under the noise (Ma 7.2)."""

    kind = "decision-tree"
    model_: TreeModel

    def __init__(
        self,
        target: str,
        features: Sequence[str] | None = None,
        *,
        criterion: Criterion = TreeOptions.criterion,
        max_depth: int | None = TreeOptions.max_depth,
        significance: float | None = TreeOptions.significance,
        least_records: float = TreeOptions.least_records,
        prune: bool = TreeOptions.prune,
        shrinkage: float | None = TreeOptions.shrinkage,
    ):
        self.target = target
        self.features = features
        self.criterion = criterion
        self.max_depth = max_depth
        self.significance = significance
        self.least_records = least_records
        self.prune = prune
        self.shrinkage = shrinkage

    def _learn(self, counts: EstimatedCounts) -> None:
        options = TreeOptions(
            self.criterion,
            self.max_depth,
            self.significance,
            self.least_records,
            self.prune,
            self.shrinkage,
        )
        self.model_ = learn_tree(counts.marginals, self.target, self.features, options)

    def _document(self) -> dict[str, Any]:
        return tree_json(self.model_)
