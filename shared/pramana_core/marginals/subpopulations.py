"""Counts within subpopulations: the records with given true categories of some variables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from pramana_core.domain import Domain
from pramana_core.errors import LimitExceeded, OptionError
from pramana_core.marginals.tables import Tensor

SUBTABLE_CELLS = 1 << 12
"""The maximum number of cells of a table within a subpopulation, whose errors are a matrix."""


@dataclass(frozen=True, eq=False)
class Subtable:
    """Counts over some variables within a subpopulation.

    `records` is the number of all records, and `error` is a function that computes `covariance`.
    `counted` is False for a model's expected counts, which have only the model's error.
    """

    domain: Domain
    counts: Tensor
    records: int
    error: Callable[[], Tensor]
    counted: bool = True

    @cached_property
    def covariance(self) -> Tensor:
        """The covariance of the counts given the records, with a row per cell in C order."""
        return self.error()


@dataclass(frozen=True, eq=False)
class Subpopulation:
    """The records whose true categories of some variables are `given`, as codes by variable.

    `tabulate` counts records over some variables, given the codes of others.
    """

    domain: Domain
    tabulate: Callable[[Mapping[str, int], Domain], Subtable]
    given: Mapping[str, int] = field(default_factory=dict)

    def table(self, variables: Sequence[str]) -> Subtable:
        """Return the counts over other variables.

        Raises UnknownVariable. OptionError: no variable is named, one is named twice, or one is
        in `given`. LimitExceeded: the table has more than `SUBTABLE_CELLS` cells.
        """
        if not variables or len({*variables, *self.given}) < len(variables) + len(self.given):
            raise OptionError(
                f"The variables {list(variables)} must be distinct, and none may be given already."
            )
        domain = self.domain.project(variables)
        if domain.size > SUBTABLE_CELLS:
            raise too_large(domain, self.given)
        return self.tabulate(self.given, domain)

    def within(self, variable: str, code: int) -> Subpopulation:
        """Return the records that also have the category `code` of another variable.

        Raises UnknownVariable. OptionError: the variable is given already, or has no such category.
        """
        size = self.domain[variable].size
        if variable in self.given or not 0 <= code < size:
            raise OptionError(
                f"{variable!r} is given already."
                if variable in self.given
                else f"{variable!r} has no category {code}; it has {size} categories.",
                where=variable,
            )
        return replace(self, given={**self.given, variable: code})


def too_large(domain: Domain, given: Collection[object]) -> LimitExceeded:
    """Return the error for a covariance that is too large to list."""
    return LimitExceeded(
        f"The covariance of the {domain.size} counts over {list(domain.names)}, given {len(given)}"
        " other variables, is too large to list.",
        remedy="Request fewer variables, or fewer given variables.",
    )
