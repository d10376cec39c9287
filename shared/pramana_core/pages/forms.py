"""Forms with an anti-forgery word, and headers that limit what a page may load."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from pramana_core.errors import Forbidden, InputError

ROOT = "/pages"
"""The path of all pages; their cookies are sent to no other path, so never to an API."""

_FIELDS = 20_000


@dataclass(frozen=True)
class SentForm:
    """The fields of a submitted form."""

    fields: dict[str, list[str]]

    @classmethod
    def of(cls, body: bytes) -> SentForm:
        """Parse the body of a request. Raises InputError if it is not a form."""
        try:
            return cls(
                parse_qs(body.decode("ascii"), keep_blank_values=True, max_num_fields=_FIELDS)
            )
        except ValueError:
            raise InputError("The request body is not a form.", where="form") from None

    def text(self, name: str) -> str:
        """Return a field without surrounding blanks, or "" if the field is missing."""
        return next(iter(self.fields.get(name, [])), "").strip()

    def every(self, name: str) -> list[str]:
        """Return all submitted values of a field."""
        return [one for one in self.fields.get(name, []) if one]


def form_word(key: bytes, cookie: str) -> str:
    """Return the anti-forgery word for all forms that the holder of a cookie receives."""
    return hmac.digest(key, b"form\n" + cookie.encode(), "sha256").hex()


def require_word(key: bytes, cookie: str, word: str) -> None:
    """Check a form's anti-forgery word. Raises Forbidden if it does not belong to the cookie."""
    if not cookie or not hmac.compare_digest(form_word(key, cookie).encode(), word.encode()):
        raise Forbidden(
            "This form belongs to another session; nothing was changed.",
            where="form",
            remedy="Open the page again and send the form from there.",
        )


def cookie_header(
    name: str, value: str, seconds: int | None = None, *, over_tls: bool = False
) -> str:
    """Return the header of a cookie for the page's folder, hidden from scripts and other sites.

    Without `seconds` the cookie ends with the browser session.
    """
    age = "" if seconds is None else f"; Max-Age={seconds}"
    secure = "; Secure" if over_tls else ""
    return f"{name}={value}{age}; HttpOnly; SameSite=Strict{secure}"


def cookies_in(headers: Iterable[str]) -> dict[str, str]:
    """Return the cookies of a request by name; an empty dict if they cannot be parsed."""
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
    # A picture opened on its own may have styles and inline pixels; nothing is run or loaded.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:;"
    " frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
}
"""Default headers of a response: trust the stated type, do not store it, run nothing."""

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self';"
    " frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""The content policy of a page: files of its own service only, and no inline script or style."""

HEADERS: Mapping[str, str] = {"Content-Security-Policy": POLICY, "Vary": "Accept, Cookie"}
"""The headers of a page."""

FRAMED: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:;"
    " frame-ancestors 'self'",
    "X-Frame-Options": "SAMEORIGIN",
}
"""The headers of a framed document: it runs and loads nothing; only our pages may frame it."""
