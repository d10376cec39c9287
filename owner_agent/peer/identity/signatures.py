"""Signed requests and signed statements: who says it, to whom, and that nobody changed it since.

TLS already shuts out everybody without a known certificate; the signature says which of the known
owners calls. A request names its receiver, moment and a number used once, so that nobody can send
it again, also not to another owner. A statement carries its session and round, so that it counts
in no other.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from owner_agent.peer.identity.identity import PeerIdentity, Pinned
from owner_agent.peer.protocol.messages import PeerMessage, Signed, Stated, read
from shared.errors import PeerDeviated, Unauthenticated

CLOCKS_APART = 300.0
"""Seconds by which two owners' clocks may differ."""

PEER_HEADER = "Pramana-Peer"
TIME_HEADER = "Pramana-Time"
NONCE_HEADER = "Pramana-Nonce"
SIGNATURE_HEADER = "Pramana-Signature"

_NONCE = re.compile(r"[0-9a-f]{32}")
_SIGNATURE = re.compile(r"[0-9a-f]{128}")


@dataclass(frozen=True)
class Call:
    """What a signature of a request covers."""

    receiver: str
    method: str
    path: str
    body: bytes

    def text(self, sender: str, time: str, nonce: str) -> bytes:
        """Return the signed bytes; no field can hold a line break."""
        digest = hashlib.sha256(self.body).hexdigest()
        lines = ["pramana/peer-request/1", sender, self.receiver, self.method, self.path]
        return "\n".join([*lines, time, nonce, digest]).encode()


def signed_headers(
    identity: PeerIdentity, call: Call, now: datetime, random_bytes: bytes
) -> dict[str, str]:
    """Return the headers that sign a request with 16 random bytes used for no other."""
    sender, time, nonce = identity.public.name, f"{now.timestamp():.3f}", random_bytes.hex()
    return {
        PEER_HEADER: sender,
        TIME_HEADER: time,
        NONCE_HEADER: nonce,
        SIGNATURE_HEADER: identity.sign(call.text(sender, time, nonce)).hex(),
    }


@dataclass
class Gate:
    """Tells which known owner a request is from, and lets each request through once."""

    known: Mapping[str, Pinned]
    _seen: dict[tuple[str, str], float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def expected(self, headers: Mapping[str, str], now: datetime) -> Pinned:
        """Return the owner that a request says it is from, before its body is read.

        Raises:
            Unauthenticated: nobody known, or a request of another time.
        """
        peer = self.known.get(headers.get(PEER_HEADER, ""))
        moment = _number(headers.get(TIME_HEADER, ""))
        if peer is None or moment is None:
            raise _refused()
        if not abs(now.timestamp() - moment) <= CLOCKS_APART:
            raise Unauthenticated(
                "The request was made at another time, or the owners' clocks differ by more than"
                f" {CLOCKS_APART:.0f} seconds.",
                remedy="Set the clocks of both machines.",
            )
        return peer

    def caller(self, headers: Mapping[str, str], call: Call, now: datetime) -> str:
        """Return the name of the owner that signed a request.

        Raises:
            Unauthenticated: nobody known signed exactly this, for this owner, now, for the first
                time.
        """
        peer = self.expected(headers, now)
        nonce, signature = headers.get(NONCE_HEADER, ""), headers.get(SIGNATURE_HEADER, "")
        if not (_NONCE.fullmatch(nonce) and _SIGNATURE.fullmatch(signature)):
            raise _refused()
        text = call.text(peer.name, headers[TIME_HEADER], nonce)
        if not peer.signed(bytes.fromhex(signature), text):
            raise _refused()
        with self._lock:
            horizon = now.timestamp() - 2 * CLOCKS_APART
            self._seen = {key: at for key, at in self._seen.items() if at > horizon}
            if (peer.name, nonce) in self._seen:
                raise _refused()
            self._seen[peer.name, nonce] = now.timestamp()
        return peer.name


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


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,6})?", text) else None


def _refused() -> Unauthenticated:
    # One message for all causes: who is not known learns nothing of who is.
    return Unauthenticated(
        "The request is not signed by a known owner.",
        remedy="Exchange certificates, and name each other in the [peer] sections.",
    )
