"""Growing a decision tree by ID3 on estimated counts (Ma 7.2.2), to the depth that noise allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from pramana_core.learn.bayes_classifier.learning import learn_with_redundancy
from pramana_core.learn.bayes_classifier.model import ChosenModel
from pramana_core.learn.bayes_classifier.redundancy import UNKNOWN
from pramana_core.learn.bayes_classifier.replicates import Replicates
from pramana_core.learn.bayes_classifier.subpopulation import modelled_subpopulation
from pramana_core.learn.common.inputs import inputs_of
from pramana_core.learn.common.options import DEEPEST, TreeOptions
from pramana_core.learn.tree.choosing import SplitCandidate, best_split
from pramana_core.learn.tree.evidence import EMPTY, valid_counts
from pramana_core.learn.tree.model import DecisionTree
from pramana_core.learn.tree.node import Node, NodeClasses, class_counts
from pramana_core.learn.tree.pruning import PAYS, pruned, pruned_by_gain, wrong
from pramana_core.marginals.counts import Marginals
from pramana_core.marginals.subpopulations import Subpopulation
from pramana_core.progress import Progress, unwatched
from pramana_core.ties import reaches

STEPS = 1000
"""The number of progress steps reported for a whole tree."""


def learn_tree(
    marginals: Marginals,
    target: str,
    attributes: Sequence[str] | None = None,
    options: TreeOptions | None = None,
    on_step: Progress | None = None,
) -> DecisionTree:
    """Learn a decision tree from exact or estimated counts.

    By default, `attributes` are all variables except the target. If several attributes are equally
    good, the first of them splits the node. `on_step` is called at each node with the number of
    steps done and `STEPS`.

    Raises UnknownVariable, OptionError: see `inputs_of`. EstimationError, LimitExceeded: see
    `best_split`.
    """
    options = options or TreeOptions()
    inputs = inputs_of(marginals.domain, target, attributes, "attributes")
    names = inputs.names
    report = on_step or unwatched
    through, everything = _everything(marginals, target, names, report)
    root = _Grower(target, marginals.records, options, through, report).grow(everything, names)
    if options.prune and through is None:
        root = pruned(root)
    elif options.prune:
        root = pruned_by_gain(root, lambda path: marginals.can_estimate([*path, target]))
    return DecisionTree(
        inputs=inputs,
        target=marginals.domain[target],
        root=root,
        records=marginals.records,
        options=options,
        through=through,
    )


def _everything(
    marginals: Marginals, target: str, names: Sequence[str], on_step: Progress
) -> tuple[ChosenModel | None, Subpopulation]:
    """Return all records as a subpopulation, and the model behind its counts. The model is None if
    reports contain all attributes and the target together."""
    if marginals.can_estimate([*names, target]):
        return None, marginals.subpopulation()

    def tick(*_: int) -> None:
        on_step(0, STEPS)

    model, evidence = learn_with_redundancy(marginals, target, names, on_step=tick)
    replicates = Replicates.of(model, marginals, tick=tick)
    return model.model, modelled_subpopulation(
        replicates, model.domain, target, marginals.records, evidence or UNKNOWN
    )


@dataclass
class _Grower:
    target: str
    records: int
    options: TreeOptions
    through: ChosenModel | None
    on_step: Progress
    _done: float = field(default=0.0)

    def grow(self, everything: Subpopulation, attributes: tuple[str, ...]) -> Node:
        table = everything.table([self.target])
        (classes,) = class_counts(
            table.counts[None],
            table.covariance[None],
            self.records,
            counted=table.counted,
        )
        return self._node(lambda: everything, attributes, classes, 0, 1.0)

    def _node(
        self,
        reach: Callable[[], Subpopulation],
        attributes: tuple[str, ...],
        classes: NodeClasses,
        depth: int,
        share: float,
    ) -> Node:
        """Return a grown node; `share` is the part of the progress that its subtree represents."""
        self.on_step(round(STEPS * self._done), STEPS)
        within = reach() if attributes and self._open(classes, depth) else None
        # Splits on a model's counts are not tested.
        limit = self.options.limit if self.through is None else None
        best = within and best_split(within, self.target, attributes, limit=limit)
        if not within or not best:
            self._done += share
            return Node(classes)
        name, share = best.attribute, share / len(best.counts)
        left = tuple(other for other in attributes if other != name)
        children = tuple(
            self._node(partial(within.within, name, code), left, child, depth + 1, share)
            for code, child in enumerate(self._children(best, classes))
        )
        return Node(classes, best.split(), children)

    def _open(self, classes: NodeClasses, depth: int) -> bool:
        if depth in (self.options.max_depth, DEEPEST):
            return False
        # An empty node is never split.
        size = classes.effective if self.through is None else classes.total
        if not reaches(size, max(self.options.least_records, EMPTY)):
            return False
        prunes = self.through is not None and self.options.prune
        if prunes and not reaches(wrong(classes), PAYS, scale=classes.total):
            return False
        counts = valid_counts(np.array(classes.counts))
        return int(np.count_nonzero(counts > EMPTY * self.records)) > 1

    def _children(self, best: SplitCandidate, parent: NodeClasses) -> tuple[NodeClasses, ...]:
        k, m = best.counts.shape
        own = np.arange(k)
        blocks = best.covariance.reshape(k, m, k, m)[own, :, own, :]
        return class_counts(
            best.counts,
            blocks,
            self.records,
            parent.probabilities,
            self.options.shrinkage,
            counted=best.table.counted,
        )
