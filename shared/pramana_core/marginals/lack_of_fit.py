"""Tests of whether reports contradict the model of a table, as numbers and as text."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

LACK_OF_FIT_RATE = 0.01
"""The p-value up to which a model counts as not fitting."""


@dataclass(frozen=True)
class LackOfFit:
    """A test of pooled tables against the interactions that they omit.

    Attributes:
        variables, order: the model's variables, and how many of them may interact in it.
        statistic: the deviation of the reports towards interactions of one more variable, relative
            to its expectation under the model, or None if untested.
        degrees_of_freedom: under the model, the statistic times this number has approximately a
            chi-square distribution with this many degrees of freedom.
        p_value: the probability under the model of a statistic that is at least this large, or None
            if untested.
        reason: why the model cannot be tested, or an empty text.
    """

    variables: tuple[str, ...]
    order: int
    statistic: float | None
    degrees_of_freedom: float | None
    p_value: float | None
    reason: str = ""

    @classmethod
    def untested(cls, variables: tuple[str, ...], order: int, reason: str) -> LackOfFit:
        """Return the result for a model that cannot be tested."""
        return cls(variables, order, None, None, None, reason)

    @property
    def warning(self) -> str:
        """A warning of one or two sentences, empty if the reports fit."""
        return next(iter(warnings_of([self])), "")

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self) | {"variables": list(self.variables)}


def warnings_of(tests: Collection[LackOfFit], of: int = 0) -> list[str]:
    """Return warnings of the models that the reports contradict.

    If all `of` models are right, the probability of any warning is at most `LACK_OF_FIT_RATE`
    (Bonferroni).
    """
    known = [(test, test.p_value) for test in tests if test.p_value is not None]
    return [_words(test, p) for test, p in known if p * (of or len(known)) <= LACK_OF_FIT_RATE]


def filled_in_words(sets: Sequence[Sequence[str]]) -> str:
    """Return a warning that tables were assembled from smaller tables, or an empty text."""
    if not sets:
        return ""
    others = len(sets) - 1
    more = f" and of {others:,} other set{'s' if others > 1 else ''} of variables" if others else ""
    return (
        f"Counts of {', '.join(sets[0])} together{more} are filled in from those of fewer"
        " variables, and are valid only if no larger set interacts."
    )


def _words(test: LackOfFit, p_value: float) -> str:
    return (
        f"The reports of {', '.join(test.variables)} do not fit tables with"
        f" interactions of at most {test.order} variables (p = {p_value:.2g}). More variables"
        " interact, so counts are biased and intervals miss the true values. Raise the order to"
        f" {test.order + 1} or more, or use the estimator 'ml' or 'moment'."
    )
