"""Connections to a miner over TLS: an authority of its own, and certificates of clients."""

from __future__ import annotations

import datetime as dt
import http.server
import ipaddress
import json
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

import pramana as pm
from owner_agent.release.client import Miner
from owner_agent.site.site import site_from
from owner_agent.state.surroundings import Surroundings
from owner_agent.state.tls import TlsFiles
from shared.errors import ConfigError, KeyFileError, Unreachable

ANCHOR = {"log": "a" * 64, "entries": 3, "head": "b" * 64, "at": "2031-05-06T07:08:09Z"}
TOKEN = "t-0123456789ab." + "x" * 43


@dataclass
class Authority:
    """Issues certificates into a folder."""

    folder: Path

    def __post_init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, self.folder.name)])
        self.folder.mkdir()
        self.path = self.folder / "ca.pem"
        made = self._issue(self.name, self.key, authority=True)
        self.path.write_bytes(made.public_bytes(Encoding.PEM))

    def issue(self, name: str) -> tuple[Path, Path]:
        """Write a certificate and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate, secret = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        made = self._issue(subject, key, authority=False)
        certificate.write_bytes(made.public_bytes(Encoding.PEM))
        secret.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        secret.chmod(0o600)
        return certificate, secret

    def _issue(self, subject, key, *, authority: bool) -> x509.Certificate:
        now = dt.datetime.now(dt.UTC)
        here = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=1))
            .not_valid_after(now + dt.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(here, critical=False)
        )
        return builder.sign(self.key, hashes.SHA256())


class _Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        told = ANCHOR if self.path == "/v1/audit" else {"items": []}
        body = json.dumps(told).encode()
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
    return Authority(tmp_path / "authority")


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
    surroundings = Surroundings(attempts=1, sleep=lambda _seconds: None)
    with Miner(url, TOKEN, surroundings, tls=tls) as miner:
        return miner.audit().entries


@pytest.mark.end_to_end
def test_agents_and_analysts_show_their_certificates_to_a_miner_that_asks(
    miner_url, authority, tmp_path
):
    certificate, key = authority.issue("north")
    assert asked(miner_url, TlsFiles(authority.path, certificate, key)) == 3
    with pm.connect(
        miner_url,
        token=TOKEN,
        ca_file=authority.path,
        client_certificate=str(certificate),
        client_key=key,
    ) as miner:
        assert len(miner.studies()) == 0

    # The controls: another authority, nobody's certificate, another authority's.
    stranger = Authority(tmp_path / "stranger")
    for wrong in (
        TlsFiles(),
        TlsFiles(stranger.path, certificate, key),
        TlsFiles(authority.path),
        TlsFiles(authority.path, *stranger.issue("north")),
    ):
        with pytest.raises(Unreachable):
            asked(miner_url, wrong)


def test_files_that_cannot_be_used_are_named(authority, tmp_path):
    certificate, key = authority.issue("north")
    url = "https://127.0.0.1:9"
    with pytest.raises(ConfigError, match="ca_file"):
        asked(url, TlsFiles(tmp_path / "absent"))
    other = tmp_path / "other"
    other.write_text("nothing")
    other.chmod(0o600)
    with pytest.raises(ConfigError, match="ca_file"):
        asked(url, TlsFiles(other))
    with pytest.raises(ConfigError, match="client_certificate"):
        asked(url, TlsFiles(None, certificate, other))
    key.chmod(0o640)
    with pytest.raises(KeyFileError, match="mode 0640"):
        asked(url, TlsFiles(None, certificate, key))
    with pytest.raises(ConfigError, match="without its client_certificate"):
        TlsFiles(client_key=key)


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
    with pytest.raises(ConfigError, match="client_key needs client_certificate"):
        site_from(content, tmp_path)
