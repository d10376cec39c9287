"""How global models are learned: names, limits and defaults, once for all who take them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le

from pramana_core.learn.common.options import InnerShare, Seed, require_limits
from pramana_core.model_sharing.core.tree import MOST_DEPTH
from pramana_core.model_sharing.growing.simplified import CONFIDENCE, MOST_CONFIDENCE

GlobalName = Literal["tree", "naive-bayes", "forest", "conjunctive"]


@dataclass(frozen=True)
class GlobalOptions:
    """How a global model is learned from records.

    Args:
        max_depth: the most questions on a way of a tree, or of one of a forest; None for any.
        min_leaf: the fewest records of a leaf, and of either side of a conjunctive rule.
        confidence: what a single tree is cut back by once it is grown, as the paper's J48 does
            (`growing.simplified`); None for not at all. The value is C4.5's own; PGEN's trees of
            five owners tell with it 92.5 % of car right for 90.6 uncut, 97.6 of nursery for 96.6,
            76.5 of adult for 74.6; those of all records 97.6 for 97.9, 99.5 for 99.8, 84.0 for
            81.9. Tried beside it: five records at least in a leaf, which lift PGEN alike and cost
            the others 2 points; BIC, which lifts adult most and nursery not; tests of the
            likelihood ratio at .01 and .05, which lift less at the paper's size.
        trees: how many trees a forest has.
        most_leaves: the most leaves of each of them.
        alpha: what naive Bayes adds to the count of each category.
        held_out: the share of the records that a conjunctive rule is pruned by and not grown from;
            a third, as in Weka's ConjunctiveRule.
        seed: decides between splits that are equally good, what a tree of a forest sees, and which
            records are held out.

    Raises:
        OptionError: a number out of its range.
    """

    max_depth: Annotated[int, Ge(1), Le(MOST_DEPTH)] | None = None
    min_leaf: Annotated[int, Ge(1), Le(1_000_000)] = 1
    confidence: Annotated[float, Gt(0), Le(MOST_CONFIDENCE)] | None = CONFIDENCE
    trees: Annotated[int, Ge(1), Le(500)] = 50
    most_leaves: Annotated[int, Ge(2), Le(10_000)] = 500
    alpha: Annotated[float, Gt(0), Le(1_000_000)] = 1.0
    held_out: InnerShare = 1 / 3
    seed: Seed = 0

    def __post_init__(self) -> None:
        require_limits(self)
