"""What the designer found for a need: every option, the chosen one, and what to say of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pramana_core.design import (
    Comparison,
    Option,
    Problem,
    little_told,
    not_useful,
    records_enough,
    useful,
)
from pramana_core.plan import Plan
from pramana_core.privacy import PRIOR, Amplification
from pramana_core.study_plan import StudyPlan


@dataclass(frozen=True)
class Strongest:
    """The smallest share of all epsilons at which an option still reaches the target."""

    share: float
    option: Option

    @property
    def replaced(self) -> dict[str, float]:
        """The probability p of replacing, by block or subset; empty where a channel has none."""
        return {} if self.option.plan is None else replacing(self.option.plan)


@dataclass(frozen=True)
class ComparedDesigns:
    """All options of a problem, the chosen one, and the answers to the reverse questions.

    `needed` are the records for the target by family, where any number reaches it; `unreached`
    says why there is no `strongest`.
    """

    problem: Problem
    comparison: Comparison
    chosen: Option
    target: float | None
    needed: Mapping[str, int]
    strongest: Strongest | None
    unreached: str

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
        """A warning that it is too noisy, for all or some variables; else ""."""
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
            "target": self.target,
            "strongest": None if self.strongest is None else self._strongest(self.strongest),
            "unreached": self.unreached or None,
            "warning": self.warning or None,
            "useful": useful(self.chosen),
            "kept_of_moderate_association": self.chosen.prediction.kept,
            "records_enough": records_enough(self.chosen, self.problem),
            "little_told": list(little_told(self.chosen)),
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
            **_bounds(made),
            "records_for_target": self.needed.get(made.family),
            "plan_digest": made.plan.digest if made.plan is not None else None,
            "reason": made.reason or None,
        }

    def _strongest(self, found: Strongest) -> dict[str, Any]:
        return {
            "family": found.option.family,
            "share_of_epsilons": found.share,
            "gamma": found.option.gamma,
            "error": found.option.prediction.score,
            "p": found.replaced,
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


def _bounds(made: Option) -> dict[str, Any]:
    """Return the limits of an option's reports, and how near its estimators come."""
    bounds = {"": made.bound, "_any_interaction": made.bound_any}
    return {
        **{f"bound{of}": e.score if math.isfinite(e.score) else None for of, e in bounds.items()},
        **{
            f"bounds_by_length{of}": {str(k): error for k, error in e.by_length.items()}
            for of, e in bounds.items()
        },
        "bound_reason": made.bound.missing or None,
        "efficiency": made.efficiency(),
        "efficiencies": {
            "moment": made.efficiency(made.moments),
            "log-linear": made.efficiency(made.model),
            "pooled": made.efficiency(made.pooled),
        },
    }


NOTE = (
    "Errors are predicted as if the variables were independent with the given distributions"
    " (uniform where none is given) and, for the estimators log-linear and pooled, as if there were"
    " no interaction above the order; these shrink what the reports do not show, which usually does"
    " better than predicted."
)


def replacing(plan: Plan) -> dict[str, float]:
    """Return the probability of replacing what is reported, by block or sampled subset.

    Empty if a randomized block is not of a symmetric family, which alone have one such p.
    """
    found: dict[str, float | None] = {}
    for block in plan.blocks:
        for choice in block.channel.choices:
            found["*".join(block.names[a] for a in choice.axes)] = choice.channel.replaced
        if not (block.channel.choices or block.channel.is_identity):
            found[block.name] = block.channel.replaced
    known = {name: p for name, p in found.items() if p is not None}
    return known if len(known) == len(found) else {}
