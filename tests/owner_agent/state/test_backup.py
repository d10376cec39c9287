"""An encrypted backup of the state directory, restored on a new machine, and what it refuses."""

import itertools
import shutil
import tarfile

import pytest

from owner_agent.release.ledger import Ledger
from owner_agent.release.options import PublishOptions
from owner_agent.release.publish import PreparedRecords, publish
from owner_agent.state import backup as backups
from owner_agent.state.lock import publishing_alone
from pramana_core.audit import AuditLog
from pramana_core.errors import (
    Conflict,
    HistoryLost,
    KeyFileError,
    NotFound,
    OptionError,
    StorageFull,
)
from tests.full_disk import with_ever_more_room

PASSPHRASE = "five random words of mine"


def _publish(bench):
    return publish(PreparedRecords, bench.site, bench.environment, PublishOptions())


@pytest.fixture
def passphrase(bench):
    file = bench.folder / "passphrase"
    file.touch(mode=0o600)
    file.write_text(f"{PASSPHRASE}\n")
    return str(file)


@pytest.fixture
def saved(bench, passphrase, command):
    """The bench after a release, and its backup."""
    _publish(bench)
    file = bench.folder / "north.backup"
    done = command("backup", str(file), "--passphrase-file", passphrase)
    assert done.exit_code == 0, done.err
    return file


def test_a_restored_site_is_the_same_and_goes_on(bench, saved, passphrase, command, table_text):
    before, entries = bench.files(), Ledger(bench.state).entries()
    assert saved.stat().st_mode & 0o777 == 0o600
    assert not list(bench.folder.glob(".*.*"))
    shutil.rmtree(bench.state)
    done = command("restore", str(saved), "--passphrase-file", passphrase)
    assert (done.exit_code, done.err) == (0, "")
    assert Ledger(bench.state).entries() == entries
    unlike = {"audit.jsonl", "ledger.sqlite", "publish.lock"}
    assert {n: c for n, c in bench.files().items() if n not in unlike} == {
        n: c for n, c in before.items() if n not in unlike
    }
    for path in [bench.state, *bench.state.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path
    assert not list(bench.folder.glob(".pramana.*"))
    assert _publish(bench).already
    bench.write(table=table_text(60))
    assert not _publish(bench).already


def test_a_release_since_the_backup_is_found_and_nothing_more_is_sent(
    bench, saved, passphrase, command, table_text
):
    bench.write(table=table_text(60))
    _publish(bench)
    shutil.rmtree(bench.state)
    done = command("restore", str(saved), "--passphrase-file", passphrase)
    assert done.exit_code == HistoryLost.exit_code
    assert HistoryLost.code in done.err
    assert "was restored" in done.out
    with pytest.raises(HistoryLost):
        _publish(bench)
    assert len(bench.miner.releases) == 2


def test_nothing_is_overwritten(bench, saved, passphrase, command):
    before = bench.files()
    done = command("restore", str(saved), "--passphrase-file", passphrase)
    assert done.exit_code == Conflict.exit_code
    assert bench.files() == before
    content = saved.read_bytes()
    assert command("backup", str(saved), "--passphrase-file", passphrase).exit_code == 2
    assert saved.read_bytes() == content


def test_no_byte_is_readable_and_each_change_is_found(bench, saved, tmp_path, monkeypatch):
    # Small chunks, so that the file has many.
    monkeypatch.setattr(backups, "_CHUNK", 4096)
    monkeypatch.setattr(backups, "_SCRYPT", {"n": 1 << 10, "r": 8, "p": 1})
    file = tmp_path / "small.backup"
    backups.back_up(bench.state, file, PASSPHRASE, bench.environment.now())
    content, size = file.read_bytes(), 4096 + 16
    for readable in (b"draw.key", b"clinic-north", b"SQLite", bench.files()["keys/draw.key"]):
        assert readable not in content
    start = len(content) - len(content[46:])
    chunks = [content[at : at + size] for at in range(start, len(content), size)]
    assert len(chunks) > 4
    head = content[:start]
    changed = {
        "cut": head + b"".join(chunks[:-1]),
        "cut within": content[:-5],
        "longer": content + b"x",
        "swapped": head + b"".join([chunks[1], chunks[0], *chunks[2:]]),
        "one lost": head + b"".join([chunks[0], *chunks[2:]]),
        "empty": head,
        "salt": head[:30] + bytes([head[30] ^ 1]) + content[31:],
        "a bit": content[:9000] + bytes([content[9000] ^ 1]) + content[9001:],
        "not a backup": b"PK" + content,
    }
    target = tmp_path / "elsewhere"
    for name, bad in changed.items():
        file.write_bytes(bad)
        with pytest.raises(OptionError):
            backups.restore(file, target, PASSPHRASE)
        assert not target.exists(), name
    file.write_bytes(content)
    with pytest.raises(OptionError) as refused:
        backups.restore(file, target, PASSPHRASE + "s")
    assert refused.value.where == "passphrase"
    backups.restore(file, target, PASSPHRASE)
    assert (target / "keys/draw.key").read_bytes() == bench.files()["keys/draw.key"]


@pytest.mark.parametrize("name", ["../outside", "keys/../../outside"])
def test_no_file_is_written_elsewhere(bench, tmp_path, monkeypatch, name):
    monkeypatch.setattr(backups, "_SCRYPT", {"n": 1 << 10, "r": 8, "p": 1})
    add = tarfile.TarFile.add
    monkeypatch.setattr(
        tarfile.TarFile, "add", lambda self, path, _name, **more: add(self, path, name, **more)
    )
    backups.back_up(bench.state, tmp_path / "b", PASSPHRASE, bench.environment.now())
    with pytest.raises(OptionError):
        backups.restore(tmp_path / "b", tmp_path / "deep" / "state", PASSPHRASE)
    assert not list(tmp_path.rglob("outside"))


def test_what_cannot_be_backed_up(bench, tmp_path, passphrase, command):
    now = bench.environment.now()
    with pytest.raises(OptionError):
        backups.back_up(bench.state, tmp_path / "b", "short", now)
    with pytest.raises(NotFound):
        backups.back_up(tmp_path / "nowhere", tmp_path / "b", PASSPHRASE, now)
    with publishing_alone(bench.state), pytest.raises(Conflict):
        backups.back_up(bench.state, tmp_path / "b", PASSPHRASE, now)
    bench.state.rename(tmp_path / "state")
    done = command("backup", "b", "--passphrase-file", passphrase)
    assert (done.exit_code, bench.state.exists()) == (NotFound.exit_code, False)
    (tmp_path / "state").rename(bench.state)
    (bench.state / "ledger.sqlite").unlink()
    with pytest.raises(HistoryLost):
        backups.back_up(bench.state, tmp_path / "b", PASSPHRASE, now)
    assert not (tmp_path / "b").exists()
    (bench.folder / "passphrase").chmod(0o644)
    assert command("backup", "b", "--passphrase-file", passphrase).exit_code == (
        KeyFileError.exit_code
    )
    assert command("backup", "b").exit_code == OptionError.exit_code  # not at a terminal


def test_a_full_disk_leaves_nothing(bench, tmp_path, monkeypatch):
    monkeypatch.setattr(backups, "_SCRYPT", {"n": 1 << 10, "r": 8, "p": 1})
    place = tmp_path / "place"
    place.mkdir()
    numbers = itertools.count()

    def attempt():
        file = place / f"b{next(numbers)}"
        backups.back_up(bench.state, file, PASSPHRASE, bench.environment.now())

    def nothing_is_left():
        assert not list(place.iterdir())

    assert with_ever_more_room(attempt, nothing_is_left) > 3
    (file,) = place.iterdir()
    target = place / "state"

    def restored():
        backups.restore(file, target, PASSPHRASE)

    def only_the_backup_is_left():
        assert list(place.iterdir()) == [file]

    assert with_ever_more_room(restored, only_the_backup_is_left) > 3


def test_without_an_audit_entry_no_backup_is_written(bench, passphrase, command, monkeypatch):
    _publish(bench)

    def full(_: object) -> None:
        raise StorageFull("full")

    monkeypatch.setattr(AuditLog, "require_room", full)
    file = bench.folder / "north.backup"
    done = command("backup", str(file), "--passphrase-file", passphrase)
    assert done.exit_code == StorageFull.exit_code
    assert not file.exists()


@pytest.mark.parametrize("content", [b"", b"pramana", backups._MAGIC, b"PK" + bytes(100)])
def test_a_foreign_file_is_rejected_before_a_key_is_derived(tmp_path, monkeypatch, content):
    monkeypatch.delattr(backups, "_cipher")
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(OptionError) as raised:
        backups.restore(tmp_path / "file", tmp_path / "state", PASSPHRASE)
    assert raised.value.where == "file"


def test_a_restore_removes_what_a_killed_restore_wrote(bench, saved):
    old, *others = (
        bench.folder / name
        for name in (".s[1].0123456789abcdef", ".s1.0123456789abcdef", ".s[1].other")
    )
    for folder in (old, *others):
        folder.mkdir()
        (folder / "draw.key").write_bytes(b"secret")
    backups.restore(saved, bench.folder / "s[1]", PASSPHRASE)
    assert not old.exists()
    assert all(folder.exists() for folder in others)
