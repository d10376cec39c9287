"""Parts damaged before they are announced, and releases that close while a part comes in."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pytest

from pramana_core.errors import NotReady
from pramana_core.wire.parts import RecordSchema, encode_part


def ascending(keys):
    return np.sort(np.frombuffer(keys.tobytes(), dtype="S16")).view("V16")


def compressed(plan, keys, columns, codec):
    """The same part as `encode_part` writes, its buffers compressed."""
    schema = RecordSchema.of(plan).arrow
    arrays = [pa.array([bytes(k) for k in keys], pa.binary(16))]
    arrays += [pa.array(columns[name]) for name in columns]
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=codec)
    with pa.ipc.new_stream(sink, schema, options=options) as writer:
        writer.write_batch(pa.record_batch(arrays, schema=schema))
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_a_compressed_part_is_refused(
    miner, north, plan_a, manifest, keys_of, assert_problem, codec
):
    columns = {"A": np.zeros(500, np.uint8), "B": np.zeros(500, np.uint8)}
    body = compressed(plan_a, ascending(keys_of(range(500))), columns, codec)
    path = north.announce("asia", manifest(plan_a, [body], [500]))
    before = miner.snapshot()
    assert_problem(north.put(path, 0, body), 422, "part-invalid", "compressed")
    assert miner.snapshot() == before


@pytest.mark.slow
def test_a_part_with_any_byte_changed_is_stored_or_refused_never_a_failure(
    miner, north, plan_a, manifest, keys_of, assert_problem
):
    columns = {"A": np.array([0, 1], np.uint8), "B": np.array([2, 1], np.uint8)}
    body = encode_part(RecordSchema.of(plan_a), ascending(keys_of(range(2))), columns)
    refused = 0
    for position in range(0, len(body), 23):
        damaged = bytearray(body)
        damaged[position] ^= 0xFF
        built = manifest(plan_a, [bytes(damaged)], [2], f"at-{position}")
        path = north.announce("asia", built)
        before = miner.snapshot()
        answer = north.put(path, 0, bytes(damaged))
        if answer.status_code != 201:  # what a changed pseudonym or padding still is, is a part
            refused += 1
            assert_problem(answer, 422, "part-invalid")
            assert miner.snapshot() == before
        # An owner may only have some releases open at once.
        assert north("POST", f"{path}/withdraw").status_code == 200
    assert refused > 6


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
    assert_problem(answer, 409, "release-not-open", "withdrawn")
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


def test_a_release_withdrawn_among_parts_that_wait_for_one_commit_is_refused_alone(
    miner, release_a, assert_problem
):
    """The bytes of all are on disk, and none is acknowledged, when one is withdrawn."""
    miner.study("asia")
    owners = [miner.owner("asia", name) for name in ("north", "south", "west")]
    paths = [owner.announce("asia", release_a) for owner in owners]
    gathering, may_commit = miner.services.together._gathering, threading.Event()
    gathering._thread.submit(may_commit.wait)
    with ThreadPoolExecutor(3) as threads:
        sent = [
            threads.submit(owner.put, path, 0, release_a.parts[0])
            for owner, path in zip(owners, paths, strict=True)
        ]
        while len(gathering._waiting) < 3:
            assert not any(answer.done() for answer in sent)
        assert owners[1]("POST", f"{paths[1]}/withdraw").status_code == 200
        may_commit.set()
        answers = [answer.result() for answer in sent]
    assert [answer.status_code for answer in answers] == [201, 409, 201]
    assert_problem(answers[1], 409, "release-not-open", "withdrawn")
    kept = {path.name for path in (miner.data / "parts").iterdir()}
    assert kept == {paths[0].rsplit("/", 1)[1], paths[2].rsplit("/", 1)[1]}


def test_a_crash_between_the_bytes_and_the_commit_leaves_a_part_to_be_sent_again(
    miner, north, release_a, assert_problem, monkeypatch
):
    path = north.announce("asia", release_a)
    together = miner.services.together
    write = together._database.write

    @contextmanager
    def broken():
        with write() as session:
            yield session
            raise NotReady("The database is away.", remedy="")

    with monkeypatch.context() as patch:
        patch.setattr(together._database, "write", broken)
        assert_problem(north.put(path, 0, release_a.parts[0]), 503, "not-ready")
    assert north.get(path)["parts_received"] == []
    assert [north.put(path, 0, release_a.parts[0]).status_code for _ in range(2)] == [201, 200]
    assert north.get(path)["parts_received"] == [0]


def test_a_part_is_answered_alike_by_the_gate_and_by_its_route(north, release_a):
    """An unusual way to write its number is left to the route."""
    path = north.announce("asia", release_a)
    arrow = {"Content-Type": "application/vnd.apache.arrow.stream"}

    def put(number, body):
        return north("PUT", f"{path}/parts/{number}", content=body, headers=arrow)

    for first, second in (("1", "0000000001"), ("0000000002", "2")):
        body = release_a.parts[int(first)]
        new, known = put(first, body), put(second, body)
        assert (new.status_code, known.status_code) == (201, 200)
        assert new.content == known.content
        assert {*new.headers} == {*known.headers}
        wrong = [put(number, b"x" * len(body)) for number in (first, second)]
        assert [answer.status_code for answer in wrong] == [409, 409]
        assert wrong[0].json().keys() == wrong[1].json().keys()
        assert wrong[0].json()["detail"] == wrong[1].json()["detail"]
    assert put("1?x=1", release_a.parts[1]).status_code == 422
    assert put("-1", release_a.parts[1]).status_code == 422
    assert put("99999999", release_a.parts[1]).status_code == 422
