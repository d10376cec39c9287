"""Whether reports contradict the model that a table was taken from, in numbers and in words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

LACK_OF_FIT_RATE = 0.01
"""The p-value up to which a model is said not to fit."""


@dataclass(frozen=True)
class LackOfFit:
    """A test of pooled tables against the interactions they leave out.

    Attributes:
        variables, order: the model's variables, and the most that interact in it.
        statistic: the reports' deviation towards interactions of one more, relative to its
            expectation under the model; None with `p_value`.
        degrees_of_freedom: of the chi-square that is near the statistic times them.
        p_value: the chance of so large a statistic if the model holds; None where untested.
        reason: why nothing can be tested; else empty.
    """

    variables: tuple[str, ...]
    order: int
    statistic: float | None
    degrees_of_freedom: float | None
    p_value: float | None
    reason: str = ""

    @classmethod
    def untested(cls, variables: tuple[str, ...], order: int, reason: str) -> LackOfFit:
        """Return the entry of a model that cannot be tested."""
        return cls(variables, order, None, None, None, reason)

    @property
    def warning(self) -> str:
        """What a reader must know, as a sentence or two; empty where the reports fit."""
        return next(iter(warnings_of([self])), "")

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self) | {"variables": list(self.variables)}


def warnings_of(tests: Collection[LackOfFit], of: int = 0) -> list[str]:
    """Return warnings of the models that the reports contradict.

    Of `of` models that all hold, one is warned of by a chance of `LACK_OF_FIT_RATE` (Bonferroni).
    """
    known = [(test, test.p_value) for test in tests if test.p_value is not None]
    return [_words(test, p) for test, p in known if p * (of or len(known)) <= LACK_OF_FIT_RATE]


def filled_in_words(sets: Sequence[Sequence[str]]) -> str:
    """Return a warning of tables of these variables, made of smaller ones; empty if none."""
    if not sets:
        return ""
    others = len(sets) - 1
    more = f" and of {others:,} other set{'s' if others > 1 else ''} of variables" if others else ""
    return (
        f"Counts of {', '.join(sets[0])} together{more} are filled in from those of fewer"
        " variables, and hold if no more of them interact."
    )


def _words(test: LackOfFit, p_value: float) -> str:
    return (
        f"The reports of {', '.join(test.variables)} do not fit tables with"
        f" interactions of at most {test.order} variables (p = {p_value:.2g}): more variables"
        " interact, so that counts are biased and intervals miss the truth. Raise the order to"
        f" {test.order + 1} or more, or use the estimator 'ml' or 'moment'."
    )
