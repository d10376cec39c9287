"""One person's one record: its report is permanent, private and has the law that is declared."""

from __future__ import annotations

import json
import stat
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pramana as pm
from owner_agent.release import single_record
from owner_agent.release.single_record import draw_reports, permanent_report
from pramana_core.channels import Choice, Coordinated, Identity, Symmetric
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan
from pramana_core.wire.reports import PublishedPlan

SMOKES, ASTHMA = Variable("smokes", ("no", "yes")), Variable("asthma", ("none", "mild", "severe"))
PLAN = Plan(
    (
        Block((SMOKES,), Symmetric.from_gamma(2, 3.0)),
        Block((ASTHMA,), Symmetric.from_gamma(3, 3.0)),
    )
)
RECORD = {"smokes": "no", "asthma": "mild"}


def published(plan: Plan = PLAN, study: str = "lungs") -> dict[str, Any]:
    """What a gateway passes on."""
    return PublishedPlan.of(study, "clients", "open", plan).model_dump(mode="json")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the report is kept."""
    return tmp_path / "report.json"


def test_the_first_report_is_kept_privately_and_repeated_whatever_the_record_says(
    file: Path,
) -> None:
    mine = pm.report(RECORD, published(), file, max_gamma=9)
    assert set(mine) == {"study", "plan_digest", "codes"}
    assert (mine["study"], mine["plan_digest"]) == ("lungs", PLAN.digest)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    kept = file.read_bytes()
    assert json.loads(kept) == mine, "neither the record nor a key is in the file"
    for smokes, asthma in product(SMOKES.categories, ASTHMA.categories):
        changed = {"smokes": smokes, "asthma": asthma}
        assert pm.report(changed, published(), file, max_gamma=9) == mine
    assert file.read_bytes() == kept
    assert list(file.parent.iterdir()) == [file]


def test_another_plan_or_study_than_the_one_answered_is_refused(file: Path) -> None:
    mine = pm.report(RECORD, published(), file, max_gamma=9)
    weaker = Plan((Block((SMOKES,), Symmetric.from_gamma(2, 2.0)), PLAN.blocks[1]))
    with pytest.raises(pm.PlanConflict):
        pm.report(RECORD, published(weaker), file, max_gamma=9)
    with pytest.raises(pm.PlanConflict):
        pm.report(RECORD, published(study="hearts"), file, max_gamma=9)
    assert pm.report(RECORD, published(), file, max_gamma=9) == mine


def test_nothing_is_drawn_from_a_plan_that_tells_too_much_or_was_changed(file: Path) -> None:
    with pytest.raises(pm.BudgetExceeded):
        pm.report(RECORD, published(), file, max_gamma=8)
    # Who passes the plan on says that it tells less: that is not believed.
    flattering = {**published(), "record": {"epsilon": 0.1, "gamma": 1.1, "grows_to": 0.06}}
    with pytest.raises(pm.BudgetExceeded):
        pm.report(RECORD, flattering, file, max_gamma=8)
    other = Plan.unrandomized(PLAN.domain)
    with pytest.raises(pm.BudgetExceeded):
        pm.report(RECORD, published(other), file, max_gamma=1e9)
    with pytest.raises(pm.PlanError):
        pm.report(RECORD, {**published(), "plan": other.as_dict()}, file, max_gamma=9)
    with pytest.raises(pm.PlanError):
        pm.report(RECORD, {"plan": PLAN.as_dict()}, file, max_gamma=9)
    for wrong in (0.5, "9", float("nan")):
        with pytest.raises(pm.OptionError):
            pm.report(RECORD, published(), file, max_gamma=wrong)  # type: ignore[arg-type]
    with pytest.raises(pm.UnknownCategory):
        pm.report({**RECORD, "asthma": "bad"}, published(), file, max_gamma=9)
    with pytest.raises(pm.InputError):
        pm.report({"smokes": "no"}, published(), file, max_gamma=9)
    assert not file.exists()


def test_a_variable_reported_as_it_is_needs_the_persons_word_beside_a_randomized_one(
    file: Path,
) -> None:
    mixed = Plan((PLAN.blocks[0], Block((ASTHMA,), Identity(3))))
    for agreed in ((), ("smokes",), "asthma-and-smokes"):
        with pytest.raises(pm.BudgetExceeded) as told:
            pm.report(RECORD, published(mixed), file, max_gamma=1e9, as_they_are=agreed)
        assert told.value.where == "asthma"
    with pytest.raises(pm.BudgetExceeded):
        pm.report(RECORD, published(mixed), file, max_gamma=2, as_they_are=["asthma"])
    assert not file.exists()
    mine = pm.report(RECORD, published(mixed), file, max_gamma=3, as_they_are=["asthma"])
    assert mine["codes"][1] == 1


def test_a_study_that_takes_no_more_reports_gets_the_kept_one_or_none(file: Path) -> None:
    for state in ("closed", "withdrawn"):
        with pytest.raises(pm.StateError):
            pm.report(RECORD, {**published(), "state": state}, file, max_gamma=9)
    assert not file.exists()
    mine = pm.report(RECORD, published(), file, max_gamma=9)
    assert pm.report(RECORD, {**published(), "state": "closed"}, file, max_gamma=9) == mine
    assert pm.report({"smokes": "never"}, published(), file, max_gamma=9) == mine


def test_a_file_that_others_may_read_or_that_is_damaged_is_refused(file: Path) -> None:
    pm.report(RECORD, published(), file, max_gamma=9)
    file.chmod(0o644)
    with pytest.raises(pm.KeyFileError):
        pm.report(RECORD, published(), file, max_gamma=9)
    file.chmod(0o600)
    file.write_text("{}")
    with pytest.raises(pm.StoreCorrupt):
        pm.report(RECORD, published(), file, max_gamma=9)


def test_a_part_of_a_study_plan_has_no_single_report(file: Path) -> None:
    choice = Choice((0,), 1, Symmetric.from_gamma(2, 3.0))
    plan = Plan((Block((SMOKES,), Coordinated((2,), (choice,), (0,), "0" * 64)),))
    with pytest.raises(pm.PlanError):
        pm.report({"smokes": "no"}, published(plan), file, max_gamma=9)
    assert not file.exists()


def test_of_two_that_answer_at_once_one_report_stays(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both find no file; the second to write is given what the first wrote."""
    codes = {"smokes": np.array([0], np.uint8), "asthma": np.array([1], np.uint8)}
    drawing = single_record.draw_reports
    first: list[Any] = []

    def slow(*given: Any) -> Any:
        monkeypatch.setattr(single_record, "draw_reports", drawing)
        first.append(permanent_report(PLAN, "lungs", codes, file))
        drawn = drawing(*given)
        drawn["smokes"] = 1 - np.array([first[0].codes[0]])
        return drawn

    monkeypatch.setattr(single_record, "draw_reports", slow)
    assert permanent_report(PLAN, "lungs", codes, file) == first[0]


def _answer(place: str, number: int) -> Any:
    return pm.report(RECORD, published(), f"{place}/{number}.json", max_gamma=9)["codes"]


def test_what_one_person_draws_has_the_law_that_many_at_once_have(
    tmp_path: Path, assert_distribution: Any
) -> None:
    """300 files of one person each, and 60,000 records drawn together: one declared row.

    A false alarm is one in a million each; the control is the law of another record.
    """
    smokes, asthma = (block.channel.matrix() for block in PLAN.blocks)
    declared, other = (np.outer(smokes[0], asthma[k]).ravel() for k in (1, 2))
    alone = np.array([_answer(str(tmp_path), number) for number in range(300)])
    many = 60_000
    columns = {"smokes": np.zeros(many, np.uint8), "asthma": np.ones(many, np.uint8)}
    drawn = draw_reports(PLAN, "lungs", columns, np.random.default_rng(7).bytes)
    together = np.stack([drawn["smokes"], drawn["asthma"]], axis=1)
    for found in (alone, together):
        counts = np.bincount(found @ [3, 1], minlength=6)
        assert_distribution(counts, declared * len(found), false_alarm=1e-6)
        with pytest.raises(AssertionError):
            assert_distribution(counts, other * len(found), false_alarm=1e-6)
