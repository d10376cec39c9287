"""Growing a decision tree by ID3 on estimated counts (Ma 7.2.2), to the depth that noise allows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from pramana_core.domain import Domain
from pramana_core.learn.bayes_classifier.learning import learn_with_redundancy
from pramana_core.learn.bayes_classifier.model import ChosenModel
from pramana_core.learn.bayes_classifier.redundancy import UNKNOWN
from pramana_core.learn.bayes_classifier.replicates import Replicates
from pramana_core.learn.bayes_classifier.subpopulation import (
    expected_counts,
    modelled_subpopulation,
)
from pramana_core.learn.common.inputs import inputs_of
from pramana_core.learn.common.options import DEEPEST, TreeOptions
from pramana_core.learn.tree.choosing import SplitCandidate, best_split, candidate
from pramana_core.learn.tree.evidence import EMPTY, valid_counts
from pramana_core.learn.tree.model import DecisionTree
from pramana_core.learn.tree.node import Node, NodeClasses, class_counts
from pramana_core.learn.tree.outline import Tabulate, outline
from pramana_core.learn.tree.pruning import pruned, pruned_by_gain
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
    through, everything, tabulate = _everything(marginals, target, names, report)
    grower = _Grower(target, marginals.records, options, report, inputs, tabulate)
    root = grower.grow(everything, names)
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
) -> tuple[ChosenModel | None, Subpopulation, Tabulate | None]:
    """Return all records as a subpopulation, the model behind its counts, and the model's tables.

    Both are None if reports contain all attributes and the target together.
    """
    if marginals.can_estimate([*names, target]):
        return None, marginals.subpopulation(), None

    def tick(*_: int) -> None:
        on_step(0, STEPS)

    model, evidence = learn_with_redundancy(marginals, target, names, on_step=tick)
    replicates = Replicates.of(model, marginals, tick=tick)
    known = evidence or UNKNOWN
    return (
        model.model,
        modelled_subpopulation(replicates, model.domain, target, marginals.records, known),
        partial(expected_counts, replicates, names, marginals.records, known),
    )


@dataclass
class _Grower:
    target: str
    records: int
    options: TreeOptions
    on_step: Progress
    inputs: Domain
    tabulate: Tabulate | None
    """The counts of a model, or None if nodes are counted."""
    _outline: Mapping[tuple[int, ...], str] = field(default_factory=dict)
    _done: float = field(default=0.0)

    def grow(self, everything: Subpopulation, attributes: tuple[str, ...]) -> Node:
        table = everything.table([self.target])
        (classes,) = class_counts(
            table.counts[None],
            table.covariance[None],
            self.records,
            counted=table.counted,
        )
        if self.tabulate is None:
            return self._node(lambda: everything, attributes, classes, 0, 1.0)
        for name in attributes:
            # Tables that are too large are rejected before the growth.
            candidate(everything, name, self.target, 0)
        self._outline = outline(
            self.inputs,
            classes.counts,
            self.records,
            self.options,
            self.tabulate,
            lambda done: self.on_step(round(STEPS * done), STEPS),
        )
        self._done = 1.0
        return self._node(lambda: everything, attributes, classes, 0, 0.0)

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
        within, best = self._best_split(reach, attributes, classes, depth)
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

    def _best_split(
        self,
        reach: Callable[[], Subpopulation],
        attributes: tuple[str, ...],
        classes: NodeClasses,
        depth: int,
    ) -> tuple[Subpopulation | None, SplitCandidate | None]:
        """Return a node's records and split; the splits of a model are known, not tested."""
        if self.tabulate is not None:
            within = reach()
            codes = tuple(within.given.get(name, -1) for name in self.inputs.names)
            name = self._outline.get(codes)
            best = candidate(within, name, self.target, len(attributes)) if name else None
            return within, best
        if not attributes or not self._open(classes, depth):
            return None, None
        within = reach()
        return within, best_split(within, self.target, attributes, limit=self.options.limit)

    def _open(self, classes: NodeClasses, depth: int) -> bool:
        if depth in (self.options.max_depth, DEEPEST):
            return False
        # An empty node is never split.
        if not reaches(classes.effective, max(self.options.least_records, EMPTY)):
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
