"""Study plans as they travel."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from pydantic import ValidationError

from pramana_core.channels import RESOLUTION
from pramana_core.errors import PlanError
from pramana_core.wire.study_plans import StudyPlanMessage, StudyPlanView
from tests.shared.test_study_plan import PLAN


def test_a_study_plan_comes_back_from_its_canonical_bytes():
    message = StudyPlanMessage.model_validate_json(PLAN.canonical_json())
    assert message == StudyPlanMessage.from_plan(PLAN)
    assert message.to_plan() == PLAN
    assert message.to_plan().digest == PLAN.digest
    assert message.model_dump() == PLAN.as_dict()


def changed(**at: Any) -> dict[str, Any]:
    """The document with values at places such as `sets__0__weight` replaced."""
    document = copy.deepcopy(PLAN.as_dict())
    for path, value in at.items():
        *steps, last = [int(s) if s.isdigit() else s for s in path.split("__")]
        place: Any = document
        for step in steps:
            place = place[step]
        place[last] = value
    return document


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("sets", []),
        ("owners", []),
        ("more", 1),
        ("sets__0__weight", 0),
        ("sets__0__weight", RESOLUTION + 1),
        ("sets__0__weight", 1.0),
        ("sets__0__parts", []),
        ("sets__0__parts__0__owner", -1),
        ("sets__0__parts__0__axes", []),
        ("sets__0__parts__0__axes", [-1, 0]),
        ("owners__0__name", "a name"),
        ("owners__0__variables", []),
        ("owners__0__variables__0__categories", ["0"]),
        # The numbers of an owner's categories are no part of the plan.
        ("owners__0__variables__0__representatives", [1.0, 2.0]),
    ],
)
def test_ranges_and_unknown_keys_are_refused_by_their_place(path: str, value: Any):
    with pytest.raises(ValidationError) as raised:
        StudyPlanMessage.model_validate(changed(**{path: value}))
    assert raised.value.errors()[0]["loc"][0] == path.split("__")[0]


def test_a_message_may_be_well_formed_and_no_study_plan():
    message = StudyPlanMessage.model_validate(changed(sets__0__parts__0__owner=7))
    with pytest.raises(PlanError, match="Set 0 lists the owners"):
        message.to_plan()


def test_the_view_states_the_loss_and_every_owner_s_shares():
    view = StudyPlanView.of("asia", PLAN)
    assert view.digest == PLAN.digest
    assert view.record.gamma == pytest.approx(27, rel=1e-9)
    assert view.silent == 0.25
    assert [(o.owner, {r.variable: r.share for r in o.reported}) for o in view.owners] == [
        ("north", {"a": 3 / 8, "b": 4 / 8}),
        ("south", {"c": 4 / 8}),
        ("west", {"d": 2 / 8}),
    ]
    assert [o.amplification.gamma for o in view.owners] == pytest.approx([9, 8, 3], rel=1e-9)
    assert view.plan.to_plan() == PLAN
