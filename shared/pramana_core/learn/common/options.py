"""The options of every learner: frozen dataclasses whose types state their limits.

Estimators, jobs, tasks of peers and `simulate` take the names, types, limits and defaults of
options from this module. An option of the wrong type raises OptionError.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le, Lt

from pramana_core.alike import did_you_mean
from pramana_core.errors import OptionError

Share = Annotated[float, Gt(0), Le(1)]
"""A share greater than 0 and at most 1."""

InnerShare = Annotated[float, Gt(0), Lt(1)]
Positive = Annotated[float, Gt(0), Le(10**12)]
NotNegative = Annotated[float, Ge(0), Le(10**12)]
"""A number of at least 0; above the limit, numbers could overflow without any further effect."""

Seed = Annotated[int, Ge(0), Lt(1 << 53)]
"""A seed; it is below 2^53, because JSON readers may round larger integers."""

_LONGEST = 40
"""The maximum length of a value that is quoted in a message."""

_WORDS = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}


def types_of(options: type) -> dict[str, Any]:
    """Return the type of each option, including its limits."""
    return get_type_hints(options, include_extras=True)


def limits_of(kind: Any) -> str:
    """Return the limits of a type as text: `at least 0 and at most 16`; "" without limits."""
    return " and ".join(f"{_WORDS[name]} {bound:,}" for name, bound in _limits(kind))


def require_limits(options: object) -> None:
    """Check every option of a dataclass against its type. Raises OptionError."""
    for name, kind in types_of(type(options)).items():
        require_limit(getattr(options, name), kind, name)


def require_limit(value: Any, kind: Any, where: str) -> None:
    """Check a value against its type: a `Literal`, bool, a number with limits, or a container.

    Raises:
        OptionError: the value does not have that type.
    """
    if value is None and NoneType in get_args(kind):
        return
    parts = _parts(kind)
    choices = [c for part in parts if get_origin(part) is Literal for c in get_args(part)]
    limits = _limits(kind)
    if choices:
        right, wanted = isinstance(value, str) and value in choices, f"one of {', '.join(choices)}"
    elif kind is bool:
        right, wanted = isinstance(value, bool), "True or False"
    elif limits:
        whole = any(get_origin(part) is Annotated and get_args(part)[0] is int for part in parts)
        right = isinstance(value, Integral if whole else Real) and not isinstance(value, bool)
        right = right and (isinstance(value, Integral) or math.isfinite(value))
        wanted = f"a {'whole' if whole else 'finite'} number {limits_of(kind)}"
        right = right and all(getattr(operator, name)(value, bound) for name, bound in limits)
    else:
        _require_type(value, kind, where)
        return
    if not right:
        meant = did_you_mean([value], choices) if choices else ""
        raise OptionError(f"{where} must be {wanted}, not {_given(value)}{meant}.", where=where)


def _require_type(value: Any, kind: Any, where: str) -> None:
    from pydantic import PydanticUserError, TypeAdapter, ValidationError

    parts = [part for part in _parts(kind) if part is not NoneType]
    known = tuple(part for part in parts if isinstance(part, type) and is_dataclass(part))
    if isinstance(value, known):
        return
    if len(known) == len(parts):
        wanted = known[0].__name__
        raise OptionError(f"{where} must be {wanted}, not {_given(value)}.", where=where)
    try:
        TypeAdapter(kind).validate_python(value)
    except PydanticUserError:
        return  # a protocol or a class of another library: checked where it is used
    except ValidationError as error:
        found = error.errors()[0]
        place = ".".join([where, *map(str, found["loc"])])
        raise OptionError(f"{place}: {found['msg']}.", where=where) from None


def require_effect(options: object, choice: str, chosen: str, **belongs: tuple[str, ...]) -> None:
    """Reject options that have no effect under another option but differ from their default.

    Args:
        options: the dataclass.
        choice, chosen: the name and the value of the deciding option.
        belongs: for each option, the values of the deciding option that give the option effect.

    Raises:
        OptionError: an option has no effect.
    """
    for field_ in fields(options):  # type: ignore[arg-type]
        name, owners = field_.name, belongs.get(field_.name)
        factory = field_.default_factory
        default = field_.default if factory is MISSING else factory()
        if owners is None or chosen in owners or getattr(options, name) == default:
            continue
        raise OptionError(
            f"{name} has no effect with the {choice} {chosen!r}.",
            where=name,
            remedy=f"Leave it out, or choose the {choice} {' or '.join(map(repr, owners))}.",
        )


def _given(value: Any) -> str:
    text = repr(value) if isinstance(value, str | int | float | None) else ""
    return text if 0 < len(text) <= _LONGEST else f"a {type(value).__name__}"


def _parts(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def _limits(kind: Any) -> list[tuple[str, float]]:
    return [
        (name, getattr(limit, name))
        for part in _parts(kind)
        if get_origin(part) is Annotated
        for limit in part.__metadata__
        for name in _WORDS
        if hasattr(limit, name)
    ]


DEEPEST = 64
"""The maximum depth of a tree; the JSON document is nested as deeply as the tree."""


@dataclass(frozen=True)
class TreeOptions:
    """How a decision tree is grown and pruned.

    The default gives a small tree of significant splits. `TreeOptions(significance=None,
    least_records=0, prune=False, shrinkage=None)` is ID3 (Ma 7.2).

    Args:
        max_depth: the maximum number of splits on a path, or None for no limit.
        significance: the largest p-value of the gain at which a node is split. With None or 1,
            nodes are split while any split gains.
        least_records: the minimum information about the class in a node that is split, as a number
            of unrandomized records.
        prune: whether splits that gain less than their description length are undone.
        shrinkage: the typical Euclidean distance between a child's and its parent's class
            probabilities, used as the scale of a heavy-tailed prior. Noisier probabilities move
            further toward the parent's. With None or 0, probabilities do not move.
    """

    max_depth: Annotated[int, Ge(0), Le(DEEPEST)] | None = None
    significance: Share | None = 0.05
    least_records: NotNegative = 10.0
    prune: bool = True
    shrinkage: NotNegative | None = 0.1

    def __post_init__(self) -> None:
        require_limits(self)
        # Floats throughout, so that equal options give equal documents.
        for name in ("significance", "least_records", "shrinkage"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else float(value))
        object.__setattr__(self, "shrinkage", self.shrinkage or None)

    @property
    def limit(self) -> float | None:
        """The largest p-value of a split, or None if splits are not tested."""
        return None if self.significance == 1 else self.significance


Decisions = Literal["point", "controlled"]
Against = Literal["records", "population"]

MinimumConfidence = Annotated[float, Ge(0), Le(1)]
"""The minimum confidence of a rule, a share."""

MINIMUM_CONFIDENCE = 0.8


@dataclass(frozen=True)
class RuleOptions:
    """How itemsets are mined.

    Args:
        minimum_support: the minimum support, as a share of the records, above 0 and at most 1.
        max_length: the maximum number of items in an itemset, from 1 to 12.
        decisions: how it is decided which itemsets are frequent (see `mining`).
        confidence: the confidence level of intervals and verdicts.
        false_discovery: the false discovery rate of `controlled` decisions.
        against: whether errors are relative to the true `records` or to the `population`.
    """

    minimum_support: Share
    max_length: Annotated[int, Ge(1), Le(12)] = 8
    decisions: Decisions = "point"
    confidence: InnerShare = 0.95
    false_discovery: InnerShare = 0.05
    against: Against = "records"

    def __post_init__(self) -> None:
        require_limits(self)
        require_effect(self, "decisions", self.decisions, false_discovery=("controlled",))


BayesModel = Literal["naive-bayes", "tan", "auto"]


@dataclass(frozen=True)
class BayesClassifierOptions:
    """How a Bayesian network classifier is learned.

    Args:
        model: the parents of an attribute in addition to the class. `naive-bayes` has none. `tan`
            has at most one other attribute, in the tree with the largest conditional mutual
            information (Friedman, Geiger and Goldszmidt 1997, section 4). `auto` keeps those links
            of the tree that gain more than their parameters cost under the noise of the reports (an
            AIC whose penalty includes that noise). If reports are randomized, `auto` also reduces
            the weight of the attributes' evidence according to its redundancy and noise.
        alpha: the pseudo-count of every cell, as a number of records as noisy as the reports.
    """

    model: BayesModel = "auto"
    alpha: Positive = 1.0

    def __post_init__(self) -> None:
        require_limits(self)
        object.__setattr__(self, "alpha", float(self.alpha))

    @property
    def depends_on(self) -> int:
        """The maximum number of parents of an attribute in addition to the class."""
        return 0 if self.model == "naive-bayes" else 1


Loss = Literal["perceptron", "least-squares", "logistic"]
Encoding = Literal["indicator", "ordinal"]
Basis = Literal["cells", "network"]
Keep = Literal["fewest-wrong", "longest-run"]


@dataclass(frozen=True)
class LinearOptions:
    """How a linear classifier is fitted.

    Args:
        loss: `logistic`, `least-squares` (with targets -1 and +1), or `perceptron`, the share of
            misclassified records, which the pocket algorithm minimizes (Ma 6.2).
        l2: the weight of the penalty. Half of `l2` times the sum of squared weights (of scaled
            columns, without the intercept) is added to the mean loss, which for least squares is
            half the mean squared error. The perceptron has no penalty.
        encoding: the columns of a variable without numbers: `indicator` gives one column for each
            category except the first, `ordinal` one column with the numbers 1 .. K (as Ma does for
            the lenses).
        numeric: numbers for the categories, by variable; takes precedence over `encoding`.
        basis: the counts used for the fit. `cells` uses the counts of all cells of the features and
            the class (unbiased counts, with errors; the perceptron uses posterior sums). `network`
            uses records drawn from a learned Bayesian network classifier, without errors. None uses
            cells if reports contain all variables together and the cells are not too many.
        steps: the maximum number of perceptron updates for each plane.
        sample: the number of records drawn from a network.
        keep: which weights the perceptron returns. `fewest-wrong` starts from least squares and
            returns the weights that misclassify the fewest records. `longest-run` (Ma 6.2) starts
            from 0 and returns the weights with the longest run of correctly classified draws.
    """

    loss: Loss = "logistic"
    l2: NotNegative = 0.0
    encoding: Encoding = "indicator"
    numeric: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    basis: Basis | None = None
    steps: Annotated[int, Ge(1), Le(1_000_000)] = 2_000
    sample: Annotated[int, Ge(1), Le(1 << 20)] = 1 << 16
    keep: Keep = "fewest-wrong"

    def __post_init__(self) -> None:
        require_limits(self)
        fitted = ("least-squares", "logistic")
        pocket = ("perceptron",)
        require_effect(self, "loss", self.loss, l2=fitted, steps=pocket, keep=pocket)
        numeric = {name: tuple(map(float, numbers)) for name, numbers in self.numeric.items()}
        object.__setattr__(self, "numeric", numeric)


Method = Literal["ml", "map"]
ScoreName = Literal["likelihood", "bic", "bayesian", "bdeu"]
SearchName = Literal["auto", "hill-climbing", "chow-liu"]

MaxParents = Annotated[int, Ge(1), Le(16)]

Draws = Annotated[int, Ge(0), Le(10_000)]
"""The number of bootstrap samples for the confidence of links; 0 for no bootstrap."""

DRAWS = 200


@dataclass(frozen=True)
class ParameterOptions:
    """How the parameters of a network are learned.

    Args:
        method: maximum likelihood (`ml`), or `map` with a Dirichlet prior (Ma 5.1).
        alpha: the prior's pseudo-count per cell; only for `map`.
    """

    method: Method = "ml"
    alpha: Positive = 1.0

    def __post_init__(self) -> None:
        require_limits(self)
        require_effect(self, "method", self.method, alpha=("map",))


@dataclass(frozen=True)
class Scoring:
    """A score and its options.

    Args:
        name: `likelihood` of the reports (default), or a score of estimated counts made
            nonnegative: `bic` (Ma 5.5.1, penalty (log N)/2 per parameter), `bayesian` (Ma 5.5.1,
            Dirichlet prior) or `bdeu`.
        eta: a parent is added only if new > eta * old, where both are logarithms and negative (Ma
            5.5.2).
        c_star: the factor of the penalty of `bic` (Ma 5.5.2).
        alpha: the Dirichlet parameter of each cell; for `bayesian`.
        equivalent_sample_size: the prior's weight in records; for `bdeu`.
    """

    name: ScoreName = "likelihood"
    eta: Share = 1.0
    c_star: Positive = 1.0
    alpha: Positive = 1.0
    equivalent_sample_size: Positive = 10.0

    def __post_init__(self) -> None:
        require_limit(self.name, ScoreName, "score")
        require_limits(self)
        require_effect(
            self,
            "score",
            self.name,
            eta=("bic", "bayesian", "bdeu"),
            c_star=("bic",),
            alpha=("bayesian",),
            equivalent_sample_size=("bdeu",),
        )


@dataclass(frozen=True)
class Search:
    """How a structure is searched.

    Args:
        order: an order in which each variable's parents precede it; selects K2 (Ma 5.5.1).
        max_parents: the maximum number of parents of a variable.
        refine: K2 also removes a parent, or exchanges one for another, if that improves the score.
        method: the search without an order. `hill-climbing` adds, deletes, reverses and exchanges
            links by the score. `chow-liu` needs only tables of pairs: it learns the forest of the
            largest information (Chow and Liu 1968) and, with more than one parent, further links
            that no chain explains. `auto` is hill climbing if records report all variables jointly.

    Raises:
        OptionError: a value outside its range, a method in addition to an order, an order that
            names a variable twice, or neither an order nor refinement.
    """

    order: tuple[str, ...] | None = None
    max_parents: MaxParents = 3
    refine: bool = True
    method: SearchName = "auto"

    def __post_init__(self) -> None:
        require_limits(self)
        if self.order is not None and self.method != "auto":
            raise OptionError(
                f"The method {self.method!r} cannot be used with an order, which selects K2.",
                where="method",
                remedy="Leave out the order or the method.",
            )
        if self.order is not None and len(set(self.order)) < len(self.order):
            raise OptionError("The order names a variable twice.", where="order")
        if self.order is None and not self.refine:
            raise OptionError(
                "refine=False requires an order, because a search"
                " without an order is always refined.",
                where="refine",
            )


@dataclass(frozen=True)
class RegressionOptions:
    """How a regression is fitted.

    Args:
        degree: the highest power of a numeric column; 1 fits straight lines.
        confidence: the confidence level of all intervals.
        seed: decides which records are left out together when the model is scored on records that
            were not used to fit it.
    """

    degree: Annotated[int, Ge(1), Le(6)] = 1
    confidence: InnerShare = 0.95
    seed: Seed = 0

    def __post_init__(self) -> None:
        require_limits(self)
