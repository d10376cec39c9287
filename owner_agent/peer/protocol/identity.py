"""An owner's identity among its peers: a key of its own and a certificate that the others pin.

There is no authority. Custodians hand their certificates to each other, and a connection or a
message counts only under exactly the certificate that the site file names.

Also here:

* Requests that were let in, kept on disk, so that none counts twice even after a restart.
* Signed requests and signed statements: who says it, to whom, and that nobody changed it since.
"""

from __future__ import annotations

import datetime as dt
import fcntl
import hashlib
import os
import re
import ssl
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
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

from owner_agent.peer.protocol.messages import PeerMessage, Signed, Stated, read
from owner_agent.site.site import Site
from owner_agent.state.ledger_file import state_directory
from owner_agent.state.private_files import (
    FILE_MODE,
    private_directory,
    refuse_if_open_to_others,
    write_new,
)
from pramana_core.errors import (
    ConfigError,
    KeyFileError,
    PeerDeviated,
    StoreCorrupt,
    TooManyRequests,
    Unauthenticated,
)
from pramana_core.full_disks import no_room, storing

# Requests that were let in, kept on disk, so that none counts twice even after a restart.
#
# A request is remembered for as long as its time could still be taken, and some. What is older is
# forgotten; of one peer only so many are taken meanwhile, so that the file stays small.

MOST = 200_000
"""Requests of one peer that are remembered at once; it is asked to wait then."""

_LINE = re.compile(r"([0-9]{1,12}\.[0-9]{3}) ([0-9a-f]{32}) (\S+)")
_WHAT = "the requests that were let in"
_STALE = 10_000
"""Lines of the file that are not needed any more, before it is written anew."""

Request = tuple[str, str]
"""Who signed it, and the number that it used for no other."""


@dataclass
class SeenRequests:
    """What was let in, as all processes of one owner know it.

    Args:
        path: the file.
        seconds: for how long a request is remembered after its own time.
    """

    path: Path
    seconds: float
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _seen: dict[Request, float] = field(default_factory=dict, repr=False)
    _read: tuple[int, int] = field(default=(0, 0), repr=False)
    """The file's number in its file system, and up to which byte it is read."""
    _lines: int = field(default=0, repr=False)

    def holds(self, request: Request, now: float) -> bool:
        """Whether a request was let in before. Raises as `let_in` does."""
        with self._lock, self._current(now):
            return request in self._seen

    def let_in(self, request: Request, moment: float, now: float) -> bool:
        """Remember a request, durably; False if it was let in before.

        Raises:
            TooManyRequests: the peer sends more than is remembered of one.
            StorageFull: there is no room to remember it; it is not let in.
            StoreCorrupt: the file is not what was written.
        """
        peer, nonce = request
        with self._lock, self._current(now) as descriptor:
            if request in self._seen:
                return False
            if Counter(name for name, _ in self._seen)[peer] >= MOST:
                raise TooManyRequests(
                    f"{peer} sent {MOST} requests within {self.seconds:.0f} seconds.",
                    where=peer,
                    remedy="Send fewer, or wait.",
                )
            self._append(descriptor, [(peer, nonce, moment)])
            self._seen[request] = moment
            return True

    @contextmanager
    def _current(self, now: float) -> Iterator[int]:
        """Hold the file, with all in it that other processes wrote, and nothing that is old."""
        state_directory(self.path.parent)
        with storing(_WHAT):
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, FILE_MODE)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            self._catch_up(descriptor)
            horizon = now - self.seconds
            if any(at < horizon for at in self._seen.values()):
                self._seen = {one: at for one, at in self._seen.items() if at >= horizon}
            if self._lines > len(self._seen) + _STALE:
                self._rewrite(descriptor)
            yield descriptor
        finally:
            os.close(descriptor)

    def _catch_up(self, descriptor: int) -> None:
        found = os.fstat(descriptor)
        number, read = self._read
        if number != found.st_ino or read > found.st_size:
            self._seen, self._lines, read = {}, 0, 0
        if read < found.st_size:
            new = os.pread(descriptor, found.st_size - read, read)
            whole = new[: new.rfind(b"\n") + 1]
            for line in whole.decode("ascii", "replace").splitlines():
                match = _LINE.fullmatch(line)
                if match is None:
                    raise StoreCorrupt(
                        f"{self.path.name} in the state directory is not what was written there.",
                        where=self.path.name,
                        remedy=f"Stop the agent for {self.seconds:.0f} seconds and remove the file:"
                        " no request from before is taken then.",
                    )
                self._seen[match[3], match[2]] = float(match[1])
                self._lines += 1
            if len(whole) < len(new):  # half a line of a crash: that request was not let in
                os.ftruncate(descriptor, read + len(whole))
            read += len(whole)
        self._read = found.st_ino, read

    def _rewrite(self, descriptor: int) -> None:
        """Write what is needed over the file, whose lines are all in memory."""
        lines = [(peer, nonce, at) for (peer, nonce), at in self._seen.items()]
        os.ftruncate(descriptor, 0)
        self._read, self._lines = (self._read[0], 0), 0
        self._append(descriptor, lines)

    def _append(self, descriptor: int, requests: list[tuple[str, str, float]]) -> None:
        number, end = self._read
        text = "".join(f"{at:.3f} {nonce} {peer}\n" for peer, nonce, at in requests).encode()
        written = 0
        try:
            with storing(_WHAT):
                written = os.pwrite(descriptor, text, end)
                os.fdatasync(descriptor)
        finally:
            if written < len(text):
                os.ftruncate(descriptor, end)
        if written < len(text):
            raise no_room(_WHAT)
        self._read = number, end + len(text)
        self._lines += len(requests)


VALID = dt.timedelta(days=3650)
"""A pinned certificate is replaced by hand, so that it lasts; its end is a reminder only."""

_CLOCKS_APART = dt.timedelta(days=1)


@dataclass(frozen=True)
class PublicIdentity:
    """The public side of an owner: what is known of it and checked against."""

    name: str
    pem: bytes

    def __post_init__(self) -> None:
        """Refuse what is not a certificate of an Ed25519 key. Raises ConfigError."""
        try:
            key = x509.load_pem_x509_certificate(self.pem).public_key()
        except ValueError:
            key = None
        if not isinstance(key, Ed25519PublicKey):
            raise ConfigError(
                f"The certificate of {self.name!r} is not one that `owner-agent keys identity`"
                " made.",
                where="peer.known",
                remedy=f"Ask {self.name!r} for the file that the command writes.",
            )

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the certificate, in groups that two people can read to each other."""
        digest = hashlib.sha256(self.der).hexdigest()
        return ":".join(digest[i : i + 4] for i in range(0, len(digest), 4))

    @property
    def der(self) -> bytes:
        """The certificate in binary: the first of its file, and no other that may follow it."""
        return x509.load_pem_x509_certificate(self.pem).public_bytes(Encoding.DER)

    def signed(self, signature: bytes, message: bytes) -> bool:
        """Whether a message carries this owner's signature."""
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
    """This owner's key and certificate; the key is kept out of every printed form."""

    public: PublicIdentity
    folder: Path
    _key: Ed25519PrivateKey = field(repr=False)

    def sign(self, message: bytes) -> bytes:
        """Return the signature of a message."""
        return self._key.sign(message)

    @property
    def files(self) -> tuple[Path, Path]:
        """The paths of the certificate and of the key, as TLS libraries want them."""
        return self.folder / _CERTIFICATE, self.folder / _KEY


_CERTIFICATE, _KEY = "identity.pem", "identity.key"


def make_identity(site: Site, now: dt.datetime) -> PeerIdentity:
    """Return the site's identity, made if it is not there.

    Raises:
        KeyFileError: the files are readable by others, or not what was written.
    """
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
    """Return the site's identity.

    Raises:
        KeyFileError: there is none, it is readable by others, or key and certificate differ.
    """
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
    """Return the known peers by name.

    Raises:
        ConfigError: a certificate cannot be read, or two peers have the same.
    """
    found: dict[str, PublicIdentity] = {}
    for peer in site.peer.known:
        path = site.folder / peer.certificate
        try:
            pem = path.read_bytes()
        except OSError as error:
            raise ConfigError(
                f"The certificate of {peer.name!r}, {path}, cannot be read: {error.strerror}.",
                where="peer.known",
                remedy=f"Put the file that {peer.name!r} gave you there.",
            ) from None
        found[peer.name] = PublicIdentity(peer.name, pem)
    if len({known.fingerprint for known in found.values()}) < len(found):
        raise ConfigError("Two known peers have the same certificate.", where="peer.known")
    return found


def client_context(identity: PeerIdentity, server: PublicIdentity) -> ssl.SSLContext:
    """Return the TLS settings to call one owner: nobody else is believed to be it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    # The certificate itself is pinned; the name of the machine that holds it says nothing more.
    context.check_hostname = False
    context.load_verify_locations(cadata=server.der)
    context.load_cert_chain(*identity.files)
    return context


def restrict_to_peers(context: ssl.SSLContext, known: Mapping[str, PublicIdentity]) -> None:
    """Let a server's TLS settings accept callers with a known certificate only."""
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_mode = ssl.CERT_REQUIRED
    for peer in known.values():
        context.load_verify_locations(cadata=peer.der)


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
        # It vouches for itself and can vouch for no other.
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
        f"There is no usable identity in {folder}.",
        where=str(folder),
        remedy="Run `owner-agent keys identity`, and give the certificate to the other owners.",
    )


# Signed requests and signed statements: who says it, to whom, and that nobody changed it since.
#
# TLS already shuts out everybody without a known certificate; the signature says which of the known
# owners calls. A request names its receiver, its moment, a number used once and its body's digest,
# so that nobody can send it again, also not to another owner, and no body is read that its sender
# did not sign. A statement carries its session and round, so that it counts in no other.

CLOCKS_APART = 300.0
"""Seconds by which two owners' clocks may differ."""

PEER_HEADER = "Pramana-Peer"
TIME_HEADER = "Pramana-Time"
NONCE_HEADER = "Pramana-Nonce"
BODY_HEADER = "Pramana-Body"
"""Holds the SHA-256 of the body, which is signed with the headers, so that they count before it."""
SIGNATURE_HEADER = "Pramana-Signature"

SEEN = "peer-requests"
"""The file in a state directory that remembers what was let in."""

_NONCE = re.compile(r"[0-9a-f]{32}")
_SIGNATURE = re.compile(r"[0-9a-f]{128}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Call:
    """What a signature of a request covers."""

    receiver: str
    method: str
    path: str
    body: bytes

    @property
    def digest(self) -> str:
        """The SHA-256 of the body, in hexadecimal digits."""
        return hashlib.sha256(self.body).hexdigest()


def signed_headers(
    identity: PeerIdentity, call: Call, now: datetime, random_bytes: bytes
) -> dict[str, str]:
    """Return the headers that sign a request with 16 random bytes used for no other."""
    sender, time, nonce = identity.public.name, f"{now.timestamp():.3f}", random_bytes.hex()
    text = _request(sender, call.receiver, call.method, call.path, time, nonce, call.digest)
    return {
        PEER_HEADER: sender,
        TIME_HEADER: time,
        NONCE_HEADER: nonce,
        BODY_HEADER: call.digest,
        SIGNATURE_HEADER: identity.sign(text).hex(),
    }


@dataclass(frozen=True)
class SignedRequest:
    """A request whose headers are signed by a known owner; its body is not read yet."""

    caller: str
    moment: float
    nonce: str
    digest: str


@dataclass(frozen=True)
class Gate:
    """Tells which known owner a request is from, and lets each request through once.

    First the headers count, which name the body's digest: `announced`. Then the body is read, and
    let in if it is the one they name: `let_in`.
    """

    known: Mapping[str, PublicIdentity]
    seen: SeenRequests

    @classmethod
    def of(cls, known: Mapping[str, PublicIdentity], state: Path) -> Gate:
        """Return the gate of an owner, who remembers in a state directory what was let in."""
        return cls(known, SeenRequests(state / SEEN, 2 * CLOCKS_APART))

    def announced(
        self, headers: Mapping[str, str], receiver: str, method: str, path: str, now: datetime
    ) -> SignedRequest:
        """Return what a request says it is, before its body is read.

        Raises:
            Unauthenticated: nobody known signed exactly this, for this owner, now, for the first
                time.
        """
        peer = self.known.get(headers.get(PEER_HEADER, ""))
        time = headers.get(TIME_HEADER, "")
        moment = _number(time)
        if peer is None or moment is None:
            raise _refused()
        if not abs(now.timestamp() - moment) <= CLOCKS_APART:
            raise Unauthenticated(
                "The request was made at another time, or the owners' clocks differ by more than"
                f" {CLOCKS_APART:.0f} seconds.",
                remedy="Set the clocks of both machines.",
            )
        nonce, signature = headers.get(NONCE_HEADER, ""), headers.get(SIGNATURE_HEADER, "")
        digest = headers.get(BODY_HEADER, "")
        if not (
            _NONCE.fullmatch(nonce)
            and _SIGNATURE.fullmatch(signature)
            and _DIGEST.fullmatch(digest)
        ):
            raise _refused()
        text = _request(peer.name, receiver, method, path, time, nonce, digest)
        if not peer.signed(bytes.fromhex(signature), text):
            raise _refused()
        if self.seen.holds((peer.name, nonce), now.timestamp()):
            raise _refused()
        return SignedRequest(peer.name, moment, nonce, digest)

    def let_in(self, announced: SignedRequest, body: bytes, now: datetime) -> str:
        """Return the name of the owner whose request this is, now that its body is there.

        Raises:
            Unauthenticated: it is another body than the headers name, or was let in before.
            TooManyRequests, StorageFull: it cannot be remembered, and is not let in.
        """
        if hashlib.sha256(body).hexdigest() != announced.digest:
            raise _refused()
        request = (announced.caller, announced.nonce)
        if not self.seen.let_in(request, announced.moment, now.timestamp()):
            raise _refused()
        return announced.caller


def state(identity: PeerIdentity, session: str, message: PeerMessage) -> Signed:
    """Return a message as a signed statement of this owner in a session."""
    content = message.model_dump_json()
    text = _statement(session, type(message), content)
    return Signed(owner=identity.public.name, content=content, signature=identity.sign(text).hex())


def statement_of(signed: Signed, owner: PublicIdentity, session: str, kind: type[Stated]) -> Stated:
    """Return the message that an owner stated.

    Raises:
        PeerDeviated: the owner did not sign this in this session, or it is another message.
    """
    text = _statement(session, kind, signed.content)
    if signed.owner != owner.name or not owner.signed(bytes.fromhex(signed.signature), text):
        raise PeerDeviated(
            f"The {kind.noun} of {owner.name} is not as {owner.name} signed it.",
            where=owner.name,
            remedy="Somebody changed it on its way; compare the owners' fingerprints.",
        )
    return read(kind, signed.content, owner.name)


def _statement(session: str, kind: type[PeerMessage], content: str) -> bytes:
    digest = hashlib.sha256(content.encode()).hexdigest()
    return f"pramana/peer-statement/1\n{session}\n{kind.wire_name}\n{digest}".encode()


def _request(*fields: str) -> bytes:
    """Return the signed bytes of a request; no field can hold a line break.

    The fields: sender, receiver, method, path, time, nonce, digest of the body.
    """
    return "\n".join(["pramana/peer-request/1", *fields]).encode()


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,6})?", text) else None


def _refused() -> Unauthenticated:
    # One message for all causes: who is not known learns nothing of who is.
    return Unauthenticated(
        "The request is not signed by a known owner.",
        remedy="Exchange certificates, and name each other in the [peer] sections.",
    )
