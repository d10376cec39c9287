"""A local tree of mixed data, as far as it goes or only as far as a requirement lets it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Gt, Le

from pramana_core.errors import EmptyTable, NotInstalled, TableError
from pramana_core.learn.common.options import Share, require_limits
from pramana_core.mixed.table import MixedTable
from pramana_core.model_sharing.attributes import TreeSchema
from pramana_core.model_sharing.growing.offers import Records, contracted
from pramana_core.model_sharing.growing.required import (
    MOST_CONFIDENCE,
    grow_required,
    grow_unrestricted,
    simplified,
)
from pramana_core.model_sharing.requirements import Requirement
from pramana_core.model_sharing.tree import MOST_DEPTH, SharedTree

MOST_FIRST_SPLITS = 100
"""So many splits of each attribute are tried at the root at most."""

MOST_TRIED = 300_000
"""Records times attributes times splits that are tried at the root: some seconds."""


@dataclass(frozen=True)
class GrowthOptions:
    """How a tree is grown: by default as far as it goes, as in Sharkey's section 4.1.

    Attributes:
        criterion: what a split lowers, "entropy" or "gini".
        max_depth: the most questions on a way, each of one category or one number; None for as
            many as a tree may have, `MOST_DEPTH`.
        min_leaf: the fewest records of a leaf.
        seed: decides between splits that are equally good, where nothing is required; with a
            requirement the first attribute is taken.
        chance: with a requirement, a split is taken only if chance alone would tell as much of the
            class with at most this probability, by the likelihood ratio; 1 takes any.
        confidence: where nothing is required, what the grown tree is cut back by, see `required`;
            None for not at all.
        first_splits: with a requirement of (c, l) by the exact counts, how many splits of each
            attribute are tried at the root, each with all that grows below it: the one is kept
            whose whole tree lowers impurity most. Fewer are tried where records times attributes
            are many, and none above `MOST_TRIED`; 0 takes the one that does so by itself, which is
            faster. On nursery with (c, l) = (10, 3), 3 tell 56 % of other records rightly in place
            of 51, and the votes of 5 owners 57 in place of 53. Boxes of nursery's attributes allow
            61 at most.
    """

    criterion: Literal["entropy", "gini"] = "entropy"
    max_depth: Annotated[int, Ge(1), Le(MOST_DEPTH)] | None = None
    min_leaf: Annotated[int, Ge(1)] = 1
    seed: int = 0
    chance: Share = 0.01
    confidence: Annotated[float, Gt(0), Le(MOST_CONFIDENCE)] | None = None
    first_splits: Annotated[int, Ge(0), Le(MOST_FIRST_SPLITS)] = 3

    def __post_init__(self) -> None:
        require_limits(self)

    @property
    def depth(self) -> int:
        """The most questions on a way."""
        return MOST_DEPTH if self.max_depth is None else self.max_depth


def require_installed() -> None:
    """Check that trees can be grown here, without loading what grows them. Raises NotInstalled."""
    if find_spec("sklearn") is None:
        raise NotInstalled(
            "Trees of mixed data are grown by scikit-learn, which is not installed.",
            remedy="Install it (pip install 'pramana[models]').",
        )


def grow_tree(
    schema: TreeSchema,
    table: MixedTable,
    classes: npt.NDArray[np.intp],
    options: GrowthOptions | None = None,
    *,
    requirement: Requirement | None = None,
) -> SharedTree:
    """Return the tree of n records, with the counts of all classes in its leaves.

    Without a requirement it is grown by scikit-learn, on ranks of numbers and on an indicator of
    each category, so that a question parts one category from others, or numbers at a threshold.
    With one, it takes the best split of those whose parts all meet it: pruning afterwards often
    ends in nothing, where the first split takes out a part of one class. There, a question may part
    any set of categories from the others, for a part of one class must be mixed with another.

    The leaves have exactly the counts of their records, thresholds are as in `between`,
    and the same records, options and seed give the same tree.

    Args:
        schema: the class and the attributes.
        table: the attributes of the records; other columns are ignored.
        classes: the class codes of the records, n.
        options: how it is grown.
        requirement: what every path must meet.

    Raises:
        NotInstalled: scikit-learn is not installed, and nothing is required.
        EmptyTable: there are no records.
        TableError: there is not one class code for each record.
        MissingColumn, TableError, UnknownCategory: see `TreeSchema.read`.
        LimitExceeded: records times categories are too many.
        OptionError: the requirement asks for more classes than there are.
        RequirementUnmet: not even a tree of one split meets the requirement.
    """
    options = options or GrowthOptions()
    attributes = schema.read(table)
    if not attributes.records:
        raise EmptyTable("There are no records to learn a tree from.")
    classes = np.asarray(classes, dtype=np.intp)
    if classes.shape != (attributes.records,) or not (
        classes.min() >= 0 and classes.max() < schema.classes
    ):
        raise TableError(
            f"There must be a class from 0 to {schema.classes - 1} for each of"
            f" {attributes.records:,} records.",
            where=schema.target.name,
        )
    records = Records.of(schema, attributes, classes)
    if requirement is None:
        require_installed()
        root = grow_unrestricted(
            records, options.criterion, options.depth, options.min_leaf, options.seed
        )
        if options.confidence is not None:
            root = simplified(root, options.confidence)
    else:
        requirement.require_for(schema)
        root = grow_required(
            records,
            options.criterion,
            options.depth,
            options.min_leaf,
            options.chance,
            requirement,
            _first_splits(records, options, requirement),
        )
    return SharedTree(schema, contracted(root))


def _first_splits(records: Records, options: GrowthOptions, requirement: Requirement) -> int:
    """Return how many splits of each attribute are tried at the root.

    None where hits and misses decide: on nursery with (c, l) = (10, 3) the votes of 5 owners then
    have 79 % with the split that tells most by itself, and 65 % with one of three that were tried.
    """
    if requirement.c is None or not requirement.exact:
        return 0
    return min(options.first_splits, MOST_TRIED // (len(records) * len(records.schema.names)))
