"""A chained log: every kind of tampering is found, crashes are mended, nobody loses a line."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pramana_core.audit.log import AuditLog
from pramana_core.audit.verifying import (
    GENESIS,
    LONGEST,
    TORN,
    Anchor,
    Broken,
    Head,
    Verified,
    anchor_of,
    contradiction,
    link_after,
    read_anchors,
    read_link,
    verify,
    written,
)
from pramana_core.errors import LimitExceeded, OptionError, StorageFull, StoreCorrupt
from tests.full_disk import files_no_longer_than

NOW = datetime(2026, 11, 23, 7, 0, tzinfo=UTC)


def log_at(path: Path) -> AuditLog:
    return AuditLog(path, lambda: NOW)


@pytest.fixture
def log(tmp_path: Path) -> AuditLog:
    """Eight lines, as a service writes them."""
    made = log_at(tmp_path / "audit.jsonl")
    for number in range(8):
        made.write({"action": "put_part", "outcome": 201, "resource": f"/v1/parts/{number}"})
    return made


def lines_of(log: AuditLog) -> list[bytes]:
    return log.path.read_bytes().splitlines(keepends=True)


def rehashed(line: bytes, previous: str | None = None, **fields: object) -> bytes:
    """Change a line as somebody does who knows how its hash is made."""
    link = read_link(line)
    assert link is not None
    head = Head(link.number, previous or link.previous)
    return link_after(head, NOW, {**link.entry, **fields}).text()


def test_the_hash_is_what_the_format_says(log):
    line = json.loads(lines_of(log)[3])
    entry = {name: line[name] for name in ("action", "outcome", "resource")}
    content = {k: line[k] for k in ("previous", "number", "time")} | {"entry": entry}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    assert line["hash"] == hashlib.sha256(b"pramana/audit/1\0" + text.encode()).hexdigest()
    assert line["previous"] == json.loads(lines_of(log)[2])["hash"]
    assert json.loads(lines_of(log)[0])["previous"] == GENESIS


def test_an_untouched_log_is_verified_and_its_file_is_private(log):
    found = verify(log.path)
    assert found == Verified(8, log.anchor().head, log.anchor().log)
    assert log.path.stat().st_mode & 0o777 == 0o600


def swapped(lines: list[bytes]) -> list[bytes]:
    return [*lines[:3], lines[4], lines[3], *lines[5:]]


def replaced(lines: list[bytes]) -> list[bytes]:
    lines[3] = lines[3].replace(b"parts/3", b"parts/9")
    return lines


def replaced_with_its_hash(lines: list[bytes]) -> list[bytes]:
    lines[3] = rehashed(lines[3], outcome=403)
    return lines


def spaced(lines: list[bytes]) -> list[bytes]:
    lines[3] = lines[3].replace(b'": ', b'":', 1)
    return lines


def named_twice(lines: list[bytes]) -> list[bytes]:
    lines[3] = lines[3].replace(b'"outcome"', b'"outcome": 500, "outcome"')
    return lines


def forged(lines: list[bytes]) -> list[bytes]:
    """A line that fits, put before the one whose place it takes."""
    return [*lines[:3], rehashed(lines[3], outcome=403), *lines[3:]]


TAMPERED = {
    "changed": (replaced, "changed", 4),
    "changed with its hash": (replaced_with_its_hash, "changed", 5),
    "written otherwise": (spaced, "changed", 4),
    "a field twice": (named_twice, "changed", 4),
    "the first changed": (lambda lines: [lines[0].replace(b"201", b"1"), *lines[1:]], "changed", 1),
    "the last changed": (lambda lines: [*lines[:7], lines[7].replace(b"201", b"1")], "changed", 8),
    "one removed": (lambda lines: [*lines[:3], *lines[4:]], "removed", 4),
    "three removed": (lambda lines: [*lines[:3], *lines[6:]], "removed", 4),
    "the first removed": (lambda lines: lines[1:], "removed", 1),
    "reordered": (swapped, "reordered", 4),
    "the last two reordered": (lambda lines: [*lines[:6], lines[7], lines[6]], "reordered", 7),
    "one twice": (lambda lines: [*lines[:5], lines[4], *lines[5:]], "inserted", 6),
    "an early one again": (lambda lines: [*lines[:5], lines[1], *lines[5:]], "inserted", 6),
    "a line of no chain": (lambda lines: [*lines[:5], b'{"a": 1}\n', *lines[5:]], "inserted", 6),
    "a blank line": (lambda lines: [*lines[:5], b"\n", *lines[5:]], "inserted", 6),
    "a forged line": (forged, "inserted", 5),
    "half a line": (lambda lines: [*lines[:7], lines[7][:40]], "torn", 8),
    "no end of line": (lambda lines: [*lines[:7], lines[7][:-1]], "torn", 8),
    "a very long line": (lambda lines: [*lines[:5], b"x" * 3 * LONGEST + b"\n"], "changed", 6),
}  # fmt: skip


@pytest.mark.parametrize("name", TAMPERED)
def test_tampering_is_found_where_it_is(log, name):
    change, kind, line = TAMPERED[name]
    log.path.write_bytes(b"".join(change(lines_of(log))))
    found = verify(log.path)
    assert isinstance(found, Broken), name
    assert (found.kind, found.line) == (kind, line), found
    assert found.entries < 8


def test_every_byte_of_a_log_counts(log):
    """Whatever byte is another, the log is broken."""
    content = log.path.read_bytes()
    for place in range(0, len(content), 7):
        other = bytes([content[place] ^ 1])
        log.path.write_bytes(content[:place] + other + content[place + 1 :])
        assert isinstance(verify(log.path), Broken), place


def test_a_log_cut_short_or_written_anew_shows_against_an_anchor_only(log):
    anchor = log.anchor()
    lines = lines_of(log)
    log.path.write_bytes(b"".join(lines[:5]))
    assert isinstance(verify(log.path), Verified)
    short = verify(log.path, [anchor])
    assert isinstance(short, Broken)
    assert (short.kind, short.entries) == ("removed", 5)

    head, anew = Head(), []
    for line in lines:
        link = read_link(line)
        assert link is not None
        made = link_after(head, NOW, {**link.entry, "outcome": 403})
        head, anew = made.head, [*anew, made.text()]
    log.path.write_bytes(b"".join(anew))
    assert isinstance(verify(log.path), Verified)
    other = verify(log.path, [anchor])
    assert isinstance(other, Broken)
    assert other.kind == "rewritten"


def test_an_anchor_stays_true_when_more_is_written(log):
    early = log.anchor()
    log.write({"action": "seal_release"})
    assert isinstance(verify(log.path, [early, log.anchor()]), Verified)
    assert contradiction(early, log.anchor()) is None


def test_two_anchors_that_cannot_be_of_one_log_contradict_each_other(log):
    anchor = log.anchor()
    fewer = Anchor(anchor.log, 3, "1" * 64, "later")
    other = Anchor(anchor.log, 8, "1" * 64, "later")
    anew = Anchor("2" * 64, 9, "1" * 64, "later")
    assert "had 8 lines" in str(contradiction(anchor, fewer))
    assert "line 8" in str(contradiction(anchor, other))
    assert "began anew" in str(contradiction(anchor, anew))


def test_anchors_are_read_as_they_are_written(log, tmp_path):
    anchor, path = log.anchor(), tmp_path / "anchors"
    path.write_text(written([anchor]))
    assert read_anchors(path) == (anchor,)
    assert (anchor_of(str(anchor)).entries, anchor_of(str(anchor)).head) == (8, anchor.head)
    for wrong in ("", "8", "8:abc", f"-1:{anchor.head}", f"8:{anchor.head.upper()}"):
        with pytest.raises(OptionError):
            anchor_of(wrong)
    path.write_text('{"entries": 3}\n')
    with pytest.raises(OptionError, match="does not hold anchors"):
        read_anchors(path)


def test_half_a_line_is_cut_off_and_noted(log):
    lines = lines_of(log)
    half = lines[7][:50]
    log.path.write_bytes(b"".join(lines[:7]) + half)
    log_at(log.path).write({"action": "seal_release"})
    after = [json.loads(line) for line in lines_of(log)]
    digest = hashlib.sha256(half).hexdigest()
    assert (after[7]["action"], after[7]["cut"]) == (TORN, {"bytes": 50, "sha256": digest})
    assert after[8]["action"] == "seal_release"
    assert isinstance(verify(log.path), Verified)


@pytest.mark.parametrize("torn", [b"", b'{"half'])
def test_a_line_of_no_chain_is_a_fault_and_stays(tmp_path, torn):
    path = tmp_path / "audit.jsonl"
    old = b'{"time": "2025", "action": "put_part"}\n' + torn
    path.write_bytes(old)
    log = log_at(path)
    for ask in (lambda: log.write({"action": "seal_release"}), log.anchor):
        with pytest.raises(StoreCorrupt, match="not one of its chain"):
            ask()
    assert path.read_bytes() == old
    broken = verify(path)
    assert isinstance(broken, Broken)
    assert (broken.kind, broken.line) == ("changed", 1)


def test_a_log_without_any_chain_and_an_absent_one_are_told(tmp_path):
    path = tmp_path / "audit.jsonl"
    with pytest.raises(OptionError, match="cannot be read"):
        verify(path)
    path.write_bytes(b"")
    assert verify(path) == Verified(0, GENESIS, None)
    path.write_bytes(b'{"action": "put_part"}\n')
    assert isinstance(verify(path), Broken)


def test_what_somebody_else_wrote_at_the_end_is_not_continued(log):
    with log.path.open("ab") as file:
        file.write(b"a line of mine\n")
    with pytest.raises(StoreCorrupt, match="not one of its chain"):
        log.write({"action": "seal_release"})


def test_an_entry_is_bounded_and_cannot_pose_as_a_line(log):
    with pytest.raises(OptionError, match="'hash', 'number'"):
        log.write({"hash": "0", "number": 3})
    with pytest.raises(LimitExceeded):
        log.write({"action": "x" * LONGEST})
    assert len(lines_of(log)) == 8


def test_room_is_kept_before_a_change_and_seen_by_no_reader(log):
    size = log.path.stat().st_size
    with log.room():
        assert log.path.stat().st_size == size
        assert log.path.stat().st_blocks * 512 >= size + 2 * LONGEST
        log.write({"action": "seal_release"})
    assert isinstance(verify(log.path), Verified)


def test_without_room_the_promise_is_refused_and_the_log_stays_whole(log):
    size = log.path.stat().st_size
    with files_no_longer_than(size + 100):
        with pytest.raises(StorageFull, match="audit log"):
            log.promise()
        with pytest.raises(StorageFull, match="audit log"):
            log.write({"action": "seal_release"})
    assert log.path.stat().st_size == size
    log.promise()
    log.write({"action": "seal_release"})
    assert isinstance(verify(log.path), Verified)


def test_each_change_in_flight_has_room_of_its_own(log):
    """As many lines as were promised can be written, however long, and not one promise more."""
    size = log.path.stat().st_size
    promised = 0
    with files_no_longer_than(size + 20 * LONGEST):
        with suppress(StorageFull):
            while promised < 100:
                log.promise_at_once() or log.promise()
                promised += 1
        assert promised == 4
        for _ in range(promised):
            log.write({"action": "x" * (LONGEST - 400)})
            log.release()


def test_beside_other_promises_room_is_kept_without_waiting_for_the_file(log):
    assert not log.promise_at_once()  # nobody knows whether there is room
    with log.room():
        with log.appending() as append:
            assert log.promise_at_once()
            append({"action": "create_study"})
            append({"action": "create_job"})
        log.release()
    assert not log.promise_at_once()  # other processes may have used it up meanwhile
    assert isinstance(verify(log.path), Verified)
    assert log.anchor().entries == len(lines_of(log)) == 10


WRITER = """
import sys, threading
from datetime import UTC, datetime
from pathlib import Path
from pramana_core.audit.log import AuditLog
log = AuditLog(Path(sys.argv[1]), lambda: datetime.now(UTC))
def write(thread):
    for number in range(25):
        with log.room():
            log.write({"action": f"{sys.argv[2]}-{thread}-{number}"})
threads = [threading.Thread(target=write, args=(i,)) for i in range(3)]
for t in threads: t.start()
for t in threads: t.join()
"""


@pytest.mark.slow
@pytest.mark.end_to_end
def test_threads_of_several_processes_append_to_one_file(tmp_path):
    path = tmp_path / "audit.jsonl"
    command = [sys.executable, "-c", WRITER, str(path)]
    writers = [subprocess.Popen([*command, str(i)], env=os.environ) for i in range(3)]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    assert verify(path) == Verified(225, log_at(path).anchor().head, log_at(path).anchor().log)
    told = {json.loads(line)["action"] for line in path.read_bytes().splitlines()}
    assert told == {f"{p}-{t}-{n}" for p in range(3) for t in range(3) for n in range(25)}


def test_threads_append_to_one_file(tmp_path):
    log = log_at(tmp_path / "audit.jsonl")
    writing = [threading.Thread(target=log.write, args=({"n": i},)) for i in range(20)]
    for thread in writing:
        thread.start()
    for thread in writing:
        thread.join()
    found = verify(log.path)
    assert isinstance(found, Verified)
    assert found.entries == 20


def test_verification_streams_and_says_how_far_it_is(tmp_path):
    path, head, told = tmp_path / "audit.jsonl", Head(), []
    with path.open("wb") as file:
        for number in range(2500):
            link = link_after(head, NOW, {"n": number})
            file.write(link.text())
            head = link.head
    assert verify(path, progress=lambda done, total: told.append((done, total))) == Verified(
        2500, head.hash, log_at(path).anchor().log
    )
    size = path.stat().st_size
    assert [total for _, total in told] == [size] * 3
    assert 0 < told[0][0] < told[1][0] < told[2][0] == size
