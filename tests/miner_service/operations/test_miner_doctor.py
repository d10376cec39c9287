"""`miner-service doctor` finds each planted fault, and none on a healthy miner."""

from __future__ import annotations

import http.server
import json
import resource
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, update
from typer.testing import CliRunner

from miner_service.cli.main import app
from miner_service.cli.opening import existing
from miner_service.doctor import CHECKS, ExaminedMiner
from miner_service.services import Services
from miner_service.settings import Settings, WebSettings
from miner_service.store.schema import StudyRow, TokenRow
from pramana_core.channels import RESOLUTION, Symmetric
from pramana_core.doctor import Finding, examine
from pramana_core.domain import Variable
from pramana_core.errors import PramanaError
from pramana_core.study_plan import StudyPart, StudyPlan, StudySet
from pramana_core.wire.study_plans import StudyPlanMessage
from tests.certificates import Authority
from tests.full_disk import files_no_longer_than

AGREED = StudyPlan(
    (("north", (Variable("sick", ("no", "yes")),)),),
    (StudySet(RESOLUTION, (StudyPart(0, (0,), Symmetric.from_gamma(2, 3.0)),)),),
)


class _Ready(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_words: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def ready_url() -> Iterator[str]:
    """The address of a service that is ready."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Ready) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@dataclass
class Installation:
    """A miner with a sealed release, and what the doctor is given."""

    miner: Any
    settings: Settings
    release: str
    folder: Path
    now: datetime

    @property
    def database(self) -> Path:
        return self.settings.data_dir / "miner.sqlite"

    def change(self, statement: Any) -> None:
        with self.miner.services.database.write() as session:
            session.execute(statement)

    def set_web(self, **options: Any) -> None:
        web = replace(self.settings.web, **options)
        self.settings = replace(self.settings, web=web)

    def findings(self, **options: Any) -> tuple[Finding, ...]:
        """Examine the installation as the command does."""
        with ExitStack() as stack:
            try:
                store: Services | PramanaError = stack.enter_context(existing(self.settings))
            except PramanaError as error:
                store = error
            return examine(ExaminedMiner(self.settings, store, self.now, **options), CHECKS)

    def faults(self, **options: Any) -> dict[str, Finding]:
        return {f.check: f for f in self.findings(**options) if f.state == "fault"}


@pytest.fixture
def installed(miner, release_a, ready_url, tmp_path) -> Installation:
    miner.study("asia", max_epsilon_record=3)
    path = miner.owner("asia", "north").publish("asia", release_a)
    settings = Settings(miner.data, web=WebSettings(public_url=ready_url))
    return Installation(miner, settings, path.rsplit("/", 1)[1], tmp_path, datetime.now(UTC))


def _damaged(one: Installation) -> None:
    one.miner.client.__exit__(None, None, None)
    one.miner.services.database.erase()
    content = bytearray(one.database.read_bytes())
    content[8192 : 8192 + 4096] = b"\xff" * 4096
    one.database.write_bytes(content)


def _other_schema(one: Installation) -> None:
    with sqlite3.connect(one.database) as database:
        database.execute("PRAGMA user_version = 99")
        database.execute("UPDATE alembic_version SET version_num = '99'")


def _over_budget(one: Installation) -> None:
    plan = json.loads(StudyPlanMessage.from_plan(AGREED).model_dump_json())
    one.miner.study("care")
    one.miner.owner("care", "north")
    answer = one.miner.admin("PUT", "/v1/studies/care/plan", json=plan)
    assert answer.status_code in (200, 201), answer.text
    one.change(update(StudyRow).where(StudyRow.name == "care").values(max_epsilon_record=0.1))


def _certificate(ended: bool, other: bool = False) -> Callable[[Installation], None]:
    def plant(one: Installation) -> None:
        authority = Authority.make(one.folder / "authority", "ca")
        certificate, key = authority.issue("miner")
        key.chmod(0o600)
        if other:
            certificate, _ = authority.issue("another")
        one.set_web(certificate=certificate, private_key=key)
        if ended:
            one.now += timedelta(days=20)

    return plant


def _open_key(one: Installation) -> None:
    _certificate(ended=False)(one)
    one.settings.web.private_key.chmod(0o644)


def _later(**time: int) -> Callable[[Installation], None]:
    def plant(one: Installation) -> None:
        one.now += timedelta(**time)

    return plant


def _files(name: str, act: Callable[[Path], object]) -> Callable[[Installation], object]:
    return lambda one: act(one.settings.data_dir / name.format(one.release))


FAULTS: dict[str, tuple[Callable[[Installation], object], str, str]] = {
    "open data folder": (_files("", lambda p: p.chmod(0o777)), "data-folder", "key-file"),
    "open audit log": (
        _files("audit.jsonl", lambda p: p.chmod(0o666)), "data-folder", "key-file",
    ),
    "no audit log": (_files("audit.jsonl", lambda p: p.unlink()), "disk", "not-ready"),
    "no database": (_files("miner.sqlite", lambda p: p.unlink()), "database", "option-invalid"),
    "damaged database": (_damaged, "database", "store-corrupt"),
    "database of another schema": (_other_schema, "database", "schema-unsupported"),
    "another store's files": (
        _files("identity", lambda p: p.write_text("0" * 32)), "one-store", "store-corrupt",
    ),
    "no identity": (_files("identity", lambda p: p.unlink()), "one-store", "store-corrupt"),
    "no columns": (
        _files("columns/{}.arrow", lambda p: p.unlink()), "records", "store-corrupt",
    ),
    "certificate ends": (_certificate(ended=True), "certificate", "config-invalid"),
    "another's key": (_certificate(ended=False, other=True), "certificate", "option-invalid"),
    "open private key": (_open_key, "certificate", "key-file"),
    "no admin token": (
        lambda one: one.change(delete(TokenRow).where(TokenRow.role == "admin")),
        "tokens",
        "unauthenticated",
    ),
    "admin token ends": (
        lambda one: one.change(
            update(TokenRow).where(TokenRow.role == "admin").values(expires=one.now)
        ),
        "tokens",
        "unauthenticated",
    ),
    "tokens end": (_later(days=360), "tokens", "unauthenticated"),
    "plan over the budget": (_over_budget, "budgets", "budget-exceeded"),
    "release over the budget": (
        lambda one: one.change(
            update(StudyRow).values(max_central_epsilon=9, central_records=10**6)
        ),
        "budgets",
        "budget-exceeded",
    ),
    "service away": (
        lambda one: one.set_web(public_url="http://127.0.0.1:9"), "service", "not-ready",
    ),
    "clock": (_later(minutes=-3), "clock", "config-invalid"),
}  # fmt: skip
"""Each planted fault: how it is planted, the check that finds it, and its code."""


def test_no_fault_is_found_on_a_healthy_miner(serve, tmp_path):
    serve("--admin-token-file", str(tmp_path / "admin"))
    answer = CliRunner().invoke(app, ["doctor", "--data", str(tmp_path / "data"), "--json"])
    assert answer.exit_code == 0, answer.output
    found = json.loads(answer.output)
    assert found["faults"] == 0
    assert len(found["findings"]) == len(CHECKS)
    skipped = {f["check"] for f in found["findings"] if f["state"] == "skipped"}
    assert skipped == {"certificate"}


def test_a_release_is_no_fault(installed):
    assert installed.faults() == {}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_planted_fault_is_found(installed, fault):
    plant, check, code = FAULTS[fault]
    plant(installed)
    found = installed.faults()[check]
    assert found.code == code
    assert found.exit_code
    assert found.remedy
    assert "\n" not in found.line


def test_a_full_disk_and_low_limits_are_found(installed):
    found = installed.faults(least_free=1 << 60)
    assert found["disk"].code == "storage-full"
    with files_no_longer_than(1 << 20):
        assert installed.faults()["limits"].where == "bytes in a file"
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (900, hard))
    try:
        assert installed.faults()["limits"].where == "open files"
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
