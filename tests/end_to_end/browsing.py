"""A real browser without a screen, and what may never happen in it.

It is Debian's chromium, or another of its kind on the PATH; nothing is installed. Nothing here has
a deadline: what never comes is ended by pytest's timeout.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

import pytest

playwright = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: it drives the browser"
)
axe = pytest.importorskip(
    "axe_playwright_python.base", reason="axe-playwright-python is not installed: it brings axe"
)

BROWSERS = ("chromium", "chromium-browser", "google-chrome")

_QUIET = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
)

SERIOUS = ("serious", "critical")
LOOKS: tuple[tuple[int, str, tuple[str, ...]], ...] = (
    (1280, "light", ()),
    (
        380,
        "dark",
        ("color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"),
    ),
)
"""Widths and lights in which every page is looked at: by all rules, or by those they decide."""


@contextmanager
def browser() -> Iterator[Any]:
    """Start a browser; skips the test where the machine has none."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser is on the PATH: install one of {', '.join(BROWSERS)}")
    # Its sandbox is not for root, as whom containers often run.
    flags = [*_QUIET, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=found, args=flags, timeout=0)
        yield started
        started.close()


@dataclass
class Person:
    """Somebody at a browser of their own; what goes wrong there is kept.

    Attributes:
        faults: errors that the console showed, requests to other hosts, and exceptions.
        refused: the statuses of answers that this test expects to be refusals; the browser's
            console tells of each.
    """

    browser: Any
    url: str
    width: int = 1280
    light: str = "light"
    refused: set[int] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)

    @cached_property
    def context(self) -> Any:
        """What is this person's alone: cookies and tabs."""
        made = self.browser.new_context(
            viewport={"width": self.width, "height": 900},
            color_scheme=self.light,
            reduced_motion="reduce",
        )
        made.set_default_timeout(0)
        made.on("console", self._said)
        made.on("weberror", lambda error: self.faults.append(f"exception: {error.error}"))
        made.on("request", self._asked)
        return made

    @cached_property
    def page(self) -> Any:
        """The first tab."""
        return self.tab()

    def tab(self) -> Any:
        """Open another tab."""
        return self.context.new_page()

    def _said(self, message: Any) -> None:
        said = message.text
        expected = any(f"status of {status} " in said for status in self.refused)
        if message.type in ("error", "warning") and not expected:
            self.faults.append(f"console, at {message.page and message.page.url}: {said}")

    def _asked(self, request: Any) -> None:
        if urlsplit(request.url).netloc != urlsplit(self.url).netloc:
            self.faults.append(f"request to another host: {request.url}")

    def open(self, address: str) -> Any:
        """Open a page of the service in the first tab; return the tab."""
        self.page.goto(self.url + address)
        return self.page

    def sign_in(self, token: str, at: str = "/pages/sign-in") -> Any:
        """Sign in as a person does: the field has the focus, and Enter sends it."""
        page = self.open(at)
        # It has the focus once the page is drawn, which on a busy machine is after it is loaded.
        page.locator("input:focus").wait_for()
        page.keyboard.insert_text(token)
        with page.expect_navigation():
            page.keyboard.press("Enter")
        return page


def faults_of(page: Any, *, rules: tuple[str, ...] = ()) -> list[str]:
    """Return the serious faults that axe finds in a page as it is, of some rules or of all.

    A model's page within another is looked at by itself, at its own address.
    """
    options: dict[str, Any] = {"iframes": False, "resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = {"type": "rule", "values": list(rules)}
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe.AXE_SCRIPT)
    found = page.evaluate("options => axe.run(document, options)", options)["violations"]
    return [
        f"{page.url}, {one['id']}: {node['target']} {node['failureSummary']}"
        for one in found
        if one["impact"] in SERIOUS
        for node in one["nodes"]
    ]
