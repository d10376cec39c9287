"""Connections to a miner over TLS: an authority of its own, and certificates of clients."""

from __future__ import annotations

import http.server
import json
import ssl
import threading
from collections.abc import Iterator

import pytest

import pramana as pm
from owner_agent.release.client import Miner
from owner_agent.site.site import site_from
from owner_agent.state.environment import Environment
from owner_agent.state.tls_files import TlsFiles
from pramana_core.errors import ConfigError, Unreachable
from tests.certificates import Authority

TOKEN = "t-0123456789ab." + "x" * 43


class _Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps({"items": [], "next": None}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words: object) -> None:
        """Say nothing."""


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_words: object) -> None:
        """Whoever is refused has the error."""


@pytest.fixture
def authority(tmp_path) -> Authority:
    return Authority.make(tmp_path / "authority", "ca")


@pytest.fixture
def miner_url(authority) -> Iterator[str]:
    """A miner that shows a certificate of the authority, and asks for one of it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.issue("miner"))
    context.load_verify_locations(authority.path)
    context.verify_mode = ssl.CERT_REQUIRED
    with _Server(("127.0.0.1", 0), _Answers) as server:
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"https://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def asked(url: str, tls: TlsFiles) -> int:
    environment = Environment(attempts=1, sleep=lambda _seconds: None)
    with Miner(url, TOKEN, environment, tls=tls) as miner:
        return len(miner.releases("asia"))


@pytest.mark.end_to_end
def test_agents_and_analysts_show_their_certificates_to_a_miner_that_asks(
    miner_url, authority, tmp_path
):
    certificate, key = authority.issue("north")
    assert asked(miner_url, TlsFiles(authority.path, certificate, key)) == 0
    with pm.connect(
        miner_url,
        token=TOKEN,
        ca_file=authority.path,
        client_certificate=str(certificate),
        client_key=key,
    ) as miner:
        assert len(miner.studies()) == 0

    # The controls: another authority, nobody's certificate, another authority's.
    stranger = Authority.make(tmp_path / "stranger", "ca")
    for wrong in (
        TlsFiles(),
        TlsFiles(stranger.path, certificate, key),
        TlsFiles(authority.path),
        TlsFiles(authority.path, *stranger.issue("north")),
    ):
        with pytest.raises(Unreachable):
            asked(miner_url, wrong)


def test_the_site_file_names_them_from_its_folder_on(tmp_path):
    content = {
        "owner": "north",
        "table": "t.csv",
        "record_id": "id",
        "miner": {
            "url": "https://miner.example.org",
            "study": "asia",
            "ca_file": "ca.pem",
            "client_certificate": "me.pem",
        },
        "variables": [{"name": "a", "categories": ["x", "y"], "sensitive": False}],
    }
    files = site_from(content, tmp_path).tls_files
    assert files == TlsFiles(tmp_path / "ca.pem", tmp_path / "me.pem")
    content["miner"] = {**content["miner"], "client_key": "me.key"}  # type: ignore[dict-item]
    assert site_from(content, tmp_path).tls_files.client_key == tmp_path / "me.key"
    del content["miner"]["client_certificate"]  # type: ignore[attr-defined]
    with pytest.raises(ConfigError):
        site_from(content, tmp_path)
