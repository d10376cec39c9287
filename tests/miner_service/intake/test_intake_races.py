"""Parts damaged before they are announced, and releases that close while a part comes in."""

from __future__ import annotations

import pytest

from miner_service.intake import receiving
from pramana_core.errors import NotReady


@pytest.fixture
def meanwhile(miner, monkeypatch):
    """Do something just after a part's bytes are on disk, before it is acknowledged."""
    segments = type(miner.services.segments)
    put_part = segments.put_part

    def arrange(what):
        def put_then(self, *arguments):
            put_part(self, *arguments)
            monkeypatch.setattr(segments, "put_part", put_part)
            what()

        monkeypatch.setattr(segments, "put_part", put_then)

    return arrange


def put_again(miner, path, number, body):
    scratch = miner.services.segments.scratch_path()
    scratch.write_bytes(body)
    miner.services.segments.put_part(path.rsplit("/", 1)[1], number, scratch)


def test_a_part_that_comes_while_its_release_is_withdrawn_is_not_kept(
    miner, north, release_a, assert_problem, meanwhile
):
    path = north.announce("asia", release_a)
    north.put(path, 0, release_a.parts[0])
    # The withdrawal has swept the release's folder before the part's bytes get there.
    withdrawn = []

    def withdraw():
        withdrawn.append(north("POST", f"{path}/withdraw").status_code)
        put_again(miner, path, 1, release_a.parts[1])

    meanwhile(withdraw)
    answer = north.put(path, 1, release_a.parts[1])
    assert withdrawn == [200]
    assert_problem(answer, 409, "conflict")
    assert miner.snapshot()[1] == {}
    assert list((miner.data / "parts").iterdir()) == []


def test_a_part_sent_twice_while_its_release_is_sealed_is_not_kept(
    miner, north, release_a, meanwhile
):
    path = north.announce("asia", release_a)
    north.put(path, 0, release_a.parts[0])
    north.put(path, 1, release_a.parts[1])

    def seal():
        assert north.put(path, 2, release_a.parts[2]).status_code == 201
        assert north("POST", f"{path}/seal").json()["state"] == "sealed"
        put_again(miner, path, 2, release_a.parts[2])

    meanwhile(seal)
    assert north.put(path, 2, release_a.parts[2]).status_code == 200
    assert list(miner.snapshot()[1]) == [f"columns/{path.rsplit('/', 1)[1]}.arrow"]
    assert list((miner.data / "parts").iterdir()) == []


def test_a_crash_between_the_bytes_and_the_commit_leaves_a_part_to_be_sent_again(
    miner, north, release_a, assert_problem, monkeypatch
):
    path = north.announce("asia", release_a)
    acknowledge = receiving._acknowledge

    def broken(*arguments):
        acknowledge(*arguments)
        raise NotReady("The database is away.", remedy="")

    with monkeypatch.context() as patch:
        patch.setattr(receiving, "_acknowledge", broken)
        assert_problem(north.put(path, 0, release_a.parts[0]), 503, "not-ready")
    assert north.get(path)["parts_received"] == []
    assert [north.put(path, 0, release_a.parts[0]).status_code for _ in range(2)] == [201, 200]
    assert north.get(path)["parts_received"] == [0]
