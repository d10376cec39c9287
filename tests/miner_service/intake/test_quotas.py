"""How much an owner may keep here, and how room is made again."""

from __future__ import annotations

import numpy as np
import pytest
from sqlalchemy import select

from miner_service.settings import Quotas
from miner_service.store.schema import PartRow
from pramana_core.wire.parts import encode_part_json
from tests.miner_service.masking import masked


def named(built, name):
    """The body of a release by another name."""
    return {**built.body, "name": name}


def bytes_of(built):
    """The bytes of all its parts."""
    return sum(map(len, built.parts))


@pytest.fixture
def tight(start, release_a):
    """A miner that keeps little: `(limits) -> owner`."""

    def make(**limits):
        miner = start(quotas=Quotas(**limits))
        miner.study("s")
        return miner, miner.owner("s", "north")

    return make


def test_what_is_open_is_bounded(tight, release_a, assert_problem):
    miner, owner = tight(open_releases=2)
    first = owner.announce("s", release_a)
    second = owner("POST", "/v1/studies/s/releases", json=named(release_a, "r2"))
    assert second.status_code == 201
    before = miner.snapshot()
    refused = owner("POST", "/v1/studies/s/releases", json=named(release_a, "r3"))
    assert_problem(refused, 413, "limit-exceeded")
    assert miner.snapshot() == before
    # The same announcement again is none; another owner has a quota of its own.
    assert owner("POST", "/v1/studies/s/releases", json=release_a.body).status_code == 200
    assert miner.owner("s", "south").announce("s", release_a)
    assert owner("POST", f"{first}/withdraw").status_code == 200
    again = owner("POST", "/v1/studies/s/releases", json=named(release_a, "r3"))
    assert again.status_code == 201


def test_what_is_sealed_makes_room_for_another_announcement(tight, release_a, assert_problem):
    _, owner = tight(open_releases=1)
    path = owner.send("s", release_a)
    other = named(release_a, "r2")
    refused = owner("POST", "/v1/studies/s/releases", json=other)
    assert_problem(refused, 413, "limit-exceeded")
    assert owner("POST", f"{path}/seal").status_code == 200
    assert owner("POST", "/v1/studies/s/releases", json=other).status_code == 201


def test_what_is_stored_is_bounded_though_it_is_sealed(tight, release_a, assert_problem):
    _, owner = tight(stored_bytes=bytes_of(release_a))
    path = owner.publish("s", release_a)
    other = named(release_a, "r2")
    answer = owner("POST", "/v1/studies/s/releases", json=other)
    assert_problem(answer, 413, "limit-exceeded")
    assert owner("POST", f"{path}/withdraw").status_code == 200
    assert owner("POST", "/v1/studies/s/releases", json=other).status_code == 201


@pytest.mark.parametrize(("spare", "status"), [(-1, 413), (0, 201)])
def test_the_quota_counts_the_columns_of_numbers_that_came_as_json(tight, spare, status):
    """`1.0` becomes eight bytes: what is stored counts, not only what was sent."""
    names = [f"v{i}" for i in range(20)]
    built = masked(
        range(50),
        columns=[{"name": name, "role": "masked", "type": "numeric"} for name in names],
        values=dict.fromkeys(names, np.ones(50)),
        encode=encode_part_json,
    )
    stored = 50 * (16 + 20 * 8)
    assert bytes_of(built) < stored
    _, owner = tight(stored_bytes=stored + spare)
    answer = owner("POST", "/v1/studies/s/releases", json=built.body)
    assert answer.status_code == status, answer.text


def test_withdrawn_announcements_leave_no_parts(miner, release_a):
    miner.study("s")
    owner = miner.owner("s", "north")
    some = owner.announce("s", release_a)
    owner.put(some, 1, release_a.parts[1])
    none = owner("POST", "/v1/studies/s/releases", json=named(release_a, "r2")).headers["location"]
    for path in (some, none, none):
        assert owner("POST", f"{path}/withdraw").status_code == 200
    with miner.services.database.read() as session:
        found = session.scalars(select(PartRow.number)).all()
    assert found == [1]  # what arrived counts for ever
    assert owner.get(some)["parts_received"] == [1]
    for path in (some, none):
        assert owner.put(path, 0, release_a.parts[0]).status_code == 409
    assert owner("POST", "/v1/studies/s/releases", json=release_a.body).json()["state"] == (
        "withdrawn"
    )
