"""A miner in this process, owners that publish there, and an analyst's line to it."""

from __future__ import annotations

import hashlib
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

import pramana as pm
from miner_service.http.app import create_app
from miner_service.http.server import exclusive
from miner_service.jobs.runner import learn_model
from miner_service.settings import Settings
from miner_service.store.tokens import rotate_admin_token
from pramana.client.connecting import Miner
from pramana_core.wire.channels import PlanMessage
from pramana_core.wire.parts import PART_MEDIA_TYPE, RecordSchema, encode_part
from pramana_core.wire.releases import PartManifest, ReleaseCreate, release_digest
from tests.miner_service.crew import crew_of

with warnings.catch_warnings():
    # It warns that it would rather have another HTTP client than the one we pin; it works with it.
    warnings.simplefilter("ignore", UserWarning)
    from fastapi.testclient import TestClient

URL = "http://127.0.0.1:9"
STUDY = "voyage"


@dataclass
class Through(httpx.BaseTransport):
    """Carries requests to a miner in this process, and has the mishaps that it is told to have."""

    client: TestClient
    mishaps: list[Callable[[httpx.Request], httpx.Response | None]] = field(default_factory=list)
    lost_answers: int = 0
    seen: list[tuple[str, str]] = field(default_factory=list)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.seen.append((request.method, request.url.raw_path.decode()))
        if self.mishaps and (instead := self.mishaps.pop(0)(request)) is not None:
            return instead
        answer = self.client.request(
            request.method,
            request.url.raw_path.decode(),
            content=request.read(),
            headers=dict(request.headers),
        )
        if self.lost_answers and request.method == "POST":
            self.lost_answers -= 1
            raise httpx.ReadError("the line broke after the request had arrived")
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)


@dataclass
class World:
    """A miner with one study, whose owners hold columns of the Titanic's people."""

    client: TestClient
    admin: str
    token: str
    transport: Through
    services: Any
    slept: list[float] = field(default_factory=list)
    tokens: dict[str, str] = field(default_factory=dict)

    def rest(self, method: str, path: str, token: str | None = None, **options: Any) -> Any:
        """Send a request by hand."""
        headers = {"Authorization": f"Bearer {token or self.admin}", **options.pop("headers", {})}
        answer = self.client.request(method, path, headers=headers, **options)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def sleep(self, seconds: float) -> None:
        """Note a pause, and make it a short one."""
        self.slept.append(seconds)
        time.sleep(0.01)

    def connect(self, **options: Any) -> Miner:
        """Connect as the analyst."""
        if "token" not in options and "token_file" not in options:
            options["token"] = self.token
        return pm.connect(URL, **{"transport": self.transport, "sleep": self.sleep, **options})

    def study(self) -> Any:
        """The study as the analyst sees it."""
        return self.connect().study(STUDY)

    def owner(self, name: str) -> str:
        """Let an owner join; return its token."""
        invited = self.rest("POST", f"/v1/studies/{STUDY}/invitations", json={"owner": name})
        body = {"secret": invited["secret"]}
        return str(self.rest("POST", "/v1/invitations/accept", json=body)["token"])

    def publish(self, name: str, reports: pm.Reports) -> None:
        """Let an owner join and publish its reports in one part."""
        token = self.tokens[name] = self.owner(name)
        part = encode_part(RecordSchema.of(reports.plan), reports.pseudonyms, reports.codes)
        sha = hashlib.sha256(part).hexdigest()
        announced = [PartManifest(number=0, records=len(reports), bytes=len(part), sha256=sha)]
        body = ReleaseCreate(
            name="r1",
            plan=PlanMessage.from_plan(reports.plan),
            records=len(reports),
            parts=announced,
            digest=release_digest(reports.plan.digest, announced),
        ).model_dump(mode="json")
        made = self.rest("POST", f"/v1/studies/{STUDY}/releases", token, json=body)
        path = f"/v1/releases/{made['id']}"
        media = {"Content-Type": PART_MEDIA_TYPE}
        self.rest("PUT", f"{path}/parts/0", token, content=part, headers=media)
        self.rest("POST", f"{path}/seal", token)


@contextmanager
def opened(folder: Path, learn: Any = learn_model) -> Iterator[World]:
    """Run a miner with an empty study."""
    with exclusive(folder / "miner-data"):
        app = create_app(Settings(folder / "miner-data"), crew=crew_of(learn))
    with TestClient(app, raise_server_exceptions=False) as client:
        services = app.state.services
        with services.database.write() as session:
            admin = rotate_admin_token(session, services.now()).text
        world = World(client, admin, "", Through(client), services)
        world.rest("POST", "/v1/studies", json={"name": STUDY, "title": "The Titanic's people"})
        path = f"/v1/studies/{STUDY}/tokens"
        world.token = world.rest("POST", path, json={"name": "ana"})["token"]
        yield world
