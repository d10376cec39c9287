"""The plan of a whole study as it travels, and what it says of each owner."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import Field

from pramana_core.channels import CHOICES, RESOLUTION
from pramana_core.domain import Variable
from pramana_core.study_plan import StudyPlan, StudySet
from pramana_core.wire.base import MAX_OWNERS, MAX_VARIABLES, Label, Message, Name, Sha256
from pramana_core.wire.channels import NamedVariable, message_of
from pramana_core.wire.privacy import AmplificationMessage


class StudyPlanOwner(Message):
    """An owner by its name in the study, and the variables that it reports by the plan."""

    name: Name
    variables: Annotated[list[NamedVariable], Field(min_length=1, max_length=MAX_VARIABLES)]


class StudyPlanMessage(Message):
    """The canonical JSON of a study plan (see `StudyPlan.as_dict`, which writes it)."""

    owners: Annotated[list[StudyPlanOwner], Field(min_length=1, max_length=MAX_OWNERS)]
    sets: Annotated[
        list[message_of(StudySet)],  # type: ignore[valid-type] # made from the dataclass
        Field(min_length=1, max_length=CHOICES),
    ]

    @classmethod
    def from_plan(cls, plan: StudyPlan) -> StudyPlanMessage:
        """Wrap a study plan."""
        return cls.model_validate(plan.as_dict())

    def to_plan(self) -> StudyPlan:
        """Return the study plan. Raises PlanError, ChannelError, DomainError."""
        owners = tuple(
            (owner.name, tuple(Variable(v.name, tuple(v.categories)) for v in owner.variables))
            for owner in self.owners
        )
        return StudyPlan(owners, tuple(one.to_transition() for one in self.sets))


class ReportedShare(Message):
    """The share of records that report a variable."""

    variable: Label
    share: Annotated[float, Field(ge=0, le=1)]


class OwnerShare(Message):
    """What a study plan has one owner report, and the most that it alone tells of a record."""

    owner: Name
    reported: list[ReportedShare]
    amplification: AmplificationMessage


class StudyPlanView(Message):
    """The study plan agreed on, and what it says: over all owners, and owner by owner.

    `digest` names the plan and its coin. `record` is what is told of a record over all owners that
    follow it, whoever knows which set the record reports; `silent` is the share of records of which
    nothing is reported.
    """

    study: Name
    digest: Sha256
    record: AmplificationMessage
    silent: Annotated[float, Field(ge=0, le=1)]
    owners: list[OwnerShare]
    plan: StudyPlanMessage

    @classmethod
    def of(cls, study: str, plan: StudyPlan) -> StudyPlanView:
        """Return what a study plan says. Raises LimitExceeded: a loss is too much to compute."""
        return cls(
            study=study,
            digest=plan.digest,
            record=AmplificationMessage.of(plan.amplification),
            silent=1 - math.fsum(one.weight for one in plan.sets) / RESOLUTION,
            owners=[
                OwnerShare(
                    owner=name,
                    reported=[
                        ReportedShare(variable=variable, share=share)
                        for variable, share in plan.reported(name).items()
                    ],
                    amplification=AmplificationMessage.of(plan.loss_at(name)),
                )
                for name, _ in plan.owners
            ],
            plan=StudyPlanMessage.from_plan(plan),
        )
