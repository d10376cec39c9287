"""An owner's identity for its peers: a key, and a certificate that the peers pin."""

from __future__ import annotations

import datetime as dt
import hashlib
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import NameOID

from owner_agent.peer.protocol.messages import Signed, Stated, Statement, read
from owner_agent.site.site import Site
from owner_agent.state.ledger_file import state_directory
from owner_agent.state.private_files import private_directory, refuse_if_open_to_others, write_new
from pramana_core.errors import ConfigError, KeyFileError, PeerDeviated, Unauthenticated

VALID = dt.timedelta(days=3650)
"""Validity in years. Pinned certificates are replaced by hand; expiry is only a reminder."""

_CLOCKS_APART = dt.timedelta(days=1)


@dataclass(frozen=True)
class PublicIdentity:
    """The public identity of an owner: its name and its certificate."""

    name: str
    pem: bytes

    def __post_init__(self) -> None:
        """Check that the certificate has an Ed25519 key. Raises ConfigError."""
        try:
            key = x509.load_pem_x509_certificate(self.pem).public_key()
        except ValueError:
            key = None
        if not isinstance(key, Ed25519PublicKey):
            raise ConfigError(
                f"The certificate of {self.name!r} was not created by `owner-agent keys identity`.",
                where="peer.known",
                remedy=f"Ask {self.name!r} for the file that this command writes.",
            )

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the certificate, in groups of digits that are easy to read aloud."""
        digest = hashlib.sha256(self.der).hexdigest()
        return ":".join(digest[i : i + 4] for i in range(0, len(digest), 4))

    @property
    def der(self) -> bytes:
        """The first certificate in the file, in DER."""
        return x509.load_pem_x509_certificate(self.pem).public_bytes(Encoding.DER)

    def signed(self, signature: bytes, message: bytes) -> bool:
        """Whether `signature` is this owner's signature of a message."""
        key = x509.load_pem_x509_certificate(self.pem).public_key()
        if not isinstance(key, Ed25519PublicKey):
            return False
        try:
            key.verify(signature, message)
        except InvalidSignature:
            return False
        return True


@dataclass(frozen=True)
class PeerIdentity:
    """This owner's key and certificate. Printed forms omit the key."""

    public: PublicIdentity
    folder: Path
    _key: Ed25519PrivateKey = field(repr=False)

    def sign(self, message: bytes) -> bytes:
        """Return this owner's signature of a message."""
        return self._key.sign(message)

    @property
    def files(self) -> tuple[Path, Path]:
        """The paths of the certificate and the key, for TLS libraries."""
        return self.folder / _CERTIFICATE, self.folder / _KEY


_CERTIFICATE, _KEY = "identity.pem", "identity.key"


def make_identity(site: Site, now: dt.datetime) -> PeerIdentity:
    """Return the site's identity, and create it if it is missing. Raises KeyFileError."""
    folder = private_directory(state_directory(site.state) / "keys")
    if not (folder / _KEY).exists():
        key = Ed25519PrivateKey.generate()
        write_new(folder / _KEY, key.private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
        ))  # fmt: skip
    if not (folder / _CERTIFICATE).exists():
        write_new(folder / _CERTIFICATE, _certificate(site.owner, _read_key(folder / _KEY), now))
    return load_identity(site)


def load_identity(site: Site) -> PeerIdentity:
    """Return the site's identity. Raises KeyFileError."""
    folder = site.state / "keys"
    try:
        key = _read_key(folder / _KEY)
        public = PublicIdentity(site.owner, (folder / _CERTIFICATE).read_bytes())
    except (OSError, ValueError, TypeError, ConfigError):
        raise _unusable(folder) from None
    made = PeerIdentity(public, folder, key)
    if not public.signed(made.sign(b"test"), b"test"):
        raise _unusable(folder)
    return made


def pinned(site: Site) -> dict[str, PublicIdentity]:
    """Return the identities of the known peers by name. Raises ConfigError."""
    found: dict[str, PublicIdentity] = {}
    for peer in site.peer.known:
        path = site.folder / peer.certificate
        try:
            pem = path.read_bytes()
        except OSError as error:
            raise ConfigError(
                f"The certificate of {peer.name!r}, {path}, cannot be read: {error.strerror}.",
                where="peer.known",
                remedy=f"Store the file from {peer.name!r} at this path.",
            ) from None
        found[peer.name] = PublicIdentity(peer.name, pem)
    if len({known.fingerprint for known in found.values()}) < len(found):
        raise ConfigError("Two known peers have the same certificate.", where="peer.known")
    return found


def client_context(identity: PeerIdentity, server: PublicIdentity) -> ssl.SSLContext:
    """Return TLS settings that connect only to the owner `server`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    # The certificate itself is pinned, so the host name needs no check.
    context.check_hostname = False
    context.load_verify_locations(cadata=server.der)
    context.load_cert_chain(*identity.files)
    return context


def restrict_to_peers(context: ssl.SSLContext, known: Mapping[str, PublicIdentity]) -> None:
    """Make a server's TLS settings accept only callers with a known owner's certificate."""
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_mode = ssl.CERT_REQUIRED
    for peer in known.values():
        context.load_verify_locations(cadata=peer.der)


def caller_of(certificate: str | None, known: Mapping[str, PublicIdentity]) -> str:
    """Return the known owner whose certificate a caller presents. Raises Unauthenticated."""
    der = None if certificate is None else ssl.PEM_cert_to_DER_cert(certificate)
    for name, peer in known.items():
        if peer.der == der:
            return name
    raise Unauthenticated(
        "The caller does not have a known owner's certificate.",
        remedy="Exchange certificates. Each owner adds the other to [peer] in its site file.",
    )


def _certificate(owner: str, key: Ed25519PrivateKey, now: dt.datetime) -> bytes:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, owner)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCKS_APART)
        .not_valid_after(now + VALID)
        # The key cannot sign other certificates.
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    )
    return builder.sign(key, None).public_bytes(Encoding.PEM)


def _read_key(path: Path) -> Ed25519PrivateKey:
    refuse_if_open_to_others(path, f"chmod 600 {path}")
    key = load_pem_private_key(path.read_bytes(), password=None)
    if not isinstance(key, Ed25519PrivateKey):
        raise TypeError
    return key


def _unusable(folder: Path) -> KeyFileError:
    return KeyFileError(
        f"The folder {folder} has no usable identity.",
        where=str(folder),
        remedy="Run `owner-agent keys identity`, and send the certificate to the other owners.",
    )


def state(identity: PeerIdentity, session: str, message: Statement) -> Signed:
    """Return a message of this owner in a session, signed as a statement."""
    content = message.model_dump_json()
    text = _statement(session, type(message), content)
    return Signed(owner=identity.public.name, content=content, signature=identity.sign(text).hex())


def statement_of(signed: Signed, owner: PublicIdentity, session: str, kind: type[Stated]) -> Stated:
    """Return the message in an owner's statement if the signature is valid. Raises PeerDeviated."""
    text = _statement(session, kind, signed.content)
    if signed.owner != owner.name or not owner.signed(bytes.fromhex(signed.signature), text):
        raise PeerDeviated(
            f"The signature of {owner.name} does not match its {kind.noun}.",
            where=owner.name,
            remedy="The message was changed in transit, or a certificate differs. Compare the"
            " owners' fingerprints.",
        )
    return read(kind, signed.content, owner.name)


def _statement(session: str, kind: type[Statement], content: str) -> bytes:
    digest = hashlib.sha256(content.encode()).hexdigest()
    return f"pramana/peer-statement/2\n{session}\n{kind.noun}\n{digest}".encode()
