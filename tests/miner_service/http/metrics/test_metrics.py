"""What monitoring is told: how the service fares, and nothing of any study."""

from __future__ import annotations

import json
import re
import socket
from contextlib import closing
from datetime import timedelta
from importlib.metadata import version

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from typer.testing import CliRunner

from miner_service.backup import back_up
from miner_service.cli.main import app
from miner_service.settings import ClusterSettings
from miner_service.store.schema import SupervisorRow
from miner_service.store.sqlite import FILE
from pramana_core.errors import NotReady, OptionError, StoreCorrupt
from tests.places import ROOT


def read(person):
    """All figures: by name and labels."""
    answer = person("GET", "/metrics")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


@pytest.mark.slow
def test_the_figures_are_those_of_what_was_done(miner, release_a):
    analyst = miner.study("asia")
    owner = miner.owner("asia", "north")
    owner.publish("asia", release_a)
    made = analyst("POST", "/v1/studies/asia/jobs", json={"spec": {"structure": {"A": []}}})
    analyst.wait(made.headers["location"])
    analyst("GET", "/v1/releases/r-000000000000")
    miner.nobody("GET", "/v1/studies")
    miner.nobody("GET", "/v1/secret-place")
    found = read(miner.admin)
    assert found["pramana_requests_total", "PUT", "put_part", "201"] == 3
    assert found["pramana_requests_total", "GET", "list_studies", "401"] == 1
    assert found["pramana_request_seconds_count", "put_part"] == 3
    assert found["pramana_problems_total", "not-found"] >= 1
    states = {key[1]: value for key, value in found.items() if key[0] == "pramana_jobs"}
    assert states == {"queued": 0, "running": 0, "succeeded": 1, "failed": 0, "cancelled": 0}
    assert found[("pramana_job_queue_age_seconds",)] == 0
    assert found[("pramana_store_up",)] == 1
    assert found[("pramana_disk_free_bytes",)] > 0
    assert found[("process_resident_memory_bytes",)] > 0


def test_what_nobody_foresaw_is_counted(miner, monkeypatch):
    def broken(_: object) -> None:
        raise RuntimeError("unforeseen")

    with monkeypatch.context() as patched:
        patched.setattr(type(miner.services.database), "read", broken)
        assert miner.admin("GET", "/v1/studies").status_code == 500
    found = read(miner.admin)
    assert found["pramana_requests_total", "GET", "list_studies", "500"] == 1
    assert found["pramana_problems_total", "internal"] == 1


def test_no_label_holds_what_a_client_chose(miner, release_a):
    miner.study("a-secret-study")
    owner = miner.owner("a-secret-study", "a-secret-owner")
    owner.announce("a-secret-study", release_a)
    miner.client.request("SECRETMETHOD", "/v1/secret-place")
    text = miner.admin("GET", "/metrics").text
    assert "secret" not in text.lower()
    assert 'route="none"' in text


def test_workers_are_counted_while_their_supervisor_lives(miner):
    now = miner.clock()
    with miner.services.database.write() as session:
        for name, workers, seen in (("a", 2, now), ("b", 3, now - timedelta(hours=1))):
            session.add(
                SupervisorRow(name=name, host="h", workers=workers, started=seen, beat=0, seen=seen)
            )
    assert read(miner.admin)[("pramana_workers",)] >= 2
    miner.clock.ahead = timedelta(hours=1)
    assert read(miner.admin)[("pramana_workers",)] < 5


def test_version_and_age_of_the_last_backup_are_figures(miner, tmp_path):
    found = read(miner.admin)
    assert found["pramana_build_info", version("pramana")] == 1
    assert ("pramana_backup_age_seconds",) not in found, "there is no backup yet"
    back_up(miner.services, tmp_path / "backup", lambda *_: None)
    assert 0 <= read(miner.admin)[("pramana_backup_age_seconds",)] < 3600
    miner.clock.ahead = timedelta(hours=26)
    assert 26 * 3600 <= read(miner.admin)[("pramana_backup_age_seconds",)] < 27 * 3600
    with pytest.raises(OptionError):
        back_up(miner.services, tmp_path / "backup", lambda *_: None)
    assert read(miner.admin)[("pramana_backup_age_seconds",)] >= 26 * 3600


def test_a_scheduler_is_a_figure_if_there_should_be_one(start, miner):
    assert "pramana_scheduler_up" not in miner.admin("GET", "/metrics").text
    with closing(socket.create_server(("127.0.0.1", 0))) as scheduler:
        address = f"tcp://127.0.0.1:{scheduler.getsockname()[1]}"
        other = start(cluster=ClusterSettings(scheduler=address), at=miner.data.parent / "other")
        assert read(other.admin)[("pramana_scheduler_up",)] == 1
    assert read(other.admin)[("pramana_scheduler_up",)] == 0


MONITORING = ROOT / "deploy" / "monitoring"
FIGURE = re.compile(r"\b(?:(?:pramana|process)_[a-z_]+|up)\b")


def test_dashboard_and_alerts_name_figures_that_exist(start, tmp_path):
    with closing(socket.create_server(("127.0.0.1", 0))) as scheduler:
        address = f"tcp://127.0.0.1:{scheduler.getsockname()[1]}"
        miner = start(cluster=ClusterSettings(scheduler=address))
        back_up(miner.services, tmp_path / "backup", lambda *_: None)
        miner.nobody("GET", "/v1/studies")
        known = {name for name, *_ in read(miner.admin)} | {"up"}  # of Prometheus itself
    rules = yaml.safe_load((MONITORING / "alerts.yml").read_text(encoding="utf-8"))
    alerts = [rule for group in rules["groups"] for rule in group["rules"]]
    board = json.loads((MONITORING / "dashboard.json").read_text(encoding="utf-8"))
    drawn = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    for alert in alerts:
        assert set(alert) == {"alert", "expr", "for", "labels", "annotations"}, alert
        assert set(alert["annotations"]) == {"summary", "description"}
    used = [FIGURE.findall(text) for text in (*(alert["expr"] for alert in alerts), *drawn)]
    assert all(used), "each names a figure"
    assert {name for names in used for name in names} <= known


@pytest.mark.parametrize("error", [NotReady, StoreCorrupt])
def test_figures_without_a_store_say_so(miner, monkeypatch, error):
    figures = miner.app.state.figures

    def away(_: object) -> None:
        raise error("away")

    monkeypatch.setattr(type(miner.services.database), "read", away)
    text = figures.text().decode()
    assert "pramana_store_up 0.0" in text
    assert "pramana_disk_free_bytes" in text
    assert "pramana_jobs{" not in text


def test_without_a_store_a_scrape_reads_that_and_nothing_else(miner, assert_problem):
    place = miner.data / FILE
    elsewhere = place.rename(miner.data / "elsewhere")
    miner.services.database.close()
    assert read(miner.admin) == {("pramana_store_up",): 0}
    assert_problem(miner.admin("GET", "/v1/studies"), 503, "not-ready")
    assert_problem(miner.nobody("GET", "/metrics"), 401, "unauthenticated")
    elsewhere.rename(place)
    assert read(miner.admin)[("pramana_store_up",)] == 1


def test_figures_without_a_disk_are_the_others(miner, monkeypatch):
    def away(_: object) -> None:
        raise OSError("away")

    monkeypatch.setattr("miner_service.http.access.figures.shutil.disk_usage", away)
    text = miner.app.state.figures.text().decode()
    assert "pramana_store_up 1.0" in text
    assert "pramana_disk_free_bytes" not in text


def test_a_monitor_reads_the_figures_and_nothing_else(miner, tmp_path, assert_problem):
    miner.study("asia")
    file = tmp_path / "token"

    def issue(*options):
        run = ["monitor-token", "prometheus", "--data", str(miner.data), *options]
        done = CliRunner().invoke(app, run, catch_exceptions=False)
        assert done.exit_code == 0
        return done.output

    issue("--token-file", str(file), "--valid-days", "7")
    assert file.stat().st_mode & 0o777 == 0o600
    monitor = type(miner.admin)(miner.client, file.read_text().strip())
    assert read(monitor)
    assert_problem(monitor("GET", "/v1/studies"), 403, "forbidden")
    assert_problem(monitor("GET", "/v1/studies/asia"), 404, "not-found")
    assert "shown only this once" in issue()
    assert monitor("GET", "/metrics").status_code == 401
