"""The real command: it prints a link, serves the pages on loopback, and Ctrl-C is its end."""

from __future__ import annotations

import json
import re
import signal
import socket
import time
from contextlib import contextmanager

import httpx
import pytest

from tests.forked import Forked

LINK = re.compile(r"it works once: (http://127\.0\.0\.1:(\d+)/pages/enter\?key=\S+)")


@contextmanager
def serving(bench, by, *more):
    """Let the command serve; give its process, what it tells and its log; end it by a signal."""
    ready, log = bench.folder / "ready.json", bench.folder / "serve.log"
    site = str(bench.folder / "site.toml")
    words = ["serve", "--site", site, "--port", "0", "--ready-file", str(ready), *more]
    process = Forked("owner_agent", *words, out=log)
    try:
        while not ready.exists():
            assert process.poll() is None, log.read_text()
            time.sleep(0.02)
        yield process, json.loads(ready.read_text()), log
    finally:
        process.send_signal(by)
        code = process.wait()
    assert code == 0, "Ctrl-C is how it ends: exit code 0, as docs/owner-guide.md says"


@pytest.mark.end_to_end
def test_the_command_opens_by_its_link_and_ends_well(bench):
    with serving(bench, signal.SIGINT) as (process, told, log):
        assert told["pid"] == process.pid
        found = LINK.search(log.read_text())
        assert found is not None, log.read_text()
        with httpx.Client(timeout=None) as client:
            assert client.get(told["url"] + "/healthz").json() == {"status": "ok"}
            assert client.get(told["url"] + "/pages/").status_code == 401
            assert client.get(found[1]).status_code == 200
            for page in ("", "plan", "publish", "left"):
                answer = client.get(f"{told['url']}/pages/{page}")
                assert answer.status_code == 200, page
                assert "clinic-north" in answer.text
            elsewhere = client.get(told["url"] + "/pages/", headers={"Host": "evil.example"})
            assert elsewhere.status_code == 403
        assert httpx.get(found[1], timeout=None).status_code == 401
        # No other address of this machine has it.
        with socket.socket() as other:
            assert other.connect_ex(("127.0.0.2", int(found[2]))) != 0
    for never in ("Traceback", "PATIENT"):
        assert never not in log.read_text()
