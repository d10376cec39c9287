"""What a cluster is not told to do, and what its workers do not count."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from miner_service.alignment.cluster import (
    ClusterPlace,
    CountingTask,
    WorkerRecords,
    installed_version,
    listening_host,
    require_scheduler,
)
from miner_service.alignment.pieces import RecordSet
from miner_service.settings import ClusterSettings, is_loopback
from miner_service.store.sqlite import FILE
from pramana_core.errors import Conflict, KeyFileError, NotReady, OptionError, StoreCorrupt
from pramana_core.marginals.passes import JointCounts
from pramana_core.opening import require_tls_files
from tests.certificates import Authority
from tests.forked import run_command

TLS = {"authority": Path("a.pem"), "certificate": Path("c.pem"), "private_key": Path("c.key")}


@pytest.mark.parametrize(
    "address", ["scheduler:8786", "http://scheduler:8786", "tls://scheduler", "tls://s:99999"]
)
def test_an_address_that_is_none_is_refused(address: str):
    with pytest.raises(OptionError):
        ClusterSettings(scheduler=address, **TLS)


def test_a_scheduler_elsewhere_is_spoken_to_by_tls():
    with pytest.raises(OptionError):
        ClusterSettings(scheduler="tcp://10.0.0.5:8786")
    with pytest.raises(OptionError):
        ClusterSettings(scheduler="tls://10.0.0.5:8786")
    ClusterSettings(scheduler="tls://10.0.0.5:8786", **TLS)
    ClusterSettings(scheduler="tcp://10.0.0.5:8786", allow_plain=True)
    ClusterSettings(scheduler="tcp://127.0.0.1:8786")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_worker_without_tls_listens_to_nobody_but_its_machine(host: str):
    from distributed import Scheduler, Worker

    async def listening() -> str:
        async with Scheduler(host=host, dashboard_address=f"{host}:0") as scheduler:  # type: ignore[no-untyped-call]
            port = scheduler.address.rpartition(":")[2]
            told = ClusterSettings(scheduler=f"tcp://{host}:{port}")
            words = {"host": listening_host(told), "dashboard_address": "127.0.0.1:0"}
            async with Worker(told.scheduler, nthreads=1, **words) as worker:  # type: ignore[arg-type]
                return str(worker.listener.listen_address)

    assert is_loopback(urlsplit(asyncio.run(listening())).hostname or "")


def test_a_worker_listens_everywhere_where_the_cluster_is_elsewhere_or_speaks_tls():
    for told in (
        ClusterSettings(scheduler="tls://127.0.0.1:8786", **TLS),
        ClusterSettings(scheduler="tcp://10.0.0.5:8786", allow_plain=True),
    ):
        assert listening_host(told) is None


def test_a_scheduler_that_takes_no_connection_is_away():
    with pytest.raises(NotReady):
        require_scheduler(ClusterSettings(scheduler="tcp://127.0.0.1:1"))


COMMANDS = (("serve", "--data"), ("worker", "--data"), ("cluster-worker", "--columns"))


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setitem(sys.modules, "distributed", None)
    words = [str(tmp_path / "data"), "--scheduler", "tcp://127.0.0.1:8786"]
    for command in COMMANDS:
        ended = run_command("miner_service", *command, *words)
        assert ended.returncode == 4
        assert "pramana[miner,cluster]" in ended.stderr
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0])
def test_certificates_that_cannot_be_read_are_told_of_at_the_start(
    command: tuple[str, str], tmp_path: Path
):
    named = {name: tmp_path / file for name, file in TLS.items()}
    lines = [f'{name} = "{file}"' for name, file in named.items()]
    file = tmp_path / "miner.toml"
    file.write_text("\n".join(["[cluster]", 'scheduler = "tls://127.0.0.1:1"', *lines]))
    data = tmp_path / "data"
    ended = run_command("miner_service", *command, str(data), "--settings", str(file))
    assert ended.returncode == 2
    assert "TLS" in ended.stderr
    assert not data.exists()


def test_a_cluster_worker_needs_a_scheduler(tmp_path: Path):
    ended = run_command("miner_service", "cluster-worker", "--columns", str(tmp_path))
    assert ended.returncode == 2
    assert "--scheduler" in ended.stderr


def test_a_worker_counts_only_what_was_sealed_and_for_its_own_version(tmp_path: Path):
    (tmp_path / "r.arrow").write_bytes(b"not what was sealed")
    worker = WorkerRecords(tmp_path)
    records = RecordSet(("r",), ("0" * 64,), (("a",),), {"a": 2})

    def count(version: str | None) -> object:
        task = CountingTask(version, records, JointCounts((("a",),)))
        return worker.counted([((0, 1),)], task)

    with pytest.raises(Conflict):
        count("0.0")
    with pytest.raises(StoreCorrupt):
        count(installed_version())


def test_a_worker_reads_columns_and_never_beside_the_database(tmp_path: Path):
    (tmp_path / FILE).touch()
    with pytest.raises(OptionError) as refused:
        WorkerRecords(tmp_path)
    assert refused.value.where == "columns"


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660])
def test_a_key_that_others_may_read_is_refused(mode: int, tmp_path: Path):
    authority = Authority.make(tmp_path, "cluster")
    certificate, key = authority.issue("member")
    told = ClusterSettings(
        "tls://scheduler:8786",
        authority=authority.path,
        certificate=certificate,
        private_key=key,
    )
    require_tls_files(told.certificate, told.private_key, told.authority)
    key.chmod(mode)
    if mode == 0o640 and key.stat().st_uid == 0:  # root's keys may be read by their group
        require_tls_files(told.certificate, told.private_key, told.authority)
        return
    with pytest.raises(KeyFileError) as refused:
        require_tls_files(told.certificate, told.private_key, told.authority)
    assert refused.value.where == "private_key"


@pytest.mark.parametrize("command", ["worker", "cluster-worker"])
def test_a_cluster_without_tls_is_warned_of(command: str, tmp_path: Path):
    data = tmp_path / "data"
    data.mkdir()
    data.chmod(0o777)  # so that neither runs for long
    (data / FILE).touch()
    words = ["--scheduler", "tcp://127.0.0.1:8786"]
    words += ["--columns" if command == "cluster-worker" else "--data", str(data)]
    ended = run_command("miner_service", command, *words)
    assert "warning" in ended.stderr
    assert "without TLS" in ended.stderr


def test_a_file_that_a_worker_cannot_read_is_no_scheduler_that_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """It fails the job: an OSError as it is would be taken for a lost connection."""
    worker = WorkerRecords(tmp_path)

    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(worker._reader, "_verify", refused)
    records = RecordSet(("r",), ("0" * 64,), (("a",),), {"a": 2})
    task = CountingTask(installed_version(), records, JointCounts((("a",),)))
    with pytest.raises(StoreCorrupt):
        worker.counted([((0, 1),)], task)


@dataclass
class Scheduler:
    """Stands for Dask's client, whose answer has no workers once the connection is lost."""

    answer: dict[str, Any]
    closed: bool = False

    def scheduler_info(self, n_workers: int) -> dict[str, Any]:
        assert n_workers == -1
        return self.answer

    def close(self, timeout: float) -> None:
        self.closed = timeout > 0


def threads(scheduler: Scheduler) -> int:
    place = ClusterPlace(ClusterSettings(scheduler="tcp://127.0.0.1:8786"))
    place._client = scheduler
    with place._translate_errors():
        return place._threads(scheduler, lambda: None)


def test_a_job_is_given_back_where_the_scheduler_is_lost_while_it_is_asked():
    lost = Scheduler({"type": "Scheduler"})
    with pytest.raises(NotReady):
        threads(lost)
    assert lost.closed
