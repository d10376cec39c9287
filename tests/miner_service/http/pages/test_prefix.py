"""The pages behind a proxy that puts a prefix before all addresses and takes it away again."""

from __future__ import annotations

import html
import re
import warnings
from urllib.parse import urljoin, urlsplit

import pytest

from pramana_core.pages.rendering import relative
from tests.miner_service.http.pages.browsers import Browser

with warnings.catch_warnings():
    warnings.simplefilter("ignore", UserWarning)
    from fastapi.testclient import TestClient

FORM = re.compile(r'method="post" action="([^"#]+)')
LINK = re.compile(r'\b(?:href|src|action|data-[a-z]+)="([^"#]+)')


class Prefixed:
    """An application behind such a proxy; other addresses are another site's."""

    def __init__(self, app, prefix: str) -> None:
        self.app, self.prefix, self.elsewhere = app, prefix, []

    async def __call__(self, scope, receive, send):
        if scope["type"] == "http":
            if not scope["path"].startswith(f"{self.prefix}/"):
                self.elsewhere.append(scope["path"])
            path = scope["path"].removeprefix(self.prefix)
            scope = {**scope, "path": path, "raw_path": path.encode()}
        await self.app(scope, receive, send)


@pytest.mark.parametrize("prefix", ["", "/pramana", "/a/b.c/d"])
def test_every_link_form_and_redirect_stays_behind_the_prefix(study, prefix):
    proxy = Prefixed(study.miner.app, prefix)
    browser = Browser(study.miner)
    browser.client = TestClient(proxy, raise_server_exceptions=False)
    assert browser.get(f"{prefix}/").url.path == f"{prefix}/pages/sign-in"
    then = {"token": study.miner.admin.token, "then": "/pages/studies/s"}
    entered = browser.post(f"{prefix}/pages/sign-in", then)
    assert entered.url.path == f"{prefix}/pages/studies/s"

    seen, todo, forms = set(), {str(entered.url), f"{entered.url}/../../operator"}, set()
    while todo:
        address = todo.pop()
        seen.add(address)
        answer = browser.get(address, follow_redirects=True)
        assert answer.status_code in (200, 422), address  # 422: a form that wants fields
        if not answer.headers["content-type"].startswith("text/html"):
            continue
        posted = FORM.findall(answer.text)
        for link in [*posted, *LINK.findall(FORM.sub("", answer.text))]:
            there = urljoin(str(answer.url), html.unescape(link))
            if urlsplit(there).hostname == "testserver":
                assert urlsplit(there).path.startswith(f"{prefix}/"), (address, link)
                (forms if link in posted else todo).add(there)
        todo = {one for one in todo - seen if len(seen) < 40}
    assert len(seen) >= 25
    assert len(forms) > 3
    for form in forms:  # a form without its word: the route is there
        assert browser.post(form, {}, word="").status_code == 403, form
    assert browser.post(f"{prefix}/pages/sign-out", {}).url.path == f"{prefix}/pages/sign-in"
    assert browser.get(f"{prefix}/pages/studies").url.path == f"{prefix}/pages/sign-in"
    assert proxy.elsewhere == []


@pytest.mark.parametrize("address", ["/", "/pages", "/pages/studies", "/pages/studies/s/jobs/new"])
@pytest.mark.parametrize("there", ["/", "/pages/studies", "/v1/models/m", "/pages/x?y=/z"])
def test_a_relative_address_is_the_same_place(address, there):
    assert urljoin(f"http://h{address}", relative(there, address)) == f"http://h{there}"
    assert urljoin(f"http://h/p/q{address}", relative(there, address)) == f"http://h/p/q{there}"
