"""Forms as they are sent: their fields, their cookie, and the word that says who made them."""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from pramana_core.errors import Forbidden, InputError

ROOT = "/pages"
"""All pages are under it; their cookies are sent nowhere else, so no API ever sees one."""

_FIELDS = 20_000


@dataclass(frozen=True)
class Sent:
    """The fields of a form that was sent."""

    fields: dict[str, list[str]]

    @classmethod
    def of(cls, body: bytes) -> Sent:
        """Read the body of a request. Raises InputError: it is no form."""
        try:
            return cls(
                parse_qs(body.decode("ascii"), keep_blank_values=True, max_num_fields=_FIELDS)
            )
        except ValueError:
            raise InputError("What was sent is not a form.", where="form") from None

    def text(self, name: str) -> str:
        """Return a field without blanks around it; empty where it was not sent."""
        return next(iter(self.fields.get(name, [])), "").strip()

    def every(self, name: str) -> list[str]:
        """Return what was chosen of a field."""
        return [one for one in self.fields.get(name, []) if one]


def form_word(key: bytes, cookie: str) -> str:
    """Return what every form carries that a page made for who has a cookie."""
    return hmac.digest(key, b"form\n" + cookie.encode(), "sha256").hex()


def require_word(key: bytes, cookie: str, word: str) -> None:
    """Check the word of a form. Raises Forbidden: no page made it for who has this cookie."""
    if not cookie or not hmac.compare_digest(form_word(key, cookie).encode(), word.encode()):
        raise Forbidden(
            "This form was not made for the session that sent it; nothing was done.",
            where="form",
            remedy="Open the page again and send the form from there.",
        )


def cookie_header(
    name: str, value: str, seconds: int | None = None, *, over_tls: bool = False
) -> str:
    """Return the header that sets a cookie which scripts and other sites cannot use.

    Without `seconds` it ends with the browser.
    """
    age = "" if seconds is None else f"; Max-Age={seconds}"
    secure = "; Secure" if over_tls else ""
    return f"{name}={value}; Path={ROOT}{age}; HttpOnly; SameSite=Strict{secure}"


def cookies_in(headers: Iterable[str]) -> dict[str, str]:
    """Return the cookies of a request, by name; none where they cannot be read."""
    told: SimpleCookie = SimpleCookie()
    try:
        for header in headers:
            told.load(header)
    except CookieError:
        return {}
    return {name: one.value for name, one in told.items()}
