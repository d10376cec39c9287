"""Variables with their categories, and domains of variables.

A `Domain` fixes the meaning of every code array and count tensor in the system: axis `i` of a
tensor over a domain is variable `i`, and code `c` of a variable is its category `c`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pramana_core.alike import did_you_mean, first_few, repeated_in
from pramana_core.errors import DomainError, UnknownCategory, UnknownVariable

CATEGORIES = 1 << 16
"""The maximum number of categories of a variable in a message to the miner."""

VARIABLES = 1 << 12
"""The maximum number of variables of a block or a job."""

OWNERS = 256
"""The maximum number of owners of a study."""

_SHOWN = 10
"""The maximum number of variables that the printed form of a domain names."""


def _short(values: tuple[object, ...]) -> str:
    if len(values) <= _SHOWN:
        return repr(values)
    return f"({', '.join(map(repr, values[:_SHOWN]))}, ... {len(values):,} in all)"


@dataclass(frozen=True)
class Variable:
    """A categorical variable: its name and its categories in code order.

    A discretized number has `representatives`, one number for each category, for models that
    compute with numbers (Ma 2.3).

    Args:
        name: the variable's name.
        categories: the labels; the code of a category is its index.
        representatives: one number for each category, or None.

    Raises:
        DomainError: the name is empty, there are fewer than two categories, a category repeats, or
            the representatives are not one finite number for each category.

    Examples:
        >>> import pramana as pm
        >>> pm.Variable("sex", ("f", "m")).code("m")
        1
    """

    name: str
    categories: tuple[str, ...]
    representatives: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", self._listed())
        if not self.name or self.name != self.name.strip():
            raise DomainError(
                f"A variable's name is empty or has spaces around it: {self.name!r}.",
                where=self.name,
            )
        if len(self.categories) < 2:
            raise DomainError(
                f"Variable {self.name!r} has {'one' if self.categories else 'no'} category; list"
                " all categories that it can take, at least two, or leave the column out.",
                where=self.name,
            )
        if len(set(self.categories)) < self.size:
            repeated = repeated_in(self.categories)
            raise DomainError(
                f"Variable {self.name!r} lists a category twice: {repeated}.", where=self.name
            )
        if self.representatives is not None:
            # Only one form of each number, or equal variables could have different digests.
            try:
                numbers = tuple(float(number) + 0.0 for number in self.representatives)
            except (TypeError, ValueError):
                raise DomainError(
                    f"The representatives of {self.name!r} must be a list of numbers.",
                    where=self.name,
                ) from None
            object.__setattr__(self, "representatives", numbers)
            self._require_numbers(numbers)

    def __repr__(self) -> str:
        words = (
            ""
            if self.representatives is None
            else f", representatives={_short(self.representatives)}"
        )
        return f"Variable(name={self.name!r}, categories={_short(self.categories)}{words})"

    def _listed(self) -> tuple[str, ...]:
        given: object = self.categories
        if not isinstance(self.name, str):
            raise DomainError(f"A variable's name must be text, not {self.name!r}.")
        listed = isinstance(given, Sequence) and not isinstance(given, str)
        wrong = [c for c in given if not isinstance(c, str)] if listed else [given]  # type: ignore[attr-defined]
        if wrong:
            raise DomainError(
                f"The categories of {self.name!r} must be a list of texts, not {wrong[0]!r}.",
                where=self.name,
            )
        return tuple(self.categories)

    def _require_numbers(self, numbers: tuple[float, ...]) -> None:
        if len(numbers) != self.size or not all(map(math.isfinite, numbers)):
            raise DomainError(
                f"The representatives of {self.name!r} must be {self.size} finite numbers, one for"
                f" each category; there are {len(numbers)}.",
                where=self.name,
                remedy="Give one finite representative for each category, or leave them all out.",
            )

    @property
    def size(self) -> int:
        """The number of categories (K in the papers)."""
        return len(self.categories)

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {category: code for code, category in enumerate(self.categories)}

    def code(self, category: str) -> int:
        """Return the code of a category. Raises UnknownCategory."""
        try:
            return self._codes[category]
        except KeyError:
            raise UnknownCategory(
                f"Variable {self.name!r} has no category"
                f" {category!r}{did_you_mean([category], self.categories)}; it has"
                f" {list(self.categories)}.",
                where=self.name,
            ) from None


@dataclass(frozen=True)
class Domain:
    """An ordered set of variables.

    Args:
        variables: the variables, in the order of a table's axes.

    Raises:
        DomainError: two variables have the same name.

    Examples:
        >>> import pramana as pm
        >>> domain = pm.Domain.of(age=["child", "adult"], sex=["f", "m"])
        >>> domain.names, domain.shape, domain["age"].categories
        (('age', 'sex'), (2, 2), ('child', 'adult'))
    """

    variables: tuple[Variable, ...]

    def __post_init__(self) -> None:
        given: object = self.variables
        if not isinstance(given, Sequence) or not all(isinstance(v, Variable) for v in given):
            raise DomainError(f"A domain takes a list of variables, not {given!r}.")
        object.__setattr__(self, "variables", tuple(given))
        if repeated := repeated_in(self.names):
            raise DomainError(f"The domain names a variable twice: {repeated}.")

    @classmethod
    def of(
        cls, listed: Mapping[str, Iterable[str]] | None = None, /, **categories: Iterable[str]
    ) -> Domain:
        """Build a domain from `name=categories` pairs, or a dict of them, in their order.

        Raises DomainError: `listed` is not a dict, or a variable is invalid.
        """
        if listed is not None and not isinstance(listed, Mapping):
            raise DomainError(
                "Domain.of takes name=[categories] pairs or a dict of them, not a"
                f" {type(listed).__name__}."
            )
        every = {**(listed or {}), **categories}
        return cls(tuple(Variable(name, tuple(c)) for name, c in every.items()))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The variables' names in axis order."""
        return tuple(v.name for v in self.variables)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The count of categories on each axis: the shape of a count tensor over this domain."""
        return tuple(v.size for v in self.variables)

    @cached_property
    def size(self) -> int:
        """The number of cells, an exact integer of any size."""
        return math.prod(self.shape)

    @cached_property
    def _axes(self) -> dict[str, int]:
        return {name: axis for axis, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.variables)

    def __iter__(self) -> Iterator[Variable]:
        return iter(self.variables)

    def __contains__(self, name: object) -> bool:
        return name in self._axes

    def __repr__(self) -> str:
        shown = ", ".join(f"{v.name} {v.size}" for v in self.variables[:_SHOWN])
        more = ", ..." if len(self) > _SHOWN else ""
        return f"Domain({len(self)} variables and their categories: {shown}{more})"

    def __getitem__(self, name: str) -> Variable:
        return self.variables[self.axis(name)]

    def axis(self, name: str) -> int:
        """Return the axis of a variable. Raises UnknownVariable."""
        try:
            return self._axes[name]
        except KeyError:
            raise UnknownVariable(
                f"There is no variable {name!r} here{did_you_mean([name], self.names)};"
                f" the variables are {first_few(self.names, 12)}.",
                where=name,
            ) from None

    def project(self, names: Sequence[str]) -> Domain:
        """Return the domain of the named variables, in that order. Raises UnknownVariable."""
        if isinstance(names, str) and names in self:
            names = [names]
        return Domain(tuple(self[name] for name in names))

    def join(self, other: Domain) -> Domain:
        """Return this domain's variables, then those of `other`, whose names must differ."""
        return Domain(self.variables + other.variables)
