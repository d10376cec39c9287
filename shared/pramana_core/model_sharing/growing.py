"""Trees of one owner's mixed data, grown fully or only as far as a requirement allows.

Without a requirement, scikit-learn finds the splits. It gets the ranks of numbers, because it reads
numbers as float32.
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
"""The maximum number of records times indicators, each of four bytes."""

MOST_RANKS = 1 << 24
"""The number of whole numbers, from 0, that float32 distinguishes."""

_CONFIDENCE = 0.25
"""The confidence level of pruning in C4.5 and in Weka's J48, which the paper uses."""

_NEARLY = 0.1
"""The minimum number of expected errors that a subtree must save, as in C4.5."""


@dataclass(frozen=True)
class GrowthOptions:
    """Options on how a tree is grown; by default it is grown fully, as in Sharkey's section 4.1.

    Attributes:
        max_depth: the maximum number of questions on a path, or None for `MOST_DEPTH`.
        min_leaf: the minimum number of records in a leaf.
        seed: the seed of the choice between equally good splits, in a tree without a requirement.
        simplify: whether a tree without a requirement is pruned by `simplified`.
    """

    max_depth: Annotated[int, Ge(1), Le(MOST_DEPTH)] | None = None
    min_leaf: Annotated[int, Ge(1)] = 1
    seed: Seed = 0
    simplify: bool = False

    def __post_init__(self) -> None:
        require_limits(self)


def require_installed() -> None:
    """Raise NotInstalled unless scikit-learn is installed; the library is not loaded."""
    if find_spec("sklearn") is None:
        raise NotInstalled(
            "Growing trees of mixed data needs scikit-learn, which is not installed.",
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
    """Return a tree grown from n records, with the counts of all classes in its leaves.

    Without a requirement, scikit-learn grows the tree. With a requirement, growth uses the best
    splits whose parts all meet it, and a question may separate any set of categories.

    Raises:
        NotInstalled: scikit-learn is not installed, and there is no requirement.
        TableError: there are no records, or not one class code for each, or as for
            `TreeSchema.read`.
        LimitExceeded: records times categories are too many.
        OptionError: the requirement has more classes than the schema.
        RequirementUnmet: no tree with a split meets the requirement.
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
            f"Each of the {attributes.records:,} records needs a class code from 0 to"
            f" {schema.classes - 1}.",
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
    """Return the tree that scikit-learn grows. Raises LimitExceeded."""
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
    """Return, for each matrix column, its attribute and the category that the column indicates."""
    places: list[tuple[str, int | None]] = []
    for attribute in records.schema.attributes:
        if isinstance(attribute, CategoricalAttribute):
            # A category that no record has, or all have, is uninformative.
            present = np.unique(records.codes[attribute.name]).tolist()
            places += [(attribute.name, code) for code in present]
        else:
            places.append((attribute.name, None))
    most_ranks = max(map(len, records.values.values()), default=0)
    if len(places) * len(records) > MOST_CELLS or most_ranks > MOST_RANKS:
        raise LimitExceeded(
            f"{len(records):,} records with {len(places):,} values are too many for one tree.",
            remedy="Exclude attributes of many categories, or group their categories.",
        )
    return places


def _indicators(records: Records, places: list[tuple[str, int | None]]) -> Any:
    found = np.empty((len(records), len(places)), dtype=np.float32, order="F")
    for place, (name, code) in enumerate(places):
        codes = records.codes[name]
        found[:, place] = codes if code is None else codes == code
    return found


@dataclass(frozen=True, eq=False)
class _Walk:
    records: Records
    places: list[tuple[str, int | None]]
    grown: Any

    def node(self, at: int, rows: Codes, box: dict[str, Condition]) -> Node:
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
    """Return a tree of binary splits pruned by C4.5's expected errors (Quinlan 1993, ch. 4).

    No held-out records are needed. This pruning protects no record, unlike the module `pruning`.
    """
    return _cut(node)[0]


def expected_errors(counts: Floats) -> float:
    """Return the expected number of errors at a leaf with these class counts."""
    records, wrong = counts.sum(), counts.sum() - counts.max()
    if not records - wrong:
        return 0.0
    return float(records * special.betaincinv(wrong + 1, records - wrong, 1 - _CONFIDENCE))


def _cut(node: Node) -> tuple[Node, Floats, float]:
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
