"""From a design file, changed by options, to the problem that it states."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from owner_agent.design.design_file import DesignFile
from owner_agent.site.planning import raise_together
from pramana_core.design import Problem, Requirements, goal, require_gamma
from pramana_core.design.goal import USERS
from pramana_core.domain import Domain, Variable
from pramana_core.errors import OptionError, PramanaError


@dataclass(frozen=True)
class DesignArguments:
    """The options of a command line; they go before the design file."""

    gamma: float | None = None
    epsilon: float | None = None
    breach: tuple[float, float] | None = None
    learn: str | None = None
    length: int | None = None
    minimum_support: float | None = None
    records: int | None = None
    target: str | None = None

    def over(self, file: DesignFile) -> DesignFile:
        """Return a design file as the options change it. Raises OptionError."""
        demands = {"gamma": self.gamma, "epsilon": self.epsilon, "rho": self.breach}
        given = {name: value for name, value in demands.items() if value is not None}
        if len(given) > 1:
            raise OptionError("Give one of --gamma, --epsilon and --breach.", where="gamma")
        names = ("learn", "target", "length", "minimum_support", "records")
        options = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        # Another kind of learning has no use for what the file says for its own.
        unused = {
            name for name, kinds in USERS.items() if self.learn is not None
            and self.learn not in kinds
        }  # fmt: skip
        whole = {"whole_record": given} if given else {}
        try:
            return DesignFile.model_validate(
                file.model_dump(exclude_none=True, exclude=unused) | options | whole
            )
        except ValidationError as error:
            raise _bad_options(error) from None


def _bad_options(error: ValidationError) -> OptionError:
    """Say which options are wrong."""
    wrong = {}
    for found in error.errors():
        place = str(found["loc"][1 if found["loc"][0] == "whole_record" else 0])
        name = "breach" if place == "rho" else place
        message = found["msg"].replace("Input should be", "it should be")
        finite = found["type"] == "finite_number"
        flag = f"--{name.replace('_', '-')}"
        wrong[name] = f"{flag} is not a finite number" if finite else f"{flag} is wrong: {message}"
    return OptionError(
        "; ".join(wrong.values()) + ".",
        where=next(iter(wrong)),
        remedy="docs/choosing-a-plan.md says what each may be.",
    )


def problem_of(file: DesignFile, known: Mapping[str, Variable] | None = None) -> Problem:
    """Return the problem that a design file states.

    Args:
        file: the design file.
        known: variables to take in place of those of the file, by name.

    Raises:
        OptionError: a demand or a goal that cannot be, or no number of records.
        DomainError, UnknownVariable, StructureError: variables or a structure that cannot be.
        LimitExceeded: a table that is too large to be predicted.
    """
    if file.records is None:
        raise OptionError(
            "The number of records is not known.",
            where="records",
            remedy="Say it with --records, or records = ... in the design file.",
        )
    domain = Domain(tuple((known or {}).get(v.name, v) for v in file.domain_variables()))
    return Problem(
        _requirements(file, domain),
        goal(
            domain,
            file.learn,
            length=file.length,
            minimum_support=file.minimum_support,
            structure=file.structure,
            target=file.target,
        ),
        file.records,
    )


def _requirements(file: DesignFile, domain: Domain) -> Requirements:
    """Return the amplifications that a design file allows."""
    whole, limits = _limits(file)
    open_ended = [name for name, limit in limits.items() if limit is None]
    if open_ended:
        raise OptionError(
            f"Nothing is demanded for {open_ended}, and nothing for the whole record.",
            where=open_ended[0],
            remedy="Give --gamma, --epsilon or --breach for the whole record, or a requirement for"
            " each sensitive variable in a design file.",
        )
    gammas = {n: g for n, g in limits.items() if g is not None}
    return Requirements(domain, gammas, whole, file.owners)


def _limits(file: DesignFile) -> tuple[float | None, dict[str, float | None]]:
    """Return the gamma allowed for the whole record and for each sensitive variable."""
    demands = {"the whole record": file.whole_record}
    demands |= {f"variable {v.name!r}": v for v in file.variables if v.sensitive}
    limits, problems = list[float | None](), list[PramanaError]()
    for of, demand in demands.items():
        try:
            limits.append(demand.allowed)
            require_gamma(math.inf if limits[-1] is None else limits[-1])
        except OptionError as error:
            message = f"For {of}: {error.message}"
            problems.append(OptionError(message, where=error.where, remedy=error.remedy))
    raise_together(problems)
    whole, *each = limits
    sensitive = [v.name for v in file.variables if v.sensitive]
    return whole, {n: whole if g is None else g for n, g in zip(sensitive, each, strict=True)}
