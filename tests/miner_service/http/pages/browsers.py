"""A browser without a screen: it keeps cookies, and sends the forms that pages hold."""

from __future__ import annotations

import html
import re
import warnings
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore", UserWarning)
    from fastapi.testclient import TestClient

_WORD = re.compile(r'name="word" value="([^"]*)"')


class Browser:
    """Somebody who looks at a miner's pages; every page is looked through for its word."""

    def __init__(self, miner: Any) -> None:
        self.client = TestClient(miner.app, raise_server_exceptions=False)
        self.word = ""

    def get(self, address: str, **options: Any) -> Any:
        """Open a page."""
        headers = {"Accept": "text/html,*/*;q=0.8", **options.pop("headers", {})}
        return self._kept(self.client.get(address, headers=headers, **options))

    def post(self, address: str, fields: dict[str, Any], word: str | None = None) -> Any:
        """Send a form."""
        sent = {"word": self.word if word is None else word, **fields}
        answer = self.client.post(address, data=sent, headers={"Accept": "text/html"})
        return self._kept(answer)

    def sign_in(self, token: str, then: str = "") -> Any:
        """Sign in."""
        self.get("/pages/sign-in")
        return self.post("/pages/sign-in", {"token": token, "then": then})

    @property
    def cookie(self) -> str:
        """The cookie of the session."""
        return str(self.client.cookies["pramana_session"])

    def _kept(self, answer: Any) -> Any:
        found = _WORD.search(answer.text)
        self.word = html.unescape(found[1]) if found else self.word
        return answer
