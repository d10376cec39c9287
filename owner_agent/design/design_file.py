"""`design.toml`: what protection is demanded and what will be learned, validated whole.

Unknown keys are refused by name, and all mistakes are reported at once, as in `site.toml`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from owner_agent.site.mistakes import all_mistakes
from owner_agent.site.planning import planned, without_protection
from owner_agent.site.sections import Finite
from owner_agent.site.site import Site, read_toml
from pramana_core.design import (
    Learn,
    gamma_of_breach,
    gamma_of_epsilon,
    gamma_of_p,
)
from pramana_core.domain import Variable
from pramana_core.wire.base import MAX_CATEGORIES, MAX_RECORDS, Label, Name


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Demand(_Section):
    """The most that may be learned about a whole record: at most one key of them is given."""

    gamma: Finite | None = None
    epsilon: Finite | None = None
    rho: tuple[Finite, Finite] | None = None

    @property
    def given(self) -> tuple[str, ...]:
        """The requirements that are given."""
        names = ("gamma", "epsilon", "rho", "p")
        return tuple(name for name in names if getattr(self, name, None) is not None)

    @model_validator(mode="after")
    def _one(self) -> Self:
        if len(self.given) > 1:
            raise ValueError(f"give one requirement, not {', '.join(self.given)}")
        return self

    @property
    def allowed(self) -> float | None:
        """The largest amplification allowed; None where nothing is demanded. OptionError."""
        if self.epsilon is not None:
            return gamma_of_epsilon(self.epsilon)
        return gamma_of_breach(self.rho) if self.rho is not None else self.gamma


class VariableDemand(Demand):
    """A variable: its categories, or how many there are, and what may be learned about it."""

    name: Label
    owner: Name | None = None
    categories: Annotated[int, Field(ge=2, le=MAX_CATEGORIES)] | tuple[Label, ...]
    sensitive: bool = True
    p: Finite | None = None

    @model_validator(mode="after")
    def _public_without_demand(self) -> Self:
        if self.given and not self.sensitive:
            raise ValueError(f"a variable that is not sensitive has no {self.given[0]}")
        return self

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the categories; their numbers, from 1, where they have none."""
        if isinstance(self.categories, int):
            return tuple(str(number + 1) for number in range(self.categories))
        return self.categories

    @property
    def allowed(self) -> float | None:
        """The largest amplification allowed; None where nothing is demanded. OptionError."""
        return super().allowed if self.p is None else gamma_of_p(len(self.labels), self.p)


class DesignFile(_Section):
    """The content of `design.toml`."""

    variables: Annotated[tuple[VariableDemand, ...], Field(min_length=1)]
    records: Annotated[int, Field(ge=1, le=MAX_RECORDS)] | None = None
    learn: Learn = "pairs"
    target: Label | None = None
    length: Annotated[int, Field(ge=1)] | None = None
    minimum_support: Annotated[float, Field(ge=0, lt=1)] = 0.0
    whole_record: Demand = Demand()
    structure: dict[Label, tuple[Label, ...]] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        names = [v.name for v in self.variables]
        mistakes = [f"two variables are called {n!r}" for n in sorted(_repeated(names))]
        without = [v.name for v in self.variables if v.owner is None]
        if 0 < len(without) < len(names):
            mistakes.append(f"{without} have no owner, and other variables have")
        if mistakes:
            raise ValueError("; ".join(mistakes))
        return self

    @property
    def owners(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The owners as they come, with their variables; none where one holds all."""
        by_owner: dict[str, list[str]] = {}
        for v in self.variables:
            if v.owner is not None:
                by_owner.setdefault(v.owner, []).append(v.name)
        return tuple((owner, tuple(names)) for owner, names in by_owner.items())

    def domain_variables(self) -> tuple[Variable, ...]:
        """Return the variables, owner by owner. Raises DomainError for impossible categories."""
        place = {name: i for i, (name, _) in enumerate(self.owners)}
        ordered = sorted(self.variables, key=lambda v: place.get(v.owner or "", 0))
        return tuple(Variable(v.name, v.labels) for v in ordered)


def load_design(path: Path) -> DesignFile:
    """Read and validate a design file. Raises ConfigError."""
    absent = "Name it with --spec, or leave that out to design for the site file."
    content = read_toml(path, "design", absent)
    return design_from(content, str(path))


def design_from(content: dict[str, Any], source: str = "design.toml") -> DesignFile:
    """Validate the content of a design file. Raises ConfigError naming every mistake."""
    try:
        return DesignFile.model_validate(content)
    except ValidationError as error:
        what = f"design file {source}"
        raise all_mistakes(error, what, "docs/choosing-a-plan.md") from None


def site_variables(site: Site) -> dict[str, Variable]:
    """Return a site's variables, whatever channels the file gives them or leaves out.

    Raises PramanaError.
    """
    return planned(without_protection(site)).variables


def of_site(site: Site) -> DesignFile:
    """Return the design file that a site file amounts to: its variables, nothing demanded."""
    known = site_variables(site)
    return DesignFile(
        variables=tuple(
            VariableDemand(name=v.name, categories=known[v.name].categories, sensitive=v.sensitive)
            for v in site.file.variables
        )
    )


def _repeated(names: list[str]) -> set[str]:
    return {name for name in names if names.count(name) > 1}
