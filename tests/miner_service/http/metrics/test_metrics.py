"""What monitoring is told: how the service fares, and nothing of any study."""

from __future__ import annotations

from datetime import timedelta

import pytest
from prometheus_client.parser import text_string_to_metric_families
from typer.testing import CliRunner

from miner_service.cli.main import app
from miner_service.store.schema import SupervisorRow
from pramana_core.errors import NotReady


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


def test_figures_without_a_store_say_so(miner, monkeypatch):
    figures = miner.app.state.figures

    def away(_: object) -> None:
        raise NotReady("away")

    monkeypatch.setattr(type(miner.services.database), "read", away)
    text = figures.text().decode()
    assert "pramana_store_up 0.0" in text
    assert "pramana_disk_free_bytes" in text
    assert "pramana_jobs{" not in text


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
