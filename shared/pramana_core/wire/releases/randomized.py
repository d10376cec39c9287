"""Records that were randomized under a plan, the first kind of release."""

from __future__ import annotations

from pramana_core.plan import Plan
from pramana_core.wire.parts import RecordSchema
from pramana_core.wire.plans import PlanMessage, VariableMessage
from pramana_core.wire.releases.base import RANDOMIZED, ReleaseKind


def _variables(plan: PlanMessage) -> list[VariableMessage]:
    return [variable for block in plan.blocks for variable in block.variables]


RANDOMIZED_RECORDS: ReleaseKind[PlanMessage, Plan] = ReleaseKind(
    name=RANDOMIZED,
    field="plan",
    message=PlanMessage,
    names=lambda plan: [variable.name for variable in _variables(plan)],
    categories=lambda plan: sum(len(v.categories) for v in _variables(plan)),
    read=PlanMessage.to_plan,
    columns=lambda plan: {n: b.channel.is_identity for b in plan.blocks for n in b.names},
    schema=RecordSchema.of,
    plan=lambda plan: plan,
)
