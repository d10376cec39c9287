"""A small site on disk, and a miner in memory that fails where it is told to."""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from owner_agent.cli.main import build
from owner_agent.release.ledger import Ledger
from owner_agent.site.site import Site, load_site
from owner_agent.state.environment import Environment
from owner_agent.state.keys import KeyStore
from owner_agent.state.tokens import TokenStore
from pramana_core.study_plan import StudyPlan
from pramana_core.terminal import run
from pramana_core.wire.base import People
from pramana_core.wire.parts import DIGEST_HEADER, content_digest, decode_part
from pramana_core.wire.privacy import Study, TokenIssued
from pramana_core.wire.releases import (
    Consistency,
    LinkageCheck,
    PartReceipt,
    Release,
    ReleaseCreate,
    RepeatedReports,
    SecretsState,
)
from pramana_core.wire.services import ProblemDetail
from pramana_core.wire.study_plans import StudyPlanView
from tests.full_disk import with_ever_more_room

NOW = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)
TOKEN = "token-of-clinic-north-0123456789"
DRAW_KEY = bytes.fromhex("a1" * 16 + "b2" * 16)
LINKAGE_KEY = bytes.fromhex("c3" * 16 + "d4" * 16)

SITE = """
owner = "clinic-north"
table = "patients.csv"
record_id = "patient_id"

[miner]
url = "http://127.0.0.1:9"
study = "asia"

[[variables]]
name = "smoker"
column = "smokes"
categories = ["no", "yes"]
sensitive = true
channel = { kind = "binary", p1 = 0.1, p2 = 0.25 }

[[variables]]
name = "age"
cuts = [30, 45, 60]
missing = "?"
sensitive = true
channel = { kind = "symmetric", p = 0.4 }

[[variables]]
name = "region"
categories = ["north", "south", "east"]
sensitive = false
"""


class Killed(BaseException):
    """Stands for a kill -9: nothing in the agent may catch it."""


@dataclass
class FakeMiner:
    """The miner's release contract in memory.

    `faults` are consulted, in order, for each request: None passes it on, otherwise a pair of
    `before` or `after` (the handling) and what happens: an exception to raise or a status.
    What the whole study tells it does not know.
    """

    releases: dict[str, dict[str, Any]] = field(default_factory=dict)
    requests: list[httpx.Request] = field(default_factory=list)
    faults: list[tuple[str, BaseException | int] | None] = field(default_factory=list)
    consistency: Consistency | None = None
    repeated: list[RepeatedReports] | None = None
    study_plan: StudyPlan | None = None
    people: People = "overlapping"
    standing: dict[str, Any] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)
    good: list[str] = field(default_factory=lambda: [TOKEN])
    accepted: bool = False
    invitation: str = "invitation-secret-0123456789"
    issue: TokenIssued = field(
        default_factory=lambda: TokenIssued(
            id="t1", role="owner", study="asia", name="clinic-north", token=TOKEN
        )
    )

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None and fault[0] == "before":
            return self._fail(fault[1])
        response = self._handle(request)
        if fault is not None:
            return self._fail(fault[1])
        return response

    @property
    def lines(self) -> list[str]:
        """The requests so far, as `METHOD path`."""
        return [f"{request.method} {request.url.path}" for request in self.requests]

    def sealed(self) -> list[dict[str, Any]]:
        """The sealed releases."""
        return [release for release in self.releases.values() if release["state"] == "sealed"]

    def _fail(self, fault: BaseException | int) -> httpx.Response:
        if isinstance(fault, BaseException):
            raise fault
        return problem(fault, "not-ready")

    def _handle(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/v1/").split("/")
        if path == ["invitations", "accept"]:
            if json.loads(request.content)["secret"] != self.invitation:
                return problem(404, "not-found", "There is no such invitation.")
            if self.accepted:  # It works once.
                return problem(409, "conflict", "The invitation was taken up.")
            self.accepted = True
            return httpx.Response(201, json=self.issue.model_dump(mode="json"))
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if token not in self.good:
            return problem(401, "unauthenticated", "A valid token is needed.")
        if path[2:] == ["privacy"]:
            return problem(503, "not-ready")
        if path[2:] == ["plan"]:
            if self.study_plan is None:
                return problem(404, "not-found", "The study has no plan.", "study plan")
            told = StudyPlanView.of(path[1], self.study_plan)
            return httpx.Response(200, json=told.model_dump(mode="json"))
        if path[2:] == ["linkage"]:
            secrets: SecretsState = "different" if self.others else "unknown"
            refused = bool(self.others) and self.people != "different"
            checked = LinkageCheck(
                study=path[1], people=self.people, secrets=secrets, others=self.others,
                refused=refused,
            )  # fmt: skip
            return httpx.Response(200, json=checked.model_dump(mode="json"))
        if path[0] == "studies" and len(path) == 2:
            study = Study(name=path[1], created=NOW, people=self.people, **self.standing)
            return httpx.Response(200, json=study.model_dump(mode="json"))
        if path[0] == "studies" and request.method == "GET":
            items = [self._describe(one) for one in self.releases]
            return httpx.Response(200, json={"items": items, "next": None})
        if path[0] == "studies":
            return self._create(path[1], ReleaseCreate.model_validate_json(request.content))
        if path[1] not in self.releases:
            return problem(404, "not-found", "There is no such release.")
        release = self.releases[path[1]]
        if path[2:3] == ["parts"]:
            return self._put(release, int(path[3]), request)
        if path[2:] == ["seal"]:
            assert len(release["bodies"]) == len(release["manifest"].parts)
            release["state"] = "sealed"
        if path[2:] == ["withdraw"]:
            release["state"] = "withdrawn"
        return httpx.Response(200, json=self._describe(path[1]))

    def _create(self, study: str, manifest: ReleaseCreate) -> httpx.Response:
        identity = f"{study}.{manifest.name}"
        manifest = manifest.model_copy(update={"builds_on": None})
        found = self.releases.get(identity)
        same = {"groups": manifest.groups}
        if found is not None and found["manifest"].model_copy(update=same) != manifest:
            return problem(409, "conflict", "The name was used with other content.")
        if found is None:
            self.releases[identity] = {
                "study": study, "manifest": manifest, "bodies": {},
                "state": "open" if manifest.parts else "sealed",
            }  # fmt: skip
        self.releases[identity]["manifest"] = manifest
        return httpx.Response(200 if found else 201, json=self._describe(identity))

    def _put(self, release: dict[str, Any], number: int, request: httpx.Request) -> httpx.Response:
        body, manifest = request.content, release["manifest"]
        assert request.headers[DIGEST_HEADER] == content_digest(body)
        assert release["bodies"].get(number, body) == body, "a part was sent with other bytes"
        kind = manifest.release_kind
        keys, _ = decode_part(kind.schema_of(kind.read(manifest.content)), body)
        assert len(keys) == manifest.parts[number].records
        release["bodies"][number] = body
        receipt = PartReceipt(
            release=manifest.name, number=number, sha256=manifest.parts[number].sha256,
            records=len(keys),
        )  # fmt: skip
        return httpx.Response(201, json=receipt.model_dump(mode="json"))

    def _describe(self, identity: str) -> dict[str, Any]:
        release = self.releases[identity]
        manifest: ReleaseCreate = release["manifest"]
        kind = manifest.release_kind
        described = Release(
            id=identity, study=release["study"], owner="clinic-north", name=manifest.name,
            state=release["state"], kind=manifest.kind, **{kind.field: manifest.content},
            **{kind.digest_field: kind.read(manifest.content).digest},
            records=manifest.records, parts=len(manifest.parts),
            parts_received=sorted(release["bodies"]), digest=manifest.digest, created=NOW,
            sealed=NOW if release["state"] == "sealed" else None,
            consistency=self.consistency, repeated=self.repeated,
        )  # fmt: skip
        return described.model_dump(mode="json")


def problem(
    status: int, code: str, detail: str = "Try later.", where: str | None = None
) -> httpx.Response:
    """Return a problem document as the miner writes them."""
    document = ProblemDetail(
        type=f"urn:pramana:problem:{code}", title=code, status=status, detail=detail, code=code,
        where=where,
    )  # fmt: skip
    return httpx.Response(status, json=document.model_dump(mode="json"))


@dataclass
class Bench:
    """A site folder, a fake miner, and the agent between them."""

    folder: Path
    miner: FakeMiner
    slept: list[float] = field(default_factory=list)
    attempts: int = 1

    @property
    def environment(self) -> Environment:
        """The agent's environment: the fake miner, no waiting, a fixed clock."""
        return Environment(
            transport=httpx.MockTransport(self.miner),
            sleep=self.slept.append,
            now=lambda: NOW,
            random_bytes=secrets.token_bytes,
            attempts=self.attempts,
        )

    @property
    def site(self) -> Site:
        """The site as its file says now."""
        return load_site(self.folder / "site.toml")

    @property
    def state(self) -> Path:
        """The state directory."""
        return self.folder / ".pramana"

    def write(self, site: str = SITE, table: str | None = None) -> None:
        """Write the site file, and the table if one is given."""
        (self.folder / "site.toml").write_text(site, encoding="utf-8")
        if table is not None:
            (self.folder / "patients.csv").write_text(table, encoding="utf-8")

    def join(self) -> None:
        """Give the site its secrets and its token."""
        KeyStore(self.state).add("draw", DRAW_KEY)
        KeyStore(self.state).add("linkage", LINKAGE_KEY)
        TokenStore(self.state).save("asia", TOKEN)

    def done_where_room_is_short(self, act: Callable[[], object]) -> None:
        """Publish on a full disk that has more room each time, until it is done.

        Whatever file is the first that finds no room, what leaves is in the ledger before, nothing
        is left half written, and the last attempt seals one release.
        """

        def look() -> None:
            ledger = {entry.name: entry.left for entry in Ledger(self.state).entries()}
            for release in self.miner.releases.values():
                assert ledger[release["manifest"].name], "sent, and the ledger does not say so"
            assert not list((self.state / "outbox").glob(".unfinished-*"))
            assert not list(self.state.rglob(".*.*"))

        assert with_ever_more_room(act, look) > 5
        assert len(self.miner.releases) == len(self.miner.sealed()) == 1
        for line in (self.state / "audit.jsonl").read_text().splitlines():
            assert json.loads(line)["action"], "half a line"

    def files(self) -> dict[str, bytes]:
        """Return every file of the state directory, by relative path."""
        if not self.state.exists():
            return {}
        return {
            str(path.relative_to(self.state)): path.read_bytes()
            for path in sorted(self.state.rglob("*"))
            if path.is_file()
        }


def table_of(rows: int, start: int = 0) -> str:
    """Return a CSV table of records that follow from their numbers."""
    lines = ["patient_id,smokes,age,region,diary"]
    lines += [
        f"PATIENT-{i:05d},{'yes' if i % 3 else 'no'},{20 + i % 60 if i % 7 else ''},"
        f"{('north', 'south', 'east')[i // 5 % 3]},private note {i}"
        for i in range(start, start + rows)
    ]
    return "\n".join(lines) + "\n"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A site that has joined its study, with 50 records."""
    made = Bench(tmp_path, FakeMiner())
    made.write(table=table_of(50))
    made.join()
    return made


@pytest.fixture
def site_text() -> str:
    """The site file of the bench."""
    return SITE


@pytest.fixture
def table_text() -> Callable[..., str]:
    """The maker of the bench's table: `(rows, start=0)`."""
    return table_of


@pytest.fixture
def killed() -> type[BaseException]:
    """An exception that stands for kill -9."""
    return Killed


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    exit_code: int
    out: str
    err: str


@pytest.fixture
def command(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ended]:
    """Run an `owner-agent` command on the bench's site, or one that takes none."""

    def call(*words: str, of_site: bool = True) -> Ended:
        site = ["--site", str(bench.folder / "site.toml")] if of_site else []
        monkeypatch.setattr(sys, "argv", ["owner-agent", *words, *site])
        monkeypatch.setenv("COLUMNS", "100")
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            run(build(bench.environment))
        captured = capsys.readouterr()
        code = ended.value.code
        return Ended(code if isinstance(code, int) else 1, captured.out, captured.err)

    return call
