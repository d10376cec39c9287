"""The real command: it prints a link, serves the pages on loopback, and Ctrl-C is its end."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import time

import httpx
import pytest

from owner_agent.http.serving import ListenAddress, serve_agent
from pramana_core.errors import OptionError

LINK = re.compile(r"it works once: (http://127\.0\.0\.1:(\d+)/pages/enter\?key=\S+)")


def started(bench, *more):
    """Start the command; return the process and what it says once it accepts requests."""
    ready = bench.folder / "ready.json"
    site = str(bench.folder / "site.toml")
    words = ["serve", "--site", site, "--port", "0", "--ready-file", str(ready), *more]
    process = subprocess.Popen(
        [sys.executable, "-m", "owner_agent", *words], stderr=subprocess.PIPE, text=True
    )
    while not ready.exists() and process.poll() is None:
        time.sleep(0.02)
    return process, json.loads(ready.read_text())


def ended(process, by):
    """End the command; return its exit code and what it wrote."""
    process.send_signal(by)
    _, written = process.communicate()
    return process.returncode, written


@pytest.mark.end_to_end
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_the_command_opens_by_its_link_and_ends_well(bench, by):
    process, told = started(bench)
    try:
        lines = [process.stderr.readline() for _ in range(2)]
        found = LINK.search("".join(lines))
        assert found is not None, lines
        with httpx.Client(timeout=None) as client:
            assert client.get(told["url"] + "/pages/").status_code == 401
            assert client.get(found[1]).status_code == 200
            for page in ("", "plan", "publish", "left", "corrections", "peers"):
                answer = client.get(f"{told['url']}/pages/{page}")
                assert answer.status_code == 200, page
                assert "clinic-north" in answer.text
            elsewhere = client.get(told["url"] + "/pages/", headers={"Host": "evil.example"})
            assert elsewhere.status_code == 403
        assert httpx.get(found[1], timeout=None).status_code == 401
        # No other address of this machine has it.
        with socket.socket() as other:
            assert other.connect_ex(("127.0.0.2", int(found[2]))) != 0
    finally:
        code, written = ended(process, by)
    assert code == 0, "Ctrl-C is how it ends: exit code 0, as docs/owner-guide.md says"
    assert "Traceback" not in written
    assert "PATIENT" not in "".join(lines) + written


@pytest.mark.end_to_end
def test_for_other_machines_there_are_no_pages(bench):
    process, told = started(bench, "--allow-remote")
    try:
        assert httpx.get(told["url"] + "/healthz", timeout=None).status_code == 200
        assert httpx.get(told["url"] + "/pages/", timeout=None).status_code == 404
        assert httpx.get(told["url"] + "/", timeout=None).status_code == 404
    finally:
        code, written = ended(process, signal.SIGINT)
    assert code == 0
    assert "/pages/" not in written


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_other_addresses_are_refused(command, host):
    done = command("serve", "--host", host)
    assert done.exit_code == 2
    assert "reachable from other machines" in done.err


def test_an_address_of_others_gets_no_pages_though_they_are_asked_for(bench, monkeypatch):
    """However it is called: `add_pages` is for loopback alone."""
    monkeypatch.setattr("owner_agent.http.serving._Announcing.run", lambda *_a, **_k: None)
    asked = []
    listen = ListenAddress("0.0.0.0", 0, allow_remote=True)
    serve_agent(
        bench.folder / "site.toml", bench.environment, listen,
        lambda _app, url: asked.append(url) or url,
    )  # fmt: skip
    assert asked == []
    with pytest.raises(OptionError):
        ListenAddress("0.0.0.0", 0)
