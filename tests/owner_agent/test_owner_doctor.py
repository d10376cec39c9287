"""`owner-agent doctor` finds each planted fault, and none on a healthy site."""

from __future__ import annotations

import json
import re
import resource
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import format_datetime
from types import SimpleNamespace

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from owner_agent.doctor import CHECKS, ExaminedSite
from owner_agent.release.options import PublishOptions
from owner_agent.release.publish import PreparedRecords, publish
from owner_agent.state.tokens import TokenStore
from pramana_core.doctor import examine
from pramana_core.errors import StateError, Unreachable
from pramana_core.privacy import NOTHING, Extremes
from pramana_core.wire.privacy import (
    ExtremesMessage,
    PrivacyBudget,
    PrivacyForecast,
    StudyPrivacy,
)
from tests.certificates import Authority
from tests.full_disk import files_no_longer_than
from tests.owner_agent.conftest import NOW, SITE, TOKEN, Bench, FakeMiner, problem, table_of


@dataclass
class Readiness(FakeMiner):
    """A miner in memory that is ready, has a clock and a certificate, and forecasts."""

    ready: httpx.Response | None = None
    forecast: str | None = None
    extensions: dict = field(default_factory=dict)
    headers: dict = field(default_factory=lambda: {"Date": format_datetime(NOW, usegmt=True)})

    def _handle(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/readyz":
            good = httpx.Response(200, json={}, headers=self.headers, extensions=self.extensions)
            return self.ready or good
        if (
            request.url.path.endswith("/privacy")
            and request.headers["Authorization"][7:] in self.good
        ):
            nothing = ExtremesMessage.of(Extremes(NOTHING, NOTHING))
            budget = PrivacyBudget(max_epsilon_record=1, max_epsilon_column=None, left_for_record=1)
            study = StudyPrivacy(
                study="asia", prior=0.05, columns=[], owners=[], record=nothing,
                different_people=False, budget=budget,
            )  # fmt: skip
            found = PrivacyForecast(before=study, after=study, refused=self.forecast)
            return httpx.Response(200, json=found.model_dump(mode="json"))
        return super()._handle(request)


@pytest.fixture
def healthy(tmp_path) -> Bench:
    """A site that has joined and published, at a miner that answers the doctor's questions."""
    made = Bench(tmp_path, Readiness())
    made.write(table=table_of(50))
    made.join()
    publish(PreparedRecords, made.site, made.environment, PublishOptions())
    return made


def findings_of(bench, **options):
    return examine(ExaminedSite(bench.site, bench.environment, **options), CHECKS)


def faults_of(bench, **options):
    return {f.check: f for f in findings_of(bench, **options) if f.state == "fault"}


def _corrupt(bench):
    path = bench.state / "ledger.sqlite"
    content = bytearray(path.read_bytes())
    content[4096:8192] = b"\xff" * 4096
    path.write_bytes(content)


def _older_ledger(bench):
    with sqlite3.connect(bench.state / "ledger.sqlite") as ledger:
        ledger.execute("DELETE FROM releases")


def _older_state(bench):
    """The whole state folder is from before the release."""
    _older_ledger(bench)
    for name in ("outbox", "reported"):
        shutil.rmtree(bench.state / name)


def _interrupted(bench):
    bench.write(table=table_of(60))
    bench.miner.faults = [None] * 3 + [("before", httpx.ReadError("cut"))] * 9
    with pytest.raises((Unreachable, StateError)):
        publish(PreparedRecords, bench.site, bench.environment, PublishOptions())
    bench.miner.faults = []


def _client_certificate(bench):
    authority = Authority.make(bench.folder / "authority", "ca")
    certificate, key = authority.issue("north")
    named = {"ca_file": authority.path, "client_certificate": certificate, "client_key": key}
    files = "".join(f'{name} = "{path}"\n' for name, path in named.items())
    bench.write(SITE.replace('study = "asia"\n', f'study = "asia"\n{files}'))


def _miner_certificate(bench):
    authority = Authority.make(bench.folder / "authority", "ca")
    der = x509.load_pem_x509_certificate(authority.path.read_bytes()).public_bytes(Encoding.DER)
    connection = SimpleNamespace(getpeercert=lambda _binary: der)
    bench.miner.extensions = {
        "network_stream": SimpleNamespace(get_extra_info={"ssl_object": connection}.get)
    }


def _token_ends(bench):
    TokenStore(bench.state).save("asia", TOKEN, NOW.replace(day=16))


def _set(name, value):
    return lambda bench: setattr(bench.miner, name, value)


def _in_state(name, act):
    return lambda bench: act(bench.state / name)


def _site(old, new):
    return lambda bench: bench.write(SITE.replace(old, new))


AWAY = ("before", httpx.ConnectError("no route"))
PLAN = '[study_plan]\nfile = "plan.json"\n'
FAULTS: dict[str, tuple[Callable, str, str]] = {
    "open state folder": (_in_state("", lambda p: p.chmod(0o755)), "modes", "key-file"),
    "open token": (_in_state("tokens/asia.token", lambda p: p.chmod(0o644)), "modes", "key-file"),
    "no state": (_in_state("", shutil.rmtree), "state_folder", "not-ready"),
    "no ledger": (_in_state("ledger.sqlite", lambda p: p.unlink()), "state_folder", "history-lost"),
    "damaged ledger": (_corrupt, "state_folder", "store-corrupt"),
    "older ledger": (_older_ledger, "state_folder", "history-lost"),
    "damaged reports": (
        _in_state("reported/asia.arrow", lambda p: p.write_bytes(b"x")),
        "state_folder",
        "store-corrupt",
    ),
    "no draw key": (_in_state("keys/draw.key", lambda p: p.unlink()), "keys", "key-file"),
    "weak linkage secret": (
        _in_state("keys/linkage.key", lambda p: p.write_text("00" * 32)),
        "keys",
        "key-file",
    ),
    "interrupted release": (_interrupted, "unfinished_releases", "not-ready"),
    "no study plan": (lambda bench: bench.write(SITE + PLAN), "plan", "config-invalid"),
    "unprotected": (
        _site('channel = { kind = "symmetric", p = 0.4 }', ""),
        "plan",
        "sensitive-without-channel",
    ),
    "no table": (lambda bench: bench.site.table.path.unlink(), "table", "table-invalid"),
    "other columns": (_site('column = "smokes"', 'column = "smoking"'), "table", "table-invalid"),
    "two columns": (
        lambda bench: bench.write(
            table=table_of(50).replace(",yes,", ",zebra,").replace(",north,", ",zebra,")
        ),
        "table",
        "unknown-category",
    ),
    "two lists": (
        lambda bench: bench.write(re.sub("categories = .*", 'categories_from = "no.csv"', SITE)),
        "plan",
        "config-invalid",
    ),
    "another category": (
        lambda bench: bench.write(table=table_of(50).replace(",yes,", ",zebra,")),
        "table",
        "unknown-category",
    ),
    "client certificate ended": (_client_certificate, "client_certificate", "config-invalid"),
    "miner away": (_set("faults", [AWAY] * 99), "reachability", "miner-unreachable"),
    "miner not ready": (_set("ready", problem(503, "not-ready")), "reachability", "not-ready"),
    "not a miner": (
        _set("ready", httpx.Response(404, text="nginx")),
        "reachability",
        "not-ready",
    ),
    "miner's certificate ended": (_miner_certificate, "miner_certificate", "config-invalid"),
    "clock": (
        _set("headers", {"Date": "Tue, 06 May 2031 07:05:00 GMT"}),
        "clock",
        "config-invalid",
    ),
    "no token": (_in_state("tokens/asia.token", lambda p: p.unlink()), "token", "unauthenticated"),
    "revoked token": (_set("good", []), "token", "miner-refused"),
    "token ends": (_token_ends, "token", "unauthenticated"),
    "other linkage secret": (_set("others", ["south"]), "linkage", "linkage-differs"),
    "state from before a release": (_older_state, "history", "history-lost"),
    "budget": (_set("forecast", "The budget is exceeded."), "budget", "budget-exceeded"),
}
"""Each planted fault: how it is planted, the check that finds it, and its code."""


def test_no_fault_is_found_on_a_healthy_site(healthy):
    before = healthy.files()
    findings = findings_of(healthy)
    assert [f for f in findings if f.state == "fault"] == []
    assert {f.check for f in findings if f.state == "skipped"} == {
        "client-certificate",
        "miner-certificate",
    }
    assert len(findings) == len(CHECKS)
    assert healthy.files() == before


@pytest.mark.parametrize("fault", FAULTS)
def test_each_planted_fault_is_found(healthy, fault):
    plant, check, code = FAULTS[fault]
    plant(healthy)
    found = faults_of(healthy)[check.replace("_", "-")]
    assert found.code == code
    assert found.exit_code
    assert found.remedy
    assert "\n" not in found.line
    assert "zebra" not in found.line


def test_the_disk_needs_room_for_every_part_of_a_table(healthy, monkeypatch):
    for name, size in (("a.parquet", 10), ("b.parquet", 20)):
        (healthy.folder / name).write_bytes(b"x" * size)
    healthy.write(SITE.replace("patients.csv", "*.parquet"))
    needed = []
    monkeypatch.setattr("owner_agent.doctor.check_disk", lambda _folder, most: needed.append(most))
    findings_of(healthy, least_free=1000)
    assert needed == [1000 + 2 * 30]


def test_a_full_disk_and_low_limits_are_found(healthy):
    assert faults_of(healthy, least_free=1 << 60)["disk"].code == "storage-full"
    with files_no_longer_than(1000):
        found = faults_of(healthy)
    assert (found["disk"].code, found["limits"].code) == ("storage-full", "limit-exceeded")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
    try:
        assert faults_of(healthy)["limits"].where == "open files"
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_one_cause_is_one_fault_and_gives_the_exit_code(bench, command):
    """The bench's miner has no readiness: it answers with a refusal, and forecasts nothing."""
    bench.miner.faults = [AWAY] * 99
    done = command("doctor", "--json")
    document = json.loads(done.out)
    assert document["faults"] == 1
    assert done.exit_code == Unreachable.exit_code
    by_check = {f["check"]: f for f in document["findings"]}
    assert by_check["clock"]["message"] == "see reachability."
    shown = command("doctor")
    assert shown.exit_code == Unreachable.exit_code
    assert "17 checks: 1 fault." in shown.out


def test_an_unforeseen_failure_does_not_end_the_examination():
    def broken(_examined):
        raise ZeroDivisionError("secret cell")

    (first, second) = examine(None, (broken, lambda _examined: "good"))
    assert (first.code, first.exit_code, second.state) == ("error", 1, "good")
    assert "secret" not in first.line
