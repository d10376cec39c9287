"""What answers tell a browser: what a page may load, and that nothing of it is kept or guessed."""

from __future__ import annotations

from collections.abc import Mapping

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
