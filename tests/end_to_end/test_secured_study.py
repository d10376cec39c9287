"""A miner that speaks TLS and asks for certificates, and an agent that is killed at each step."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from owner_agent.release.joining import join
from owner_agent.site.site import Site, load_site
from owner_agent.state.environment import Environment
from owner_agent.state.keys import KeyStore
from owner_agent.state.tls_files import TlsFiles
from pramana_core.errors import Refused, Unreachable
from tests.certificates import Authority
from tests.end_to_end.conftest import served
from tests.forked import Forked, run_command

pytestmark = pytest.mark.end_to_end

ONCE = Environment(attempts=1)

KILLED = """
import os, signal
from owner_agent.cli.main import build
from owner_agent.release.client import Miner
from owner_agent.state.environment import Environment

def kill(*_words, **_more):
    os.kill(os.getpid(), signal.SIGKILL)
"""
BY_ITS_ANSWER = """
from owner_agent.state.tokens import TokenStore
TokenStore.save = kill
build(Environment())()
"""
IN_MID_UPLOAD = """
sent, put_part = [], Miner.put_part

def put(*words):
    sent.append(words)
    return kill() if len(sent) > 5 else put_part(*words)

Miner.put_part = put
build(Environment())()
"""


@dataclass(frozen=True)
class Secured:
    """A miner's address, the study's admin, and what opens its door."""

    root: Path
    url: str
    admin: httpx.Client
    authority: Authority

    def site(self, owner: str, *, certified: bool = True) -> Site:
        """Make an owner's folder with keys and, if wanted, a certificate."""
        home = self.root / owner
        home.mkdir()
        rows = "".join(f"p{i},{'yes' if i % 3 else 'no'}\n" for i in range(200))
        (home / "table.csv").write_text(f"id,ill\n{rows}")
        tls = f'ca_file = "{self.authority.path}"\n'
        if certified:
            certificate, key = self.authority.issue(owner)
            tls += f'client_certificate = "{certificate}"\nclient_key = "{key}"\n'
        (home / "site.toml").write_text(
            f'owner = "north"\ntable = "table.csv"\nrecord_id = "id"\n'
            f'[miner]\nurl = "{self.url}"\nstudy = "trial"\n{tls}'
            '[[variables]]\nname = "ill"\ncategories = ["yes", "no"]\nsensitive = true\n'
            'channel = { kind = "symmetric", gamma = 5.0 }\n'
        )
        site = load_site(home / "site.toml")
        for number, name in enumerate(("draw", "linkage")):
            KeyStore(site.state).add(name, bytes(range(7 + number, 39 + number)))
        return site

    def releases(self) -> list[dict]:
        """The releases of the study."""
        return self.admin.get("/v1/studies/trial/releases").raise_for_status().json()["items"]


@pytest.fixture
def secured(tmp_path: Path) -> Iterator[Secured]:
    """A miner process that lets in whom the authority signed, with one study."""
    authority = Authority.make(tmp_path / "authority", "ca")
    certificate, key = authority.issue("miner")
    token = tmp_path / "admin.token"
    options = {
        "data": tmp_path / "miner",
        "admin-token-file": token,
        "certificate": certificate,
        "private-key": key,
        "client-authority": authority.path,
        "workers": 0,
    }
    words = [f"--{name}={value}" for name, value in options.items()]
    with served(tmp_path, "miner", "miner_service", *words) as url:
        verify = TlsFiles(authority.path, *authority.issue("admin")).verify()
        headers = {"Authorization": f"Bearer {token.read_text().strip()}"}
        with httpx.Client(base_url=url, verify=verify, headers=headers, timeout=None) as admin:
            admin.post("/v1/studies", json={"name": "trial"}).raise_for_status()
            yield Secured(tmp_path, url, admin, authority)


def killed(script: str, *words: str) -> None:
    """Run `owner-agent words...` to the place where the script sends it signal 9."""
    assert Forked(KILLED + script, *words).wait() == -signal.SIGKILL


def test_certificates_open_the_door_and_what_was_killed_goes_on(secured: Secured):
    invited = secured.admin.post("/v1/studies/trial/invitations", json={"owner": "north"})
    secret = invited.raise_for_status().json()["secret"]
    with pytest.raises(Unreachable):
        join(secured.site("uncertified", certified=False), secret, ONCE)

    site = secured.site("north")
    path = str(site.folder / "site.toml")
    invitation = site.folder / "invitation"
    invitation.write_text(secret)
    killed(BY_ITS_ANSWER, "join", "--secret-file", str(invitation), "--site", path)
    assert not (site.state / "tokens").exists()
    # The invitation is used up: whoever finds its secret gets nothing for it,
    with pytest.raises(Refused) as refused:
        join(secured.site("thief"), secret, ONCE)
    assert refused.value.status == 409
    # and the agent that was killed needs another one.
    secured.admin.delete("/v1/studies/trial/owners/north").raise_for_status()
    invited = secured.admin.post("/v1/studies/trial/invitations", json={"owner": "north"})
    join(site, invited.raise_for_status().json()["secret"], ONCE)

    publish = ["publish", "--yes", "--part-records", "10", "--site", path]
    killed(IN_MID_UPLOAD, *publish)
    (release,) = secured.releases()
    assert (release["state"], release["parts_received"]) == ("open", [0, 1, 2, 3, 4])
    assert run_command("owner_agent", *publish).returncode == 0
    (sealed,) = secured.releases()
    assert (sealed["state"], sealed["digest"]) == ("sealed", release["digest"])
    assert sealed["parts_received"] == list(range(20))
