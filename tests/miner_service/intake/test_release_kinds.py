"""The life of a release, for every kind: announced, sent, sealed, listed, withdrawn."""

from __future__ import annotations

from typing import Any

import pytest

from tests.miner_service.conftest import Built, Person, assert_problem, release_of_a
from tests.miner_service.masking import masked
from tests.miner_service.sharing import body, model

RELEASES = "/v1/studies/asia/releases"


class Kind:
    """A kind of release: one, another of the same name, and what is no release of it."""

    budgeted = False


class Randomized(Kind):
    kind, field, budgeted = "randomized-records", "plan", True

    def release(self, name: str = "r1") -> Built:
        built = release_of_a()
        built.body["name"] = name
        return built

    def other(self) -> dict[str, Any]:
        return masked(range(100), name="r1").body


class Masked(Kind):
    kind, field = "masked-records", "table"

    def release(self, name: str = "r1") -> Any:
        return masked(range(100), name=name)

    def other(self) -> dict[str, Any]:
        return masked(range(100), name="r1", method="ipso").body


class Shared(Kind):
    kind, field = "knowledge-model", "model"

    def release(self, name: str = "r1") -> Any:
        return Built(body(model(), name), [])

    def other(self) -> dict[str, Any]:
        return body(model(requirement={"k": 2}), "r1")


@pytest.fixture(params=[Randomized(), Masked(), Shared()], ids=lambda kind: kind.kind)
def kind(request) -> Kind:
    return request.param


def test_it_is_announced_sent_in_any_order_and_sealed_once(miner, north, kind):
    built = kind.release()
    first, again = (north("POST", RELEASES, json=built.body) for _ in range(2))
    assert [first.status_code, again.status_code] == [201, 200]
    path = first.headers["location"]
    assert again.headers["location"] == path
    for number in reversed(range(len(built.parts))):
        statuses = [north.put(path, number, built.parts[number]).status_code for _ in range(2)]
        assert statuses == [201, 200]
    sealed = [north("POST", f"{path}/seal") for _ in range(2)]
    assert sealed[0].json() == sealed[1].json()
    before = miner.snapshot()
    if built.parts:
        assert north.put(path, 0, built.parts[0]).status_code == 200
    release = north.get(path)
    assert (release["kind"], release["state"]) == (kind.kind, "sealed")
    assert release["parts_received"] == list(range(len(built.parts)))
    assert release["consistency"]["state"] == "not-examined"
    held = {"plan", "table", "model"} & set(release)
    assert held == {kind.field}
    assert north.get(RELEASES)["items"] == [release]
    assert north.get("/v1/dashboard")["studies"][0]["releases"] == [release]
    assert miner.snapshot() == before
    # Parts in order make the same bytes.
    files = [path.read_bytes() for path in (miner.data / "columns").iterdir()]
    miner.study("twin")
    miner.owner("twin", "north").publish("twin", built)
    assert [path.read_bytes() for path in (miner.data / "columns").iterdir()] == files * 2


def test_other_content_under_its_name_is_a_conflict(miner, north, kind):
    north.announce("asia", kind.release())
    before = miner.snapshot()
    assert_problem(north("POST", RELEASES, json=kind.other()), 409, "conflict")
    assert miner.snapshot() == before


def test_a_manifest_of_two_kinds_is_refused(miner, north, kind):
    before = miner.snapshot()
    built = kind.release().body
    fields = {"plan", "table", "model"} - {kind.field}
    changes = [{field: {}} for field in fields] + [{kind.field: None}, {"kind": "other"}]
    if not kind.budgeted:
        changes.append({"draws": ["0" * 64]})
    for change in changes:
        answer = north("POST", RELEASES, json={**built, **change})
        assert_problem(answer, 422, "request-invalid")
    assert miner.snapshot() == before


@pytest.mark.parametrize("state", ["open", "sealed"])
def test_a_withdrawn_one_keeps_its_entry_and_loses_its_records(miner, north, kind, state):
    built = kind.release()
    path = (north.publish if state == "sealed" else north.send)("asia", built)
    withdrawn = [north("POST", f"{path}/withdraw").json() for _ in range(2)]
    assert [one["state"] for one in withdrawn] == ["withdrawn"] * 2
    rows, files = miner.snapshot()
    assert files == {}
    assert north.get(RELEASES)["items"] == [withdrawn[0]]
    assert north.get("/v1/studies/asia/alignment")["state"] == "waiting"
    assert_problem(north("POST", f"{path}/seal"), 409, "conflict")
    if built.parts:
        assert_problem(north.put(path, 0, built.parts[0]), 409, "conflict")
    again = north("POST", RELEASES, json=built.body)
    assert (again.status_code, again.json()["state"]) == (200, "withdrawn")
    assert miner.snapshot() == (rows, files)


def test_a_part_that_was_not_announced_is_not_found(north, kind):
    path = north.announce("asia", kind.release())
    assert_problem(north.put(path, 3, b"x"), 404, "not-found")
    assert_problem(north.put(path, 10_000, b""), 422, "request-invalid")


def test_an_interrupted_one_goes_on_after_a_restart(start, kind):
    first, built = start(), kind.release()
    first.study("asia")
    owner = first.owner("asia", "north")
    path = owner.announce("asia", built)
    for number, part in enumerate(built.parts[:1]):
        owner.put(path, number, part)
    again = Person(start().client, owner.token)
    assert again.publish("asia", built) == path
    last = Person(start().client, owner.token)
    assert last.get(path)["state"] == "sealed"
    assert last.get(path)[kind.field] == again.get(path)[kind.field]


def test_a_budget_has_room_for_what_is_bounded_alone(miner, kind):
    """A plan without randomized columns spends nothing."""
    for budget in ("max_epsilon_record", "max_epsilon_column"):
        study = budget.replace("_", "-")
        miner.admin("POST", "/v1/studies", json={"name": study, budget: 5.0})
        owner = miner.owner(study, "north")
        before = miner.snapshot()
        answer = owner("POST", f"/v1/studies/{study}/releases", json=kind.release().body)
        if kind.budgeted:
            assert answer.status_code == 201
        else:
            assert_problem(answer, 409, "budget-exceeded")
            assert miner.snapshot() == before


def test_a_central_budget_is_told_with_its_own_figure(miner):
    miner.study("asia", max_central_epsilon=0.375, central_records=2000)
    body = Masked().release().body
    answer = miner.owner("asia", "north")("POST", "/v1/studies/asia/releases", json=body)
    assert " 0.375" in assert_problem(answer, 409, "budget-exceeded").detail


def test_what_nothing_bounds_is_listed_apart_and_stays_when_it_is_withdrawn(miner, north, kind):
    path = north.publish("asia", kind.release())
    told = north.get("/v1/studies/asia/privacy")
    assert len(told["unbounded"]) == len(told["warnings"]) == (0 if kind.budgeted else 1)
    assert [one["kind"] for one in told["unbounded"]] in ([], [kind.kind])
    assert told["record"]["determined"]["epsilon"] == 0
    north("POST", f"{path}/withdraw")
    assert north.get("/v1/studies/asia/privacy") == told


def test_one_owner_has_one_of_each_kind_in_use(miner, north, kind):
    plain = Randomized().release("plain")
    kept = north.publish("asia", plain)
    north.publish("asia", kind.release("other"))
    (row,) = north.get("/v1/studies/asia/alignment")["owners"]
    newer = kind.budgeted
    assert (row["release"] == kept.rsplit("/", 1)[1]) is not newer
