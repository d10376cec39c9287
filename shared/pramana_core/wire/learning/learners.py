"""What is asked of learners of association rules, trees, linear and Bayesian classifiers.

A job at the miner is the task and which records it counts; owners agree on the task alone. Fields
follow the options in classes of their own where the JSON has had them there.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pramana_core.learn.bayes_classifier.options import BayesClassifierOptions
from pramana_core.learn.common.options import Seed, Share
from pramana_core.learn.linear.options import LinearOptions
from pramana_core.learn.rules.options import MINIMUM_CONFIDENCE, MinimumConfidence, RuleOptions
from pramana_core.learn.tree.options import TreeOptions
from pramana_core.wire.base import MAX_CATEGORIES, MAX_VARIABLES, Label
from pramana_core.wire.learning.counting import CountsSpec, Variables
from pramana_core.wire.learning.options import WithOptions, options_from, options_in

MAX_LENGTH = 12
"""Longer itemsets no job mines: its tables grow with the categories of as many variables."""

Flag = Annotated[bool, Field(strict=True)]


@options_from(RuleOptions)
class _RulesWanted(WithOptions):
    kind: Literal["association-rules"]
    minimum_support: Share
    minimum_confidence: MinimumConfidence = MINIMUM_CONFIDENCE
    certain: Flag = False


class AssociationRulesTask(_RulesWanted):
    """Find frequent itemsets and the rules between their parts (Ma 7.1, FRAPP 6).

    For the options see `RuleOptions`. Rules have a confidence of at least `minimum_confidence`; if
    `certain`, the lower end of its interval has.
    """

    variables: Variables | None = None
    present: Label | None = None
    items: (
        Annotated[
            dict[Label, Annotated[list[Label], Field(min_length=1, max_length=MAX_CATEGORIES)]],
            Field(min_length=1, max_length=MAX_VARIABLES),
        ]
        | None
    ) = None

    def options(self) -> RuleOptions:
        """Return how itemsets are mined. Raises OptionError."""
        return options_in(self, RuleOptions)


class AssociationRulesSpec(AssociationRulesTask, CountsSpec):
    """Find frequent itemsets and the rules between their parts (Ma 7.1, FRAPP 6).

    An item is a category of a variable. `items` names them by variable; without it they are all
    categories of `variables` (by default of all that are reported), or, with `present`, only the
    category of that name of those that have it. Itemsets have up to `max_length` items.

    `decisions` says how itemsets are held frequent: by their estimates (`point`), or so that the
    share of mistakes among them stays at `false_discovery` (`controlled`). `confidence` is that of
    all intervals, `against` what they and the tests are about: these very records, or the
    population they were drawn from. `consistent` adds supports made consistent with each other.
    Rules have a confidence of at least `minimum_confidence`; if `certain`, the lower end of its
    interval has.
    """

    max_length: Annotated[int, Field(ge=1, le=MAX_LENGTH, strict=True)] = 8


@options_from(TreeOptions)
class DecisionTreeTask(WithOptions):
    """Learn a tree that tells a class from other variables; for the options see `TreeOptions`."""

    kind: Literal["decision-tree"]
    target: Label
    attributes: Variables | None = None

    def options(self) -> TreeOptions:
        """Return how the tree grows. Raises OptionError."""
        return options_in(self, TreeOptions)


class DecisionTreeSpec(DecisionTreeTask, CountsSpec):
    """Learn a tree that tells a class from other variables (Ma 7.2).

    `target` is the class and `attributes` what it is told from, by default all else that is
    reported. A node is split by the attribute of the largest information gain, or gain ratio, if
    chance alone would show as much in no more than a share `significance` of cases (null: without a
    test), if it tells as much of the class as `least_records` records without noise, and above
    `max_depth`. `prune` takes back splits that do not earn their description. `shrinkage` is by how
    much children's class probabilities usually differ from their parent's: the noisier a child's
    own, the more it takes of the parent's (null: nothing).
    """


Numbers = Annotated[tuple[float, ...], Field(min_length=2, max_length=MAX_CATEGORIES)]


@options_from(
    LinearOptions, numeric=Annotated[dict[Label, Numbers], Field(max_length=MAX_VARIABLES)]
)
class _Fitted(WithOptions):
    kind: Literal["linear-classifier"]
    target: Label
    features: Variables | None = None


class LinearClassifierTask(_Fitted):
    """Learn planes that tell a class from other variables; for the options see `LinearOptions`."""

    seed: Annotated[Seed, Field(strict=True)] = 0

    def options(self) -> LinearOptions:
        """Return how the classifier is fitted. Raises OptionError."""
        return options_in(self, LinearOptions)


class LinearClassifierSpec(LinearClassifierTask, CountsSpec):
    """Learn planes that tell a class from other variables (Ma 6).

    `target` is the class and `features` what it is told from, by default all else that is reported.
    `loss` is logistic, squared error, or the perceptron's, the share of records classified wrong;
    `l2` penalizes the squares of scaled weights. `encoding` makes of a variable without
    representatives a column per category or one of the categories' numbers; `numeric` gives such
    numbers by variable. `counts` are those that are fitted to: raw, expected, or (null) raw where
    these have a solution. `steps` is the most updates of the perceptron and `keep` says which of
    its weights stay, `sample` the records drawn from a learned network where all variables have
    too many cells together; `seed` decides these draws.
    """


@options_from(BayesClassifierOptions)
class BayesClassifierTask(WithOptions):
    """Learn a network with the class as its root; for the options see `BayesClassifierOptions`."""

    kind: Literal["bayes-classifier"]
    target: Label
    features: Variables | None = None

    def options(self) -> BayesClassifierOptions:
        """Return how the classifier is learned. Raises OptionError."""
        return options_in(self, BayesClassifierOptions)


class BayesClassifierSpec(BayesClassifierTask, CountsSpec):
    """Learn a Bayesian network classifier: naive Bayes, or one with links between attributes.

    `target` is the class and `features` what it is told from, by default all else that is reported.
    `model` says on what an attribute depends besides the class: nothing (`naive-bayes`), one other
    (`tan`, the tree of the largest conditional mutual information), up to `max_parents` of those
    that tell more (`kdb`), or (`auto`) the tree less its links that do not earn their parameters
    under the noise of the reports. `alpha` is added to every count.
    """
