"""Publications that pages start: one at a time, and no error that quotes a record."""

import time

import httpx
import pytest

from owner_agent.pages.publications import Publications
from owner_agent.release.approval import Approval
from owner_agent.release.options import PublishOptions
from pramana_core.wire.base import holding


@pytest.fixture
def publications(bench):
    return Publications(bench.folder / "site.toml", bench.environment)


@pytest.fixture
def start(bench, publications):
    """Start a publication, as a page does after a yes to what the site says now."""
    options = PublishOptions(part_records=20)
    return lambda: publications.start(options, Approval.of(bench.site)).id


@pytest.fixture
def ended(publications):
    def wait(identity):
        while (publication := publications.get(identity)).state == "running":
            time.sleep(0.01)
        return publication

    return wait


def test_a_publication_that_fails_says_why(bench, start, ended):
    # The study, the linkage secret and what the study tells are asked for first.
    bench.miner.faults = [None, None, None, ("before", httpx.ConnectError("down"))]
    found = ended(start())
    assert (found.state, found.problem.code) == ("failed", "miner-unreachable")
    (bench.state / "ledger.sqlite").unlink()
    found = ended(start())
    assert (found.state, found.problem.code) == ("failed", "history-lost")


def test_what_an_unforeseen_error_says_is_in_no_log(start, ended, monkeypatch, capfd):
    """It may quote a record."""

    def quotes(*_words, **_named):
        raise ValueError("PATIENT-00001 smokes")

    monkeypatch.setattr("owner_agent.pages.publications.publish", quotes)
    found = ended(start())
    assert (found.state, "PATIENT" in repr(found)) == ("failed", False)
    said = capfd.readouterr()
    assert "ValueError" in said.err
    assert "PATIENT" not in said.out + said.err


@pytest.mark.parametrize("people", ["same", "different"])
def test_a_publication_says_what_the_study_says_of_its_people(bench, start, ended, people):
    bench.miner.people = people
    assert ended(start()).people.startswith(
        f"According to study asia, its owners {holding(people)}: "
    )
    lines = bench.miner.lines
    assert lines.index("GET /v1/studies/asia") < lines.index("POST /v1/studies/asia/releases")


def test_a_publication_goes_on_where_nobody_says_anything_of_the_people(bench, start, ended):
    bench.miner.faults = [("before", httpx.ConnectError("down"))]
    found = ended(start())
    assert found.state == "succeeded"
    assert "http://127.0.0.1:9" in found.people
