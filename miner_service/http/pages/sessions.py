"""Who is signed in: a sealed cookie that stands for a token and ends by itself.

The cookie holds the token, sealed under the service's key, and until when it is good; a token that
is revoked or expires ends it at once, for the token is looked at with every request. Forms carry a
word that only whoever has read a page of the same session can know.
"""

from __future__ import annotations

import hmac
import json
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from pramana_core.pages.forms import form_word, require_word

HOURS = 8
"""So long one stays signed in, at most."""

SESSION, VISIT = "pramana_session", "pramana_visit"
"""The cookie of who is signed in, and that of who is about to be."""

_PURPOSE = b"pramana/session/1"


@dataclass(frozen=True)
class Visit:
    """What a browser brought: the token of its session, if it has one, and its cookie."""

    token: str | None
    cookie: str
    key: bytes

    @property
    def word(self) -> str:
        """What every form of this visit carries."""
        return form_word(self.key, self.cookie)

    def require(self, word: str) -> None:
        """Check the word of a form. Raises Forbidden: the form is not of this visit."""
        require_word(self.key, self.cookie, word)


class Sessions:
    """Begins and ends sessions under the service's key."""

    def __init__(self, key: bytes) -> None:
        self._key = hmac.digest(key, _PURPOSE, "sha512")
        self._ended: dict[str, datetime] = {}

    def begin(self, token: str, now: datetime) -> str:
        """Return the cookie of a new session of a token."""
        until = now + timedelta(hours=HOURS)
        told = json.dumps([token, until.timestamp(), secrets.token_hex(8)]).encode()
        return urlsafe_b64encode(AESSIV(self._key).encrypt(told, [_PURPOSE])).decode()

    def end(self, cookie: str, now: datetime) -> None:
        """End a session, whoever still has its cookie."""
        self._ended = {one: until for one, until in self._ended.items() if until > now}
        if self.token_in(cookie, now) is not None:
            self._ended[cookie] = now + timedelta(hours=HOURS)

    def visit(self, cookies: dict[str, str], now: datetime) -> Visit:
        """Return who a browser with these cookies is."""
        cookie = cookies.get(SESSION, "")
        token = self.token_in(cookie, now)
        return Visit(token, cookie if token else cookies.get(VISIT, ""), self._key)

    def token_in(self, cookie: str, now: datetime) -> str | None:
        """Return the token of a session that has not ended; None of anything else."""
        if not cookie or cookie in self._ended:
            return None
        try:
            sealed = urlsafe_b64decode(cookie.encode("ascii"))
            if urlsafe_b64encode(sealed).decode() != cookie:
                return None  # decoding takes other spellings, too: one that ended would live on
            token, until, _ = json.loads(AESSIV(self._key).decrypt(sealed, [_PURPOSE]))
        except (UnicodeError, ValueError, InvalidTag):
            return None
        return str(token) if now.timestamp() < float(until) else None
