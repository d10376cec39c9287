"""The owner's pages on the bench's site, and a browser that came in by the link."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from owner_agent.pages.app import create_app
from tests.miner_service.http.pages.browsers import Browser

URL = "http://127.0.0.1:8100"


class OwnersBrowser(Browser):
    """Somebody in front of the machine that the agent runs on."""

    def __init__(self, app: Any) -> None:
        super().__init__(SimpleNamespace(app=app))
        self.client.base_url = URL

    def publish(self, **fields: str) -> Any:
        """Open the form, say yes as it stands there, and wait for what comes of it."""
        form = self.get("/pages/publish").text
        shown = form.partition('name="shown" value="')[2].partition('"')[0]
        return self.followed(self.post("/pages/publish", {"shown": shown, **fields}))

    def followed(self, answer: Any) -> Any:
        """Follow a publication to its end."""
        address = answer.url.path
        if not address.startswith("/pages/publications/"):
            return answer
        while self.client.get(f"{address}/now").json()["state"] == "running":
            time.sleep(0.02)
        return self.get(address)


@pytest.fixture
def served(bench):
    """The pages, and their link."""
    app = create_app(bench.folder / "site.toml", bench.environment, URL)
    return SimpleNamespace(app=app, link=app.link)


@pytest.fixture
def stranger(served):
    """A browser on the same machine that has no link."""
    return OwnersBrowser(served.app)


@pytest.fixture
def browser(served):
    """The owner's browser."""
    made = OwnersBrowser(served.app)
    assert made.get(served.link).status_code == 200
    return made
