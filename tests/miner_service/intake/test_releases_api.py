"""How a release comes in, and every way in which it may not."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

from miner_service.intake import intake
from miner_service.settings import WebSettings
from pramana_core.domain import Domain
from pramana_core.plan import Plan
from pramana_core.wire.parts import RecordSchema, content_digest, encode_part
from tests.json_parts import encode_part_json


def test_the_sealed_file_has_the_records_in_one_piece(miner, release_a, keys_of):
    miner.study("asia")
    path = miner.owner("asia", "north").publish("asia", release_a)
    file = miner.data / "columns" / f"{path.rsplit('/', 1)[1]}.arrow"
    with pa.memory_map(str(file)) as source:
        table = pa.ipc.open_file(source).read_all()
        keys = table.column("__key__").to_pylist()
        a = dict(zip(keys, table.column("A").to_pylist(), strict=True))
    assert keys == sorted(bytes(k) for k in keys_of(range(100)))
    assert table.column("B").num_chunks == 1
    assert [a[bytes(k)] for k in keys_of(range(4))] == [0, 1, 0, 1]


def test_a_part_with_a_wrong_digest_is_refused(miner, north, release_a, assert_problem):
    path = north.announce("asia", release_a)
    before = miner.snapshot()
    damaged = bytearray(release_a.parts[0])
    damaged[-20] ^= 1
    answer = north.put(path, 0, bytes(damaged))
    assert_problem(answer, 422, "part-invalid")
    short = north.put(path, 0, release_a.parts[0][:-1])
    assert_problem(short, 422, "part-invalid")
    header = {"Content-Digest": content_digest(b"something else")}
    answer = north.put(path, 0, release_a.parts[0], **header)
    assert_problem(answer, 422, "part-invalid")
    assert miner.snapshot() == before


@pytest.mark.parametrize("sealed", [False, True])
def test_a_part_twice_with_other_bytes_is_refused(miner, north, release_a, assert_problem, sealed):
    path = north.publish("asia", release_a) if sealed else north.send("asia", release_a)
    before = miner.snapshot()
    answer = north.put(path, 1, release_a.parts[0])
    assert_problem(answer, 409, "conflict")
    assert miner.snapshot() == before


def test_a_seal_before_all_parts_names_those_missing(miner, north, release_a, assert_problem):
    path = north.announce("asia", release_a)
    north.put(path, 1, release_a.parts[1])
    before = miner.snapshot()
    answer = north("POST", f"{path}/seal")
    assert_problem(answer, 409, "conflict")
    assert miner.snapshot() == before


def test_parts_whose_content_is_wrong_are_refused(
    miner, north, plan_a, manifest, build, keys_of, assert_problem
):
    keys = np.sort(np.frombuffer(keys_of(range(3)).tobytes(), dtype="S16")).view("V16")
    good = {"A": np.array([0, 1, 1], np.uint8), "B": np.array([0, 1, 2], np.uint8)}
    other = Plan.unrandomized(Domain.of(A=("no", "yes")))
    cases = {
        "not-arrow": (b"not an Arrow stream", 3),
        "other-columns": (
            encode_part(RecordSchema.of(other), keys, {"A": good["A"]}),
            3,
        ),
        "descending": (encode_part(RecordSchema.of(plan_a), keys[::-1], good), 3),
        "repeated": (encode_part(RecordSchema.of(plan_a), keys[[0, 1, 1]], good), 3),
        "outside": (
            encode_part(
                RecordSchema.of(plan_a), keys, {**good, "B": np.array([0, 9, 1], np.uint8)}
            ),
            3,
        ),
        "fewer": (
            encode_part(RecordSchema.of(plan_a), keys, good),
            4,
        ),
    }
    for name, (body, records) in cases.items():
        path = north.announce("asia", manifest(plan_a, [body], [records], name))
        before = miner.snapshot()
        assert_problem(north.put(path, 0, body), 422, "part-invalid")
        assert miner.snapshot() == before


def test_parts_that_overlap_cannot_be_sealed(
    miner, north, plan_a, manifest, release_a, assert_problem
):
    first, second = release_a.parts[:2]
    path = north.send("asia", manifest(plan_a, [second, first], [40, 40]))
    before = miner.snapshot()
    answer = north("POST", f"{path}/seal")
    assert_problem(answer, 422, "part-invalid")
    assert miner.snapshot() == before


def test_a_part_damaged_on_the_miners_disk_is_noticed(miner, north, release_a, assert_problem):
    path = north.send("asia", release_a)
    stored = miner.data / "parts" / path.rsplit("/", 1)[1] / "00001.part"
    stored.write_bytes(stored.read_bytes()[:-1])
    answer = north("POST", f"{path}/seal")
    assert_problem(answer, 500, "store-corrupt")
    assert north.get(path)["state"] == "open"


def test_a_digest_that_is_not_that_of_the_plan_is_refused(miner, north, release_a, assert_problem):
    body = {**release_a.body, "digest": "0" * 64}
    before = miner.snapshot()
    answer = north("POST", "/v1/studies/asia/releases", json=body)
    assert_problem(answer, 422, "plan-invalid")
    assert miner.snapshot() == before


def test_a_small_release_may_be_json(miner, north, plan_a, build, keys_of):
    codes = {"A": [0, 1, 1, 0], "B": [2, 1, 0, 0]}
    built = build(plan_a, range(4), codes, per_part=2, encode=encode_part_json)
    path = north.announce("asia", built)
    for number, part in enumerate(built.parts):
        answer = north.put(path, number, part, **{"Content-Type": "application/json"})
        assert answer.status_code == 201, answer.text
    assert north("POST", f"{path}/seal").json()["state"] == "sealed"
    arrow = build(plan_a, range(4), codes, name="arrow")
    north.publish("asia", arrow)
    files = [p.read_bytes() for p in (miner.data / "columns").iterdir()]
    assert len(files) == 2
    assert files[0] == files[1]


def test_a_part_of_another_media_type_is_refused(miner, north, release_a, assert_problem):
    path = north.announce("asia", release_a)
    before = miner.snapshot()
    answer = north.put(path, 0, release_a.parts[0], **{"Content-Type": "text/csv"})
    assert_problem(answer, 422, "part-invalid")
    assert miner.snapshot() == before


def test_a_seal_interrupted_at_its_end_can_be_done_again(north, release_a, monkeypatch):
    path = north.send("asia", release_a)

    def power_cut(*_):
        raise RuntimeError("power cut")

    with monkeypatch.context() as patch:
        patch.setattr(intake, "_commit_seal", power_cut)
        assert north("POST", f"{path}/seal").status_code == 500
    assert north.get(path)["state"] == "open"
    assert north("POST", f"{path}/seal").json()["state"] == "sealed"


def test_parts_sent_at_once_are_each_stored_once(start, release_a):
    miner = start(web=WebSettings(bodies_per_token=8))
    miner.study("asia")
    owner = miner.owner("asia", "north")
    path = owner.announce("asia", release_a)

    def put(number):
        return number, owner.put(path, number, release_a.parts[number]).status_code

    with ThreadPoolExecutor(8) as pool:
        told = Counter(pool.map(put, [0, 1, 2] * 4))
        seals = list(pool.map(lambda _: owner("POST", f"{path}/seal"), range(4)))
    for number in range(3):
        assert told[number, 201] + told[number, 200] == 4
        assert told[number, 201] == 1
    assert {s.status_code for s in seals} == {200}
    assert len({s.text for s in seals}) == 1
    assert list(miner.snapshot()[1]) == [f"columns/{path.rsplit('/', 1)[1]}.arrow"]
