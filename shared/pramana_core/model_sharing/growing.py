"""Local trees of mixed data: grown as far as they go, or only as far as a requirement allows.

scikit-learn finds unrestricted splits on ranks, because it reads numbers as float32.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Le
from scipy import special

from pramana_core.errors import EmptyTable, LimitExceeded, NotInstalled, TableError
from pramana_core.learn.common.options import Seed, require_effect, require_limits
from pramana_core.mixed import Floats, MixedTable
from pramana_core.model_sharing.attributes import CategoricalAttribute, TreeSchema
from pramana_core.model_sharing.combine_options import MOST_DEPTH
from pramana_core.model_sharing.conditions import Condition, Interval
from pramana_core.model_sharing.offers import Codes, Records, apart, contracted, halves
from pramana_core.model_sharing.required_growth import grow_required
from pramana_core.model_sharing.requirements import Requirement
from pramana_core.model_sharing.tree import Leaf, Node, SharedTree, Split

MOST_CELLS = 400_000_000
"""The most records times indicators, four bytes each."""

MOST_RANKS = 1 << 24
"""The most whole numbers that float32 tells apart."""

_CONFIDENCE = 0.25
"""The confidence of C4.5's pruning, also of Weka's J48, the paper's learner."""

_NEARLY = 0.1
"""As in C4.5: a subtree must save more than this many errors."""


@dataclass(frozen=True)
class GrowthOptions:
    """How a tree is grown: by default as far as it goes, as in Sharkey's section 4.1.

    Attributes:
        max_depth: the most questions on a path; None for `MOST_DEPTH`.
        min_leaf: the fewest records of a leaf.
        seed: decides between equal splits if nothing is required.
        simplify: whether a tree without a requirement is pruned (`simplified`).
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

    Without a requirement scikit-learn grows it. With one, it takes the best splits whose parts all
    meet it, and a question may separate any set of categories.

    Raises:
        NotInstalled: scikit-learn is not installed, and nothing is required.
        TableError: no records, not one class code for each, or as `TreeSchema.read`.
        LimitExceeded, OptionError: too many records times categories; more classes required than
            exist.
        RequirementUnmet: no tree of one split meets the requirement.
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


def grow_unrestricted(records: Records, depth: int, min_leaf: int, seed: int) -> Node:
    """Return the tree of scikit-learn's questions. Raises LimitExceeded."""
    from sklearn.tree import DecisionTreeClassifier

    places = _indicated(records)
    grown = DecisionTreeClassifier(
        criterion="entropy",
        max_depth=depth,
        min_samples_leaf=min_leaf,
        random_state=seed % (1 << 32),
    ).fit(_indicators(records, places), records.classes)
    walk = _Walk(records, places, grown.tree_)
    return walk.node(0, np.arange(len(records)), records.everything())


def _indicated(records: Records) -> list[tuple[str, int | None]]:
    """Return of each column of the matrix the attribute, and the category that it indicates."""
    places: list[tuple[str, int | None]] = []
    for attribute in records.schema.attributes:
        if isinstance(attribute, CategoricalAttribute):
            # One that no record has, or all have, tells nothing.
            present = np.unique(records.codes[attribute.name]).tolist()
            places += [(attribute.name, code) for code in present]
        else:
            places.append((attribute.name, None))
    most_ranks = max(map(len, records.values.values()), default=0)
    if len(places) * len(records) > MOST_CELLS or most_ranks > MOST_RANKS:
        raise LimitExceeded(
            f"{len(records):,} records with {len(places):,} categories and numbers are too many to"
            " learn a tree from.",
            remedy="Leave out attributes of many categories, or group their categories.",
        )
    return places


def _indicators(records: Records, places: list[tuple[str, int | None]]) -> Any:
    """Return the columns: ranks of numbers, and whether a record is of a category."""
    found = np.empty((len(records), len(places)), dtype=np.float32, order="F")
    for place, (name, code) in enumerate(places):
        codes = records.codes[name]
        found[:, place] = codes if code is None else codes == code
    return found


@dataclass(frozen=True, eq=False)
class _Walk:
    """The walk of the records through scikit-learn's tree."""

    records: Records
    places: list[tuple[str, int | None]]
    grown: Any

    def node(self, at: int, rows: Codes, box: dict[str, Condition]) -> Node:
        """Return what is asked of the rows that reach a node, within the box that it is of."""
        if self.grown.children_left[at] < 0:
            return self.records.leaf(rows)
        name, code = self.places[self.grown.feature[at]]
        codes = self.records.codes[name][rows]
        extent = box[name]
        first: Condition
        second: Condition
        if isinstance(extent, Interval):
            left = codes <= math.floor(self.grown.threshold[at])
            neighbours = int(codes[left].max()), int(codes[~left].min())
            first, second = halves(extent, self.records.threshold(name, *neighbours))
        else:
            left = codes != code
            second, first = apart(extent, {int(code or 0)})
        below = (
            self.node(int(self.grown.children_left[at]), rows[left], {**box, name: first}),
            self.node(int(self.grown.children_right[at]), rows[~left], {**box, name: second}),
        )
        return Split(name, ((first, below[0]), (second, below[1])))


def simplified(node: Node) -> Node:
    """Return a tree of binary splits pruned as by C4.5 (Quinlan 1993, ch. 4), without holding
    records out.

    It protects nothing: see `pruning`.
    """
    return _cut(node)[0]


def expected_errors(counts: Floats) -> float:
    """Return how many errors are expected at a leaf that has counted its records by classes."""
    records, wrong = counts.sum(), counts.sum() - counts.max()
    if not records - wrong:
        return 0.0
    return float(records * special.betaincinv(wrong + 1, records - wrong, 1 - _CONFIDENCE))


def _cut(node: Node) -> tuple[Node, Floats, float]:
    """Return what is left of a tree, its counts of the classes and the errors expected there."""
    if isinstance(node, Leaf):
        counts = np.array(node.distribution, dtype=np.float64)
        return node, counts, expected_errors(counts)
    (one, first), (other, second) = node.parts
    left, right = _cut(first), _cut(second)
    counts, errors = left[1] + right[1], left[2] + right[2]
    alone = expected_errors(counts)
    if alone <= errors + _NEARLY:
        return Leaf.of(counts), counts, alone
    return Split(node.attribute, ((one, left[0]), (other, right[0]))), counts, errors
