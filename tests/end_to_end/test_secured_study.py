"""A miner that speaks TLS and asks for certificates."""

from __future__ import annotations

import json
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
from tests.forked import run_command

pytestmark = pytest.mark.end_to_end

ONCE = Environment(attempts=1)


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


def test_certificates_open_the_door(secured: Secured):
    invited = secured.admin.post("/v1/studies/trial/invitations", json={"owner": "north"})
    secret = invited.raise_for_status().json()["secret"]
    with pytest.raises(Unreachable):
        join(secured.site("uncertified", certified=False), secret, ONCE)
    site = secured.site("north")
    join(site, secret, ONCE)
    # The invitation is used up: whoever finds its secret gets nothing for it.
    with pytest.raises(Refused) as refused:
        join(secured.site("thief"), secret, ONCE)
    assert refused.value.status == 409
    words = ["publish", "--yes", "--part-records", "10", "--site", str(site.folder / "site.toml")]
    assert run_command("owner_agent", *words).returncode == 0
    (sealed,) = secured.admin.get("/v1/studies/trial/releases").raise_for_status().json()["items"]
    assert (sealed["state"], sealed["parts_received"]) == ("sealed", list(range(20)))

    examined = run_command("owner_agent", "doctor", "--json", "--site", words[-1])
    found = {one["check"]: one for one in json.loads(examined.stdout)["findings"]}
    faults = {one["check"]: one["code"] for one in found.values() if one["state"] != "good"}
    assert faults == {"reachability": "not-ready"}  # this miner has no workers
    assert examined.returncode == 4
    assert found["miner-certificate"]["message"].startswith("The miner's certificate is valid")
    # The control: an authority that did not sign the miner's certificate.
    stranger = Authority.make(secured.root / "stranger", "ca")
    text = Path(words[-1]).read_text().replace(str(secured.authority.path), str(stranger.path))
    Path(words[-1]).write_text(text)
    examined = run_command("owner_agent", "doctor", "--site", words[-1])
    assert examined.returncode == Unreachable.exit_code
    assert "(certificate signature failure)" in examined.stdout
