"""Signed requests and signed statements: who says it, to whom, and that nobody changed it since.

TLS already shuts out everybody without a known certificate; the signature says which of the known
owners calls. A request names its receiver, its moment, a number used once and its body's digest, so
that nobody can send it again, also not to another owner, and no body is read that its sender did
not sign. A statement carries its session and round, so that it counts in no other.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from owner_agent.peer.identity.identity import PeerIdentity, Pinned
from owner_agent.peer.identity.seen import SeenRequests
from owner_agent.peer.protocol.messages import PeerMessage, Signed, Stated, read
from pramana_core.errors import PeerDeviated, Unauthenticated

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
class Announced:
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

    known: Mapping[str, Pinned]
    seen: SeenRequests

    @classmethod
    def of(cls, known: Mapping[str, Pinned], state: Path) -> Gate:
        """Return the gate of an owner, who remembers in a state directory what was let in."""
        return cls(known, SeenRequests(state / SEEN, 2 * CLOCKS_APART))

    def announced(
        self, headers: Mapping[str, str], receiver: str, method: str, path: str, now: datetime
    ) -> Announced:
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
        return Announced(peer.name, moment, nonce, digest)

    def let_in(self, announced: Announced, body: bytes, now: datetime) -> str:
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


def statement_of(signed: Signed, owner: Pinned, session: str, kind: type[Stated]) -> Stated:
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
