"""Growing a decision tree by ID3 on estimated counts (Ma 7.2.2), as far as the noise allows.

Every node knows the counts of its own subpopulation, estimated with their covariance.

Also here:

* Choosing the attribute that a node asks.
* Taking back splits that do not earn what it costs to describe them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np

from pramana_core.errors import EstimationError, LimitExceeded
from pramana_core.learn.bayes_classifier.learning import learn_with_redundancy
from pramana_core.learn.bayes_classifier.model import ChosenModel
from pramana_core.learn.bayes_classifier.redundancy import UNKNOWN
from pramana_core.learn.bayes_classifier.replicates import Replicates
from pramana_core.learn.bayes_classifier.subpopulation import ModelledSubpopulation
from pramana_core.learn.common.inputs import inputs_of
from pramana_core.learn.common.options import DEEPEST, TreeOptions
from pramana_core.learn.tree.evidence import (
    EMPTY,
    GainEvidence,
    best_of,
    gain_interval,
    information_gain,
    valid_counts,
    weigh,
)
from pramana_core.learn.tree.model import DecisionTree
from pramana_core.learn.tree.node import Node, NodeClasses, Split, class_counts
from pramana_core.marginals.counts import Marginals, Subpopulation, Subtable, Tensor
from pramana_core.progress import Progress, unwatched
from pramana_core.ties import TIE, exceeds, first_largest, reaches

# Choosing the attribute that a node asks.
#
# Of the attributes whose gain is more than chance (see `evidence`; corrected for taking the best of
# several) it is the one with the largest gain, after what randomization alone adds to the gain is
# taken off: noise adds to every attribute's gain, most to those of many categories or of heavy
# randomization, and the largest raw gain would often be theirs. Where nothing is randomized nothing
# is taken off. The smallest p-value would be another choice; it prefers what is known well to what
# tells much, and was no better on held-out records.
#
# Gains that rounding could part are equal, and of equal ones the attribute is asked that comes
# first.


_BIT = 1.0
"""The scale of gains: what rounding leaves of a gain is that of the entropies it is made of."""

LEAST_GAIN = TIE * _BIT
"""A gain of fewer bits is rounding and counts as none; so does a difference of two."""


@dataclass(frozen=True)
class Score:
    """What is kept of an attribute that a node may ask while the others are tried.

    `excess` is the gain less what randomization adds, or the gain where there is no test.
    """

    attribute: str
    gain: float
    excess: float
    p_value: float


@dataclass(frozen=True, eq=False)
class SplitCandidate:
    """An attribute that a node may ask, and the table of it and the class within the node.

    `tried` is the number of attributes that it is the best of.
    """

    attribute: str
    table: Subtable
    tried: int

    @cached_property
    def counts(self) -> Tensor:
        """The raw counts, a row per category and a column per class."""
        return self.table.counts

    @cached_property
    def covariance(self) -> Tensor:
        """The covariance of the counts given the records. Raises LimitExceeded."""
        try:
            return self.table.covariance(population=False)
        except LimitExceeded as error:
            raise too_wide(self.attribute, error) from None

    @cached_property
    def gain(self) -> float:
        """The information gain in bits; 0 for a table that is empty or less."""
        # Fitted one by one, two tables of a node may differ in their sums.
        if self.counts.sum() <= EMPTY * self.table.records:
            return 0.0
        return information_gain(valid_counts(self.counts))

    @cached_property
    def evidence(self) -> GainEvidence:
        """What the table says of the split."""
        table = self.table
        return weigh(self.counts, self.covariance, table.records, counted=table.counted)

    def score(self, *, tested: bool) -> Score:
        """Return what is kept of it; `tested` whether its gain is tested against chance."""
        if self.gain <= LEAST_GAIN:
            return Score(self.attribute, self.gain, self.gain, 1.0)
        excess, p_value = self.gain, 0.0
        if tested:
            excess, p_value = self.evidence.excess, self.evidence.p_value
        return Score(self.attribute, self.gain, excess, p_value)

    def split(self, significance: float | None) -> Split:
        """Return the question; `significance` is that of its test, None where there was none."""
        found = self.evidence
        low, high = gain_interval(found, self.tried)
        # Nothing tells more bits than it has, or than there are to be told.
        most = math.log2(min(self.counts.shape))
        return Split(
            attribute=self.attribute,
            gain=found.gain,
            excess=min(found.over_chance, most),
            low=min(low, most),
            high=min(high, most),
            chance=found.chance,
            statistic=found.statistic,
            limit=None
            if significance is None or found.law is None
            else found.law.limit(significance, self.tried),
            degrees=found.degrees_of_freedom,
            tried=self.tried,
            p_value=best_of(self.tried, found.p_value),
        )


def best_split(
    within: Subpopulation,
    target: str,
    attributes: Sequence[str],
    *,
    limit: float | None,
) -> SplitCandidate | None:
    """Return the attribute to ask in a node, the first of equals; None where none is worth it.

    An attribute whose counts have no estimate in the node is not asked there.

    Args:
        within: the node's records.
        target: the class.
        attributes: what may be asked.
        limit: the greatest p-value; None where there is no test.

    Raises:
        EstimationError: no attribute has an estimate, and the node is the root.
        LimitExceeded: the table of an attribute is too large.
    """
    tried = list(_tried(within, target, attributes, tested=limit is not None))
    gains = {s.attribute: s for s in tried if s.gain > LEAST_GAIN}
    if limit is not None:
        gains = {n: s for n, s in gains.items() if reaches(limit, best_of(len(tried), s.p_value))}
    if not gains:
        return None
    best = [*gains][first_largest([s.excess for s in gains.values()], scale=_BIT)]
    # Its table is asked for again: those of all candidates together could be too large to keep.
    return _candidate(within, best, target, len(tried))


def _tried(
    within: Subpopulation, target: str, attributes: Sequence[str], *, tested: bool
) -> Iterator[Score]:
    """Yield what is kept of each attribute that has an estimate here."""
    failed: EstimationError | None = None
    estimated = False
    for name in attributes:
        try:
            score = _candidate(within, name, target, 0).score(tested=tested)
        except EstimationError as error:
            failed = failed or error
            continue
        estimated = True
        yield score
    if failed is not None and not estimated and not within.given:
        raise failed


def _candidate(within: Subpopulation, name: str, target: str, tried: int) -> SplitCandidate:
    try:
        return SplitCandidate(name, within.table([name, target]), tried)
    except LimitExceeded as error:
        raise too_wide(name, error) from None


def too_wide(attribute: str, error: LimitExceeded) -> LimitExceeded:
    """Return the error of a table that is too large, with the attribute to blame."""
    return LimitExceeded(
        f"Attribute {attribute!r} has too many categories for this tree: {error.message}",
        where=attribute,
        remedy="Leave it out of the attributes, or group its categories.",
    )


# Taking back splits that do not earn what it costs to describe them.
#
# Pruning against held-out records would need records that are not randomized. Instead each split is
# worth what it adds to the log-likelihood, discounted for the noise, less a description of it:
#
#     G / (2 c) - (d / 2) ln n - ln a
#
# with G = 2 n ln 2 times its gain, d its degrees of freedom, c the factor by which randomization
# multiplies the chance part of G, n the node's effective records and a the number of attributes it
# was the best of (Bayesian information criterion, and the cost of naming the attribute). From the
# leaves up, a subtree whose splits are together worth nothing becomes a leaf: a split that shows
# little itself stays if those below it show enough.

JointlyReported = Callable[[tuple[str, ...]], bool]
"""Whether reports tell some attributes together with the class."""

PAYS = 0.2
"""The records more that a leaf must let tell right, in a tree whose counts a model expects.

Of nursery at gamma 19 trees with 0.2, with 1 and with none were right as often, and with 0.2 they
had half the nodes of those with none.
"""

REPEATED = 2
"""How much likelier it is that a question repeats what was asked than that it tells anew.

Of mushroom at gamma 19 (6 runs) trees with 1 told 96.0 % right, with 2 and with 9 97.5 %; with
eight other seeds, and of nursery, car and four more tables, as many within the errors.
"""

LEAST_TOLD = 1.0
"""The effective records of a node below which no model splits it."""


def pruned(root: Node) -> Node:
    """Return a tree without the subtrees that are worth nothing."""
    return _pruned(root)[0]


def worth(node: Node, split: Split) -> float:
    """Return what a node's own split is worth, in nats (see the module's formula)."""
    scale = node.classes.total * math.log(2)
    inflation = 2 * scale * split.chance / split.degrees
    penalty = split.degrees / 2 * math.log(max(node.classes.effective, 1.0))
    return scale * split.gain / max(inflation, 1.0) - penalty - math.log(split.tried)


def _pruned(node: Node) -> tuple[Node, float]:
    if node.split is None:
        return node, 0.0
    below = [_pruned(child) for child in node.children]
    value = worth(node, node.split) + math.fsum(value for _, value in below)
    if not exceeds(value, 0.0, scale=node.classes.total):
        return Node(node.classes), 0.0
    return Node(node.classes, node.split, tuple(child for child, _ in below)), value


def pruned_by_gain(root: Node, told: JointlyReported) -> Node:
    """Return a tree without the subtrees by which few more of its records would be told right.

    Of a tree whose counts a model expects: no chance of its own is in a node's counts, so that
    there is nothing to be discounted for it; but each leaf must be worth its place. A subtree
    stays if for each leaf that it has more than one at least `PAYS` records more are told right.

    That what is asked tells anew, as the model has it, is an assumption where no reports tell it
    together with what was asked above. It may as well repeat that. Where it is not beyond chance
    that a node has records of another class than its decision's at all, that it repeats counts
    `REPEATED` times: if all is repeated, each leaf has the classes of the node, and what its
    records lose where it decides otherwise is taken off what the model expects to be gained. So
    the decision by an attribute that tells nearly all is not undone by what the model makes of
    several weak ones. Nor is a node split so of which the reports tell less than `LEAST_TOLD`
    records would that are not randomized: there the model has nothing but its assumption.

    Args:
        root: the tree as it was grown.
        told: whether reports tell some attributes and the class together.
    """
    return _by_gain(root, (), told)[0]


def wrong(classes: NodeClasses) -> float:
    """Return how many records of a node its decision is expected to tell wrong."""
    return (1 - max(classes.probabilities)) * classes.total


def may_be_pure(classes: NodeClasses) -> bool:
    """Return whether the interval of the decision's share allows that all records are of it."""
    return reaches(classes.high[classes.decision], 1.0)


def _by_gain(
    node: Node, path: tuple[str, ...], told: JointlyReported
) -> tuple[Node, tuple[NodeClasses, ...]]:
    """Return a node as it stays, and what is known of the leaves below it."""
    alone = Node(node.classes), (node.classes,)
    if node.split is None:
        return alone
    asked = (*path, node.split.attribute)
    below = [_by_gain(child, asked, told) for child in node.children]
    leaves = tuple(leaf for _, found in below for leaf in found)
    gained = math.fsum(_gained(leaf, node.classes, leaf) for leaf in leaves)
    if not told(asked):
        if not reaches(node.classes.effective, LEAST_TOLD):
            return alone
        if may_be_pure(node.classes):
            lost = math.fsum(_gained(leaf, node.classes, node.classes) for leaf in leaves)
            gained += REPEATED * lost
    slack = TIE * max(node.classes.total, 1.0)
    if gained < PAYS * (len(leaves) - 1) - slack or gained <= slack:
        return alone
    return Node(node.classes, node.split, tuple(child for child, _ in below)), leaves


def _gained(leaf: NodeClasses, above: NodeClasses, law: NodeClasses) -> float:
    """Return how many records more a leaf's decision tells right than that above it."""
    shares = law.probabilities
    return leaf.total * (shares[leaf.decision] - shares[above.decision])


# Growing a decision tree by ID3 on estimated counts (Ma 7.2.2), as far as the noise allows.


STEPS = 1000
"""What the whole of a tree is in the steps of its progress."""


def learn_tree(
    marginals: Marginals,
    target: str,
    attributes: Sequence[str] | None = None,
    options: TreeOptions | None = None,
    on_step: Progress | None = None,
) -> DecisionTree:
    """Learn a decision tree.

    Args:
        marginals: the counts.
        target: the variable that holds the class.
        attributes: what may be asked, in the order that decides between equals; None is all other
            variables.
        options: how it is grown and pruned.
        on_step: called at each node with steps done and `STEPS`; may raise to stop.

    Raises:
        UnknownVariable: a variable that is not there.
        OptionError: no attributes, one named twice, or the target among them.
        EstimationError, LimitExceeded: see `best_split`.
        Others: see `Subpopulation.table`.
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
        root = pruned_by_gain(root, lambda asked: marginals.can_estimate([*asked, target]))
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
    """Return all records, and the model of them where no reports tell the tables of paths."""
    if marginals.can_estimate([*names, target]):
        return None, marginals.subpopulation()
    before = partial(_before, on_step)
    model, evidence = learn_with_redundancy(marginals, target, names, on_step=before)
    replicates = Replicates.of(model, marginals, tick=lambda: on_step(0, STEPS))
    return model.model, ModelledSubpopulation(
        replicates, model.domain, target, marginals.records, evidence or UNKNOWN
    )


def _before(on_step: Progress, _done: int, _all: int) -> None:
    """Let what precedes the growth be stopped; how long it takes is not known."""
    on_step(0, STEPS)


@dataclass
class _Grower:
    """Grows the nodes of one tree, depth first."""

    target: str
    records: int
    options: TreeOptions
    through: ChosenModel | None
    on_step: Progress
    _done: float = field(default=0.0)

    @property
    def limit(self) -> float | None:
        """The greatest p-value of a split; a model's are not tested (see `subpopulations`)."""
        return self.options.limit if self.through is None else None

    def grow(self, everything: Subpopulation, attributes: tuple[str, ...]) -> Node:
        table = everything.table([self.target])
        covariance = table.covariance(population=False)
        (classes,) = class_counts(
            table.counts[None],
            covariance[None],
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
        """Grow a node and all below it; `share` is its part of the progress."""
        self.on_step(round(STEPS * self._done), STEPS)
        within = reach() if attributes and self._open(classes, depth) else None
        ask = partial(best_split, limit=self.limit)
        best = within and ask(within, self.target, attributes)
        if not within or not best:
            self._done += share
            return Node(classes)
        name, share = best.attribute, share / len(best.counts)
        left = tuple(other for other in attributes if other != name)
        children = tuple(
            self._node(partial(within.within, name, code), left, child, depth + 1, share)
            for code, child in enumerate(self._children(best, classes))
        )
        return Node(classes, best.split(self.limit), children)

    def _open(self, classes: NodeClasses, depth: int) -> bool:
        """Whether a node may be split: it has enough records, and of more than one class."""
        if depth in (self.options.max_depth, DEEPEST):
            return False
        # An empty node has none that count.
        told = classes.effective if self.through is None else classes.total
        if not reaches(told, max(self.options.least_records, EMPTY)):
            return False
        prunes = self.through is not None and self.options.prune
        if prunes and not reaches(wrong(classes), PAYS, scale=classes.total):
            return False
        counts = valid_counts(np.array(classes.counts))
        return int(np.count_nonzero(counts > EMPTY * self.records)) > 1

    def _children(self, best: SplitCandidate, parent: NodeClasses) -> tuple[NodeClasses, ...]:
        """Return what is known of each category's records: the rows of the table."""
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
