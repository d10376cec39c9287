"""The one way to learn a global model of any kind from records.

Also here:

* How global models are learned: names, limits and defaults, once for all who take them.
* Random forests, grown by scikit-learn and kept as trees of our own.
* A single conjunctive rule, grown by information and pruned by reduced error. In principle Weka's
  ConjunctiveRule, the paper's third kind of global model: what a condition tells is how far it
  lowers the entropy of the classes, averaged over the records that the rule covers and all that it
  does not.
* Naive Bayes on records of numbers and categories. Categories have smoothed shares in each class,
  numbers a normal density, as scikit-learn's CategoricalNB and GaussianNB have them; a record's
  evidence of both kinds is added up. (The Bayesian classifiers of `pramana_core.learn` are learned
  from marginals, and know no numbers.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Gt, Le

from pramana_core.errors import EmptyTable, ModelError
from pramana_core.learn.common.documents import stream
from pramana_core.learn.common.options import InnerShare, Seed, require_limit, require_limits
from pramana_core.mixed import LARGEST, CategoricalColumn, Column, Floats, MixedTable, NumericColumn
from pramana_core.model_sharing.attributes import Attribute, CategoricalAttribute, TreeSchema
from pramana_core.model_sharing.global_models.model import (
    Codes,
    ForestModel,
    GlobalModel,
    RuleModel,
    TreeModel,
    entropy_bits,
    likeliest,
    meeting,
)
from pramana_core.model_sharing.growing import (
    CONFIDENCE,
    MOST_CONFIDENCE,
    GrowthOptions,
    Walk,
    grow_tree,
    indicated,
    indicators,
    require_installed,
)
from pramana_core.model_sharing.offers import Records, contracted
from pramana_core.model_sharing.tree import MOST_DEPTH, Condition, Interval, SharedTree, Values
from pramana_core.progress import Progress, unwatched
from pramana_core.ties import first_largest, first_smallest

Asked = tuple[tuple[str, Condition], ...]

_LEAST_GAIN = 1e-9
"""Bits for each record; what tells less is rounding."""


def learn_rule(
    schema: TreeSchema,
    table: MixedTable,
    classes: Codes,
    *,
    held_out: float = 1 / 3,
    min_leaf: int = 1,
    seed: int = 0,
) -> RuleModel:
    """Learn a conjunctive rule from n records.

    Conditions are of one category, or of numbers up to or above a threshold in the middle between
    two neighbours. The rule is cut back to the first of its conditions that predict the held-out
    records best; its counts are then those of all records.

    Args:
        schema, table, classes: as of `learn_global`.
        held_out: the share of the records that the rule is pruned by.
        min_leaf: the fewest records of the growing set that a rule covers, and that it does not.
        seed: decides which records are held out.

    Raises: as of `learn_global`.
    """
    records = schema.read(table)
    if not records.records:
        raise EmptyTable("There are no records to learn a rule from.")
    order = stream(seed).permutation(records.records)
    cut = int(held_out * records.records)
    growing, pruning = np.sort(order[cut:]), np.sort(order[:cut])
    grown, labels = records.rows(growing), classes[growing]
    rules = _grown(grown, labels, schema.classes, min_leaf)
    best = rules[-1]
    if cut:
        test, truth = records.rows(pruning), classes[pruning]
        right = [_right(rule, (grown, labels), (test, truth), schema.classes) for rule in rules]
        best = rules[int(np.argmax(right))]
    covered = meeting(records, best)
    return RuleModel(
        schema,
        best,
        _counted(classes[covered], schema.classes),
        _counted(classes[~covered], schema.classes),
    )


def _counted(classes: Codes, number: int) -> tuple[float, ...]:
    return tuple(float(count) for count in np.bincount(classes, minlength=number))


def _right(
    rule: Asked, grown: tuple[MixedTable, Codes], test: tuple[MixedTable, Codes], number: int
) -> int:
    """Return how many held-out records a rule predicts right by what it knows of the others."""
    table, classes = grown
    inside = meeting(table, rule)
    found, truth = meeting(test[0], rule), test[1]
    usual = int(np.argmax(np.bincount(classes, minlength=number)))
    right = 0
    for known, asked in ((inside, found), (~inside, ~found)):
        counts = np.bincount(classes[known], minlength=number)
        label = int(np.argmax(counts)) if counts.sum() else usual
        right += int(np.count_nonzero(truth[asked] == label))
    return right


def _grown(records: MixedTable, classes: Codes, number: int, min_leaf: int) -> list[Asked]:
    """Return the rules on the way: none of the conditions, the first, the first two, ..."""
    everything = np.bincount(classes, minlength=number).astype(np.float64)
    covered = np.arange(records.records)
    known: dict[str, Condition] = {}
    rules: list[Asked] = [()]
    spread = float(entropy_bits(everything[None, :])[0])
    while True:
        here = np.bincount(classes[covered], minlength=number)
        if np.count_nonzero(here) < 2:
            return rules
        found = [
            best
            for column in records.columns
            if (best := _best(column, covered, classes, everything, known, min_leaf)) is not None
        ]
        if not found:
            return rules
        # Of equal ones the first, in the order of the attributes.
        best = found[first_smallest([one.bits for one in found], scale=len(classes))]
        if spread - best.bits < _LEAST_GAIN * len(classes):
            return rules
        spread = best.bits
        known = {**known, best.name: best.condition}
        covered = covered[best.condition.holds(records[best.name].rows(covered))]
        rules.append(tuple(known.items()))


@dataclass(frozen=True)
class _Candidate:
    """A condition, and the bits that are then missing of all records' classes."""

    name: str
    condition: Condition
    bits: float


def _best(
    column: Column,
    covered: npt.NDArray[np.intp],
    classes: Codes,
    everything: Floats,
    known: dict[str, Condition],
    min_leaf: int,
) -> _Candidate | None:
    """Return the condition on an attribute that tells most; of equal ones the first."""
    here, labels = column.rows(covered), classes[covered]
    number = len(everything)
    before = known.get(column.name)
    conditions: list[Condition]
    if isinstance(here, CategoricalColumn):
        if before is not None:
            return None
        size = len(here.categories)
        cells = np.bincount(here.codes * number + labels, minlength=size * number)
        counts = cells.reshape(size, number).astype(np.float64)
        conditions = [Values((code,)) for code in range(size)]
    else:
        extent = before if isinstance(before, Interval) else Interval()
        ends, below = _below(here, labels, number)
        counts = np.concatenate([below, np.bincount(labels, minlength=number) - below])
        conditions = [
            *(Interval(extent.above, float(end)) for end in ends),
            *(Interval(float(end), extent.up_to) for end in ends),
        ]
    if not conditions:
        return None
    rest = everything - counts
    inside = entropy_bits(counts)
    bits = inside + entropy_bits(rest)
    fits = (counts.sum(axis=1) >= min_leaf) & (rest.sum(axis=1) >= min_leaf)
    if not fits.any():
        return None
    # A condition and its opposite tell as much: the one is taken whose records can be told apart
    # further.
    scale = len(classes)
    least = bits[fits].min() + _LEAST_GAIN * scale
    place = first_largest(np.where(fits & (bits <= least), inside, -np.inf), scale=scale)
    return _Candidate(column.name, conditions[place], float(bits[place]))


def _below(column: NumericColumn, classes: Codes, number: int) -> tuple[Floats, Floats]:
    """Return the thresholds, and the counts of classes up to each: thresholds x classes."""
    order = np.argsort(column.values, kind="stable")
    values = column.values[order]
    marks = np.zeros((len(values), number))
    marks[np.arange(len(values)), classes[order]] = 1
    last = np.flatnonzero(values[1:] > values[:-1])
    low, high = values[last], values[last + 1]
    ends = low + (high - low) / 2
    # Of neighbouring floats the middle may be the higher, which is to be above.
    ends = np.where(ends >= high, low, ends)
    return ends, marks.cumsum(axis=0)[last]


_OWN_WIDTH = 1e-9
"""Added to variances, times the largest of any attribute: a class may have one value alone."""

LEAST_VARIANCE = 1e-100
"""Smaller ones would make densities overflow."""


@dataclass(frozen=True)
class CategoryShares:
    """The probability of each category in each class: `probabilities[class][category]`."""

    probabilities: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Normal:
    """The mean and the variance of a number in each class."""

    means: tuple[float, ...]
    variances: tuple[float, ...]


Density = CategoryShares | Normal


@dataclass(frozen=True)
class NaiveBayesModel:
    """Tells the class as if attributes were independent of each other in each class.

    Attributes:
        prior: the share of each class; 0 of one that no record had.
        densities: those of the attributes, in the order of the schema.

    Raises:
        ModelError: a number is out of its range, or they are not those of the schema.
    """

    schema: TreeSchema
    prior: tuple[float, ...]
    densities: tuple[Density, ...]
    kind: Literal["naive-bayes"] = "naive-bayes"

    def __post_init__(self) -> None:
        if len(self.prior) != self.schema.classes or not _is_distribution(self.prior):
            raise ModelError("`prior` must be the shares of all classes.", where="prior")
        if len(self.densities) != len(self.schema.attributes):
            raise ModelError("There must be a density for each attribute.", where="densities")
        for attribute, density in zip(self.schema.attributes, self.densities, strict=True):
            if not _fits(attribute, density, self.schema.classes):
                raise ModelError(
                    f"The density of {attribute.name!r} is not one in each class: shares above 0"
                    f" that add up to 1, or means with variances of {LEAST_VARIANCE:g} or more.",
                    where=attribute.name,
                )

    def predict(self, table: MixedTable) -> Codes:
        """Return the class code of each of n records; of a tie the first. See `GlobalModel`."""
        return likeliest(self.probabilities(table))

    def probabilities(self, table: MixedTable) -> Floats:
        """Return the probability of each class, n x classes; see `GlobalModel`."""
        records = self.schema.read(table)
        with np.errstate(divide="ignore", over="ignore"):
            prior = np.log(np.array(self.prior))
            scores = np.tile(prior, (records.records, 1))
            for column, density in zip(records.columns, self.densities, strict=True):
                scores += _log_density(column, density)
        # Numbers so far out that every density is 0 tell nothing: the prior is left.
        lost = np.isneginf(scores.max(axis=1, initial=-np.inf))
        scores[lost] = prior
        shares = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-np.inf))
        found: Floats = shares / shares.sum(axis=1, keepdims=True)
        return found


def learn_naive_bayes(
    schema: TreeSchema, table: MixedTable, classes: Codes, alpha: float = 1.0
) -> NaiveBayesModel:
    """Learn naive Bayes from n records.

    Args:
        schema, table, classes: as of `learn_global`.
        alpha: what is added to the count of each category in each class.

    Raises: as of `learn_global`.
    """
    records = schema.read(table)
    if not records.records:
        raise EmptyTable("There are no records to learn naive Bayes from.")
    counts = np.bincount(classes, minlength=schema.classes)
    numbers = [column.values for column in records.columns if isinstance(column, NumericColumn)]
    width = _OWN_WIDTH * max((float(np.var(values)) for values in numbers), default=0.0)
    densities = tuple(
        _shares(column.codes, len(column.categories), classes, counts, alpha)
        if isinstance(column, CategoricalColumn)
        else _normal(column.values, classes, counts, width)
        for column in records.columns
    )
    prior = tuple(float(share) for share in counts / counts.sum())
    return NaiveBayesModel(schema, prior, densities)


def _shares(codes: Codes, size: int, classes: Codes, counts: Codes, alpha: float) -> CategoryShares:
    cells = np.bincount(classes * size + codes, minlength=len(counts) * size)
    raised = cells.reshape(len(counts), size) + alpha
    shares = raised / raised.sum(axis=1, keepdims=True)
    return CategoryShares(tuple(tuple(float(share) for share in row) for row in shares))


def _normal(values: Floats, classes: Codes, counts: Codes, width: float) -> Normal:
    """Return mean and variance in each class; of one without records those of all records."""
    means, variances = [], []
    for code, count in enumerate(counts):
        own = values[classes == code] if count else values
        means.append(float(own.mean()))
        # Without any variation at all whatever width is equally good.
        variances.append(max(float(own.var()) + width, LEAST_VARIANCE) if width else 1.0)
    return Normal(tuple(means), tuple(variances))


def _log_density(column: Column, density: Density) -> Floats:
    """Return the logarithm of the density of n values in each class, n x classes."""
    if isinstance(density, CategoryShares) and isinstance(column, CategoricalColumn):
        found: Floats = np.log(np.array(density.probabilities)).T[column.codes]
        return found
    if isinstance(density, CategoryShares) or isinstance(column, CategoricalColumn):
        raise ModelError(f"The density of {column.name!r} is of another kind.", where=column.name)
    means, variances = np.array(density.means), np.array(density.variances)
    apart = (column.values[:, None] - means) ** 2 / variances
    densities: Floats = -0.5 * (np.log(2 * np.pi * variances) + apart)
    return densities


def _fits(attribute: Attribute, density: Density, classes: int) -> bool:
    if isinstance(attribute, CategoricalAttribute):
        return (
            isinstance(density, CategoryShares)
            and len(density.probabilities) == classes
            and all(
                len(row) == len(attribute.categories) and min(row) > 0 and _is_distribution(row)
                for row in density.probabilities
            )
        )
    return (
        isinstance(density, Normal)
        and len(density.means) == len(density.variances) == classes
        and all(abs(mean) <= LARGEST for mean in density.means)
        and all(LEAST_VARIANCE <= variance < np.inf for variance in density.variances)
    )


def _is_distribution(shares: tuple[float, ...]) -> bool:
    return all(0 <= share <= 1 for share in shares) and abs(sum(shares) - 1) < 1e-6


# How global models are learned: names, limits and defaults, once for all who take them.

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


# Random forests, grown by scikit-learn and kept as trees of our own.

_AT_ONCE = 10
"""Trees that are grown before progress is told."""


def grow_forest(
    schema: TreeSchema,
    table: MixedTable,
    classes: Codes,
    options: GlobalOptions | None = None,
    on_step: Progress = unwatched,
) -> ForestModel:
    """Return a random forest of n records.

    Each tree is grown from a bootstrap sample, each split from a random choice of the numbers and
    the indicators of categories, as many as the square root of their number. The counts of its
    leaves are those of the bootstrap sample; thresholds are as in `between`.

    Args, Raises: as of `learn_global`; `on_step` is told how many trees are grown.
    """
    require_installed()
    from sklearn.ensemble import RandomForestClassifier

    options = options or GlobalOptions()
    records = schema.read(table)
    if not records.records:
        raise EmptyTable("There are no records to grow a forest from.")
    read = Records.of(schema, records, classes)
    places = indicated(read)
    matrix = indicators(read, places)
    forest = RandomForestClassifier(
        n_estimators=0,
        max_depth=options.max_depth or MOST_DEPTH,
        min_samples_leaf=options.min_leaf,
        max_leaf_nodes=options.most_leaves,
        random_state=options.seed % (1 << 32),
        warm_start=True,
    )
    while forest.n_estimators < options.trees:
        on_step(forest.n_estimators, options.trees)
        forest.n_estimators = min(forest.n_estimators + _AT_ONCE, options.trees)
        forest.fit(matrix, classes)
    on_step(options.trees, options.trees)
    grown = zip(forest.estimators_, forest.estimators_samples_, strict=True)
    roots = (
        Walk(read, places, tree.tree_).node(0, sample, read.everything()) for tree, sample in grown
    )
    return ForestModel(tuple(SharedTree(schema, contracted(root)) for root in roots))


def learn_global(
    schema: TreeSchema,
    table: MixedTable,
    classes: Codes,
    model: GlobalName = "tree",
    options: GlobalOptions | None = None,
    on_step: Progress = unwatched,
) -> GlobalModel:
    """Learn a global model from n records, be they real or pseudo-data.

    Args:
        schema: the class and the attributes.
        table: the attributes of the records; other columns are ignored.
        classes: their class codes, n; not all classes need occur.
        model: its kind.
        options: see `GlobalOptions`.
        on_step: told of the progress; what it raises stops the work.

    Raises:
        OptionError: there is no such model.
        NotInstalled: a tree or a forest is asked for, and scikit-learn is not installed.
        LimitExceeded: they have too many records and categories; see `grow_tree`.
        EmptyTable: there are no records.
        MissingColumn, TableError, UnknownCategory: as `TreeSchema.read`.
    """
    require_limit(model, GlobalName, "model")
    options = options or GlobalOptions()
    if model == "forest":
        return grow_forest(schema, table, classes, options, on_step)
    on_step(0, 1)
    if model == "naive-bayes":
        return learn_naive_bayes(schema, table, classes, options.alpha)
    if model == "conjunctive":
        share, least = options.held_out, options.min_leaf
        return learn_rule(schema, table, classes, held_out=share, min_leaf=least, seed=options.seed)
    growth = GrowthOptions(
        max_depth=options.max_depth,
        min_leaf=options.min_leaf,
        seed=options.seed,
        confidence=options.confidence,
    )
    grown = TreeModel(grow_tree(schema, table, classes, growth))
    on_step(1, 1)
    return grown
