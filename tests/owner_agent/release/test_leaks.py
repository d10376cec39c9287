"""Nothing that leaves, is stored or is printed holds a record id or a true value beyond the plan.

Cells and ids are strings that occur nowhere else, so that any trace of them can be found in every
file of the state directory, in every request and in all output.
"""

import logging

import httpx
import pytest

SITE = """
owner = "clinic-north"
table = "patients.csv"
record_id = "patient_id"
[miner]
url = "http://127.0.0.1:9"
study = "asia"
[[variables]]
name = "weight"
cuts = [60, 80]
sensitive = true
channel = { kind = "symmetric", p = 0.4 }
[[variables]]
name = "answer"
categories = ["a", "b"]
sensitive = true
channel = { kind = "binary", p1 = 0.3, p2 = 0.3 }
"""

ROWS = 200


def _weight(i):
    return f"{40 + i % 60}.7{i:04d}31"


def _traces():
    """Every form a secret could take: as text, and as hexadecimal in either case."""
    texts = [f"Zq{i:04d}Person" for i in range(ROWS)] + [_weight(i) for i in range(ROWS)]
    texts += ["diaryXYZZY"]
    raw = [text.encode() for text in texts]
    return raw + [text.hex().encode() for text in raw]


@pytest.fixture
def secretive(bench, caplog):
    caplog.set_level(logging.DEBUG)
    rows = "".join(f"Zq{i:04d}Person,{_weight(i)},{'ab'[i % 2]},diaryXYZZY\n" for i in range(ROWS))
    bench.write(SITE, "patient_id,weight,answer,diary\n" + rows)
    return bench


def _everything(bench, caplog, endings):
    places = dict(bench.files())
    for number, request in enumerate(bench.miner.requests):
        places[f"request {number}"] = (
            request.method.encode() + str(request.url).encode() + repr(request.headers).encode()
            + request.content
        )  # fmt: skip
    places["log"] = caplog.text.encode()
    for number, ended in enumerate(endings):
        places[f"output {number}"] = (ended.out + ended.err).encode()
    return places


def _assert_no_trace(bench, caplog, endings):
    places = _everything(bench, caplog, endings)
    assert len(places) > 5
    for place, content in places.items():
        assert not [t for t in _traces() if t in content], f"a secret is in {place}"


@pytest.mark.slow
def test_a_publication_with_all_that_can_happen_to_it(secretive, command, caplog):
    secretive.miner.faults = [None, None, ("before", httpx.ReadError("cut"))]
    endings = [command("publish", "--yes", "--part-records", "70")]
    endings += [command(*words.split()) for words in (
        "check", "plan", "publish --yes --part-records 70", "ledger", "ledger --json", "keys show",
    )]  # fmt: skip
    assert [ended.exit_code for ended in endings] == [5, 0, 0, 0, 0, 0, 0]
    assert len(secretive.miner.sealed()) == 1
    _assert_no_trace(secretive, caplog, endings)


def test_a_table_full_of_mistakes(secretive, command, caplog):
    path = secretive.folder / "patients.csv"
    wrong = path.read_text().replace(",a,", ",diaryXYZZY,").replace(".70001", ".x70001")
    path.write_text(wrong + "Zq0003Person,55.7000331,a,diaryXYZZY\n,1,a,\n")
    endings = [command(*words.split()) for words in ("check", "check --json", "publish --yes")]
    assert {ended.exit_code for ended in endings} == {2}
    assert "5 problems" in endings[0].out or "4 problems" in endings[0].out
    _assert_no_trace(secretive, caplog, endings)
    path.write_text(path.read_text() + "Zq0003Person,55.7000331,a,diaryXYZZY,more\n")
    endings = [command("check"), command("publish", "--yes")]
    assert {ended.exit_code for ended in endings} == {2}
    _assert_no_trace(secretive, caplog, endings)


def test_no_request_holds_a_token_or_key_where_it_does_not_belong(secretive, command):
    command("publish", "--yes")
    keys = [
        (secretive.state / "keys" / f"{n}.key").read_bytes().strip() for n in ("draw", "linkage")
    ]
    token = (secretive.state / "tokens" / "asia.token").read_bytes().strip()
    for request in secretive.miner.requests:
        sent = str(request.url).encode() + repr(request.headers).encode() + request.content
        for key in keys:
            assert key not in sent
            assert bytes.fromhex(key.decode()) not in sent
        assert token not in str(request.url).encode() + request.content


def test_a_trace_would_be_found(secretive, command, caplog):
    """The control: a state directory that does hold a record id fails the search."""
    ended = command("publish", "--yes")
    (secretive.state / "stray.log").write_bytes(b"... Zq0007Person ...")
    with pytest.raises(AssertionError):
        _assert_no_trace(secretive, caplog, [ended])
