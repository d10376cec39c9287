"""Reports of single records: published plan, batches from gateways, counts, jobs that learn."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

from miner_service.backup import back_up, restore
from miner_service.checking import check
from miner_service.http.server import exclusive
from miner_service.intake import reports as intake
from miner_service.intake.study_privacy import require_budget_covers
from miner_service.services import open_services
from miner_service.settings import Limits, Settings
from miner_service.store.columns import load_keys
from miner_service.store.people import find_study
from miner_service.store.schema import ReportBatchRow, ReportCellRow, ReportPlanRow
from miner_service.store.tables import delete_rows
from pramana_core.channels import Symmetric
from pramana_core.domain import Variable
from pramana_core.errors import BudgetExceeded
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Block, Plan
from pramana_core.wire.base import KEY_BYTES
from pramana_core.wire.reports import CellFormat, ReportBatch

BINARY = ("no", "yes")
SMOKES, ASTHMA = Variable("smokes", BINARY), Variable("asthma", ("none", "mild", "severe"))
PLAN = Plan(
    (
        Block((SMOKES,), Symmetric.from_gamma(2, 3.0)),
        Block((ASTHMA,), Symmetric.from_gamma(3, 3.0)),
    )
)
ROWS = [[0, 0], [1, 2], [0, 0], [1, 1]]
JOB = {"kind": "contingency-table", "variables": ["smokes", "asthma"]}


class Setting:
    """A miner with a study whose plan is published, and two gateways."""

    def __init__(self, miner: Any, plan: Plan = PLAN, **study: Any) -> None:
        self.miner, self.plan = miner, plan
        self.analyst = miner.study("lungs", **study)
        self.gateway, self.other = self.person("app"), self.person("web")
        self.put = miner.admin("PUT", PATH + "/plan", json={"plan": plan.as_dict()})

    def person(self, name: str) -> Any:
        """Issue a gateway's token."""
        body = {"name": name, "role": "gateway"}
        issued = self.miner.admin("POST", "/v1/studies/lungs/tokens", json=body).json()
        assert issued["role"] == "gateway"
        return type(self.miner.admin)(self.miner.client, issued["token"], issued["id"])

    def send(self, rows: Any, batch: str, who: Any = None, **changed: Any) -> Any:
        """Send a batch."""
        body = {"batch": f"{batch:0>16}", "plan_digest": self.plan.digest, "reports": rows}
        return (who or self.gateway)("POST", PATH, json={**body, **changed})

    def counts(self) -> Any:
        """Read how many reports there are."""
        return self.analyst.get(PATH)

    def job(self) -> Any:
        """Run a job; return its model."""
        return self.analyst.learn("lungs", JOB)


PATH = "/v1/studies/lungs/reports"


@pytest.fixture
def lungs(miner: Any) -> Setting:
    """The study."""
    return Setting(miner)


def test_the_plan_says_what_a_report_tells_and_stays(lungs: Setting, assert_problem: Any) -> None:
    assert lungs.put.status_code == 201
    told = lungs.gateway.get(PATH + "/plan")
    assert told == lungs.put.json() == lungs.analyst.get(PATH + "/plan")
    assert told["record"]["gamma"] == pytest.approx(9.0)
    assert (told["plan_digest"], told["state"], told["owner"]) == (PLAN.digest, "open", "clients")
    admin = lungs.miner.admin
    again = admin("PUT", PATH + "/plan", json={"plan": PLAN.as_dict()})
    assert (again.status_code, again.json()) == (200, told)
    other = Plan((Block((SMOKES,), Symmetric.from_gamma(2, 2.0)),))
    refused = admin("PUT", PATH + "/plan", json={"plan": other.as_dict()})
    assert_problem(refused, 409, "conflict")
    lungs.miner.study("elsewhere")
    lungs.miner.owner("elsewhere", "clients")
    taken = admin("PUT", "/v1/studies/elsewhere/reports/plan", json={"plan": PLAN.as_dict()})
    assert_problem(taken, 409, "conflict")


def test_a_batch_counts_once_and_other_rows_under_its_name_never(
    lungs: Setting, assert_problem: Any
) -> None:
    assert lungs.send(ROWS, "1").status_code == 201
    again = lungs.send(ROWS, "1")
    assert (again.status_code, again.json()["records"]) == (200, 4)
    before = lungs.miner.snapshot()
    assert_problem(lungs.send(ROWS[::-1], "1"), 409, "conflict")
    assert lungs.miner.snapshot() == before
    # The names of one gateway's batches are no other's business.
    assert lungs.send([[1, 1]], "1", who=lungs.other).status_code == 201
    told = lungs.counts()
    assert (told["records"], told["combinations"], told["released"]) == (5, 3, 0)
    assert told["gateways"] == [
        {"gateway": "app", "batches": 1, "records": 4},
        {"gateway": "web", "batches": 1, "records": 1},
    ]


@pytest.mark.parametrize(
    ("rows", "where", "code"),
    [
        ([[0, 0], [0, 3], [2, 0]], "reports[1].asthma", "input-invalid"),
        ([[0, 0], [0]], "reports[1]", "input-invalid"),
        ([[0, 0], [0, -1]], "reports.1.1", "request-invalid"),
        ([[0, 0], [0, True]], "reports.1.1", "request-invalid"),
        ([[0, 0], [0, "mild"]], "reports.1.1", "request-invalid"),
        ([], "reports", "request-invalid"),
    ],
)
def test_of_a_batch_with_a_bad_code_nothing_counts_and_it_is_told_where(
    lungs: Setting, assert_problem: Any, rows: Any, where: str, code: str
) -> None:
    before = lungs.miner.snapshot()
    problem = assert_problem(lungs.send(rows, "1"), 422, code)
    assert where in f"{problem.where} {problem.detail}"
    assert lungs.miner.snapshot() == before
    assert lungs.send([row for row in rows if row == [0, 0]] or ROWS, "1").status_code == 201


def test_reports_by_another_plan_and_too_many_at_once_are_refused(
    start: Any, assert_problem: Any
) -> None:
    lungs = Setting(start(limits=Limits(batch_reports=3)))
    assert_problem(lungs.send(ROWS, "1"), 413, "limit-exceeded")
    other = lungs.send(ROWS[:2], "1", plan_digest="0" * 64)
    assert_problem(other, 409, "plan-conflict")
    for name in ("short", "a b" * 8):
        named = {"batch": name, "plan_digest": PLAN.digest, "reports": ROWS[:2]}
        assert_problem(lungs.gateway("POST", PATH, json=named), 422, "request-invalid")
    assert lungs.counts()["records"] == 0


def test_an_interruption_between_count_and_acknowledgement_counts_once(
    lungs: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = intake.BatchReceipt

    def lost(**_: Any) -> Any:
        raise OSError("the power went")

    monkeypatch.setattr(intake, "BatchReceipt", lost)
    assert lungs.send(ROWS, "1").status_code == 500
    monkeypatch.setattr(intake, "BatchReceipt", answered)
    assert lungs.counts()["records"] == 4
    assert lungs.send(ROWS, "1").status_code == 200
    assert lungs.counts()["records"] == 4

    def half(*_: Any, **__: Any) -> None:
        raise OSError("the power went")

    add = intake.rows.insert
    monkeypatch.setattr(intake.rows, "insert", half)  # after the counts, before the receipt
    assert lungs.send(ROWS, "2").status_code == 500
    assert lungs.counts()["records"] == 4
    monkeypatch.setattr(intake.rows, "insert", add)
    assert lungs.send(ROWS, "2").status_code == 201
    assert lungs.counts()["records"] == 8
    assert check(lungs.miner.services, lambda *_: None).findings == ()


def test_nothing_says_who_sent_what(lungs: Setting) -> None:
    """The order of the rows and their cut into batches leave no trace; names are hashed."""
    assert lungs.send(ROWS, "first-batch").status_code == 201
    with lungs.miner.services.database.read() as session:
        cells = session.execute(select(*ReportCellRow.__table__.c)).all()
        (receipt,) = session.execute(select(*ReportBatchRow.__table__.c)).all()
    pack = CellFormat.of(PLAN).pack
    expected = sorted(
        (pack([row])[0].tobytes(), ROWS.count(row)) for row in ([0, 0], [1, 2], [1, 1])
    )
    assert [(bytes(cell.cell), cell.records) for cell in cells] == expected
    assert set(receipt._fields) == {"key", "study", "gateway", "digest", "records"}
    assert "first-batch" not in "".join(map(str, receipt))
    # A plain hash of one report would give it away to whoever tries all six.
    assert lungs.send([[1, 2]], "second", who=lungs.other).status_code == 201
    assert lungs.send([[1, 2]], "third", who=lungs.other).status_code == 201
    with lungs.miner.services.database.read() as session:
        digests = [row.digest for row in session.scalars(select(ReportBatchRow))]
    assert len(set(digests)) == 3


def test_releases_of_more_and_more_reports_replace_each_other_and_tell_nothing_more(
    lungs: Setting, assert_problem: Any
) -> None:
    release = PATH + "/release"
    assert_problem(lungs.analyst("POST", release), 409, "conflict")
    alignment = lungs.analyst.get("/v1/studies/lungs/alignment")
    assert (alignment["state"], alignment["missing"]) == ("waiting", ["clients"])
    lungs.send(ROWS, "1")
    first = lungs.analyst("POST", release)
    assert (first.status_code, first.json()["records"]) == (201, 4)
    again = lungs.analyst("POST", release)
    assert (again.status_code, again.json()) == (200, first.json())
    spent = lungs.analyst.get("/v1/studies/lungs/privacy")
    assert spent["record"]["determined"]["gamma"] == pytest.approx(9.0)
    lungs.send(ROWS * 2, "2")
    second = lungs.analyst("POST", release).json()
    assert (second["records"], second["state"]) == (12, "sealed")
    told = lungs.counts()
    assert (told["release"], told["released"]) == (second["id"], 12)
    after = lungs.analyst.get("/v1/studies/lungs/privacy")
    assert (after["record"], after["warnings"]) == (spent["record"], spent["warnings"])
    assert lungs.job()["records"] == 12


def test_a_release_that_was_interrupted_goes_on(
    lungs: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    lungs.send(ROWS, "1")
    monkeypatch.setattr(intake, "_PART", 3)
    sealing = intake.seal
    for place in ("seal", "encode_part"):
        kept = getattr(intake, place)

        def interrupted(*_: Any) -> Any:
            raise OSError("the power went")

        monkeypatch.setattr(intake, place, interrupted)
        assert lungs.analyst("POST", PATH + "/release").status_code == 500
        monkeypatch.setattr(intake, place, kept)
    assert intake.seal is sealing
    made = lungs.analyst("POST", PATH + "/release")
    assert (made.status_code, made.json()["records"], made.json()["parts"]) == (201, 4, 2)
    assert lungs.analyst.get("/v1/studies/lungs/releases")["items"] == [made.json()]
    keys = load_keys(lungs.miner.services.segments.data_path(made.json()["id"]))
    raw = [bytes(key).ljust(KEY_BYTES, b"\0") for key in keys]
    assert all(a < b for a, b in pairwise(raw))
    assert check(lungs.miner.services, lambda *_: None).findings == ()


def test_closed_reports_are_taken_no_more_and_withdrawn_ones_are_gone(
    lungs: Setting, assert_problem: Any
) -> None:
    admin = lungs.miner.admin
    lungs.send(ROWS, "1")
    made = lungs.analyst("POST", PATH + "/release").json()["id"]
    assert [admin("POST", PATH + "/close").json()["state"] for _ in range(2)] == ["closed"] * 2
    assert_problem(lungs.send(ROWS, "2"), 409, "conflict")
    assert lungs.send(ROWS, "1").status_code == 200, "what was counted stays acknowledged"
    assert lungs.job()["records"] == 4
    gone = admin("DELETE", PATH).json()
    assert (gone["state"], gone["records"], gone["combinations"]) == ("withdrawn", 4, 0)
    assert admin("DELETE", PATH).json() == gone
    assert lungs.analyst.get(f"/v1/releases/{made}")["state"] == "withdrawn"
    assert_problem(admin("POST", PATH + "/close"), 409, "conflict")
    assert_problem(lungs.analyst("POST", PATH + "/release"), 409, "conflict")
    told = lungs.analyst.get("/v1/studies/lungs/privacy")
    assert told["record"]["determined"]["gamma"] == pytest.approx(9.0), "told stays told"
    assert check(lungs.miner.services, lambda *_: None).findings == ()
    with lungs.miner.services.database.write() as session:
        delete_rows(session, "lungs")
        for table in (ReportPlanRow, ReportBatchRow, ReportCellRow):
            assert session.scalars(select(table)).all() == []


def test_the_name_of_the_holders_is_no_owner_s_even_when_they_withdrew(
    lungs: Setting, assert_problem: Any
) -> None:
    admin = lungs.miner.admin
    for _ in range(2):
        asked = admin("POST", "/v1/studies/lungs/invitations", json={"owner": "clients"})
        assert_problem(asked, 409, "conflict")
        assert admin("DELETE", PATH).status_code == 200


def test_holders_are_removed_by_withdrawing_alone_and_their_budget_stays_kept(
    start: Any, assert_problem: Any
) -> None:
    lungs = Setting(start(), max_epsilon_record=3.0)
    admin, owner = lungs.miner.admin, "/v1/studies/lungs/owners/clients"
    for _ in range(2):  # open, then closed
        assert_problem(admin("DELETE", owner), 409, "conflict")
        left = lungs.analyst.get("/v1/studies/lungs/privacy")["budget"]["left_for_record"]
        assert left == pytest.approx(3.0 - np.log(9.0))
        lungs.send(ROWS, "1")
        assert admin("POST", PATH + "/close").status_code == 200
    assert admin("DELETE", PATH).status_code == 200
    assert admin("DELETE", owner).status_code == 204


def test_a_budget_holds_back_what_was_published(start: Any, assert_problem: Any) -> None:
    short = Setting(start(), max_epsilon_record=2.0)
    assert_problem(short.put, 409, "budget-exceeded")
    assert_problem(short.send(ROWS, "1"), 404, "not-found")


@pytest.mark.parametrize(
    "budget", [{"max_epsilon_record": 2.0}, {"max_central_epsilon": 9.0, "central_records": 1}]
)
def test_a_later_budget_must_cover_what_was_published(lungs: Setting, budget: Any) -> None:
    """The plan counts from its publication, and after its withdrawal if it has reports."""

    def require(**limits: float) -> None:
        with lungs.miner.services.database.write() as session:
            row = find_study(session, "lungs")
            for name, limit in limits.items():
                setattr(row, name, limit)
            require_budget_covers(session, row)
            session.rollback()

    for _ in range(2):
        with pytest.raises(BudgetExceeded) as refused:
            require(**budget)
        assert refused.value.where == "clients"
        require(max_epsilon_record=2.2)
        lungs.send(ROWS, "1")
        assert lungs.miner.admin("DELETE", PATH).status_code == 200


def test_a_check_finds_counts_that_do_not_agree(lungs: Setting) -> None:
    lungs.send(ROWS, "1")
    with lungs.miner.services.database.write() as session:
        session.scalars(select(ReportCellRow)).first().records += 1
    (found,) = check(lungs.miner.services, lambda *_: None).findings
    assert (found.code, found.where) == ("reports", "lungs")


def test_a_restored_backup_has_counts_and_receipts(lungs: Setting, tmp_path: Path) -> None:
    lungs.send(ROWS, "1")
    back_up(lungs.miner.services, tmp_path / "backup", lambda *_: None)
    lungs.send(ROWS, "2")  # forgotten: its gateway sends it again
    with exclusive(tmp_path / "other"):
        other = open_services(Settings(tmp_path / "other"), lungs.miner.clock)
    restore(other, tmp_path / "backup", lambda *_: None)
    for batch, new in (("1", False), ("2", True)):
        body = ReportBatch(batch=f"{batch:0>16}", plan_digest=PLAN.digest, reports=ROWS)
        assert intake.count(other, "lungs", "app", body)[1] == new
    with other.database.read() as session:
        assert intake.counts(session, "lungs").model_dump() == lungs.counts()
    other.database.close()


def test_figures_of_a_lying_client() -> None:
    """What docs/threat-model.md says that forged reports can do, beside the honest noise."""
    binary, ternary = (np.linalg.inv(block.channel.matrix()) for block in PLAN.blocks)
    for inverse, size in ((binary, 2), (ternary, 3)):
        assert inverse.max() == pytest.approx((3 + size - 2) / (3 - 1))
        assert inverse.min() == pytest.approx(-1 / (3 - 1))
    joint = np.kron(binary, ternary)
    assert (binary.max(), ternary.max(), joint.max()) == pytest.approx((1.5, 2, 3))
    law = np.full(6, 1 / 6)
    records, liars = 20_000, 100
    reported = law @ np.kron(*(block.channel.matrix() for block in PLAN.blocks))
    noise = np.sqrt(records * (reported @ joint**2 - law**2))
    assert noise.max() == pytest.approx(192, abs=0.5)

    def estimate(counts: Any) -> Any:
        codes = np.repeat(np.arange(6), counts)
        columns = {"smokes": (codes // 3).astype(np.uint8), "asthma": (codes % 3).astype(np.uint8)}
        strata = [(ReportedCounts(columns, PLAN.reported_sizes), PLAN)]
        found = EstimatedMarginals.of(
            strata, estimator="moment", order=None, variables=["smokes", "asthma"]
        )
        return found.marginal(["smokes", "asthma"]).counts.ravel()

    honest = np.array([4000, 3000, 3000, 4000, 3000, 3000])
    forged = honest + liars * (np.arange(6) == 5)
    moved = estimate(forged) - estimate(honest)
    assert moved == pytest.approx(liars * joint[5])
    assert moved.max() == pytest.approx(300)
