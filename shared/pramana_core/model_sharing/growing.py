"""Local trees of mixed data, as far as they go or only as far as a requirement lets them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Annotated

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Le

from pramana_core.errors import EmptyTable, NotInstalled, TableError
from pramana_core.learn.common.options import Seed, require_effect, require_limits
from pramana_core.mixed import MixedTable
from pramana_core.model_sharing.attributes import TreeSchema
from pramana_core.model_sharing.combine_options import MOST_DEPTH
from pramana_core.model_sharing.offers import Records, contracted
from pramana_core.model_sharing.required_growth import grow_required
from pramana_core.model_sharing.requirements import Requirement
from pramana_core.model_sharing.simplifying import simplified
from pramana_core.model_sharing.tree import SharedTree
from pramana_core.model_sharing.unrestricted_growth import grow_unrestricted


@dataclass(frozen=True)
class GrowthOptions:
    """How a tree is grown: by default as far as it goes, as in Sharkey's section 4.1.

    Attributes:
        max_depth: the most questions on a path, each of one category or one number; None for as
            many as a tree may have, `MOST_DEPTH`.
        min_leaf: the fewest records of a leaf.
        seed: decides between splits that are equally good, where nothing is required; with a
            requirement the first attribute is taken.
        simplify: where nothing is required, whether the grown tree is cut back (`simplified`).
    """

    max_depth: Annotated[int, Ge(1), Le(MOST_DEPTH)] | None = None
    min_leaf: Annotated[int, Ge(1)] = 1
    seed: Seed = 0
    simplify: bool = False

    def __post_init__(self) -> None:
        require_limits(self)


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
    depth = MOST_DEPTH if options.max_depth is None else options.max_depth
    if requirement is None:
        require_installed()
        root = grow_unrestricted(records, depth, options.min_leaf, options.seed)
        if options.simplify:
            root = simplified(root)
    else:
        require_effect(options, "requirement", str(requirement), seed=(), simplify=())
        requirement.require_for(schema)
        root = grow_required(records, depth, options.min_leaf, requirement)
    return SharedTree(schema, contracted(root))
