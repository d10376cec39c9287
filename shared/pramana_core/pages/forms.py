"""Forms with the word that says who made them, and headers that say what a page may load."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from pramana_core.errors import Forbidden, InputError

ROOT = "/pages"
"""All pages are under it; their cookies are sent nowhere else, so no API ever sees one."""

_FIELDS = 20_000


@dataclass(frozen=True)
class SentForm:
    """The fields of a form that was sent."""

    fields: dict[str, list[str]]

    @classmethod
    def of(cls, body: bytes) -> SentForm:
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
    """Return the header that sets a cookie for the page's folder, hidden from scripts and other
    sites.

    Without `seconds` it ends with the browser.
    """
    age = "" if seconds is None else f"; Max-Age={seconds}"
    secure = "; Secure" if over_tls else ""
    return f"{name}={value}{age}; HttpOnly; SameSite=Strict{secure}"


def cookies_in(headers: Iterable[str]) -> dict[str, str]:
    """Return the cookies of a request, by name; none where they cannot be read."""
    cookies: SimpleCookie = SimpleCookie()
    try:
        for header in headers:
            cookies.load(header)
    except CookieError:
        return {}
    return {name: one.value for name, one in cookies.items()}


EVERY_ANSWER: Mapping[str, str] = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    # A picture that is opened by itself may be styled, and have pixels of its own within it;
    # nothing may be run or loaded.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:;"
    " frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
}
"""Of an answer that says nothing else: take it as what it says it is, keep it not, run nothing."""

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self';"
    " frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""What a page may load: files of its own service; nothing inside it is run or styles it."""

HEADERS: Mapping[str, str] = {"Content-Security-Policy": POLICY, "Vary": "Accept, Cookie"}
"""Of a page."""

FRAMED: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:;"
    " frame-ancestors 'self'",
    "X-Frame-Options": "SAMEORIGIN",
}
"""Of a document inside a page: it runs nothing and loads nothing; our pages alone frame it."""
