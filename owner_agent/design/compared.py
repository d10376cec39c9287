"""Designs compared, and the parts that several owners take.

Also here:

* One design of several owners' public parts, which must go together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from owner_agent.design.design_file import DesignFile, VariableDemand
from owner_agent.site.mistakes import all_mistakes
from owner_agent.site.planning import raise_together
from owner_agent.site.public_part import PublicPart, read_part
from pramana_core.alike import first_few
from pramana_core.design import (
    Comparison,
    Option,
    Problem,
    little_told,
    not_useful,
    records_enough,
    useful,
)
from pramana_core.errors import OptionError, PramanaError
from pramana_core.privacy import PRIOR, Amplification
from pramana_core.study_plan import StudyPlan


@dataclass(frozen=True)
class ComparedDesigns:
    """All options of a problem, and the chosen one."""

    problem: Problem
    comparison: Comparison
    chosen: Option

    @property
    def able(self) -> tuple[Option, ...]:
        """The options that do what is asked, best first."""
        return tuple(o for o in self.comparison.options if math.isfinite(o.prediction.score))

    @property
    def unable(self) -> tuple[Option, ...]:
        """The others, each with its reason."""
        return tuple(o for o in self.comparison.options if math.isinf(o.prediction.score))

    @cached_property
    def study_plan(self) -> StudyPlan | None:
        """The plan of the study where several owners hold the variables."""
        owners, plan = self.problem.needs.owners, self.chosen.plan
        return StudyPlan.of(plan, owners) if owners and plan is not None else None

    @property
    def advice(self) -> str:
        """A warning of what is not served, or too noisy, for all or some variables; else ""."""
        return " ".join(part for part in (self.comparison.unserved, self._noisy) if part)

    @property
    def _noisy(self) -> str:
        chosen = self.chosen
        if not useful(chosen):
            return not_useful(chosen.prediction.kept, records_enough(chosen, self.problem))
        domain = self.problem.needs.domain
        many = [f"{name} ({domain[name].size} categories)" for name in little_told(chosen)]
        if not many:
            return ""
        return (
            f"Little will be learned of the associations of {', '.join(many)}: so many categories"
            " are too many for this gamma and number of records. Merge some, or cut numbers into"
            " fewer intervals, by what is publicly known of them."
        )

    @property
    def warning(self) -> str:
        """What the chosen plan tells of the whole record, where nobody limits that; else ""."""
        needs, held = self.problem.needs, self.chosen.gamma
        if needs.whole is not None or held <= max(needs.variables.values()) * (1 + 1e-9):
            return ""
        grown = Amplification.of_gamma(held).grown(PRIOR)
        return (
            "Only single variables are limited. About the whole record this plan has gamma"
            f" {held:.3g} ({100 * PRIOR:.3g} % can grow to {100 * grown:.3g} %), and variables"
            " that go together tell of each other; --gamma limits that."
        )

    def as_dict(self) -> dict[str, Any]:
        """Return JSON."""
        wanted = self.problem.goal
        return {
            "records": self.problem.records,
            "tables": len(wanted.sets),
            "tables_omitted": wanted.omitted,
            "interactions": wanted.order,
            "minimum_support": wanted.minimum_support,
            "options": [self._option(o) for o in self.comparison.options],
            "best": self.comparison.best.family,
            "chosen": self.chosen.family,
            "warning": self.warning or None,
            "useful": useful(self.chosen),
            "kept_of_moderate_association": self.chosen.prediction.kept,
            "records_enough": records_enough(self.chosen, self.problem),
            "little_told": list(little_told(self.chosen)),
            "unserved": self.comparison.unserved or None,
            "study_plan": None if self.study_plan is None else _study(self.study_plan),
            "note": NOTE,
        }

    def _option(self, made: Option) -> dict[str, Any]:
        able = math.isfinite(made.prediction.score)
        return {
            "family": made.family,
            "gamma": made.gamma if made.plan is not None else None,
            "estimator": made.estimator if able else None,
            "loss": made.prediction.loss if able else None,
            "error": made.prediction.score if able else None,
            "errors_by_length": {str(k): e for k, e in made.prediction.by_length.items()},
            "plan_digest": made.plan.digest if made.plan is not None else None,
            "reason": made.reason or None,
        }


def _study(plan: StudyPlan) -> dict[str, Any]:
    """Return what a study plan says: its digest, its loss, and what each owner reports."""
    return {
        "digest": plan.digest,
        "gamma": plan.amplification.gamma,
        "sets": len(plan.sets),
        "sets_over_owners": sum(len(one.parts) > 1 for one in plan.sets),
        "owners": [
            {
                "name": name,
                "told": plan.told_by(name).epsilon,
                "reported": plan.reported(name),
            }
            for name, _ in plan.owners
        ],
    }


NOTE = (
    "Errors are predicted as if the variables were independent with the given distributions"
    " (uniform where none is given) and, for the estimator pooled, as if there were"
    " no interaction above the order; it shrinks what the reports do not show, which usually does"
    " better than predicted."
)


# One design of several owners' public parts, which must go together.


_LISTED = 4


def design_of_parts(paths: Sequence[Path]) -> DesignFile:
    """Return the design file that owners' public parts amount to, nothing demanded.

    The owners are in the order of the files, and so they are in the plan.
    Raises ConfigError, OptionError.
    """
    problems: list[PramanaError] = []
    parts: list[tuple[Path, PublicPart]] = []
    for path in paths:
        try:
            parts.append((path, read_part(path)))
        except PramanaError as error:
            problems.append(error)
    problems += [*_owners_twice(parts), *_other_people(parts), *_variables_twice(parts)]
    raise_together(problems)
    try:
        return DesignFile(
            variables=tuple(
                VariableDemand(name=v.name, owner=part.owner, categories=v.categories)
                for _, part in parts
                for v in part.variables
            )
        )
    except ValidationError as error:
        raise all_mistakes(error, "design of the parts", "docs/vertical-study.md") from None


def _owners_twice(parts: Sequence[tuple[Path, PublicPart]]) -> Iterator[PramanaError]:
    seen: dict[str, Path] = {}
    for path, part in parts:
        if part.owner in seen:
            yield OptionError(
                f"{seen[part.owner]} and {path} are both parts of {part.owner!r}.",
                where="parts",
                remedy="Give one part of each owner, the newest; two owners of one name must agree"
                " on different ones.",
            )
        seen.setdefault(part.owner, path)


def _other_people(parts: Sequence[tuple[Path, PublicPart]]) -> Iterator[PramanaError]:
    for path, part in parts:
        if part.people == "different":
            yield OptionError(
                f"{part.owner} says in {path} that her records are of other people than the other"
                " owners'; a study plan is of owners who know different things of the same people.",
                where="parts",
                remedy="Leave her part out: owners of different people each design for their own"
                " site file (owner-agent design --site FILE).",
            )


def _variables_twice(parts: Sequence[tuple[Path, PublicPart]]) -> Iterator[PramanaError]:
    seen: dict[str, tuple[str, tuple[str, ...]]] = {}
    for _, part in parts:
        for v in part.variables:
            owner, categories = seen.setdefault(v.name, (part.owner, v.categories))
            if owner == part.owner:
                continue
            differing = _differing(owner, categories, part.owner, v.categories)
            yield OptionError(
                f"Both {owner} and {part.owner} have a variable {v.name!r}{differing}. In a study"
                " plan each variable has one owner.",
                where=v.name,
                remedy="If it is the same thing, one of them leaves it out (`owner-agent init"
                f" --leave-out {v.name}`, which writes a new part); if not, one of them gives it"
                " another name in her site file and writes her part again with `owner-agent"
                " public-part`.",
            )


def _differing(
    owner: str, categories: Sequence[str], other: str, others: Sequence[str]
) -> str:  # fmt: skip
    """Say which categories of a variable one of two owners has alone; "" if none."""
    said = [
        f"{name} alone has {first_few(map(repr, alone), _LISTED)}"
        for name, alone in (
            (owner, [c for c in categories if c not in others]),
            (other, [c for c in others if c not in categories]),
        )
        if alone
    ]
    return f", and their categories contradict each other ({'; '.join(said)})" if said else ""
