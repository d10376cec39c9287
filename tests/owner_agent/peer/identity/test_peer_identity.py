"""Identities: made once, readable by nobody else, and believed under one certificate only."""

import ssl
from datetime import UTC, datetime

import pytest

from owner_agent.peer.protocol.identity import (
    PublicIdentity,
    client_context,
    load_identity,
    make_identity,
    pinned,
    restrict_to_peers,
    state,
    statement_of,
)
from owner_agent.peer.protocol.messages import Offer, ResultAgreement
from owner_agent.site.site import load_site
from pramana_core.errors import ConfigError, KeyFileError, PeerDeviated

# Certificates are checked against the machine's own clock.
NOW = datetime.now(UTC)


@pytest.fixture
def site_of(tmp_path, make_site):
    def make(owner):
        folder = tmp_path / owner
        folder.mkdir()
        (folder / "site.toml").write_text(make_site(owner, {"C": None}))
        return load_site(folder / "site.toml")

    return make


def test_an_identity_is_made_once_and_is_private(site_of):
    site = site_of("north")
    first = make_identity(site, NOW)
    again = make_identity(site, NOW)
    assert again.public == first.public
    for path in first.files:
        assert path.stat().st_mode & 0o077 == 0
    assert b"PRIVATE" not in first.public.pem
    assert "_key" not in repr(first)
    assert len(first.public.fingerprint.replace(":", "")) == 64


def test_an_identity_that_is_absent_open_or_not_one(site_of):
    site = site_of("north")
    with pytest.raises(KeyFileError, match="no usable identity"):
        load_identity(site)
    made = make_identity(site, NOW)
    certificate, key = made.files
    key.chmod(0o644)
    with pytest.raises(KeyFileError, match="mode 0644"):
        load_identity(site)
    key.chmod(0o600)
    certificate.write_bytes(make_identity(site_of("south"), NOW).public.pem)
    with pytest.raises(KeyFileError, match="no usable identity"):
        load_identity(site)
    key.write_bytes(b"no key")
    with pytest.raises(KeyFileError, match="no usable identity"):
        load_identity(site)


def test_known_peers_are_pinned_by_their_certificates(site_of):
    site = site_of("north")
    for owner in ("south", "east"):
        pem = make_identity(site_of(owner), NOW).public.pem
        (site.folder / f"{owner}.pem").write_bytes(pem)
    known = pinned(site)
    assert set(known) == {"south", "east"}
    assert known["south"].fingerprint != known["east"].fingerprint
    (site.folder / "east.pem").write_bytes(known["south"].pem)
    with pytest.raises(ConfigError, match="the same certificate"):
        pinned(site)
    (site.folder / "east.pem").write_bytes(b"no certificate")
    with pytest.raises(ConfigError, match="'east' was not created by"):
        pinned(site)
    (site.folder / "east.pem").unlink()
    with pytest.raises(ConfigError, match="'east', .* cannot be read"):
        pinned(site)


def shake(client, server):
    """Run a TLS handshake in memory, to its end or to the error of either side."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    one = client.wrap_bio(to_client, to_server)
    other = server.wrap_bio(to_server, to_client, server_side=True)
    done = set()
    for _ in range(10):
        for side in (one, other):
            if side not in done:
                try:
                    side.do_handshake()
                    done.add(side)
                except ssl.SSLWantReadError:
                    pass
    assert done == {one, other}
    # In TLS 1.3 a server's refusal of the client's certificate comes with its first data.
    other.write(b"x")
    assert one.read(1) == b"x"
    return one, other


def server_context(identity, known):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*identity.files)
    restrict_to_peers(context, known)
    return context


def test_a_file_of_two_certificates_pins_the_first_alone(site_of):
    """Whoever smuggles a second certificate into the file is not let in by it."""
    north, south, eve = (make_identity(site_of(n), NOW) for n in ("north", "south", "eve"))
    both = PublicIdentity("north", north.public.pem + eve.public.pem)
    server = server_context(south, {"north": both})
    shake(client_context(north, south.public), server)
    with pytest.raises(ssl.SSLError):
        shake(client_context(eve, south.public), server)


def test_a_certificate_vouches_for_no_other(site_of):
    """North signs a certificate for eve with its own key; south does not believe it."""
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        load_pem_private_key,
    )

    north, south, eve = (make_identity(site_of(n), NOW) for n in ("north", "south", "eve"))
    issuer = x509.load_pem_x509_certificate(north.public.pem)
    key = Ed25519PrivateKey.generate()
    signer = load_pem_private_key(north.files[1].read_bytes(), None)
    made = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([]))
        .issuer_name(issuer.subject)
        .public_key(key.public_key())
        .serial_number(5)
        .not_valid_before(issuer.not_valid_before_utc)
        .not_valid_after(issuer.not_valid_after_utc)
        .sign(signer, None)
    )
    certificate, private = eve.files
    certificate.write_bytes(made.public_bytes(Encoding.PEM) + north.public.pem)
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    server = server_context(south, {"north": north.public})
    with pytest.raises(ssl.SSLError):
        shake(client_context(eve, south.public), server)


OFFER = {
    "proposal": "0" * 64,
    "variables": [{"variable": {"name": "x", "categories": ["0", "1"]}, "sensitive": False}],
    "records": 3,
    "keys_digest": "ab" * 32,
}


def test_a_statement_counts_for_its_owner_session_round_and_words(site_of):
    north, south = (make_identity(site_of(n), NOW) for n in ("north", "south"))
    told = state(north, "1" * 32, Offer.model_validate(OFFER))
    assert statement_of(told, north.public, "1" * 32, Offer).records == 3
    longer = told.content.replace('"records":3', '"records":4')
    for changed, owner, session, kind in (
        (told, south.public, "1" * 32, Offer),
        (told, north.public, "2" * 32, Offer),
        (told, north.public, "1" * 32, ResultAgreement),
        (told.model_copy(update={"content": longer}), north.public, "1" * 32, Offer),
        (told.model_copy(update={"owner": "south"}), south.public, "1" * 32, Offer),
    ):
        with pytest.raises(PeerDeviated, match="does not match its"):
            statement_of(changed, owner, session, kind)
