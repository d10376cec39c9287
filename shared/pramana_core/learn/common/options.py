"""Options of learners: frozen dataclasses whose types say their limits, once for all who take them.

Messages, tasks of peers and commands take names, types, limits and defaults from here.

Also here:

* How a decision tree is grown and pruned.
* How itemsets are mined: what counts as frequent, and how that is decided.
* How a Bayesian network classifier is learned.
* How a linear classifier is fitted.
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
"""A share of something, and not none of it."""

InnerShare = Annotated[float, Gt(0), Lt(1)]
Positive = Annotated[float, Gt(0), Le(10**12)]
NotNegative = Annotated[float, Ge(0), Le(10**12)]
"""What is larger overflows somewhere, and means the same as the largest."""

Seed = Annotated[int, Ge(0), Lt(1 << 53)]
"""Below 2^53, so that no reader of JSON rounds it."""

_LONGEST = 40
"""What is longer is not quoted."""

_WORDS = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}


def types_of(options: type) -> dict[str, Any]:
    """Return the type of each option, with its limits."""
    return get_type_hints(options, include_extras=True)


def limits_of(kind: Any) -> str:
    """Return the limits of a number in words: `at least 0 and at most 16`; empty without any."""
    return " and ".join(f"{_WORDS[name]} {bound:,}" for name, bound in _limits(kind))


def require_limits(options: object) -> None:
    """Check every option of a dataclass against its type. Raises OptionError."""
    for name, kind in types_of(type(options)).items():
        require_limit(getattr(options, name), kind, name)


def require_limit(value: Any, kind: Any, where: str) -> None:
    """Check that a value is one of a `Literal`, true or false, or a finite number within limits.

    Raises:
        OptionError: it is not.
    """
    if value is None and NoneType in get_args(kind):
        return
    if kind is bool and not isinstance(value, bool):
        raise OptionError(f"{where} must be True or False, not {_given(value)}.", where=where)
    choices = [c for part in _parts(kind) if get_origin(part) is Literal for c in get_args(part)]
    if choices and not (isinstance(value, str) and value in choices):
        raise OptionError(
            f"{where} must be one of {', '.join(choices)}, not"
            f" {_given(value)}{did_you_mean([value], choices)}.",
            where=where,
        )
    limits = _limits(kind)
    if limits:
        _require_number(value, kind, where)
    elif not choices and kind is not bool:
        _require_type(value, kind, where)
    if not all(getattr(operator, name)(value, bound) for name, bound in limits):
        raise OptionError(f"{where} must be {limits_of(kind)}, not {value}.", where=where)


def _require_number(value: Any, kind: Any, where: str) -> None:
    whole = any(get_origin(part) is Annotated and get_args(part)[0] is int for part in _parts(kind))
    wanted, name = (Integral, "whole number") if whole else (Real, "finite number")
    if isinstance(value, bool) or not isinstance(value, wanted):
        raise OptionError(
            f"{where} must be a {name} {limits_of(kind)}, not {_given(value)}.", where=where
        )
    if not isinstance(value, Integral) and not math.isfinite(value):
        raise OptionError(
            f"{where} must be a finite number {limits_of(kind)}, not {_given(value)}.", where=where
        )


def _require_type(value: Any, kind: Any, where: str) -> None:
    """Check a value against a type that has no limits of its own, such as a mapping."""
    from pydantic import PydanticUserError, TypeAdapter, ValidationError

    known = [part for part in _parts(kind) if isinstance(part, type) and is_dataclass(part)]
    if isinstance(value, tuple(known)):
        return
    try:
        if len(known) == len([part for part in _parts(kind) if part is not NoneType]):
            raise OptionError(
                f"{where} must be {known[0].__name__}, not {_given(value)}.", where=where
            )
        TypeAdapter(kind).validate_python(value)
    except PydanticUserError:
        return  # a protocol or a class of another library, which is checked where it is used
    except ValidationError as error:
        found = error.errors()[0]
        place = ".".join([where, *map(str, found["loc"])])
        raise OptionError(f"{place}: {found['msg']}.", where=where) from None


def require_effect(options: object, choice: str, chosen: str, **belongs: tuple[str, ...]) -> None:
    """Refuse options that have no effect with what was chosen, unless they are the defaults.

    Args:
        options: a dataclass.
        choice: the option that decides, for the message.
        chosen: its value.
        belongs: by option, the values of the choice with which it has an effect.

    Raises:
        OptionError: an option differs from its default, and does nothing.
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
    """Return a value as a message holds it: itself where that is short, else its type."""
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


# How a decision tree is grown and pruned.


DEEPEST = 256
"""No path of a tree asks more questions."""


@dataclass(frozen=True)
class TreeOptions:
    """How far a tree grows, and what its leaves say.

    `TreeOptions(significance=None, least_records=0, prune=False, shrinkage=None)` is ID3 as in
    Ma 7.2. The default gives a small tree of splits that are beyond chance. For predictions alone
    `TreeOptions(significance=None, prune=False)` can be better where the class depends strongly on
    the attributes: its leaves are many, and what they say is only as bold as the noise allows.

    Args:
        max_depth: the most attributes asked on a path; None is all.
        significance: a node is split if chance alone would show its best attribute's gain in no
            more than this share of cases; None, or 1, splits until nothing is gained.
        least_records: a node is not split if it holds less information about the class than so
            many unrandomized records.
        prune: undo splits that do not pay for their own description length.
        shrinkage: how far a child's class probabilities usually are from its parent's (Euclidean
            distance; the scale of a prior with a heavy tail). The noisier a child's are, and the
            less its siblings differ, the more of the parent's they take. None, or 0, takes none.

    Raises:
        OptionError: an option outside its range.
    """

    max_depth: Annotated[int, Ge(0), Le(DEEPEST)] | None = None
    significance: Share | None = 0.05
    least_records: NotNegative = 10.0
    prune: bool = True
    shrinkage: NotNegative | None = 0.1

    def __post_init__(self) -> None:
        require_limits(self)
        # One form of each number, so that equal options are written alike.
        for name in ("significance", "least_records", "shrinkage"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else float(value))
        object.__setattr__(self, "shrinkage", self.shrinkage or None)

    @property
    def limit(self) -> float | None:
        """The greatest p-value of a split; None where there is no test."""
        return None if self.significance == 1 else self.significance


# How itemsets are mined: what counts as frequent, and how that is decided.


Decisions = Literal["point", "controlled"]
Against = Literal["records", "population"]

MinimumConfidence = Annotated[float, Ge(0), Le(1)]
"""The least confidence of a rule."""

MINIMUM_CONFIDENCE = 0.8


@dataclass(frozen=True)
class RuleOptions:
    """How itemsets are mined.

    Attributes:
        minimum_support: the least support, as a share of the records, above 0 and at most 1.
        max_length: the most items of an itemset; None for no limit.
        decisions: how the frequent ones are chosen (see `mining`).
        confidence: of the intervals and verdicts.
        false_discovery: the rate that `controlled` decisions keep.
        against: the error of intervals and tests: given the true records, or against their
            population.

    Raises:
        OptionError: an option outside its range.
    """

    minimum_support: Share
    max_length: Annotated[int, Ge(1)] | None = None
    decisions: Decisions = "point"
    confidence: InnerShare = 0.95
    false_discovery: InnerShare = 0.05
    against: Against = "records"

    def __post_init__(self) -> None:
        require_limits(self)
        require_effect(self, "decisions", self.decisions, false_discovery=("controlled",))


# How a Bayesian network classifier is learned.


BayesModel = Literal["naive-bayes", "tan", "auto"]


@dataclass(frozen=True)
class BayesClassifierOptions:
    """How a Bayesian network classifier is learned.

    Args:
        model: on what an attribute depends besides the class: on nothing (`naive-bayes`); on one
            other attribute each but one, along the tree of the largest conditional mutual
            information (`tan`, Friedman, Geiger and Goldszmidt 1997, section 4). `auto` is the
            tree without the links that do not earn what their parameters cost under the noise of
            the reports (AIC with that noise), which may be none: then it is naive Bayes. Where
            reports are randomized, the evidence of all attributes then counts for less, by how
            far they repeat each other and by the share of it that may be noise.
        alpha: records added to every cell of a conditional distribution, each as uncertain as the
            reports: where these are noisy it counts for more.

    Raises:
        OptionError: an unknown model, or a number out of its range.
    """

    model: BayesModel = "auto"
    alpha: Positive = 1.0

    def __post_init__(self) -> None:
        require_limits(self)
        object.__setattr__(self, "alpha", float(self.alpha))

    @property
    def depends_on(self) -> int:
        """The most attributes that one depends on besides the class."""
        return 0 if self.model == "naive-bayes" else 1


# How a linear classifier is fitted.


Loss = Literal["perceptron", "least-squares", "logistic"]
Encoding = Literal["indicator", "ordinal"]
Basis = Literal["cells", "network"]
Keep = Literal["fewest-wrong", "longest-run"]


@dataclass(frozen=True)
class LinearOptions:
    """How a linear classifier is fitted.

    Args:
        loss: `logistic`, `least-squares` (of targets -1 and +1), or `perceptron`: the share of
            records classified wrong, lowered by the pocket algorithm (Ma 6.2).
        l2: half of this times the sum of the squared weights is added to the mean loss, where the
            weights are those of columns scaled to standard deviation 1 and the intercept is free.
            For squared error the mean loss is half the mean square. Not for the perceptron.
        encoding: what becomes of a variable of three or more categories that has no
            representatives: a column for each category but the first (`indicator`), or one column
            of the categories' numbers 1 .. K (`ordinal`, as Ma does with the lenses; then a
            variable of two categories is 1 and 2 rather than 0 and 1).
        numeric: the number that stands for each category, by variable; takes precedence.
        basis: what is fitted to: `cells`, the counts of all cells of the features and the class
            (the unbiased ones, whose weights are corrected for noise and have errors; for the
            perceptron the sums of posterior probabilities), or `network`, records drawn from a
            Bayesian network classifier learned of the reports (without errors). None takes the
            cells where reports tell them together and they are not too many.
        steps: the most updates of the perceptron for each plane.
        sample: the records drawn from a network.
        keep: which of the perceptron's weights stay in the pocket. `fewest-wrong`: those that
            classify the fewest records wrong, of least squares and all met from there on.
            `longest-run`, as Ma 6.2 says it: those with the longest run of right draws, from
            weights of 0 on.

    Raises:
        OptionError: an unknown name, or a number out of its range.
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
