"""Parts damaged before they are announced, and releases that close while a part comes in."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from shared.wire.parts import RecordSchema, encode_part


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
def test_a_compressed_part_is_refused(miner, plan_a, manifest, keys_of, assert_problem, codec):
    miner.study("asia")
    owner = miner.owner("asia", "north")
    columns = {"A": np.zeros(500, np.uint8), "B": np.zeros(500, np.uint8)}
    body = compressed(plan_a, ascending(keys_of(range(500))), columns, codec)
    path = owner.announce("asia", manifest(plan_a, [body], [500]))
    before = miner.snapshot()
    assert_problem(owner.put(path, 0, body), 422, "part-invalid", "compressed")
    assert miner.snapshot() == before


@pytest.mark.slow
def test_a_part_with_any_byte_changed_is_stored_or_refused_never_a_failure(
    miner, plan_a, manifest, keys_of, assert_problem
):
    miner.study("asia")
    owner = miner.owner("asia", "north")
    columns = {"A": np.array([0, 1], np.uint8), "B": np.array([2, 1], np.uint8)}
    body = encode_part(RecordSchema.of(plan_a), ascending(keys_of(range(2))), columns)
    refused = 0
    for position in range(0, len(body), 7):
        damaged = bytearray(body)
        damaged[position] ^= 0xFF
        built = manifest(plan_a, [bytes(damaged)], [2], f"at-{position}")
        path = owner.announce("asia", built)
        before = miner.snapshot()
        answer = owner.put(path, 0, bytes(damaged))
        if answer.status_code != 201:  # what a changed pseudonym or padding still is, is a part
            refused += 1
            assert_problem(answer, 422, "part-invalid")
            assert miner.snapshot() == before
        # An owner may only have some releases open at once.
        assert owner("POST", f"{path}/withdraw").status_code == 200
    assert refused > 20


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
    miner, release_a, assert_problem, meanwhile
):
    miner.study("asia")
    owner = miner.owner("asia", "north")
    path = owner.announce("asia", release_a)
    owner.put(path, 0, release_a.parts[0])
    # The withdrawal has swept the release's folder before the part's bytes get there.
    withdrawn = []

    def withdraw():
        withdrawn.append(owner("POST", f"{path}/withdraw").status_code)
        put_again(miner, path, 1, release_a.parts[1])

    meanwhile(withdraw)
    answer = owner.put(path, 1, release_a.parts[1])
    assert withdrawn == [200]
    assert_problem(answer, 409, "release-not-open", "withdrawn")
    assert miner.snapshot()[1] == {}
    assert list((miner.data / "parts").iterdir()) == []


def test_a_part_sent_twice_while_its_release_is_sealed_is_not_kept(miner, release_a, meanwhile):
    miner.study("asia")
    owner = miner.owner("asia", "north")
    path = owner.announce("asia", release_a)
    owner.put(path, 0, release_a.parts[0])
    owner.put(path, 1, release_a.parts[1])

    def seal():
        assert owner.put(path, 2, release_a.parts[2]).status_code == 201
        assert owner("POST", f"{path}/seal").json()["state"] == "sealed"
        put_again(miner, path, 2, release_a.parts[2])

    meanwhile(seal)
    assert owner.put(path, 2, release_a.parts[2]).status_code == 200
    assert list(miner.snapshot()[1]) == [f"columns/{path.rsplit('/', 1)[1]}.arrow"]
    assert list((miner.data / "parts").iterdir()) == []
