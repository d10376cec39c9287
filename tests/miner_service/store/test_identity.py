"""A store is one database and one place of files: their identity is compared at every start."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import threading
import time
from contextlib import contextmanager, suppress

import httpx
import pytest
from typer.testing import CliRunner

from miner_service.cli.main import app, first_token
from miner_service.http.server import _Server, configured
from miner_service.intake.withdrawing import mismatch_of
from miner_service.jobs.supervisor import supervise
from miner_service.settings import Settings, StorageSettings, WebSettings
from miner_service.store import identity
from miner_service.store.identity import IDENTITY_KEYS, require_one_store
from miner_service.store.local import LocalSegments
from miner_service.store.objects import open_segments
from miner_service.store.schema import KeyRow
from miner_service.store.sqlite import open_database
from pramana_core.errors import NotReady, StoreMismatch
from tests.forked import Forked
from tests.miner_service.store.object_store import object_store, one_object_store

__all__ = ["object_store", "one_object_store"]

KINDS = ("sqlite", "postgresql", "object store")


@pytest.fixture(params=KINDS)
def settings(request, tmp_path):
    """The settings of a miner over each kind of store."""
    database = files = None
    if request.param == "postgresql":
        database = request.getfixturevalue("postgres").url()
    if request.param == "object store":
        files = request.getfixturevalue("object_store").bucket()
    (tmp_path / "data").mkdir()
    return Settings(tmp_path / "data", storage=StorageSettings(database=database, files=files))


class Opened:
    """A database and a place of files, open."""

    def __init__(self, settings):
        self.database, self.segments = open_database(settings), open_segments(settings)
        self.segments.prepare()

    def start(self, begin=True):
        return require_one_store(self.database, self.segments, begin=begin)

    @property
    def keys(self):
        with self.database.read() as session:
            found = {name: session.get(KeyRow, name) for name in IDENTITY_KEYS}
            return [row and row.key.hex() for row in found.values()]

    def change_keys(self, **keys):
        settled, claimed = IDENTITY_KEYS
        with self.database.write() as session:
            for name in IDENTITY_KEYS:
                if (row := session.get(KeyRow, name)) is not None:
                    session.delete(row)
            session.flush()
            for name, key in {settled: keys.get("settled"), claimed: keys.get("claimed")}.items():
                if key:
                    session.add(KeyRow(name=name, key=bytes.fromhex(key)))


@pytest.fixture
def opened(settings):
    store = Opened(settings)
    yield store
    store.database.close()


A, B = "a1" * 16, "b2" * 16

EACH_PLACE = pytest.mark.parametrize("settings", ["sqlite", "object store"], indirect=True)
"""Of files: what a database says of them is the same in each."""


def test_the_first_start_writes_one_identity_into_both_and_the_next_finds_it(opened):
    assert opened.start(begin=False) is False  # nobody but a service begins a store
    assert (opened.segments.identity(), opened.keys) == (None, [None, None])
    assert opened.start()
    first = opened.segments.identity()
    assert re.fullmatch(r"[0-9a-f]{32}", first)
    assert opened.keys == [first, None]
    assert opened.start()
    assert opened.start(begin=False)
    assert opened.segments.identity() == first


def test_files_of_another_store_and_none_are_refused_by_both_names(opened):
    opened.start()
    mine = opened.segments.identity()
    drop_identity(opened.segments)
    opened.segments.identify(A)
    with pytest.raises(StoreMismatch) as told:
        opened.start()
    for word in (mine, A, opened.database.place, opened.segments.place):
        assert word in told.value.message
    opened.change_keys(settled=B)
    with pytest.raises(StoreMismatch, match=A):
        opened.start(begin=False)
    assert opened.segments.identity() == A


def test_an_interrupted_first_start_is_made_good(opened):
    """After the claim, and after the files: both were before the claim is settled."""
    opened.change_keys(claimed=A)
    assert opened.start()
    assert (opened.segments.identity(), opened.keys) == (A, [A, None])
    opened.change_keys(claimed=A)
    assert opened.start()
    assert opened.keys == [A, None]


def test_a_new_database_does_not_take_over_the_files_of_another(opened):
    opened.segments.identify(A)
    with pytest.raises(StoreMismatch, match=A):
        opened.start()
    assert opened.segments.identity() == A
    assert opened.keys[0] is None


def test_of_services_with_files_of_their_own_one_starts_however_they_race(postgres, tmp_path):
    storage = StorageSettings(database=postgres.url())
    stores = []
    for number in range(3):
        (tmp_path / str(number)).mkdir()
        stores.append(Opened(Settings(tmp_path / str(number), storage=storage)))
    ready, outcomes = threading.Barrier(3), []

    def start(store):
        ready.wait()
        try:
            outcomes.append(store.start())
        except StoreMismatch as error:
            outcomes.append(error)

    threads = [threading.Thread(target=start, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count(True) == 1
    assert sum("have no identity" in str(outcome) for outcome in outcomes) == 2
    assert sum(store.segments.identity() is not None for store in stores) == 1
    for store in stores:
        store.database.close()


def test_of_two_new_databases_on_one_place_of_files_one_starts(opened, monkeypatch):
    """The second writes its identity when the first has compared, or just before."""
    segments, other = opened.segments, "5" * 32
    compare = identity._compare

    def compare_and_lose(*arguments):
        compare(*arguments)
        monkeypatch.undo()
        segments.identify(other)

    monkeypatch.setattr(identity, "_compare", compare_and_lose)
    if isinstance(segments, LocalSegments):
        assert opened.start()
        assert segments.identity() == opened.keys[0] != other
    else:  # it keeps the last, which the first finds in the end
        with pytest.raises(StoreMismatch, match=other):
            opened.start()


@pytest.fixture
def filled(start, settings, release_a, release_c):
    """A service with a sealed release and an open one, stopped; it has no identity, as before."""
    miner = start(storage=settings.storage, at=settings.data_dir)
    miner.study("asia")
    miner.owner("asia", "north").publish("asia", release_a)
    south = miner.owner("asia", "south")
    south.put(south.announce("asia", release_c), 0, release_c.parts[0])
    miner.client.__exit__(None, None, None)
    store = Opened(settings)
    yield store
    store.database.close()


def forget(store):
    """Let a store be as if it had lost its identity."""
    store.change_keys()
    drop_identity(store.segments)


def drop_identity(segments):
    if isinstance(segments, LocalSegments):
        (segments.root / "identity").unlink()
    else:
        segments._store.delete_file(segments._identity)


@pytest.mark.slow
@EACH_PLACE
def test_a_store_without_identity_is_taken_over_if_its_files_are_there(filled):
    forget(filled)
    assert filled.start(begin=False)
    assert filled.keys[0] == filled.segments.identity() is not None


@pytest.mark.slow
@EACH_PLACE
def test_an_emptied_or_wrong_place_of_files_is_found_at_the_start(filled, settings, tmp_path):
    forget(filled)
    (release,) = filled.segments.kept()["columns"]
    saved = tmp_path / "saved"
    shutil.copyfile(filled.segments.data_path(release), saved)
    filled.segments.drop_data(release)
    with pytest.raises(StoreMismatch, match="records of 1 release that are not in") as told:
        first_token(settings, None)
    # Where they are lost for good, whoever runs the service says so.
    assert filled.segments.identity() is None
    filled.segments.identify(re.search(r"write ([0-9a-f]{32}) into", str(told.value))[1])
    assert filled.start()
    # With an identity, an empty place is found whatever the rows name.
    place = filled.segments
    if not hasattr(place, "_cache"):
        shutil.rmtree(place.root / "parts")
        (place.root / "identity").unlink()
    else:
        place._store.delete_dir(place.address.place)
    for call in (lambda: first_token(settings, None), lambda: supervise(settings)):
        with pytest.raises(StoreMismatch, match="have no identity"):
            call()


@pytest.mark.slow
@EACH_PLACE
def test_an_empty_database_does_not_sweep_records_away(filled, postgres):
    kept = filled.segments.kept()
    forget(filled)
    other = Settings(
        filled.segments.root,
        storage=StorageSettings(
            database=postgres.url(),
            files=None
            if not hasattr(filled.segments, "_cache")
            else f"s3://{filled.segments.address.place}?"
            + "&".join(f"{k}={v}" for k, v in filled.segments.address.options),
        ),
    )
    with pytest.raises(StoreMismatch, match="names no release"):
        first_token(other, None)
    assert filled.segments.kept() == kept
    assert any(kept.values())


@pytest.mark.slow
def test_commands_that_use_both_refuse_a_mismatch(start, tmp_path, release_a):
    miner = start()
    miner.study("asia")
    miner.owner("asia", "north").publish("asia", release_a)
    miner.client.__exit__(None, None, None)
    backup = tmp_path / "backup"

    def run(*words, data=miner.data):
        return CliRunner().invoke(app, [str(word) for word in (*words, "--data", data)])

    assert run("backup", backup).exit_code == 0
    restored = tmp_path / "restored"
    assert run("restore", backup, data=restored).exit_code == 0
    identities = [(place / "identity").read_text() for place in (miner.data, restored)]
    assert identities[0] != identities[1]  # a copy is another store
    assert run("check", data=restored).exit_code == 0
    (miner.data / "identity").write_text(identities[1])
    for words in (
        ("backup", tmp_path / "second"),
        ("check",),
        ("study", "delete", "asia", "--yes"),
        ("releases", "expire", "--days", "1"),
    ):
        assert isinstance(run(*words).exception, StoreMismatch), words
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "identity").write_text(identities[1])
    assert isinstance(run("restore", backup, data=empty).exception, StoreMismatch)
    # Commands that use the rows alone go on.
    assert run("study", "create", "other").exit_code == 0


@pytest.fixture
def away(start, monkeypatch):
    """A service whose place of files was away at its start, and what brings that back."""
    with monkeypatch.context() as patch:
        patch.setattr(LocalSegments, "identity", _away)
        patch.setattr(LocalSegments, "check", _away)
        miner = start()
        yield miner, patch.undo


def _away(_segments):
    raise NotReady("The place of files does not answer.", where="files")


def changes(miner):
    """What a service answers who would have it take something in, each in another way."""
    asked = {"name": "asia"}
    return [
        miner.admin("POST", "/v1/studies", json=asked),
        miner.nobody("POST", "/v1/studies", json=asked),
        miner.nobody("POST", "/v1/invitations/accept", json={"secret": "x"}),
        miner.admin("PUT", "/v1/releases/x/parts/0", content=b"x"),
    ]


def test_nothing_is_taken_in_before_files_that_were_away_are_compared(away):
    miner, bring_back = away
    for answer in changes(miner):
        assert (answer.status_code, answer.json()["code"]) == (503, "not-ready")
        assert "does not answer" in answer.json()["detail"]
        assert "ready again by itself" in answer.json()["remedy"]
    assert miner.nobody("GET", "/healthz").status_code == 200
    bring_back()
    assert miner.admin("POST", "/v1/studies", json={"name": "asia"}).status_code == 201
    assert miner.nobody("GET", "/readyz").status_code == 200


def test_another_stores_files_are_refused_for_good(away):
    miner, bring_back = away
    bring_back()
    (miner.data / "identity").write_text(A)
    for answer in [miner.nobody("GET", "/readyz"), *changes(miner)]:
        assert (answer.status_code, answer.json()["where"]) == (503, "files")
        assert (
            f"are of store {A}" in answer.json()["detail"] or "have no" in answer.json()["detail"]
        )
        assert "by itself" not in answer.json()["remedy"]
        assert "place of files that belongs to this database" in answer.json()["remedy"]
    (miner.data / "identity").unlink()
    assert changes(miner)[0].status_code == 503


def test_a_service_that_finds_another_stores_files_ends(away):
    miner, bring_back = away
    bring_back()
    (miner.data / "identity").write_text(A)
    server = _Server(miner.app, configured(miner.app, WebSettings(), None), lambda: None)
    assert not asyncio.run(server.on_tick(0))
    changes(miner)
    assert asyncio.run(server.on_tick(1))
    assert isinstance(mismatch_of(miner.services), StoreMismatch)


@pytest.mark.slow
def test_a_process_that_finds_another_stores_files_ends_with_an_exit_code(tmp_path, object_store):
    bucket = object_store.bucket()
    (tmp_path / "other").mkdir()
    other = Opened(Settings(tmp_path / "other", storage=StorageSettings(files=bucket)))
    other.start()
    object_store.stop()
    ready = tmp_path / "ready"
    settings = tmp_path / "miner.toml"
    settings.write_text(f'[storage]\nfiles = "{bucket}"\n')
    words = ["--data", tmp_path / "data", "--settings", settings, "--ready-file", ready]
    words += ["--port", "0", "--workers", "0"]
    log = tmp_path / "log"
    service = Forked("miner_service", "serve", *map(str, words), out=log)
    while not ready.exists():
        assert service.poll() is None
        time.sleep(0.05)
    object_store.start()
    url = json.loads(ready.read_text())["url"]
    with suppress(httpx.TransportError):  # it may end before it has answered
        assert httpx.post(f"{url}/v1/studies", json={"name": "asia"}).status_code == 503
    assert service.wait() == StoreMismatch.exit_code
    assert "are of store" in " ".join(log.read_text().split())


def test_files_are_listed_while_no_writer_waits(opened, monkeypatch):
    kind, writing, write = type(opened.segments), [], opened.database.write
    kept = kind.kept

    @contextmanager
    def noted():
        with write() as session:
            writing.append(1)
            yield session
        writing.clear()

    def listed(segments):
        assert not writing
        return kept(segments)

    monkeypatch.setattr(opened.database, "write", noted)
    monkeypatch.setattr(kind, "kept", listed)
    assert opened.start()


def test_a_worker_begins_no_store(settings):
    with pytest.raises(NotReady, match="No service has started"):
        supervise(settings)
