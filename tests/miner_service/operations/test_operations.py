"""Backup, restore, check and the deletion of a study, as whoever runs a miner uses them."""

from __future__ import annotations

import json
import re
import shutil
import threading
from dataclasses import replace

import pytest
from sqlalchemy import update
from typer.testing import CliRunner

from miner_service.backup import LIST, back_up
from miner_service.checking import delete_study
from miner_service.cli.main import app
from miner_service.store.schema import Base, PartRow, ReleaseRow
from miner_service.store.sqlite import FILE, SqliteStore
from miner_service.store.tables import OF_NO_STUDY, is_empty, of_study
from pramana_core.audit import AUDIT
from pramana_core.errors import NotReady, PramanaError
from pramana_core.progress import unwatched
from tests.postgres import postgres
from tests.small_disk import kinds_of_disks, small_disk

__all__ = ["postgres"]

MARKER = "zebrafinch"


def run(*words):
    """Run a command; return its answer."""
    return CliRunner(env={"COLUMNS": "400"}).invoke(app, [str(word) for word in words])


def ran(*words):
    """Run a command that must succeed; return what it said."""
    answer = run(*words)
    assert answer.exit_code == 0, (answer.output, answer.exception)
    return answer.output


def refused(*words):
    """Run a command that must be refused; return the error."""
    answer = run(*words)
    assert isinstance(answer.exception, PramanaError), (answer.output, answer.exception)
    return answer.exception


def learn(analyst, study, variables=("A", "B")):
    """Ask for a table; return its model's address."""
    spec = {"kind": "contingency-table", "variables": list(variables)}
    return f"/v1/models/{analyst.learn(study, spec)['id']}"


@pytest.fixture
def filled(miner, release_a, release_c):
    """A study with a sealed release, an open one of which a part is missing, and a model."""
    analyst = miner.study("asia")
    miner.sealed = miner.owner("asia", "north").publish("asia", release_a)
    miner.model = learn(analyst, "asia")
    south = miner.owner("asia", "south")
    miner.open = south.announce("asia", release_c)
    south.put(miner.open, 0, release_c.parts[0])
    miner.analyst, miner.south = analyst, south
    return miner


def id_of(path):
    return path.rsplit("/", 1)[1]


def rows_in(backup):
    """All rows that are in a backup."""
    database = SqliteStore(backup / "rows.sqlite")
    with database.read() as session:
        found = {t.name: session.execute(t.select()).all() for t in Base.metadata.sorted_tables}
    database.close()
    return found


@pytest.mark.slow
def test_a_restored_store_has_the_same_rows_and_bytes_and_goes_on(
    filled, start, tmp_path, release_c
):
    files, model = filled.snapshot()[1], filled.analyst.get(filled.model)
    said = ran("backup", tmp_path / "backup", "--data", filled.data)
    assert re.search(r"\d+ rows and 2 files", said)
    assert ran("check", "--data", filled.data).endswith("no findings.\n")
    for path in (tmp_path / "backup").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path
    # The machine is lost; another one is set up.
    filled.client.__exit__(None, None, None)
    shutil.rmtree(filled.data)
    assert "2 files" in ran("restore", tmp_path / "backup", "--data", filled.data)
    again = start()
    assert again.snapshot()[1] == files
    ran("backup", tmp_path / "second", "--data", again.data)
    rows, backed_up = rows_in(tmp_path / "second"), rows_in(tmp_path / "backup")
    # Starting issues a token here; all other rows are as they were.
    for found in (rows, backed_up):
        found["tokens"] = [row for row in found["tokens"] if row.role != "admin"]
    assert rows == backed_up
    analyst = type(filled.analyst)(again.client, filled.analyst.token)
    south = type(filled.south)(again.client, filled.south.token)
    assert analyst.get(filled.model) == model
    for number in (1, 2):
        assert south.put(filled.open, number, release_c.parts[number]).status_code == 201
    assert south("POST", f"{filled.open}/seal").json()["state"] == "sealed"
    assert ran("check", "--data", again.data).endswith("no findings.\n")
    noted = (again.data / "audit.jsonl").read_text()
    assert '"restore"' in noted
    assert '"put_part"' in noted


@pytest.mark.slow
def test_a_backup_made_while_owners_send_is_of_one_moment(miner, build, plan_a, tmp_path, start):
    analyst = miner.study("asia")
    owner = miner.owner("asia", "north")
    stop, sent = threading.Event(), []

    def send():
        while not stop.is_set() or len(sent) < 6:
            codes = {"A": [i % 2 for i in range(60)], "B": [i % 3 for i in range(60)]}
            built = build(plan_a, range(60), codes, per_part=20, name=f"r{len(sent)}")
            path = owner.publish("asia", built)
            if len(sent) % 3 == 2:
                owner("POST", f"{path}/withdraw")
            sent.append(path)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        for number in range(2):
            while len(sent) < 2 * number + 1:
                assert sender.is_alive()
            back_up(miner.services, tmp_path / f"b{number}", unwatched)
    finally:
        stop.set()
        sender.join()
    assert analyst.get("/v1/studies/asia/releases?limit=500")["items"]
    for number in range(2):
        place = tmp_path / f"restored{number}"
        ran("restore", tmp_path / f"b{number}", "--data", place)
        found = json.loads(ran("check", "--data", place, "--json"))
        assert found["findings"] == []
        assert found["releases"] >= 2 * number + 1


def interrupted(*_):
    raise NotReady("The database does not answer.")


@pytest.mark.slow
def test_a_damaged_or_unfinished_backup_is_refused_and_changes_nothing(
    filled, tmp_path, monkeypatch
):
    backup, place = tmp_path / "backup", tmp_path / "other"
    ran("backup", backup, "--data", filled.data)
    names = sorted(p for p in backup.rglob("*") if p.is_file() and p.name != LIST)
    assert len(names) == 4
    for path in names:
        good = path.read_bytes()
        path.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
        assert refused("restore", backup, "--data", place).code == "store-corrupt"
        path.write_bytes(good)
    moved = backup / LIST
    told = moved.read_text()
    moved.unlink()
    assert refused("restore", backup, "--data", place).code == "option-invalid"
    moved.write_text(told.replace('"format": 1', '"format": 9'))
    assert "format 9" in str(refused("restore", backup, "--data", place))
    moved.write_text(told)
    assert refused("restore", backup, "--data", filled.data).code == "conflict"
    with monkeypatch.context() as patch:  # interrupted before its rows are there
        patch.setattr("miner_service.backup.copy_rows", interrupted)
        assert refused("restore", backup, "--data", place).code == "not-ready"
    ran("restore", backup, "--data", place)
    assert refused("restore", backup, "--data", place).code == "conflict"
    assert refused("backup", backup, "--data", filled.data).code == "option-invalid"


def test_a_backup_without_an_audit_log_is_restored_and_a_log_begins(filled, tmp_path):
    backup, place = tmp_path / "backup", tmp_path / "other"
    ran("backup", backup, "--data", filled.data)
    (backup / AUDIT).unlink()
    listing = json.loads((backup / LIST).read_text())
    del listing["files"][AUDIT]
    (backup / LIST).write_text(json.dumps(listing))
    ran("restore", backup, "--data", place)
    (line,) = (place / AUDIT).read_text().splitlines()
    assert json.loads(line)["action"] == "restore"


def test_a_restore_that_cannot_be_noted_is_refused_before_it_is_made(filled, tmp_path):
    ran("backup", tmp_path / "backup", "--data", filled.data)
    place = tmp_path / "other"
    (place / AUDIT).mkdir(parents=True, mode=0o700)
    assert refused("restore", tmp_path / "backup", "--data", place).where == "the audit log"
    assert not (place / "columns").exists()
    database = SqliteStore(place / FILE)
    with database.read() as session:
        assert is_empty(session)
    database.close()
    (place / AUDIT).rmdir()
    ran("restore", tmp_path / "backup", "--data", place)


@pytest.mark.slow
def test_a_damaged_store_has_no_backup(filled, tmp_path):
    next((filled.data / "columns").iterdir()).write_bytes(b"torn")
    assert refused("backup", tmp_path / "backup", "--data", filled.data).code == "store-corrupt"
    assert not (tmp_path / "backup").exists()


@pytest.mark.slow
@pytest.mark.parametrize("kind", kinds_of_disks())
def test_a_backup_without_room_leaves_nothing_and_says_where(filled, kind):
    with small_disk(kind) as disk:
        disk.fill(100_000)
        error = refused("backup", disk.folder / "backup", "--data", filled.data)
        assert error.code == "storage-full"
        assert str(disk.folder / "backup") in error.message
        assert not (disk.folder / "backup").exists()
        disk.free()
        ran("backup", disk.folder / "backup", "--data", filled.data)


def _write(data, *statements):
    database = SqliteStore(data / "miner.sqlite")
    with database.write() as session:
        for statement in statements:
            session.execute(statement)
    database.close()


def _damage(kind, data, sealed, opened):
    """Do one kind of damage to a store."""
    match kind:
        case "columns":
            with (data / "columns" / f"{sealed}.arrow").open("r+b") as file:
                file.seek(100)
                file.write(b"\xff")
        case "columns gone":
            (data / "columns" / f"{sealed}.arrow").unlink()
        case "part":
            (data / "parts" / opened / "00000.part").write_bytes(b"torn")
        case "orphan":
            (data / "columns" / "r-nobody.arrow").write_bytes(b"left")
        case "release":
            _write(data, update(ReleaseRow).where(ReleaseRow.id == sealed).values(content="{}"))
        case "release digest":
            other = {"content_digest": "0" * 64}
            _write(data, update(ReleaseRow).where(ReleaseRow.id == opened).values(**other))
        case "row":
            _write(data, update(PartRow).where(PartRow.release == opened).values(sha256="0" * 64))


DAMAGE = {
    "columns": "file",
    "columns gone": "file",
    "part": "file",
    "orphan": "orphan",
    "release": "release",
    "release digest": "release",
    "row": "file",
}
"""Each kind of damage, and the code of what is found."""


@pytest.mark.slow
def test_a_check_finds_each_kind_of_damage_and_nothing_else(filled, tmp_path):
    assert json.loads(ran("check", "--data", filled.data, "--json"))["findings"] == []
    for kind, code in DAMAGE.items():
        place = tmp_path / kind
        shutil.copytree(filled.data, place)
        _damage(kind, place, id_of(filled.sealed), id_of(filled.open))
        answer = run("check", "--data", place, "--json")
        assert answer.exit_code == 4, kind
        findings = json.loads(answer.output)["findings"]
        assert {finding["code"] for finding in findings} == {code}, kind
    shown = run("check", "--data", place)
    assert shown.exit_code == 4
    assert re.search(r"^file parts/r-.*00000.part: .*missing", shown.output, re.MULTILINE)


def bytes_below(folder):
    return {p: p.read_bytes() for p in folder.rglob("*") if p.is_file() and p.name != "audit.jsonl"}


@pytest.mark.slow
def test_a_deleted_study_leaves_no_byte_and_others_stay(miner, build, plan_a, release_a, tmp_path):
    others = miner.study("asia")
    miner.owner("asia", "north").publish("asia", release_a)
    kept = learn(others, "asia")
    model = others.get(kept)
    name = f"{MARKER}-study"
    analyst = miner.study(name)
    owner = miner.owner(name, f"{MARKER}-owner")
    miner.admin("POST", f"/v1/studies/{name}/invitations", json={"owner": f"{MARKER}-two"})
    hundred = {"A": [i % 2 for i in range(100)], "B": [i % 3 for i in range(100)]}
    sealed = owner.publish(name, build(plan_a, range(500, 600), hundred))
    codes = {"A": [1] * 30, "B": [2] * 30}
    opened = owner.send(name, build(plan_a, range(30), codes, name=f"{MARKER}-open"))
    learn(analyst, name)
    records = (miner.data / "columns" / f"{id_of(sealed)}.arrow").read_bytes()[-2000:]
    assert any(MARKER.encode() in content for content in bytes_below(miner.data).values())
    assert refused("study", "delete", name, "--data", miner.data).where == "yes"
    assert "2 releases" in ran("study", "delete", name, "--yes", "--data", miner.data)
    for path, content in bytes_below(miner.data).items():
        assert MARKER.encode() not in content, path
        assert records not in content, path
    for release in (sealed, opened):
        assert not list(miner.data.rglob(f"*{id_of(release)}*"))
    assert owner("GET", f"/v1/studies/{name}/releases").status_code == 401
    assert analyst("GET", f"/v1/studies/{name}").status_code == 401
    assert others.get(kept) == model
    assert refused("study", "delete", name, "--yes", "--data", miner.data).code == "not-found"
    assert ran("check", "--data", miner.data).endswith("no findings.\n")
    assert '"delete_study"' in (miner.data / "audit.jsonl").read_text()


def test_what_is_announced_anew_while_a_study_is_deleted_keeps_its_parts(
    miner, release_a, monkeypatch
):
    """The rows go first: by then another study may have the same release, by the same name."""
    release = replace(
        release_a, body=release_a.body | {"name": f"r-{release_a.body['digest'][:12]}"}
    )
    owners = {}
    for study in ("old", "new"):
        miner.study(study)
        owners[study] = miner.owner(study, "north")
    first = owners["old"].send("old", release)
    assert id_of(first) == release.body["name"]
    erase, sent = miner.services.database.erase, []

    def erase_meanwhile():
        sent.append(owners["new"].send("new", release))
        return erase()

    monkeypatch.setattr(miner.services.database, "erase", erase_meanwhile)
    delete_study(miner.services, "old")
    assert sent == [first]
    sealed = owners["new"]("POST", f"{first}/seal")
    assert (sealed.status_code, sealed.json()["state"]) == (200, "sealed")


def test_whose_the_rows_of_every_table_are_is_said():
    without = {t.name for t in Base.metadata.sorted_tables if of_study(t, "s") is None}
    assert without == OF_NO_STUDY


@pytest.mark.slow
def test_a_backup_of_sqlite_is_restored_into_postgresql_which_numbers_on(
    filled, tmp_path, postgres
):
    ran("backup", tmp_path / "first", "--data", filled.data)
    place = ["--data", tmp_path / "elsewhere", "--database", postgres.url()]
    ran("restore", tmp_path / "first", *place)
    assert refused("restore", tmp_path / "first", *place).code == "conflict"
    assert ran("check", *place).endswith("no findings.\n")
    # A row that is new comes after those that were restored.
    ran("study", "create", "another", *place)
    ran("backup", tmp_path / "second", *place)
    first, second = rows_in(tmp_path / "first"), rows_in(tmp_path / "second")
    assert second["studies"].pop().seq > first["studies"][-1].seq
    assert second == first
    assert "was deleted" in ran("study", "delete", "asia", "--yes", *place)
    ran("backup", tmp_path / "third", *place)
    third = rows_in(tmp_path / "third")
    assert [study.name for study in third["studies"]] == ["another"]
    assert not third["releases"] + third["jobs"] + third["models"] + third["tokens"][1:]
