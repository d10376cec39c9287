"""The message of a study plan, and of the plan's consequences for each owner."""

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
    """An owner by its name in the study, and the variables that it reports under the plan."""

    name: Name
    variables: Annotated[list[NamedVariable], Field(min_length=1, max_length=MAX_VARIABLES)]


class StudyPlanMessage(Message):
    """The canonical JSON of a study plan, as `StudyPlan.as_dict` writes it."""

    owners: Annotated[list[StudyPlanOwner], Field(min_length=1, max_length=MAX_OWNERS)]
    sets: Annotated[
        list[message_of(StudySet)],  # type: ignore[valid-type] # made from the dataclass
        Field(min_length=1, max_length=CHOICES),
    ]

    @classmethod
    def from_plan(cls, plan: StudyPlan) -> StudyPlanMessage:
        """Return the message of a study plan."""
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
    """One owner's part of a study plan, and the loss of a record at this owner alone."""

    owner: Name
    reported: list[ReportedShare]
    amplification: AmplificationMessage


class StudyPlanView(Message):
    """The agreed study plan with its consequences over all owners and for each owner.

    `digest` identifies the plan and its coin. `record` is the loss of a record over all owners that
    follow the plan, against a reader who knows which set the record reports. `silent` is the share
    of records that report nothing.
    """

    study: Name
    digest: Sha256
    record: AmplificationMessage
    silent: Annotated[float, Field(ge=0, le=1)]
    owners: list[OwnerShare]
    plan: StudyPlanMessage

    @classmethod
    def of(cls, study: str, plan: StudyPlan) -> StudyPlanView:
        """Return a study plan's view. Raises LimitExceeded if a loss is too costly to compute."""
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
