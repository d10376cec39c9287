"""How a page is made of a template: everything escaped, names apart from the text around them."""

from __future__ import annotations

import hashlib
import importlib.resources
import math
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any

from fastapi import Request
from fastapi.responses import Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from miner_service.http.access.access import Caller
from pramana_core.pictures.svg import printable

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self';"
    " frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""What a page may load: files of this service; nothing in the page itself is run or styles it."""

HEADERS: Mapping[str, str] = {"Content-Security-Policy": POLICY, "Vary": "Accept, Cookie"}

_MEDIA = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("miner_service.http.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["version"] = _version()
    made.filters.update(
        name=_name, sentence=_sentence, when=_when, number=_number, epsilon=_epsilon, bar=_bar
    )
    return made


def page(
    request: Request, template: str, *, status: int = 200, title: str, **shown: Any
) -> Response:
    """Return a page.

    Args:
        request: what it answers; it has the visit and, where somebody is signed in, the caller.
        template: a file of `miner_service/http/pages/templates`.
        status: of the answer.
        title: of the page.
        shown: what else the template names.
    """
    state = request.scope.get("state", {})
    caller: Caller | None = state.get("caller")
    written = written_page(template, title=title, who=caller, word=state["visit"].word, **shown)
    return Response(written, status, dict(HEADERS), "text/html")


def written_page(template: str, **shown: Any) -> bytes:
    """Return the text of a page; what no text may hold is replaced."""
    text = _environment().get_template(template).render(**shown)
    return printable(text).encode("utf-8", "replace")


@cache
def static(name: str) -> tuple[bytes, str] | None:
    """Return a file that pages load, and its media type; None where there is none."""
    media = _MEDIA.get(name.rpartition(".")[2])
    folder = importlib.resources.files("miner_service.http.pages") / "static"
    if media is None or name not in {one.name for one in folder.iterdir()}:
        return None
    return (folder / name).read_bytes(), media


def _version() -> str:
    """Return what is another where a file that pages load is: a browser keeps no old one."""
    files = importlib.resources.files("miner_service.http.pages") / "static"
    held = b"".join(one.read_bytes() for one in sorted(files.iterdir(), key=lambda one: one.name))
    return hashlib.sha256(held).hexdigest()[:8]


# How single values are written.


def _name(words: object) -> Markup:
    """Return a name that people gave; marks in it turn nothing around it."""
    return Markup("<bdi>{}</bdi>").format(printable(str(words)))


def _sentence(words: object) -> Markup:
    """Return a sentence that names things people gave; what is typed, in backticks, as code."""
    parts = printable(str(words)).split("`")
    if len(parts) % 2 == 0:
        return _name(words)
    marked = (Markup("<code>{}</code>").format(p) if i % 2 else p for i, p in enumerate(parts))
    return Markup("<bdi>{}</bdi>").format(Markup("").join(marked))


def _when(moment: datetime | None) -> Markup:
    if moment is None:
        return Markup("–")
    written = moment.strftime("%Y-%m-%d %H:%M")
    return Markup('<time datetime="{}">{} UTC</time>').format(moment.isoformat(), written)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def _epsilon(value: float | None) -> str:
    """Return an epsilon; what nothing bounds has none."""
    return "no bound" if value is None or math.isinf(value) else f"{value:.4g}"


def _bar(parts: list[tuple[str, float]], whole: float, words: str) -> Markup:
    """Return a bar: its parts, each of a class and a length, of a whole; `words` say the same."""
    x, drawn = 0.0, []
    for kind, length in parts:
        width = 100 * min(max(length / whole if whole else 0.0, 0.0), 1.0)
        rect = Markup('<rect class="{}" x="{:.2f}" width="{:.2f}" height="10"/>')
        drawn.append(rect.format(kind, x, width))
        x += width
    return Markup(
        '<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" role="img"'
        ' aria-label="{}"><rect class="ground" width="100" height="10"/>{}</svg>'
    ).format(printable(words), Markup("").join(drawn))
