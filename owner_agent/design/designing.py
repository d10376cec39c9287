"""From a stated need to a plan: the problem, every family's prediction, and the best of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from owner_agent.design.compared import ComparedDesigns
from owner_agent.design.design_file import DesignFile
from owner_agent.site.planning import raise_together
from pramana_core.design import (
    Comparison,
    Option,
    Problem,
    Requirements,
    compare,
    goal,
    reference,
)
from pramana_core.design.choose import unwatched
from pramana_core.design.families import require_gamma
from pramana_core.design.goal import TARGETED
from pramana_core.domain import Domain, Variable
from pramana_core.errors import OptionError, PramanaError
from pramana_core.progress import StagedProgress

LENGTH = 3
"""The longest itemset, where nothing else is said."""


@dataclass(frozen=True)
class DesignArguments:
    """What a command line says; it goes before what the design file says."""

    gamma: float | None = None
    epsilon: float | None = None
    breach: tuple[float, float] | None = None
    learn: str | None = None
    length: int | None = None
    minimum_support: float | None = None
    interactions: int | None = None
    records: int | None = None
    target: str | None = None

    def over(self, file: DesignFile) -> DesignFile:
        """Return a design file as the command line changes it. Raises OptionError."""
        demands = {"gamma": self.gamma, "epsilon": self.epsilon, "rho": self.breach}
        given = {name: value for name, value in demands.items() if value is not None}
        if len(given) > 1:
            raise OptionError("Give one of --gamma, --epsilon and --breach.", where="gamma")
        names = ("learn", "target", "length", "minimum_support", "interactions", "records")
        said = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        learn = set(file.kinds) if self.learn is None else {self.learn}
        named = " and ".join(sorted(learn))
        if self.length is not None and "itemsets" not in learn:
            raise OptionError(
                f"Learning {named} has no --length.",
                where="length",
                remedy="Add --learn itemsets.",
            )
        aimed = bool(learn & set(TARGETED))
        if self.target is not None and not aimed:
            raise OptionError(
                f"Learning {named} has no --target {self.target}.",
                where="target",
                remedy="Add --learn classifier or --learn tree.",
            )
        # What the file says for its own kind of learning is nothing to another kind.
        unused = {"length"} if "itemsets" not in learn else set[str]()
        unused |= {"structure"} if "structure" not in learn else set()
        unused |= set() if aimed else {"target"}
        whole = {"whole_record": given} if given else {}
        try:
            return DesignFile.model_validate(
                file.model_dump(exclude_none=True, exclude=unused) | said | whole
            )
        except ValidationError as error:
            raise _bad_options(error) from None


def _bad_options(error: ValidationError) -> OptionError:
    """Say of a design file changed by options which options are wrong."""
    wrong = {}
    for found in error.errors():
        if not found["loc"]:
            # What belongs together does not: `--learn` decides what else there must be.
            wrong["learn"] = found["msg"].removeprefix("Value error, ")
            continue
        place = found["loc"][1 if found["loc"][0] == "whole_record" else 0]
        name = {"rho": "breach"}.get(str(place), str(place))
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
    """Return the problem a design file states.

    Raises OptionError, DomainError, UnknownVariable, StructureError, LimitExceeded.
    """
    if file.records is None:
        raise OptionError(
            "The number of records is not known.",
            where="records",
            remedy="Say it with --records, or records = ... in the design file.",
        )
    made = [(known or {}).get(v.name, v) for v in file.domain_variables()]
    domain = Domain(tuple(made))
    longest = min(LENGTH, len(domain)) if file.length is None else file.length
    return Problem(
        requirements_of(file, domain),
        goal(
            domain,
            file.kinds,
            length=longest,
            order=file.interactions,
            minimum_support=file.minimum_support,
            structure=file.structure,
            target=file.target,
        ),
        reference(
            domain, {v.name: v.probabilities for v in file.variables if v.probabilities is not None}
        ),
        file.records,
    )


def requirements_of(file: DesignFile, domain: Domain) -> Requirements:
    """Return the amplifications a design file allows. Raises OptionError, see `problem_of`."""
    whole, limits = _limits(file, domain)
    open_ended = [name for name, limit in limits.items() if limit is None]
    if open_ended:
        raise OptionError(
            f"Nothing is demanded for {open_ended}, and nothing for the whole record.",
            where=open_ended[0],
            remedy="Give --gamma, --epsilon or --breach for the whole record, or a requirement for"
            " each sensitive variable in a design file.",
        )
    plausible = {v.name: v.minimum_k for v in file.variables if v.sensitive and v.minimum_k}
    return Requirements(
        domain, {n: g for n, g in limits.items() if g is not None}, whole, plausible, file.owners
    )


def _limits(file: DesignFile, domain: Domain) -> tuple[float | None, dict[str, float | None]]:
    """Return the gamma allowed for the whole record and for each sensitive variable.

    Raises OptionError.
    """
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
    for v in file.variables:
        if v.probabilities is not None:
            try:
                reference(Domain((domain[v.name],)), {v.name: v.probabilities})
            except OptionError as error:
                problems.append(error)
    raise_together(problems)
    whole, *each = limits
    sensitive = [v.name for v in file.variables if v.sensitive]
    return whole, {n: whole if g is None else g for n, g in zip(sensitive, each, strict=True)}


def design(
    problem: Problem, family: str | None = None, progress: StagedProgress = unwatched
) -> ComparedDesigns:
    """Compare all families; choose the best, or `family`. Raises OptionError."""
    comparison = compare(problem, progress)
    chosen = comparison.best if family is None else _named(comparison, family)
    return ComparedDesigns(comparison.problem, comparison, chosen)


def _named(comparison: Comparison, family: str) -> Option:
    """Return the best option of a family, of any size. Raises OptionError."""
    for made in comparison.options:
        if made.family == family or made.family.startswith(f"{family}-"):
            if math.isinf(made.prediction.score):
                raise OptionError(
                    f"{family} cannot do this: {made.reason}",
                    where="family",
                    remedy="Choose another family, or leave it out to get the best.",
                )
            return made
    raise OptionError(
        f"There is no family {family!r} here.",
        where="family",
        remedy=f"The families are {sorted(o.family for o in comparison.options)}.",
    )
