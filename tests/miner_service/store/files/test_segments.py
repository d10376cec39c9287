"""One list of promises for every place that parts and columns may be in."""

from __future__ import annotations

import hashlib
import socket
from dataclasses import replace
from datetime import timedelta

import pytest

from miner_service.settings import Settings, StorageSettings
from miner_service.store.objects import ObjectAddress, ObjectSegments, open_segments
from pramana_core.errors import NotReady, OptionError, StoreCorrupt
from tests.miner_service.store.object_store import KEYS, asked_once, object_store, one_object_store

__all__ = ["asked_once", "object_store", "one_object_store"]

BODY = b"the bytes of a part"
SHA = hashlib.sha256(BODY).hexdigest()


def written(segments, body=BODY):
    """A finished file that a caller hands over."""
    scratch = segments.scratch_path()
    scratch.write_bytes(body)
    return scratch


def files_below(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


class Promises:
    """What every place does."""

    @pytest.fixture
    def open_again(self):
        """Return what opens the same place once more, as another process does."""
        raise NotImplementedError

    @pytest.fixture
    def segments(self, open_again):
        return open_again()

    def test_a_part_is_read_as_it_was_put(self, segments, tmp_path):
        segments.put_part("r-1", 3, written(segments))
        assert segments.read_part("r-1", 3, SHA) == BODY
        assert not [name for name in files_below(tmp_path) if "scratch" in name]

    def test_a_part_that_is_not_there_or_not_as_acknowledged_is_said_to_be_damaged(self, segments):
        segments.put_part("r-1", 3, written(segments, b"other bytes"))
        for number in (3, 4):
            with pytest.raises(StoreCorrupt, match=f"Part {number} of release r-1"):
                segments.read_part("r-1", number, SHA)

    def test_putting_a_part_again_replaces_it(self, segments):
        segments.put_part("r-1", 0, written(segments, b"cut off"))
        segments.put_part("r-1", 0, written(segments))
        assert segments.read_part("r-1", 0, SHA) == BODY

    def test_parts_are_dropped_one_by_one_and_together_and_again(self, segments):
        for number in range(3):
            segments.put_part("r-1", number, written(segments))
        segments.put_part("r-2", 0, written(segments))
        segments.drop_part("r-1", 0)
        segments.drop_part("r-1", 0)
        assert segments.read_part("r-1", 1, SHA) == BODY
        segments.drop_parts("r-1")
        segments.drop_parts("r-1")
        for number in range(3):
            with pytest.raises(StoreCorrupt):
                segments.read_part("r-1", number, SHA)
        assert segments.read_part("r-2", 0, SHA) == BODY

    def test_columns_are_a_local_file_at_every_process(self, segments, open_again):
        segments.put_data("r-1", written(segments))
        for place in (segments, open_again("another machine")):
            assert place.data_path("r-1").read_bytes() == BODY
            place.verify_data("r-1", SHA)

    def test_columns_that_are_absent_or_other_are_said_to_be_damaged(self, segments):
        segments.put_data("r-1", written(segments))
        for release, sha in (("r-1", SHA[::-1]), ("r-2", SHA)):
            with pytest.raises(StoreCorrupt, match=f"columns of release {release}"):
                segments.verify_data(release, sha)

    def test_dropped_columns_are_gone_but_who_has_them_open_reads_on(self, segments):
        segments.put_data("r-1", written(segments))
        with segments.data_path("r-1").open("rb") as file:
            segments.drop_data("r-1")
            segments.drop_data("r-1")
            assert file.read() == BODY
        assert not segments.data_path("r-1").exists()

    def test_a_sweep_removes_what_no_release_needs(self, segments):
        for release in ("open", "sealed", "withdrawn", "absent"):
            segments.put_part(release, 0, written(segments))
            segments.put_data(release, written(segments))
        states = {name: name for name in ("open", "sealed", "withdrawn")}
        assert sorted(segments.sweep(lambda: states)) == [
            "columns/absent",
            "columns/withdrawn",
            "parts/absent",
            "parts/sealed",
            "parts/withdrawn",
        ]
        assert segments.sweep(lambda: states) == []
        assert segments.read_part("open", 0, SHA) == BODY
        # Another process may be between making these columns and saying that they are sealed.
        assert segments.data_path("open").exists()
        assert segments.data_path("sealed").exists()
        assert not segments.data_path("withdrawn").exists()

    def test_a_sweep_leaves_what_is_announced_and_sent_while_it_looks(self, segments, open_again):
        other = open_again()

        def states():
            # After the files were listed and before they are judged.
            other.put_part("new", 0, written(other))
            return {}

        segments.sweep(states)
        assert segments.read_part("new", 0, SHA) == BODY

    def test_what_another_process_is_writing_is_not_swept_while_it_lives(
        self, segments, open_again, tmp_path
    ):
        other = open_again()
        half_done = written(other)
        open_again().prepare()
        assert segments.sweep(dict) == []
        assert half_done.exists()
        other.put_part("r-1", 0, half_done)
        abandoned = written(other)
        del other
        open_again()
        assert not abandoned.exists()
        assert not [name for name in files_below(tmp_path) if "scratch" in name]

    def test_a_place_that_works_is_ready_and_stays_as_it_was(self, segments, tmp_path):
        segments.check()
        before = files_below(tmp_path)
        segments.check()
        assert files_below(tmp_path) == before


class TestLocalSegments(Promises):
    @pytest.fixture
    def open_again(self, tmp_path):
        def opened(_machine="here"):
            segments = open_segments(Settings(tmp_path))
            segments.prepare()
            return segments

        return opened


class TestObjectSegments(Promises):
    @pytest.fixture
    def settings(self, tmp_path, object_store):
        return Settings(tmp_path, storage=StorageSettings(files=object_store.bucket()))

    @pytest.fixture
    def open_again(self, settings, tmp_path):
        """A process on another machine has a data directory of its own, for its cache."""

        def opened(machine="here"):
            segments = open_segments(replace(settings, data_dir=tmp_path / machine))
            segments.prepare()
            return segments

        return opened

    def test_a_damaged_copy_in_the_cache_is_fetched_again(self, segments):
        segments.put_data("r-1", written(segments))
        segments.data_path("r-1").write_bytes(b"torn")
        segments.verify_data("r-1", SHA)
        assert segments.data_path("r-1").read_bytes() == BODY

    @pytest.mark.slow
    @pytest.mark.usefixtures("asked_once")
    def test_a_store_that_is_away_is_not_ready_and_comes_back(self, segments, object_store):
        segments.put_part("r-1", 0, written(segments))
        segments.put_data("r-1", written(segments))
        object_store.stop()
        for ask in (
            segments.check,
            lambda: segments.put_part("r-1", 1, written(segments)),
            lambda: segments.put_data("r-2", written(segments)),
            lambda: segments.read_part("r-1", 0, SHA),
            lambda: segments.drop_data("r-3"),
            lambda: segments.sweep(dict),
        ):
            with pytest.raises(NotReady) as failure:
                ask()
            said = f"{failure.value} {failure.value.remedy} {failure.value.where}"
            assert not any(secret in said for secret in KEYS.values())
        # What was fetched is there without the store.
        assert segments.data_path("r-1").read_bytes() == BODY
        object_store.start()
        segments.check()
        assert segments.read_part("r-1", 0, SHA) == BODY
        with pytest.raises(StoreCorrupt):
            segments.read_part("r-1", 1, SHA)

    @pytest.mark.slow
    def test_a_store_that_takes_requests_and_never_answers_is_not_ready(self, tmp_path):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            port = silent.getsockname()[1]
            where = {"endpoint_override": f"127.0.0.1:{port}", "scheme": "http", "region": "eu"}
            # It is given 0.2 seconds here, not the few that libraries give by themselves.
            address = ObjectAddress("bucket", (*where.items(), ("request_timeout", 0.2)))
            segments = ObjectSegments(address, tmp_path, 1000)
            segments.prepare()
            with pytest.raises(NotReady, match="does not answer"):
                segments.check()

    def test_an_upload_that_breaks_off_takes_nothing_away(self, segments, monkeypatch):
        """The first of two equal requests fails when the second was acknowledged."""
        segments.put_part("r-1", 1, written(segments))
        scratch, again = written(segments, b"x" * 100), written(segments)

        def broken(source, sink, _block):
            sink.write(source.read(50))
            raise OSError("the disk broke")

        monkeypatch.setattr("miner_service.store.objects.shutil.copyfileobj", broken)
        with pytest.raises(NotReady):
            segments.put_part("r-1", 0, scratch)
        assert not scratch.exists()
        with pytest.raises(StoreCorrupt):
            segments.read_part("r-1", 0, hashlib.sha256(b"x" * 50).hexdigest())
        with pytest.raises(NotReady):
            segments.put_part("r-1", 1, again)
        assert segments.read_part("r-1", 1, SHA) == BODY

    def test_what_arrived_when_its_process_ended_is_swept_a_day_later(self, segments, monkeypatch):
        segments._upload(written(segments), f"{segments.address.place}/arriving/half", "It")
        assert segments.sweep(dict) == []
        monkeypatch.setattr("miner_service.store.objects._ARRIVED", timedelta(seconds=-60))
        assert segments.sweep(dict) == ["arriving/half"]
        assert segments.sweep(dict) == []

    def test_the_cache_keeps_to_its_bound_and_spares_what_was_just_asked_for(
        self, settings, monkeypatch
    ):
        small = replace(settings.storage, cache_bytes=2 * len(BODY))
        segments = open_segments(replace(settings, storage=small))
        segments.prepare()
        monkeypatch.setattr("miner_service.store.objects.FRESH_SECONDS", -1.0)
        for release in ("r-1", "r-2", "r-3"):
            segments.put_data(release, written(segments))
        cache = settings.data_dir / "cache"
        assert len(files_below(cache)) == 2
        assert segments.data_path("r-1").read_bytes() == BODY
        assert len(files_below(cache)) == 2
        assert "r-1.arrow" in files_below(cache)
        monkeypatch.undo()
        for release in ("r-2", "r-3"):
            segments.data_path(release)
        assert len(files_below(cache)) == 3


@pytest.mark.parametrize(
    "address",
    [
        "bucket/prefix",
        "https://bucket/prefix",
        "s3://",
        "s3://someone:a-secret@bucket/prefix",
        "s3://bucket?access_key=a-secret",
    ],
)
def test_an_address_that_cannot_be_is_refused_without_showing_it(tmp_path, address):
    settings = Settings(tmp_path, storage=StorageSettings(files=address))
    assert "secret" not in repr(settings)
    with pytest.raises(OptionError, match="address of the files") as failure:
        open_segments(settings)
    assert "a-secret" not in f"{failure.value}{failure.value.remedy}"
    assert "s3://bucket/prefix" in failure.value.remedy
