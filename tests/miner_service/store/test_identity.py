"""A store is one database and one place of files: their marker is compared at every start."""

from __future__ import annotations

import re
import shutil
import threading

import pytest
from typer.testing import CliRunner

from miner_service.cli.main import app, first_token
from miner_service.jobs.supervisor import supervise
from miner_service.settings import Settings, StorageSettings
from miner_service.store.identity import MARKER, require_one_store
from miner_service.store.schema import KeyRow
from miner_service.store.segments import Segments, open_segments
from miner_service.store.sqlite import open_database
from pramana_core.errors import NotReady, StoreCorrupt

KINDS = ("sqlite", "postgresql")


@pytest.fixture(params=KINDS)
def settings(request, tmp_path):
    """The settings of a miner over each kind of store."""
    database = None
    if request.param == "postgresql":
        database = request.getfixturevalue("postgres").url()
    (tmp_path / "data").mkdir()
    return Settings(tmp_path / "data", storage=StorageSettings(database=database))


class Opened:
    """A database and a place of files, open."""

    def __init__(self, settings):
        self.database, self.segments = open_database(settings), open_segments(settings)
        self.segments.prepare()

    def start(self, begin=True):
        return require_one_store(self.database, self.segments, begin=begin)

    @property
    def marker(self):
        with self.database.read() as session:
            row = session.get(KeyRow, MARKER)
            return row and row.key.hex()


@pytest.fixture
def opened(settings):
    store = Opened(settings)
    yield store
    store.database.close()


A = "a1" * 16

ON_SQLITE = pytest.mark.parametrize("settings", ["sqlite"], indirect=True)


def drop_identity(segments):
    (segments.root / "identity").unlink()


def test_the_first_start_writes_one_marker_into_both_and_the_next_finds_it(opened):
    assert opened.start(begin=False) is False  # nobody but a service begins a store
    assert (opened.segments.identity(), opened.marker) == (None, None)
    assert opened.start()
    first = opened.segments.identity()
    assert re.fullmatch(r"[0-9a-f]{32}", first)
    assert opened.marker == first
    assert opened.start()
    assert opened.start(begin=False)
    assert opened.segments.identity() == first


def test_files_of_another_store_and_none_are_refused_by_both_names(opened):
    opened.start()
    mine = opened.segments.identity()
    drop_identity(opened.segments)
    for found in (None, A):
        if found:
            opened.segments.identify(found)
        with pytest.raises(StoreCorrupt) as told:
            opened.start()
        for word in (mine, str(found).lower(), opened.database.place, str(opened.segments.root)):
            assert word in told.value.message
    assert opened.segments.identity() == A


def test_a_new_database_does_not_take_over_the_files_of_another(opened):
    opened.segments.identify(A)
    with pytest.raises(StoreCorrupt):
        opened.start()
    assert (opened.segments.identity(), opened.marker) == (A, None)


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
        except StoreCorrupt as error:
            outcomes.append(error)

    threads = [threading.Thread(target=start, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count(True) == 1
    assert sum("belong to store (none)" in str(outcome) for outcome in outcomes) == 2
    assert sum(store.segments.identity() is not None for store in stores) == 1
    for store in stores:
        store.database.close()


@pytest.fixture
def filled(start, settings, release_a, release_c):
    """A service with a sealed release and an open one, stopped."""
    miner = start(storage=settings.storage, at=settings.data_dir)
    miner.study("asia")
    miner.owner("asia", "north").publish("asia", release_a)
    south = miner.owner("asia", "south")
    south.put(south.announce("asia", release_c), 0, release_c.parts[0])
    miner.client.__exit__(None, None, None)
    store = Opened(settings)
    yield store
    store.database.close()


@pytest.mark.slow
@ON_SQLITE
def test_a_place_of_files_that_lost_its_marker_or_all_is_found_at_the_start(filled, settings):
    place = filled.segments
    shutil.rmtree(place.root / "parts")
    drop_identity(place)
    for call in (lambda: first_token(settings, None), lambda: supervise(settings)):
        with pytest.raises(StoreCorrupt) as told:
            call()
    # Where they are lost for good, whoever runs the service says so.
    place.identify(re.search(r"write ([0-9a-f]{32}) into", str(told.value))[1])
    assert filled.start()


@pytest.mark.slow
@ON_SQLITE
def test_an_empty_database_does_not_sweep_records_away(filled, postgres):
    kept = filled.segments.kept()
    drop_identity(filled.segments)
    storage = StorageSettings(database=postgres.url())
    with pytest.raises(StoreCorrupt):
        first_token(Settings(filled.segments.root, storage=storage), None)
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
    ):
        assert isinstance(run(*words).exception, StoreCorrupt), words
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "identity").write_text(identities[1])
    assert isinstance(run("restore", backup, data=empty).exception, StoreCorrupt)
    # Commands that use the rows alone go on.
    assert run("study", "create", "other").exit_code == 0


def test_a_worker_begins_no_store(settings):
    with pytest.raises(NotReady):
        supervise(settings)


def test_a_folder_that_was_moved_away_is_not_created_again(tmp_path):
    segments = Segments(tmp_path / "files")
    with pytest.raises(NotReady):
        segments.scratch_path()
    assert list(tmp_path.iterdir()) == []
